//! Whom rules match, and what those that match grant together.

use std::sync::Arc;

use super::{bearer, policy};
use crate::{Access, Caller, Identity, Limits, Policy};

fn access(policy: &Policy, caller: &Caller, tool: &str) -> Access {
    policy.grant(caller).tool("s", tool)
}

/// Whether a rule with these conditions matches.
fn matches(conditions: &str, caller: &Caller) -> bool {
    let text = format!(
        r#"{{"scope_implies": {{"admin": ["write"], "write": ["read"], "read": ["write"]}},
             "rules": [{{"match": {conditions}, "upstreams": {{"s": {{"allow": ["t"]}}}}}}]}}"#
    );
    access(&policy(&text), caller, "t") == Access::Allowed
}

#[test]
fn every_condition_of_a_rule_must_hold() {
    let ann = bearer(&["admin"], &[("groups", &["support", "dev"]), ("tier", &["gold"])]);
    for conditions in [
        "{}",
        r#"{"principal": "https://login.example|ann"}"#,
        r#"{"issuer": "https://login.example", "subject": "ann"}"#,
        r#"{"scope": "admin"}"#,
        r#"{"scope": "write"}"#,
        r#"{"scope": "read"}"#,
        r#"{"claim": {"groups": "dev"}}"#,
        r#"{"claim": {"groups": "support", "tier": "gold"}}"#,
    ] {
        assert!(matches(conditions, &ann), "{conditions}");
    }
    for conditions in [
        r#"{"principal": "ann"}"#,
        r#"{"issuer": "https://login.example/"}"#,
        r#"{"issuer": "https://LOGIN.example"}"#,
        r#"{"subject": "Ann"}"#,
        r#"{"scope": "adm"}"#,
        r#"{"scope": "admin write"}"#,
        r#"{"claim": {"groups": "dev*"}}"#,
        r#"{"claim": {"groups": "de"}}"#,
        r#"{"claim": {"Groups": "dev"}}"#,
        r#"{"claim": {"groups": "dev", "tier": "silver"}}"#,
        r#"{"claim": {"missing": "dev"}}"#,
        r#"{"issuer": "https://login.example", "subject": "ben"}"#,
    ] {
        assert!(!matches(conditions, &ann), "{conditions}");
    }
    // What is narrower does not follow from what is wider, and a static token has neither issuer nor scopes.
    assert!(!matches(r#"{"scope": "admin"}"#, &bearer(&["write"], &[])));
    let ci = Caller::named("ci");
    assert!(matches(r#"{"principal": "ci"}"#, &ci));
    for conditions in [r#"{"issuer": "ci"}"#, r#"{"subject": "ci"}"#, r#"{"scope": "read"}"#] {
        assert!(!matches(conditions, &ci), "{conditions}");
    }
}

#[test]
fn grants_of_matching_rules_add_up_and_deny_wins() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {"s": {"allow": ["get_*"]}, "o*": {"allow": ["*"], "resources": ["file:///a/*"]}}},
            {"match": {"scope": "write"}, "upstreams": {"*": {"allow": ["put_*", "delete_*"], "prompts": ["ask"]}}},
            {"match": {"claim": {"groups": "junior"}}, "upstreams": {"s": {"deny": ["delete_*"], "list": ["delete_a", "get_a"]}}}]}"#,
    );
    let [reader, writer] = [bearer(&[], &[]), bearer(&["write"], &[])];
    let junior = bearer(&["write"], &[("groups", &["junior"])]);
    for (tool, seen) in [
        ("get_a", [Access::Allowed, Access::Allowed, Access::Allowed]),
        ("put_a", [Access::Hidden, Access::Allowed, Access::Allowed]),
        ("delete_a", [Access::Hidden, Access::Allowed, Access::Listed]),
        ("delete_b", [Access::Hidden, Access::Allowed, Access::Hidden]),
        ("Get_a", [Access::Hidden; 3]),
        ("get", [Access::Hidden; 3]),
        ("", [Access::Hidden; 3]),
    ] {
        assert_eq!([&reader, &writer, &junior].map(|caller| access(&policy, caller, tool)), seen, "{tool}");
    }
    let grants = [&reader, &writer].map(|caller| policy.grant(caller));
    assert_eq!(grants.each_ref().map(|grant| grant.upstream("x")), [false, true]);
    assert!(grants[0].upstream("other") && !grants[0].upstream("Other"));
    assert!(grants[0].resource("other", "file:///a/b") && !grants[0].resource("other", "file:///b"));
    assert!(!grants[0].resource("s", "file:///a/b"));
    assert_eq!(grants.each_ref().map(|grant| grant.prompt("s", "ask")), [false, true]);
}

