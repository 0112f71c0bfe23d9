//! What to say of a name that means nothing (language.md 3.14).

use super::Namespace;
use crate::error::{Error, Reason};
use crate::special_forms::SpecialForm;
use std::rc::Rc;

/// Names of Clojure and other languages that have no counterpart, and what to do instead.
const ABSENT: &[(&str, &str)] = &[
    ("printf", "use println with str"),
    ("print", "use println"),
    ("prn", "use println with pr-str"),
    ("spit", "no file I/O"),
    ("slurp", "no file I/O"),
    ("require", "no namespace loading"),
    ("use", "no namespace loading"),
    ("ns", "no namespace loading"),
    ("import", "no Java interop"),
    ("new", "no Java interop"),
    ("try", "errors cannot be caught: test the data first, or end with (fail value)"),
    ("catch", "errors cannot be caught: test the data first, or end with (fail value)"),
    ("throw", "end the program with (fail value)"),
    ("atom", "values are immutable: use loop, reduce or def"),
    ("swap!", "values are immutable: use loop, reduce or def"),
    ("reset!", "values are immutable: use loop, reduce or def"),
    ("deref", "values are immutable: use loop, reduce or def"),
    ("while", "use loop with recur"),
    ("lazy-seq", "sequences are eager: use loop or range"),
    ("future", "use pmap or pcalls"),
    ("defmacro", "use defn"),
    ("eval", "programs cannot run text"),
];

/// Names that are often guessed, and the ones that exist.
const GUESSED: &[(&str, &str)] = &[
    ("mean", "avg"),
    ("average", "avg"),
    ("sum-of", "sum-by"),
    ("map-vals", "update-vals"),
    ("map-keys", "update-keys"),
    ("count-by", "frequencies"),
    ("length", "count"),
    ("size", "count"),
    ("foldl", "reduce"),
    ("fold", "reduce"),
    ("append", "conj"),
    ("to-string", "str"),
    ("substring", "subs"),
    ("lowercase", "lower-case"),
    ("uppercase", "upper-case"),
    ("print-str", "pr-str"),
    ("flat-map", "mapcat"),
    ("flatmap", "mapcat"),
    ("head", "first"),
    ("tail", "rest"),
    ("lambda", "fn"),
    ("defun", "defn"),
    ("else", ":else"),
];

const METHODS: &str = ".getTime, .toEpochDay, .plusDays, .minusDays, .toMillis, .toDays, .contains, .indexOf, \
    .lastIndexOf, .toLowerCase, .length, .substring, .toUpperCase, .startsWith, .endsWith, .isBefore, .isAfter, \
    NEGATIVE_INFINITY, NaN, POSITIVE_INFINITY, currentTimeMillis, Duration/between, Boolean/parseBoolean, \
    java.util.Date., parse";

/// The error of phase 5, for names in the order of the text. A single name gets a hint; `local` are the other names of
/// the text.
pub(super) fn static_error(names: &[&str], local: &[Rc<str>], namespace: &Namespace) -> Error {
    match names {
        [name] => Error::new(Reason::UnboundVar, format!("Undefined variable: {name}"))
            .with_hint(hint(name, local, namespace)),
        names => Error::new(Reason::UnboundVar, format!("Undefined variables: {}", names.join(", "))),
    }
}

/// The error of a name that is read before it is defined, and of a method that does not exist.
#[cold]
pub(super) fn runtime_error(name: &str, namespace: &Namespace) -> Error {
    if name.starts_with('.') {
        let text = format!(
            "Unsupported method '{name}'. Supported interop methods: {METHODS}. Use (.method obj) syntax."
        );
        return Error::new(Reason::UnsupportedMethod, text);
    }
    Error::new(Reason::UnboundVar, format!("undefined variable: {name}{}", hint(name, &[], namespace)))
}

