//! When a result counts as right: the rules at the head of `compare.py`.

use ptc_mcp::json::Value;

use super::canon::{canon, equals_clojure, floats_agree, unordered};
use super::read::{Tagged, parse};
use regex::Regex;
use std::collections::{HashMap, HashSet};

const LIMITS: &[&str] = &[
    "timeout",
    "memory_limit",
    "memory_exceeded",
    "compile_timeout",
    "compile_memory_exceeded",
    "loop_limit_exceeded",
    "step_limit",
    "step_limit_exceeded",
];

/// Steps of a program that the reference [stops by a limit](Case::is_stopped_by_limit): where it does not end, the limit comes soon.
pub const STEPS_TO_LIMIT: u64 = 1_000_000;

/// How far a result is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The ok flag and, when ok, the value.
    pub value: bool,
    /// Reason, message and prints as well.
    pub full: bool,
    /// What differs first; empty when nothing does.
    pub why: &'static str,
}

impl Verdict {
    fn both(good: bool, why: &'static str) -> Verdict {
        Verdict { value: good, full: good, why: if good { "" } else { why } }
    }

    fn value_only(why: &'static str) -> Verdict {
        Verdict { value: true, full: false, why }
    }
}

/// One program with what is expected of it.
pub struct Case<'a> {
    /// The case's object: `program`, `clojure`, ….
    pub case: &'a Value,
    /// Its `expect`, or that of one of its steps.
    pub expect: &'a Value,
    /// Its `tags`, or those of the step.
    pub tags: Vec<&'a str>,
}

impl Case<'_> {
    /// Whether the reference stops the program by a limit, so that any limit is right. Its value is never looked at.
    pub fn is_stopped_by_limit(&self) -> bool {
        let tagged = |tag: &str| self.tags.contains(&tag);
        let wanted_ok = self.expect["ok"].as_bool() == Some(true);
        !wanted_ok && (tagged("limit") || tagged("soft-limit") || self.is_stopped_in_loop())
    }

    /// Whether the reference has counted too many rounds of a loop, of which we allow more.
    fn is_stopped_in_loop(&self) -> bool {
        ["error_reason", "error_raw_reason"]
            .iter()
            .any(|reason| self.expect[*reason].as_str() == Some("loop_limit_exceeded"))
    }
}

/// What the rules read from files beside the data.
pub struct Rules {
    follow: HashMap<String, String>,
    vocabulary: HashSet<String>,
    names: HashMap<String, Vec<String>>,
    named: Regex,
    keyword: Regex,
    special: Regex,
    number: Regex,
}

/// The reference's texts that decision 174 has overturned: lists of names before the advice, and vectors that are called.
const OVERTURNED: [&str; 5] = [
    "Available namespaces: ",
    " functions: ",
    "Supported interop methods: ",
    "not callable: [",
    ", got list",
];

