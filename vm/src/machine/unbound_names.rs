//! Messages about an unbound name (language.md 3.14).

use super::absent_names::{Advice, advice};
use super::{Library, Namespace};
use crate::error::{Error, Reason};
use crate::meter;
use crate::special_forms::SpecialForm;
use std::rc::Rc;

/// Names of one text for which a hint is looked for: a program that has more of them has not mistyped one.
const MOST_HINTED: usize = 100;
/// Pairs of letters that are compared in search of similar names for one error, before the search is given up: some 5 ms.
const MOST_PAIRS: usize = 4_000_000;
/// Pairs of letters that take as long as a value that is freed.
const PAIRS_OF_A_VALUE: usize = 32;

const METHODS: &str = ".getTime, .toEpochDay, .plusDays, .minusDays, .toMillis, .toDays, .contains, .indexOf, \
    .lastIndexOf, .toLowerCase, .length, .substring, .toUpperCase, .startsWith, .endsWith, .isBefore, .isAfter, \
    NEGATIVE_INFINITY, NaN, POSITIVE_INFINITY, currentTimeMillis, Duration/between, Boolean/parseBoolean, \
    java.util.Date., parse";

/// The error of phase 5, for names in the order of the text. There is one hint at most; `local` are the
/// other names of the text.
pub(super) fn static_error(names: &[&str], local: &[Rc<str>], namespace: &Namespace) -> Error {
    match names {
        [name] => Error::new(Reason::UnboundVar, format!("Undefined variable: {name}"))
            .with_hint(hint(name, local, namespace)),
        names => Error::new(Reason::UnboundVar, format!("Undefined variables: {}", names.join(", ")))
            .with_hint(first_hint(names, local, namespace)),
    }
}

/// The error of a name that is read before it is defined, and of a method that does not exist.
#[cold]
pub(super) fn runtime_error(name: &str, namespace: &Namespace) -> Error {
    if name.starts_with('.') {
        let methods = namespace.library().all().iter().map(|builtin| builtin.name);
        let similar = NameSearch::new().similar(name, methods.filter(|name| name.starts_with('.')));
        let hint = match (name, advice(name), similar) {
            (_, Some(advice), _) => format!("{}.", described(advice).trim_start_matches('.')),
            ("..", ..) => " Write (-> obj .method .method).".to_owned(),
            (.., Some(best)) => format!(" Did you mean: {best}."),
            (.., None) => String::new(),
        };
        // The advice comes before the list.
        let text = format!(
            "Unsupported method '{name}'.{hint} Supported interop methods: {METHODS}. Use (.method obj) syntax."
        );
        return Error::new(Reason::UnsupportedMethod, text);
    }
    Error::new(Reason::UnboundVar, format!("undefined variable: {name}{}", hint(name, &[], namespace)))
}

/// At most one hint, with the punctuation before it.
fn hint(name: &str, local: &[Rc<str>], namespace: &Namespace) -> String {
    hint_among(name, &known_names(local, namespace), &mut NameSearch::new())
}

/// The names that an unknown one may be a misspelling of: the language's own, those of the session, and those of the text.
fn known_names<'n>(local: &'n [Rc<str>], namespace: &'n Namespace) -> Vec<&'n str> {
    let builtins = namespace.library().all().iter().map(|builtin| builtin.name);
    let defined = namespace.bindings();
    builtins
        .chain(SpecialForm::ALL.iter().map(|form| form.name()))
        .chain(defined.iter().map(|(name, _)| &***name))
        .chain(local.iter().map(|name| &**name))
        .collect()
}

fn hint_among(name: &str, known: &[&str], search: &mut NameSearch) -> String {
    if SpecialForm::named(name).is_some() {
        return format!(". Hint: '{name}' is a special form, use ({name} ...) with parentheses");
    }
    let advice = advice(name);
    if let Some(advice @ (Advice::Absent(_) | Advice::Write(_))) = advice {
        return described(advice);
    }
    if let Some(rest) =
        name.strip_prefix('/').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return format!(". A keyword has one slash at most: for :a/b/{rest} write :a/b-{rest}");
    }
    if let Some((server, tool)) = tool_of(name) {
        return format!(
            ". A tool of an upstream server is called by (tool/call {{:server \"{server}\" :tool \"{tool}\" :args {{…}}}})"
        );
    }
    if name.contains('_') && !name.starts_with('_') {
        return format!(". Hint: Use hyphens not underscores (try: {})", name.replace('_', "-"));
    }
    if let Some(advice) = advice {
        return described(advice);
    }
    match search.similar(name, known.iter().copied()) {
        Some(best) => format!(". Did you mean: {best}"),
        None => String::new(),
    }
}

