//! `ptc policy`: what a file decides, as people and a company's continuous integration read it.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_mcp::json::{Value, from_str, json};

const POLICY: &str = r#"{"rules": [
    {"name": "ci", "match": {"principal": "ci"}, "upstreams": {"github": {"allow": ["get_*"], "list": ["delete_*"]}}},
    {"match": {"claim": {"groups": "support"}}, "upstreams": {
        "github": {"allow": ["get_*", "create_issue"], "args": {"create_issue": {"repo": {"in": ["web", "app"]}}}}}}]}"#;

/// A folder with `policy.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("policy.json"), POLICY).expect("written");
    folder
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// The exit status of `ptc policy`, its standard output and its standard error.
fn policy(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.arg("policy").args(arguments).current_dir(folder).env_clear();
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn object(text: &str) -> Value {
    from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_file_is_checked() {
    let folder = folder();
    let checked = policy(folder.path(), &["check", "policy.json"]);
    let told = "policy.json: 2 rules, default deny\nclaims of tokens that rules ask for: groups\n";
    assert_eq!(checked, (Some(0), told.to_owned(), String::new()));
    let (status, told, _) = policy(folder.path(), &["check", "policy.json", "--json"]);
    let meant = json!({"ok": true, "rules": 2, "default": "deny", "claims": ["groups"], "remarks": []});
    assert_eq!((status, object(&told)), (Some(0), meant));

    file(folder.path(), "bad.json", r#"{"rules": [{"match": {}, "limits": {"sessions": 0}}]}"#);
    let fault = "bad.json: policy: rules[0].limits.sessions must be a positive integer, got 0";
    let checked = policy(folder.path(), &["check", "bad.json"]);
    assert_eq!(checked, (Some(1), String::new(), format!("ptc: {fault}\n")));
    let (status, told, _) = policy(folder.path(), &["check", "bad.json", "--json"]);
    assert_eq!((status, object(&told)), (Some(1), json!({"ok": false, "error": fault})));
    let (status, _, fault) = policy(folder.path(), &["check", "missing.json"]);
    assert_eq!((status, &*fault), (Some(1), "ptc: missing.json: no such file or directory\n"));
    let (status, _, fault) = policy(folder.path(), &["check", "."]);
    assert_eq!((status, &*fault), (Some(1), "ptc: .: it is no ordinary file\n"));
}

#[test]
fn a_decision_is_explained() {
    let folder = folder();
    let explain = |arguments: &[&str]| {
        let all = [&["explain", "--policy", "policy.json"], arguments].concat();
        policy(folder.path(), &all)
    };
    let ann = ["https://login.example|ann", "github.create_issue"];
    let support = ["--claim", "groups=dev", "--claim", "groups=support"];
    let (status, told, _) = explain(&[&ann[..], &support, &[r#"{"repo": "ops"}"#]].concat());
    let meant = "\
refused: argument 'repo' of 'github.create_issue' is not allowed for this caller: \"ops\" is none of \"web\", \"app\"
rules[0] (ci) does not match: match.principal is \"ci\"
rules[1] matches
  rules[1].upstreams.github.allow[1] \"create_issue\"
  rules[1].upstreams.github.args.create_issue.repo: \"ops\" is none of \"web\", \"app\"
";
    assert_eq!((status, &*told), (Some(0), meant));
    let (_, told, _) = explain(&[&ann[..], &support].concat());
    assert!(told.starts_with("allowed, depending on its arguments: "), "{told}");
    let (_, told, _) = explain(&[&ann[..], &support, &[r#"{"repo": "web"}"#, "--json"]].concat());
    let told = object(&told);
    assert_eq!(told["verdict"], "allowed");
    assert_eq!(
        told["arguments"],
        json!([{"place": "rules[1].upstreams.github", "permits": true, "reason": null}])
    );
    let (_, told, _) = explain(&["ci", "github.delete_repo"]);
    assert!(told.starts_with("listed\nrules[0] (ci) matches\n  rules[0].upstreams.github.list[0]"), "{told}");
    let (_, told, _) = explain(&["nobody", "github.get_issue"]);
    assert!(told.starts_with("hidden\n") && told.ends_with("no rule matches: default deny\n"), "{told}");
    for (wrong, fault) in [
        (&["ci", "github"][..], "ptc: github is no tool: write UPSTREAM.TOOL\n"),
        (&["ci", "a.b", "--claim", "x"], "ptc: x is no claim: write NAME=VALUE\n"),
        (&["ci", "a.b", r#"{"a": 1, "a": 2}"#], "ptc: ARGS: the key \"a\" stands twice in one object\n"),
    ] {
        assert_eq!(explain(wrong), (Some(2), String::new(), fault.to_owned()), "{wrong:?}");
    }
}

#[test]
fn cases_are_tested_and_fail_the_command() {
    let folder = folder();
    // The path of the policy is that from the folder of the cases.
    std::fs::create_dir(folder.path().join("ci")).expect("made");
    let cases = |last: &str| {
        let text = format!(
            r#"{{"policy": "../policy.json", "cases": [
                {{"as": "ci", "call": "github.get_issue", "expect": "allowed"}},
                {{"as": {{"principal": "ci"}}, "call": "github.delete_repo", "expect": "listed"}},
                {{"as": {{"issuer": "https://login.example", "subject": "ann", "claims": {{"groups": ["support"]}}}},
                  "call": "github.create_issue", "args": {{"repo": "ops"}}, "expect": "refused"}},
                {{"name": "nobody", "as": "nobody", "call": "github.get_issue", "expect": "{last}"}}]}}"#
        );
        file(folder.path(), "ci/cases.json", &text)
    };
    cases("hidden");
    let passed = policy(folder.path(), &["test", "ci/cases.json"]);
    assert_eq!(passed, (Some(0), "4 cases, 0 failed\n".to_owned(), String::new()));
    cases("allowed");
    let failed = policy(folder.path(), &["test", "ci/cases.json"]);
    let told = "cases[3] (nobody): expected allowed, got hidden\n4 cases, 1 failed\n";
    assert_eq!(failed, (Some(1), told.to_owned(), String::new()));
    let (status, told, _) = policy(folder.path(), &["test", "ci/cases.json", "--json"]);
    let meant = json!({"ok": false, "cases": 4, "failed":
        [{"case": "cases[3] (nobody)", "expected": "allowed", "got": "hidden", "reason": null}]});
    assert_eq!((status, object(&told)), (Some(1), meant));

    file(folder.path(), "open.json", r#"{"default": "allow", "rules": []}"#);
    let (status, told, _) = policy(folder.path(), &["test", "ci/cases.json", "--policy", "open.json"]);
    assert_eq!(status, Some(1));
    assert!(told.contains("cases[1]: expected listed, got allowed\n"), "{told}");
    file(folder.path(), "ci/none.json", r#"{"cases": [{"as": "a", "call": "b.c", "expect": "hidden"}]}"#);
    let (status, _, fault) = policy(folder.path(), &["test", "ci/none.json"]);
    let meant = "ptc: ci/none.json: policy is missing; name the policy file there, or pass --policy FILE\n";
    assert_eq!((status, &*fault), (Some(1), meant));
}
