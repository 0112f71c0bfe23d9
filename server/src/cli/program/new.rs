//! `ptc program new`

use std::process::ExitCode;

use ptc_mcp::json::json;

use super::files::{FILE_MODE, name_of};
use super::{PlaceArgs, print_json};
use crate::cli::output::outln;
use crate::cli::setup::atomic_file;

/// The file of a new program. It is whole: its test passes.
fn template(name: &str) -> String {
    format!(
        r#"{{:description "Say what {name} does, for whoever calls it."
 :input {{:type "object"
         :properties {{:names {{:type "array" :items {{:type "string"}}}}}}
         :required ["names"]}}
 :output {{:type "object" :properties {{:count {{:type "integer"}}}} :required ["count"]}}
 ;; The tools that it may call, such as ["crm/get_customer" "billing/list_*"]
 :tools []
 :tests [{{:name "two names"
          :input {{:names ["ann" "bob"]}}
          :value {{:count 2}}}}]}}

{{:count (count data/names)}}
"#
    )
}

pub(super) fn run(place: &PlaceArgs, name: &str, as_json: bool) -> Result<ExitCode, String> {
    let name = name_of(name)?;
    let path = place.programs.join(name.file_name());
    if path.exists() {
        return Err(format!("{}: it exists already", path.display()));
    }
    std::fs::create_dir_all(&place.programs).map_err(|error| format!("{}: {error}", path.display()))?;
    atomic_file::replace(&path, &template(name.as_str()), FILE_MODE)?;
    if as_json {
        print_json(&json!({"ok": true, "program": name.as_str(), "file": path.to_string_lossy()}));
    } else {
        outln!(
            "{}\nnext: write it, then `ptc program test {name}` and `ptc program approve {name}`",
            path.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_programs::name::ProgramName;
    use ptc_programs::program::KeptProgram;

    #[test]
    fn the_file_of_a_new_program_can_be_used() {
        let program = KeptProgram::read(ProgramName::new("greet").unwrap(), &template("greet")).unwrap();
        assert_eq!(program.head.tests, 1);
    }
}