impl Rules {
    /// Reads `groups.tsv`, `names.tsv` and `vocabulary.txt`.
    ///
    /// # Panics
    /// When one is missing: they belong to the repository.
    pub fn load() -> Rules {
        let read = |name: &str| {
            std::fs::read_to_string(super::folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
        };
        let lines = |text: &str| -> Vec<String> {
            text.lines().map(str::to_owned).filter(|l| !l.trim().is_empty() && !l.starts_with('#')).collect()
        };
        let follow = lines(&read("groups.tsv"))
            .iter()
            .filter_map(|line| {
                let mut parts = line.split('\t');
                Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
            })
            .collect();
        let vocabulary = lines(&read("vocabulary.txt")).into_iter().map(|l| l.trim().to_owned()).collect();
        let names = lines(&read("names.tsv"))
            .iter()
            .filter_map(|line| {
                let (spelling, public) = line.split_once('\t')?;
                Some((spelling.to_owned(), public.split_whitespace().map(str::to_owned).collect()))
            })
            .collect();
        let regex = |pattern: &str| Regex::new(pattern).expect("a constant pattern");
        Rules {
            follow,
            vocabulary,
            names,
            named: regex(
                r"(?s)^((?:type_error|arity error): )([A-Za-z0-9_?]+)((?:: invalid argument types| expects | requires ).*)$",
            ),
            keyword: regex(r":([A-Za-z][A-Za-z0-9_?!*<>=+-]*)"),
            special: regex(r"\b(nil|true|false)\b"),
            number: regex(r"-?\d+\.\d+(?:[eE][+-]?\d+)?"),
        }
    }

    /// The reference's messages show internal spellings of functions, ours the names that programs write.
    fn message_equal(&self, want: &Value, got: &Value) -> bool {
        let (Some(want), Some(got)) = (want.as_str(), got.as_str()) else { return want == got };
        if OVERTURNED.iter().any(|text| want.contains(text)) {
            return true;
        }
        let Some(parts) = self.named.captures(want).filter(|_| want != got) else { return want == got };
        let equal = |name: &str| got == format!("{}{name}{}", &parts[1], &parts[3]);
        match self.names.get(&parts[2]) {
            Some(public) => public.iter().any(|name| equal(name)),
            None => equal(&parts[2].replace('_', "-")),
        }
    }

    /// The reference orders keywords of its own vocabulary apart: where a program mixes both, order proves nothing.
    fn mixes_vocabulary(&self, case: &Value) -> bool {
        let text = match case.get("program").and_then(Value::as_str) {
            Some(program) => program.to_owned(),
            None => steps(case).iter().filter_map(|s| s["program"].as_str()).collect::<Vec<_>>().join(" "),
        };
        let (mut known, mut other) = (false, false);
        for name in self.keyword.captures_iter(&text) {
            if self.vocabulary.contains(&name[1]) { known = true } else { other = true }
        }
        known && (other || self.special.is_match(&text))
    }

    fn value_equal(&self, want: Option<&str>, got: Option<&str>, loose: bool, numbers_in_text: bool) -> bool {
        if want == got {
            return true;
        }
        let (Some(want), Some(got)) = (want, got) else { return false };
        if numbers_in_text && self.number.replace_all(want, "#") == self.number.replace_all(got, "#") {
            let numbers = |text: &str| -> Vec<f64> {
                self.number.find_iter(text).filter_map(|m| m.as_str().parse().ok()).collect()
            };
            return numbers(want).iter().zip(numbers(got)).all(|(a, b)| floats_agree(*a, b));
        }
        match (parse(want), parse(got)) {
            (Some(want), Some(got)) => self.same(&want, &got, loose),
            _ => false,
        }
    }

    /// Two values printed by implementations of the language. `loose`: sequences are unordered too.
    fn same(&self, a: &Tagged, b: &Tagged, loose: bool) -> bool {
        use Tagged::{Float, Keyword, Map, Sequence, Set, Str};
        match (a, b) {
            (Str(a) | Keyword(a), Str(b) | Keyword(b)) => {
                a == b
                    || (a.starts_with(['[', '{', '#', '(']) && b.starts_with(['[', '{', '#', '(']))
                        && self.value_equal(Some(a), Some(b), loose, false)
            }
            (Sequence(a), Sequence(b)) if loose => unordered(a, b, |a, b| self.same(a, b, loose)),
            (Sequence(a), Sequence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b, false))
            }
            (Map(a), Map(b)) => {
                let pairs = |entries: &[(Tagged, Tagged)]| -> Vec<Tagged> {
                    entries.iter().map(|(k, v)| Sequence(vec![k.clone(), v.clone()])).collect()
                };
                unordered(&pairs(a), &pairs(b), |a, b| self.same(a, b, loose))
            }
            (Set(a), Set(b)) => unordered(a, b, |a, b| self.same(a, b, loose)),
            (Float(a), Float(b)) => floats_agree(*a, *b),
            (a, b) => a == b,
        }
    }
}

