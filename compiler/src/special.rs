//! The names of special forms.

use crate::names::Names;
use crate::source::Span;
use ptc_vm::builtins::{BuiltinId, library};
use std::sync::LazyLock;

/// A special form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the form of the name in the table below")]
pub enum Special {
    AllNs,
    And,
    Apply,
    Apropos,
    As,
    Case,
    Comment,
    Cond,
    CondFirst,
    CondLast,
    Condp,
    Declare,
    Def,
    Defn,
    Defonce,
    Dir,
    Do,
    Doc,
    Doseq,
    Dot,
    Dotimes,
    Doto,
    Fail,
    Fn,
    For,
    If,
    IfLet,
    IfNot,
    IfSome,
    Juxt,
    Let,
    Letfn,
    Loop,
    Meta,
    NsName,
    NsPublics,
    Or,
    Pcalls,
    Pmap,
    Quote,
    Recur,
    Return,
    SomeFirst,
    SomeLast,
    Source,
    StepDone,
    Task,
    TaskReset,
    ThreadFirst,
    ThreadLast,
    When,
    WhenFirst,
    WhenLet,
    WhenNot,
    WhenSome,
}

/// What may take the name of a special form in call position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadowing {
    /// Nothing.
    Never,
    /// A local.
    Local,
    /// A local, or a definition of the program: forms that the reference does not have.
    Definition,
}

/// Names, forms, and what may shadow them.
const FORMS: &[(&str, Special, Shadowing)] = {
    use Shadowing::*;
    use Special::*;
    &[
        ("if", If, Never),
        ("do", Do, Never),
        ("def", Def, Never),
        ("defonce", Defonce, Never),
        ("recur", Recur, Never),
        ("return", Return, Never),
        ("fail", Fail, Never),
        ("task", Task, Never),
        ("step-done", StepDone, Never),
        ("task-reset", TaskReset, Never),
        (".", Dot, Never),
        ("fn", Fn, Local),
        ("defn", Defn, Local),
        ("let", Let, Local),
        ("loop", Loop, Local),
        ("when", When, Local),
        ("when-not", WhenNot, Local),
        ("if-not", IfNot, Local),
        ("if-let", IfLet, Local),
        ("when-let", WhenLet, Local),
        ("if-some", IfSome, Local),
        ("when-some", WhenSome, Local),
        ("when-first", WhenFirst, Local),
        ("cond", Cond, Local),
        ("case", Case, Local),
        ("condp", Condp, Local),
        ("and", And, Local),
        ("or", Or, Local),
        ("->", ThreadFirst, Local),
        ("->>", ThreadLast, Local),
        ("as->", As, Local),
        ("cond->", CondFirst, Local),
        ("cond->>", CondLast, Local),
        ("some->", SomeFirst, Local),
        ("some->>", SomeLast, Local),
        ("juxt", Juxt, Local),
        ("pmap", Pmap, Local),
        ("pcalls", Pcalls, Local),
        ("apply", Apply, Local),
        ("comment", Comment, Local),
        ("doseq", Doseq, Local),
        ("for", For, Local),
        ("quote", Quote, Local),
        ("apropos", Apropos, Local),
        ("dir", Dir, Local),
        ("doc", Doc, Local),
        ("meta", Meta, Local),
        ("ns-publics", NsPublics, Local),
        ("all-ns", AllNs, Definition),
        ("ns-name", NsName, Definition),
        ("source", Source, Definition),
        ("letfn", Letfn, Definition),
        ("dotimes", Dotimes, Definition),
        ("declare", Declare, Definition),
        ("doto", Doto, Definition),
    ]
};

/// What a name means before any program says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The special form of that name.
    pub special: Option<(Special, Shadowing)>,
    /// The builtin of that name.
    pub builtin: Option<BuiltinId>,
}

/// Special forms and builtins by bare name. Built once: a name costs one probe.
static KNOWN: LazyLock<(Names<'static>, Vec<Known>)> = LazyLock::new(|| {
    let builtins = library().all();
    let words = builtins.iter().map(|builtin| builtin.name).chain(names());
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
            Some(at) => entry.special = Some((FORMS[at].1, FORMS[at].2)),
        }
    }
    (names, known)
});

/// What `name` means.
pub fn known(name: &str) -> Known {
    let (names, known) = &*KNOWN;
    names.find(name).map(|name| known[name.index()]).unwrap_or_default()
}

/// The names of all special forms.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|&(name, _, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_listed_once() {
        let mut seen = std::collections::HashSet::new();
        assert!(FORMS.iter().all(|(name, _, _)| seen.insert(*name)));
        let mut forms = std::collections::HashSet::new();
        assert!(FORMS.iter().all(|(_, form, _)| forms.insert(*form)));
        let mut hinted = ptc_vm::machine::SPECIAL_FORMS.to_vec();
        let mut listed: Vec<&str> = names().collect();
        hinted.sort_unstable();
        listed.sort_unstable();
        assert_eq!(hinted, listed, "the machine's hints know the same forms");
        assert_eq!(known("when").special, Some((Special::When, Shadowing::Local)));
        assert_eq!(known("nope"), Known::default());
    }
}
