//! `ptc program show`

use std::process::ExitCode;

use ptc_host::engine::kept::ProgramSchema;
use ptc_host::visible::visible;
use ptc_mcp::json::json;
use ptc_programs::definition::DefinitionChanges;
use ptc_programs::edn::edn;
use ptc_programs::folder::Standing;
use ptc_programs::staleness::{StaleTool, unheld};

use super::definitions::UpstreamsArgs;
use super::files::{name_of, one};
use super::list::{STALE, unlinked};
use super::{PlaceArgs, print_json};
use crate::cli::output::outln;

pub(super) fn run(
    place: &PlaceArgs,
    name: &str,
    upstreams: &UpstreamsArgs,
    as_json: bool,
) -> Result<ExitCode, String> {
    let folder = place.folder()?;
    let program = one(&folder, name)?;
    let name = name_of(name)?;
    let standing = folder.programs.get(&name).map_or(Standing::Broken, |found| found.standing.clone());
    let approval = folder.lock.as_ref().ok().and_then(|lock| lock.programs.get(&name));
    let stale = match (&standing, approval) {
        (Standing::Approved, Some(approval)) => {
            upstreams.pinned()?.stale(approval, &mut DefinitionChanges::default())
        }
        _ => Vec::new(),
    };
    let word = if stale.is_empty() { standing.word() } else { STALE };
    let head = &program.head;
    if as_json {
        print_json(&json!({
            "name": name.as_str(), "tool": name.tool_name(), "title": head.title, "description": head.description,
            "input": head.input.value(), "output": head.output.as_deref().map(ProgramSchema::value),
            "tools": head.tools.patterns().collect::<Vec<_>>(),
            "calls": program.calls.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
            "standing": word, "why_stale": stale.iter().map(StaleTool::reason_with_diff).collect::<Vec<_>>(), "digest": program.digest,
            "tests": head.tests,
            "approved": approval.map(|approval| json!({
                "by": approval.by, "at": approval.at, "digest": approval.digest, "holds_no_definition_of": unheld(&head.tools, &approval.tools),
            })),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let data = |label: &str, text: &str| outln!("{label:<12} {}", visible(text));
    let line = |label: &str, text: &str| data(label, &text.replace('\n', "\n             "));
    line("program", name.as_str());
    line("tool", &name.tool_name());
    head.title.iter().for_each(|title| line("title", title));
    line("description", &head.description);
    data("input", &edn(&head.input.value(), 13));
    head.output.iter().for_each(|output| data("output", &edn(&output.value(), 13)));
    line("may call", &list(head.tools.patterns().collect()));
    line("calls", &list(program.calls.iter().map(ToString::to_string).collect()));
    line("tests", &head.tests.to_string());
    line("digest", &program.digest);
    match &standing {
        Standing::Changed(misfit) => line("standing", &format!("changed: {misfit}")),
        _ => {
            let reasons = stale.iter().map(StaleTool::reason_with_diff).chain(unlinked(&folder, &program));
            line("standing", &standing_text(word, &reasons.collect::<Vec<_>>()));
        }
    }
    if let Some(approval) = approval {
        line("approved", &approval.when_and_by());
        let unheld = unheld(&head.tools, &approval.tools);
        if !unheld.is_empty() {
            line("", &format!("the approval holds no definition of {}", unheld.join(", ")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The standing with its reasons, each further one on a line of its own.
fn standing_text(word: &str, reasons: &[String]) -> String {
    match reasons {
        [] => word.to_owned(),
        _ => format!("{word}: {}", reasons.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_line_of_its_own() {
        let reasons = ["a/x has changed\n  - One.\n  + Two.", "a/y is gone"].map(str::to_owned);
        assert_eq!(
            standing_text("stale", &reasons),
            "stale: a/x has changed\n  - One.\n  + Two.\na/y is gone"
        );
        assert_eq!(standing_text("approved", &[]), "approved");
    }
}
