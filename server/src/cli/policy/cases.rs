//! `ptc policy test FILE`: the cases of a company, for its continuous integration.
//!
//! ```json
//! {"policy": "policy.json",
//!  "cases": [{"as": {"issuer": "https://login.example", "subject": "ann", "claims": {"groups": ["support"]}},
//!             "call": "github.create_issue", "args": {"repo": "web"}, "expect": "allowed"}]}
//! ```

use std::path::Path;
use std::process::ExitCode;

use ptc_host::policy::{Caller, Policy, Verdict};
use ptc_host::visible::visible;
use ptc_mcp::json::{Value, from_str, json, repeated_key};

use super::explain::reason;
use super::{callers, print_json, read, text, unusable, upstream_and_tool};
use crate::cli::output::outln;

/// The cases of a file.
struct CaseFile {
    /// The policy, seen from the folder of the file.
    policy: Option<String>,
    cases: Vec<Case>,
}

/// A call, and what is to become of it.
struct Case {
    name: Option<String>,
    caller: Caller,
    upstream: String,
    tool: String,
    /// `None` asks about the tool alone.
    arguments: Option<String>,
    expected: &'static str,
}

/// A case that ended otherwise.
struct Failure {
    /// `cases[3] (an agent may not delete)`
    place: String,
    expected: &'static str,
    got: Verdict,
}

pub(super) fn run(path: &Path, policy: Option<&Path>, as_json: bool) -> ExitCode {
    match judged(path, policy) {
        Ok((cases, failures)) => {
            tell(cases, &failures, as_json);
            if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(fault) => unusable(&fault, as_json),
    }
}

/// How many cases there are, and those that ended otherwise than expected.
fn judged(path: &Path, policy: Option<&Path>) -> Result<(usize, Vec<Failure>), String> {
    let file = CaseFile::parse(&text(path)?).map_err(|fault| format!("{}: {fault}", path.display()))?;
    let policy = match (policy, &file.policy) {
        (Some(policy), _) => read(policy)?,
        (None, Some(named)) => read(&path.parent().unwrap_or(Path::new("")).join(named))?,
        (None, None) => {
            return Err(format!(
                "{}: policy is missing; name the policy file there, or pass --policy FILE",
                path.display()
            ));
        }
    };
    let failures = file.cases.iter().enumerate().filter_map(|(at, case)| case.judge(at, &policy));
    Ok((file.cases.len(), failures.collect()))
}

fn tell(cases: usize, failures: &[Failure], as_json: bool) {
    if as_json {
        let failed = failures.iter().map(|failure| {
            json!({"case": failure.place, "expected": failure.expected, "got": failure.got.as_str(), "reason": reason(&failure.got)})
        });
        let failed: Vec<_> = failed.collect();
        print_json(&json!({"ok": failures.is_empty(), "cases": cases, "failed": failed}));
        return;
    }
    for Failure { place, expected, got } in failures {
        let reason = reason(got).map_or_else(String::new, |reason| format!(": {reason}"));
        outln!("{}", visible(&format!("{place}: expected {expected}, got {}{reason}", got.as_str())));
    }
    let plural = if cases == 1 { "" } else { "s" };
    outln!("{cases} case{plural}, {} failed", failures.len());
}

impl CaseFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong first, with its place.
    #[expect(clippy::disallowed_methods, reason = "entry point: CaseFile.parse")]
    fn parse(text: &str) -> Result<CaseFile, String> {
        let file: Value = from_str(text).map_err(|fault| format!("it is no JSON: {fault}"))?;
        if let Some(key) = repeated_key(text) {
            return Err(format!("an object has the key {key:?} twice"));
        }
        let map = file.as_object().ok_or("it must be an object with policy and cases")?;
        if let Some(key) = map.keys().find(|key| !matches!(key.as_str(), "$schema" | "policy" | "cases")) {
            return Err(format!("{key} is no known key; it has policy, cases"));
        }
        let policy = match map.get("policy") {
            None => None,
            Some(policy) => Some(policy.as_str().ok_or("policy must be the path of a file")?.to_owned()),
        };
        let cases = map.get("cases").and_then(Value::as_array).filter(|cases| !cases.is_empty());
        let cases = cases.ok_or("cases must be a list with at least one")?;
        let case = |(at, case)| Case::of(case).map_err(|fault| format!("cases[{at}].{fault}"));
        Ok(CaseFile { policy, cases: cases.iter().enumerate().map(case).collect::<Result<_, _>>()? })
    }
}