/// At most one hint, with the punctuation before it.
fn hint(name: &str, local: &[Rc<str>], namespace: &Namespace) -> String {
    let listed = |table: &[(&str, &'static str)]| {
        table.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    };
    if SpecialForm::named(name).is_some() {
        return format!(". Hint: '{name}' is a special form, use ({name} ...) with parentheses");
    }
    if let Some(advice) = listed(ABSENT) {
        return format!(". Not available in PTC-Lisp — {advice}");
    }
    if name.contains('_') && !name.starts_with('_') {
        return format!(". Hint: Use hyphens not underscores (try: {})", name.replace('_', "-"));
    }
    if let Some(existing) = listed(GUESSED) {
        return format!(". Did you mean: {existing}");
    }
    let builtins = namespace.library().all().iter().map(|builtin| builtin.name);
    let defined = namespace.bindings();
    let known = builtins
        .chain(SpecialForm::ALL.iter().map(|form| form.name()))
        .chain(defined.iter().map(|(name, _)| &***name))
        .chain(local.iter().map(|name| &**name));
    match similar(name, known) {
        Some(best) => format!(". Did you mean: {best}"),
        None => String::new(),
    }
}

/// The known name that is most like `name`, if any is like it enough.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 60;
    /// Shorter names are like many others by accident.
    const SHORTEST: usize = 4;
    let letters: Vec<char> = name.chars().collect();
    if !(SHORTEST..=LONGEST).contains(&letters.len()) {
        return None;
    }
    let mut sorted = letters.clone();
    sorted.sort_unstable();
    let mut best: Option<(f64, &str)> = None;
    for candidate in known {
        let other: Vec<char> = candidate.chars().collect();
        if other.len() > LONGEST || candidate == name {
            continue;
        }
        let similarity = strsim::generic_jaro(&letters, &other);
        let mut other_sorted = other.clone();
        other_sorted.sort_unstable();
        let same_letters = if sorted == other_sorted { 0.3 } else { 0.0 };
        let score = similarity + same_letters - 0.05 * letters.len().abs_diff(other.len()) as f64;
        let better = best.is_none_or(|(most, first)| score > most || (score == most && candidate < first));
        if (score > 0.8 || similarity > 0.85) && better {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::library;

    fn text(name: &str, local: &[&str]) -> String {
        let local: Vec<Rc<str>> = local.iter().map(|name| Rc::from(*name)).collect();
        let error = static_error(&[name], &local, &Namespace::new(library()));
        format!("{}{}", error.message(), error.hint().unwrap_or_default())
    }

    #[test]
    fn one_hint_at_most() {
        for (name, hint) in [
            ("if", ". Hint: 'if' is a special form, use (if ...) with parentheses"),
            ("printf", ". Not available in PTC-Lisp — use println with str"),
            ("slurp", ". Not available in PTC-Lisp — no file I/O"),
            ("require", ". Not available in PTC-Lisp — no namespace loading"),
            ("import", ". Not available in PTC-Lisp — no Java interop"),
            ("group_by", ". Hint: Use hyphens not underscores (try: group-by)"),
            ("map-vals", ". Did you mean: update-vals"),
            ("usrs", ". Did you mean: users"),
            ("letnf", ". Did you mean: letfn"),
            ("frobnicate-it", ""),
            ("foo", ""),
        ] {
            assert_eq!(text(name, &["users", "y"]), format!("Undefined variable: {name}{hint}"));
        }
        let several = static_error(&["a", "if"], &[], &Namespace::new(library()));
        assert_eq!(several.message(), "Undefined variables: a, if");
    }

    #[test]
    fn names_of_the_session_are_candidates() {
        let mut namespace = Namespace::new(library());
        let slot = namespace.slot(&Rc::from("total-sales"));
        let binding = super::super::Binding { value: crate::Value::Nil, info: None };
        namespace.set(slot, Some(binding));
        let error = runtime_error("total-sale", &namespace);
        assert_eq!(error.message(), "undefined variable: total-sale. Did you mean: total-sales");
    }

    #[test]
    fn unknown_methods_have_their_own_text() {
        let error = runtime_error(".foo", &Namespace::new(library()));
        assert_eq!(error.reason(), Reason::UnsupportedMethod);
        assert!(
            error.message().starts_with("Unsupported method '.foo'. Supported interop methods: .getTime, ")
        );
        assert!(error.message().ends_with("java.util.Date., parse. Use (.method obj) syntax."));
    }

    #[test]
    fn similarity_is_that_of_jaro() {
        let of = strsim::jaro;
        assert!((of("martha", "marhta") - 0.944).abs() < 0.001);
        assert!((of("dixon", "dicksonx") - 0.767).abs() < 0.001);
        assert_eq!(of("abc", "xyz"), 0.0);
        assert_eq!(of("same", "same"), 1.0);
        assert_eq!(similar("conut", ["count", "cons"].into_iter()), Some("count"), "the same letters");
    }
}