/// Server and tool of a name that clients make of both: `mcp__SERVER__TOOL`, `SERVER__TOOL`, `mcp_SERVER_TOOL`, `SERVER.TOOL`.
fn tool_of(name: &str) -> Option<(&str, &str)> {
    let (server, tool) =
        if let Some((server, tool)) = name.strip_prefix("mcp__").unwrap_or(name).split_once("__") {
            (server, tool)
        } else if let Some(rest) = name.strip_prefix("mcp_") {
            rest.split_once('_')?
        } else {
            let (server, tool) = name.split_once('.')?;
            let is_class = server.starts_with(char::is_uppercase) || matches!(server, "java" | "clojure");
            if is_class || tool.contains('.') {
                return None;
            }
            (server, tool)
        };
    let is_name = |name: &str| name.starts_with(char::is_alphanumeric);
    (is_name(server) && is_name(tool)).then_some((server, tool))
}

/// The hint about a qualified name that means nothing, with the punctuation before it; empty if there is none.
#[cold]
pub fn qualified_hint(prefix: &str, name: &str, library: &Library) -> String {
    if let Some(advice) = advice(&format!("{prefix}/{name}")) {
        return described(advice);
    }
    let spellings = || library.all().iter().flat_map(|builtin| library.aliases(builtin).iter().copied());
    // A member of that name in another namespace, then one of a similar name in this namespace.
    let is_member = |spelling: &&str| spelling.rsplit_once('/').is_some_and(|(_, member)| member == name);
    let in_strings =
        spellings().find(|spelling| is_member(spelling) && spelling.starts_with("clojure.string/"));
    if let Some(spelling) = in_strings
        .or_else(|| spellings().find(is_member))
        .or_else(|| library.find(name).map(|builtin| builtin.name))
    {
        return format!(". Did you mean: {spelling}");
    }
    if let Some(advice) = advice(name) {
        return described(advice);
    }
    let members = spellings().filter_map(|spelling| spelling.strip_prefix(prefix)?.strip_prefix('/'));
    match NameSearch::new().similar(name, members) {
        Some(best) => format!(". Did you mean: {prefix}/{best}"),
        None => String::new(),
    }
}

/// Advice with the punctuation before it.
fn described(advice: Advice) -> String {
    match advice {
        Advice::Absent(text) => format!(". Not available in PTC-Lisp — {text}"),
        Advice::Named(existing) => format!(". Did you mean: {existing}"),
        Advice::Write(text) => format!(". Not available in PTC-Lisp — write {text}"),
    }
}

/// The hint about several unbound names: that of the first one which the language lacks, since the others are often only a
/// consequence inside its call, or else that of the first one which has any.
fn first_hint(names: &[&str], local: &[Rc<str>], namespace: &Namespace) -> String {
    let names = &names[..names.len().min(MOST_HINTED)];
    let absent = |name: &&&str| matches!(advice(name), Some(Advice::Absent(_) | Advice::Write(_)));
    let named = |name: &str, hint: &str| format!(". '{name}': {}", hint.trim_start_matches(". "));
    if let Some(name) = names.iter().find(absent) {
        return named(name, &hint(name, local, namespace));
    }
    let (known, mut search) = (known_names(local, namespace), NameSearch::new());
    let mut hints = names.iter().map(|name| (name, hint_among(name, &known, &mut search)));
    hints.find(|(_, hint)| !hint.is_empty()).map_or_else(String::new, |(name, hint)| named(name, &hint))
}

/// A search for similar names on behalf of one error. Its comparisons are bounded, so that a text full of unbound names costs
/// no more than one with a few; the bound counts letters, so that equal texts have equal hints.
struct NameSearch {
    pairs_left: usize,
}

impl NameSearch {
    fn new() -> NameSearch {
        NameSearch { pairs_left: MOST_PAIRS }
    }