impl Case {
    fn of(case: &Value) -> Result<Case, String> {
        const KEYS: [&str; 5] = ["name", "as", "call", "args", "expect"];
        let get = |key: &str| case.get(key);
        if let Some(key) =
            case.as_object().and_then(|map| map.keys().find(|key| !KEYS.contains(&key.as_str())))
        {
            return Err(format!("{key} is no known key; it has {}", KEYS.join(", ")));
        }
        let caller = callers::of_json(get("as").ok_or("as is missing: say who calls")?)?;
        let call = get("call").and_then(Value::as_str).ok_or("call must be UPSTREAM.TOOL")?;
        let (upstream, tool) = upstream_and_tool(call).map_err(|fault| format!("call: {fault}"))?;
        let arguments = match get("args") {
            None => None,
            Some(arguments) if arguments.is_object() => Some(arguments.to_string()),
            Some(_) => return Err("args must be an object".to_owned()),
        };
        let expected = get("expect").and_then(Value::as_str);
        let expected = Verdict::WORDS.into_iter().find(|word| Some(*word) == expected);
        Ok(Case {
            name: get("name").and_then(Value::as_str).map(str::to_owned),
            caller,
            upstream: upstream.to_owned(),
            tool: tool.to_owned(),
            arguments,
            expected: expected
                .ok_or_else(|| format!("expect must be one of {}", Verdict::WORDS.join(", ")))?,
        })
    }

    fn judge(&self, at: usize, policy: &Policy) -> Option<Failure> {
        let told = policy.explain(&self.caller, &self.upstream, &self.tool, self.arguments.as_deref());
        let name = self.name.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
        let failure =
            Failure { place: format!("cases[{at}]{name}"), expected: self.expected, got: told.verdict };
        Some(failure).filter(|failure| failure.got.as_str() != self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_file_of_cases_is_told_with_its_place() {
        let case = |members: &str| format!(r#"{{"cases": [{{"as": "ci", {members}}}]}}"#);
        for (text, fault) in [
            ("[]".to_owned(), "it must be an object with policy and cases"),
            (r#"{"case": []}"#.to_owned(), "case is no known key; it has policy, cases"),
            (r#"{"cases": []}"#.to_owned(), "cases must be a list with at least one"),
            (r#"{"cases": [], "cases": []}"#.to_owned(), r#"an object has the key "cases" twice"#),
            (r#"{"policy": 1, "cases": [1]}"#.to_owned(), "policy must be the path of a file"),
            (r#"{"cases": [1]}"#.to_owned(), "cases[0].as is missing: say who calls"),
            (
                r#"{"cases": [{"as": {}}]}"#.to_owned(),
                "cases[0].as must have principal, or issuer and subject",
            ),
            (case(r#""expect": "allowed""#), "cases[0].call must be UPSTREAM.TOOL"),
            (case(r#""call": "github""#), "cases[0].call: github is no tool: write UPSTREAM.TOOL"),
            (case(r#""call": "a.b", "args": []"#), "cases[0].args must be an object"),
            (
                case(r#""call": "a.b", "expect": "yes""#),
                "cases[0].expect must be one of allowed, refused, listed, hidden",
            ),
            (
                case(r#""call": "a.b", "expects": "allowed""#),
                "cases[0].expects is no known key; it has name, as, call, args, expect",
            ),
        ] {
            assert_eq!(CaseFile::parse(&text).map(|_| ()).unwrap_err(), fault, "{text}");
        }
        assert!(CaseFile::parse("{").map(|_| ()).unwrap_err().starts_with("it is no JSON: "));
    }
}