#[test]
fn callers_whom_no_rule_matches_have_the_default() {
    let text = |default: &str| {
        policy(&format!(
            r#"{{{default}"rules": [{{"match": {{"principal": "ci"}}, "upstreams": {{"s": {{"allow": ["a"]}}}}}}]}}"#
        ))
    };
    let (ci, ann) = (Caller::named("ci"), Caller::named("ann"));
    for (default, all) in [("", false), (r#""default": "deny", "#, false), (r#""default": "allow", "#, true)]
    {
        let policy = text(default);
        let grant = policy.grant(&ann);
        let sees = [
            grant.tool("s", "b") == Access::Allowed,
            grant.upstream("s"),
            grant.resource("s", "x"),
            grant.prompt("s", "x"),
        ];
        assert_eq!(sees, [all; 4], "{default}");
        assert_eq!(grant.check_arguments("s", "b", "{}"), Ok(()));
        assert_eq!(
            access(&policy, &ci, "b"),
            Access::Hidden,
            "the default is for those whom no rule matches"
        );
    }
}

#[test]
fn a_call_needs_one_rule_that_permits_all_its_arguments() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {"s": {"allow": ["t*"], "args": {
                "t*": {"repo": {"in": ["web", "app"]}},
                "t": {"path": {"under": "/reports"}, "n": {"max": 5}}}}}},
            {"match": {"scope": "ops"}, "upstreams": {"s": {"allow": ["t"], "args": {"t": {"repo": {"equals": "ops"}}}}}},
            {"match": {"scope": "root"}, "upstreams": {"*": {"allow": ["t"]}}}]}"#,
    );
    let check = |scopes: &[&str], tool: &str, arguments: &str| {
        let refused = policy.grant(&bearer(scopes, &[])).check_arguments("s", tool, arguments);
        refused.map_err(|refusal| refusal.to_string())
    };
    let good = r#"{"repo": "web", "path": "/reports/a", "n": 5}"#;
    assert_eq!(check(&[], "t", good), Ok(()));
    let refused = |argument: &str, reason: &str| {
        Err(format!("argument '{argument}' of 's.t' is not allowed for this caller: {reason}"))
    };
    for (arguments, argument, reason) in [
        ("", "repo", "it is missing"),
        ("not JSON", "repo", "it is missing"),
        ("[]", "repo", "it is missing"),
        ("{}", "repo", "it is missing"),
        (r#"{"repo": "ops"}"#, "repo", r#""ops" is none of "web", "app""#),
        (r#"{"repo": {"in": "web"}}"#, "repo", "it is an object"),
        (r#"{"repo": "web"}"#, "path", "it is missing"),
        (r#"{"repo": "web", "path": "/reports2"}"#, "path", r#""/reports2" is no path under "/reports""#),
        (r#"{"repo": "web", "path": 1}"#, "path", "it is an integer, and must be a string"),
        (r#"{"repo": "web", "path": "/reports", "n": 6}"#, "n", "6 is more than 5"),
        (r#"{"repo": "web", "path": "/reports", "n": true}"#, "n", "it is a boolean, and must be a number"),
        (r#"{"repo": "web", "Repo": "x"}"#, "repo", r#"it is spelt "Repo""#),
    ] {
        assert_eq!(check(&[], "t", arguments), refused(argument, reason), "{arguments}");
    }
    // The second rule has no say in the path, and nothing of the first makes up for what it asks.
    assert_eq!(check(&["ops"], "t", r#"{"repo": "ops"}"#), Ok(()));
    assert_eq!(check(&["ops"], "t", good), Ok(()));
    assert_eq!(
        check(&["ops"], "t", r#"{"repo": "web", "path": "/etc"}"#),
        refused("path", r#""/etc" is no path under "/reports""#)
    );
    assert_eq!(check(&["root"], "t", "{}"), Ok(()), "a rule without rules on arguments permits all");
    assert_eq!(
        check(&[], "t2", r#"{"repo": "app"}"#),
        Ok(()),
        "each pattern that fits must hold, and no other"
    );
}

#[test]
fn limits_and_names_are_those_of_the_first_rule_that_has_them() {
    let policy = policy(
        r#"{"rules": [
            {"match": {"scope": "a"}, "limits": {"sessions": 2}},
            {"name": "second", "match": {}, "limits": {"sessions": 9, "calls_per_minute": 600}},
            {"name": "third", "match": {}, "limits": {"calls_per_minute": 1, "memory_bytes": 7}},
            {"match": {"scope": "b"}, "operator": true}]}"#,
    );
    let grant = policy.grant(&bearer(&["a"], &[]));
    let limits =
        Limits { sessions: Some(2), calls_per_minute: Some(600), memory_bytes: Some(7), ..Limits::default() };
    assert_eq!((grant.limits(), grant.name()), (&limits, Some("second")));
    assert!(!grant.is_operator());
    let both = policy.grant(&bearer(&["a", "b"], &[]));
    assert!(both.is_operator() && !both.upstream("s"), "an operator sees no more tools for it");
}

#[test]
fn callers_whom_the_same_rules_match_share_a_grant_while_somebody_has_it() {
    let policy = policy(
        r#"{"rules": [{"match": {"scope": "a"}, "upstreams": {"s": {"allow": ["*"]}}}, {"match": {"scope": "b"}}]}"#,
    );
    let first = policy.authority(bearer(&["a"], &[]));
    let mut other = bearer(&["x", "a"], &[]);
    other.principal = "other".into();
    assert!(Arc::ptr_eq(&first.grant, &policy.grant(&other)));
    assert!(!Arc::ptr_eq(&first.grant, &policy.grant(&bearer(&["a", "b"], &[]))));
    let gone = Arc::downgrade(&first.grant);
    drop(first);
    assert!(gone.upgrade().is_none(), "grants that nobody has are not kept");
}

#[test]
fn the_claims_that_rules_ask_for_are_known() {
    let policy = policy(
        r#"{"rules": [{"match": {"claim": {"tier": "a", "groups": "b"}}}, {"match": {"claim": {"groups": "c"}}}]}"#,
    );
    assert_eq!(policy.claims(), ["groups", "tier"]);
}

#[test]
fn a_rule_chooses_the_sign_in_and_the_callers_own_wins() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {"git*": {"allow": ["*"], "identity": "shared"}, "wiki": {"allow": ["*"]}}},
            {"match": {"claim": {"groups": "support"}}, "upstreams": {"github": {"identity": "per_principal"}}}]}"#,
    );
    let (ann, ci) =
        (policy.grant(&bearer(&[], &[("groups", &["support"])])), policy.grant(&Caller::named("ci")));
    assert_eq!(ci.identity("github"), Some(Identity::Shared));
    assert_eq!(ann.identity("github"), Some(Identity::PerPrincipal));
    assert_eq!((ann.identity("gitlab"), ann.identity("wiki")), (Some(Identity::Shared), None));
}

#[test]
fn a_rule_cannot_choose_a_sign_in_that_people_do_not_have() {
    let policy = policy(
        r#"{"rules": [{"match": {}, "upstreams": {
            "github": {"allow": ["*"], "identity": "per_principal"},
            "team-*": {"allow": ["*"], "identity": "per_principal"},
            "wiki": {"allow": ["*"], "identity": "shared"}}}]}"#,
    );
    let (own, shared) = (Some(Identity::PerPrincipal), Some(Identity::Shared));
    assert_eq!(policy.impossible_identity("github", own), None);
    assert_eq!(policy.impossible_identity("github", shared), Some("github"));
    assert_eq!(policy.impossible_identity("github", None), Some("github"));
    assert_eq!(policy.impossible_identity("team-a", shared), Some("team-*"));
    assert_eq!(policy.impossible_identity("team-a", None), None, "a pattern is about those with a sign-in");
    for most in [own, shared, None] {
        assert_eq!(policy.impossible_identity("wiki", most), None);
    }
}