    /// The known name that is most like `name`, if any is like it enough.
    fn similar<'a>(&mut self, name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        const LONGEST: usize = 60;
        /// Shorter names are like many others by accident.
        const SHORTEST: usize = 4;
        let letters: Vec<char> = name.chars().take(LONGEST + 1).collect();
        if !(SHORTEST..=LONGEST).contains(&letters.len()) {
            return None;
        }
        let mut sorted = letters.clone();
        sorted.sort_unstable();
        let mut best: Option<(f64, &str)> = None;
        for candidate in known {
            let other: Vec<char> = candidate.chars().take(LONGEST + 1).collect();
            if other.len() > LONGEST || candidate == name {
                continue;
            }
            let pairs = letters.len() * other.len();
            if pairs > self.pairs_left {
                self.pairs_left = 0;
                return None;
            }
            self.pairs_left -= pairs;
            meter::uncharged(1 + pairs / PAIRS_OF_A_VALUE);
            let similarity = strsim::generic_jaro(&letters, &other);
            let mut other_sorted = other.clone();
            other_sorted.sort_unstable();
            let same_letters = if sorted == other_sorted { 0.3 } else { 0.0 };
            let score = similarity + same_letters - 0.05 * letters.len().abs_diff(other.len()) as f64;
            let better =
                best.is_none_or(|(most, first)| score > most || (score == most && candidate < first));
            if (score > 0.8 || similarity > 0.85) && better {
                best = Some((score, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
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
            (
                "throw",
                ". Not available in PTC-Lisp — end the program with (fail value), or with (return value) if it is no failure",
            ),
            ("unless", ". Did you mean: when-not"),
            ("clamp", ". Not available in PTC-Lisp — write (max low (min high x))"),
            ("swap!", ". Not available in PTC-Lisp — values are immutable: use loop, reduce or def"),
            ("group_by", ". Hint: Use hyphens not underscores (try: group-by)"),
            ("java.util", ". Did you mean: java.util.Date."),
            ("a.b.c", ""),
            ("map-vals", ". Did you mean: update-vals"),
            ("usrs", ". Did you mean: users"),
            ("letnf", ". Did you mean: letfn"),
            ("/id", ". A keyword has one slash at most: for :a/b/id write :a/b-id"),
            ("frobnicate-it", ""),
            ("foo", ""),
        ] {
            assert_eq!(text(name, &["users", "y"]), format!("Undefined variable: {name}{hint}"));
        }
        let several = static_error(&["a", "if"], &[], &Namespace::new(library()));
        assert_eq!(several.message(), "Undefined variables: a, if");
        let namespace = Namespace::new(library());
        let hint =
            |names: &[&str]| static_error(names, &[], &namespace).hint().unwrap_or_default().to_owned();
        let of_try = hint(&["foo", "conut", "try", "catch", "Exception", "e"]);
        assert!(
            of_try.starts_with(". 'try': Not available in PTC-Lisp — errors cannot be caught"),
            "{of_try}"
        );
        assert_eq!(hint(&["foo", "conut"]), ". 'conut': Did you mean: count");
        assert_eq!(hint(&["foo", "bar"]), "");
    }

    #[test]
    fn names_that_clients_make_of_server_and_tool_show_the_call() {
        for (name, server, tool) in [
            ("mcp__m__get", "m", "get"),
            ("mcp__git_hub__list-all_items", "git_hub", "list-all_items"),
            ("github__get_issue", "github", "get_issue"),
            ("mcp_github_get_issue", "github", "get_issue"),
            ("m.get", "m", "get"),
            ("git-hub.get_issue", "git-hub", "get_issue"),
        ] {
            let call = format!("(tool/call {{:server \"{server}\" :tool \"{tool}\" :args {{…}}}})");
            let hint = format!(". A tool of an upstream server is called by {call}");
            assert_eq!(text(name, &[]), format!("Undefined variable: {name}{hint}"));
        }
        for name in ["call-tool", "use_mcp_tool", "execute_tool"] {
            assert!(text(name, &[]).contains("write (tool/call {:server"), "{name}");
        }
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
        let similar = NameSearch::new().similar("conut", ["count", "cons"].into_iter());
        assert_eq!(similar, Some("count"), "the same letters");
    }

    #[test]
    fn a_text_full_of_names_that_mean_nothing_is_compared_with_little_of_it() {
        let namespace = Namespace::new(library());
        let mut local: Vec<Rc<str>> = (0..2_000).map(|n| Rc::from(format!("qwertzuiop-{n}"))).collect();
        local.push(Rc::from("total-sales"));
        let names: Vec<String> = (0..5_000).map(|n| format!("yxcvbnmasdf-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (known, mut search) = (known_names(&local, &namespace), NameSearch::new());
        let compared = names.iter().filter(|name| {
            hint_among(name, &known, &mut search);
            search.pairs_left > 0
        });
        let compared = compared.count();
        assert!(compared < names.len(), "the search has no end");
        // A name that is mistyped among few others still has its hint.
        let few = [names[0], names[1], "total-sale"];
        let hint = static_error(&few, &local, &namespace).hint().unwrap_or_default().to_owned();
        assert_eq!(hint, ". 'total-sale': Did you mean: total-sales");
    }
}
