//! Where a policy comes from: one place, and right, or nothing starts.

use super::{rules, upstreams};
use ptc_mcp::json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

/// Starts a server on a pipe that is closed at once. What it logs, and whether it has started.
fn started(principals: Option<Value>, policy: Option<&str>) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = json!({"upstreams": upstreams(env!("CARGO_BIN_EXE_fake-upstream"))});
    if let Some(principals) = principals {
        config["principals"] = principals;
    }
    let path = folder.path().join("upstreams.json");
    fs::write(&path, config.to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    command.env_clear().env("HOME", folder.path()).arg("start").arg("--upstreams-config").arg(&path);
    if let Some(policy) = policy {
        let path = folder.path().join("policy.json");
        fs::write(&path, policy).expect("written");
        command.arg("--policy").arg(&path);
    }
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    (output.status.success(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn a_policy_is_in_one_place() {
    let rules = rules("process");
    let (has_started, log) = started(Some(rules.clone()), Some(&rules.to_string()));
    assert!(!has_started);
    assert!(
        log.contains("there are two policies: --policy, and principals in the upstreams file; remove one"),
        "{log}"
    );
    for (principals, policy) in [(Some(rules.clone()), None), (None, Some(rules.to_string()))] {
        let (has_started, log) = started(principals, policy.as_deref());
        assert!(
            has_started && !log.contains("unknown keys") && !log.contains("policy_names_no_upstream"),
            "{log}"
        );
    }
}

#[test]
fn a_wrong_policy_ends_the_start() {
    let wrong = r#"{"rules": [{"match": {}, "upstreams": {}}, {"match": {"principal": "a"}, "limits": {"sessions": 0}}]}"#;
    let fault = "policy: rules[1].limits.sessions must be a positive integer, got 0";
    let principals: Value = serde_json::from_str(wrong).expect("JSON");
    for (principals, policy) in [(Some(principals), None), (None, Some(wrong))] {
        let (has_started, log) = started(principals, policy);
        assert!(!has_started && log.contains(fault), "{log}");
    }
    let (has_started, log) = started(None, Some("{"));
    assert!(!has_started && log.contains("policy: the file is no JSON"), "{log}");
}

#[test]
fn rules_for_upstreams_that_are_not_there_are_told() {
    let rules = json!({"rules": [{"match": {"principal": "a"}, "upstreams": {
        "zq7sean": {"allow": ["*"]}, "zq7*": {"allow": ["*"]}, "*": {"list": ["x"]}}}]});
    let (has_started, log) = started(None, Some(&rules.to_string()));
    assert!(has_started, "{log}");
    assert!(
        log.contains("policy_names_no_upstream") && log.contains("the policy has rules for 'zq7sean'"),
        "{log}"
    );
    assert_eq!(log.matches("policy_names_no_upstream").count(), 1, "{log}");
}
