//! What names mean before any program says otherwise: special forms and builtins.

use crate::names::Names;
use crate::source::Span;
use ptc_vm::SpecialForm;
use ptc_vm::builtins::{BuiltinId, library};
use std::sync::LazyLock;

/// What a name means before any program says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The special form of that name.
    pub special: Option<SpecialForm>,
    /// The builtin of that name.
    pub builtin: Option<BuiltinId>,
}

/// Special forms and builtins by bare name. Built once: a name costs one probe.
static KNOWN: LazyLock<(Names<'static>, Vec<Known>)> = LazyLock::new(|| {
    let builtins = library().all();
    let words =
        builtins.iter().map(|builtin| builtin.name).chain(SpecialForm::ALL.iter().map(|form| form.name()));
    let mut text = String::new();
    let mut spans = Vec::new();
    for word in words {
        let start = text.len();
        text.push_str(word);
        spans.push(Span::new(start, text.len()));
    }
    let mut names = Names::new(text.leak());
    let mut known: Vec<Known> = Vec::new();
    for (at, &span) in spans.iter().enumerate() {
        let name = names.intern(span);
        known.resize(names.len(), Known::default());
        let entry = &mut known[name.index()];
        match at.checked_sub(builtins.len()) {
            None => entry.builtin = BuiltinId::try_from(at).ok(),
            Some(at) => entry.special = Some(SpecialForm::ALL[at]),
        }
    }
    (names, known)
});

/// What `name` means.
pub(crate) fn known(name: &str) -> Known {
    let (names, known) = &*KNOWN;
    names.find(name).map(|name| known[name.index()]).unwrap_or_default()
}

/// Words besides the usual special forms that do not count towards the limit of names.
const UNCOUNTED: [&str; 12] =
    ["not", "=", "not=", ">", "<", ">=", "<=", "data", "tool", "mcp", "catalog", "else"];

/// Whether `name` counts towards the limit of names.
pub(crate) fn is_counted(name: &str) -> bool {
    known(name).special.is_none_or(SpecialForm::is_counted) && !UNCOUNTED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_a_form_a_builtin_both_or_neither() {
        assert_eq!(known("when"), Known { special: Some(SpecialForm::When), builtin: None });
        assert_eq!(known("filter"), Known { special: None, builtin: library().id("filter") });
        assert_eq!(known("pmap"), Known { special: Some(SpecialForm::Pmap), builtin: library().id("pmap") });
        assert_eq!(known("nope"), Known::default());
    }

    #[test]
    fn the_usual_words_are_free() {
        for name in ["let", "->>", "quote", "not=", "tool", "else"] {
            assert!(!is_counted(name), "{name}");
        }
        for name in ["loop", "map", "total", ""] {
            assert!(is_counted(name), "{name}");
        }
    }
}
