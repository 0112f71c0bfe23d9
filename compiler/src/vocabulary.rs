//! Which words count towards the limit of names.

use ptc_vm::SpecialForm;
use ptc_vm::machine::Library;

/// Words besides the usual special forms that do not count towards the limit of names.
const UNCOUNTED: [&str; 12] =
    ["not", "=", "not=", ">", "<", ">=", "<=", "data", "tool", "mcp", "catalog", "else"];

/// Whether `name` counts towards the limit of names.
pub(crate) fn is_counted(name: &str, library: &Library) -> bool {
    library.known(name).special.is_none_or(SpecialForm::is_counted) && !UNCOUNTED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_vm::builtins::library;
    use ptc_vm::machine::NameMeaning;

    #[test]
    fn a_name_may_be_a_form_a_builtin_both_or_neither() {
        assert_eq!(library().known("when"), NameMeaning { special: Some(SpecialForm::When), builtin: None });
        assert_eq!(library().known("filter"), NameMeaning { special: None, builtin: library().id("filter") });
        assert_eq!(
            library().known("pmap"),
            NameMeaning { special: Some(SpecialForm::Pmap), builtin: library().id("pmap") }
        );
        assert_eq!(library().known("nope"), NameMeaning::default());
    }

    #[test]
    fn the_usual_words_are_free() {
        for name in ["let", "->>", "quote", "not=", "tool", "else"] {
            assert!(!is_counted(name, library()), "{name}");
        }
        for name in ["loop", "map", "total", ""] {
            assert!(is_counted(name, library()), "{name}");
        }
    }
}