fn steps(case: &Value) -> &[Value] {
    case.get("steps").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_limit(reason: Option<&str>) -> bool {
    reason.is_some_and(|reason| LIMITS.contains(&reason) || reason.contains("limit"))
}

/// The reference refuses a name that the program defines further down (ruling 15).
fn defined_later(case: &Value, want: &Value) -> bool {
    let message = want["error_message"].as_str().unwrap_or_default();
    let Some(name) = message.strip_prefix("Undefined variable: ") else { return false };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return false;
    }
    let pattern = format!(r"\((?:defn?|declare) {}[\s)]", regex::escape(name));
    let program = case["program"].as_str().unwrap_or_default();
    Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(program))
}

fn clojure_value(case: &Value, got: Option<&str>) -> bool {
    let clojure = &case["clojure"];
    if clojure["ok"].as_bool() != Some(true) || clojure.get("canon").is_none() {
        return false;
    }
    if clojure["result"].as_str() == got {
        return true;
    }
    match (got.and_then(parse), canon(&clojure["canon"])) {
        (Some(ours), Some(theirs)) => equals_clojure(&ours, &theirs),
        _ => false,
    }
}

/// Judges one result line of `ptc eval --jsonl`.
pub fn check_case(rules: &Rules, case: &Case<'_>, got: &Value) -> Verdict {
    let (expect, tags) = (case.expect, &case.tags);
    let (is_stopped_by_limit, is_stopped_in_loop) = (case.is_stopped_by_limit(), case.is_stopped_in_loop());
    let case = case.case;
    let tagged = |tag: &str| tags.contains(&tag);
    let ok = got["ok"].as_bool() == Some(true);
    let wanted_ok = expect["ok"].as_bool() == Some(true);
    let result = got["result"].as_str();
    let reason = got["error"]["reason"].as_str();
    if tagged("ruling-json") || tagged("extension") {
        return Verdict::both(true, "");
    }
    let reasons = [expect["error_reason"].as_str(), expect["error_raw_reason"].as_str()];
    let expected_reason = reason.is_some() && reasons.contains(&reason);
    if is_stopped_by_limit {
        let finite = tagged("soft-limit") || is_stopped_in_loop;
        return Verdict::both((ok && finite) || is_limit(reason) || expected_reason, "a limit was expected");
    }
    let clojure = &case["clojure"];
    let group = clojure["group"].as_str().unwrap_or_default();
    let follow = rules.follow.get(group).map_or("reference", String::as_str);
    if ok && !wanted_ok {
        let good = group == "map-positional" || defined_later(case, expect) || clojure_value(case, result);
        return Verdict::both(good, "an error was expected");
    }
    if !ok && wanted_ok {
        let good = follow != "reference" && clojure["ok"].as_bool() == Some(false);
        return Verdict::both(good, "a value was expected");
    }
    if tagged("leak") {
        return Verdict::both(true, "");
    }
    if ok {
        let text = matches!(group, "float-print" | "float-exp");
        let mine = rules.value_equal(expect["result"].as_str(), result, rules.mixes_vocabulary(case), text);
        let theirs = clojure_value(case, result)
            || (text && rules.value_equal(clojure["result"].as_str(), result, false, true));
        let differs = matches!(clojure["difference"].as_str(), Some("value" | "unparsed"));
        let good = if differs && clojure.get("canon").is_some() && follow == "clojure" {
            theirs
        } else {
            let own = follow == "own" && clojure["difference"].as_str() == Some("clj-error");
            mine || (theirs && follow != "reference") || own
        };
        if !good {
            return Verdict::both(false, "value");
        }
    }
    if !ok && !expected_reason {
        return Verdict::value_only("reason");
    }
    if !ok && follow != "own" && !rules.message_equal(&expect["error_message"], &got["error"]["message"]) {
        return Verdict::value_only("message");
    }
    // What is printed is Clojure's (decision 174).
    let prints_as_clojure = clojure["difference"].as_str() == Some("print");
    if wanted_ok && !prints_as_clojure && expect.get("prints").is_some() {
        let empty = Value::Array(Vec::new());
        let or_empty = |prints: &Value| if prints.is_null() { empty.clone() } else { prints.clone() };
        if or_empty(&got["prints"]) != or_empty(&expect["prints"]) {
            return Verdict::value_only("prints");
        }
    }
    Verdict::both(true, "")
}
