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
fn limits_are_those_of_the_first_rule_that_sets_them() {
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
    assert_eq!(grant.limits(), &limits);
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

#[test]
fn a_uri_that_a_server_may_resolve_to_another_fits_no_part_of_the_resources() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {"s": {"resources": ["res://s/item/*", "res://s/odd/../x"]}}},
            {"match": {"scope": "all"}, "upstreams": {"s": {"resources": ["*"]}}}]}"#,
    );
    let [some, all] = [&[][..], &["all"][..]].map(|scopes| policy.grant(&bearer(scopes, &[])));
    for uri in ["res://s/item/3", "res://s/item/a%20b", "res://s/item/{id}", "res://s/odd/../x"] {
        assert!(some.resource("s", uri) && all.resource("s", uri), "{uri}");
    }
    for uri in [
        "res://s/item/../secret",
        "res://s/item/%2e%2e/secret",
        "res://s/item/%252e%252e/secret",
        "res://s/item/./../secret",
        "res://s/item/..\\secret",
        "res://s/item/{id}/../secret",
    ] {
        assert!(!some.resource("s", uri) && all.resource("s", uri), "{uri}");
    }
}

#[test]
fn all_that_one_rule_says_of_arguments_must_hold_whichever_entry_allows_the_tool() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {
                "*": {"allow": ["*"]},
                "git*": {"allow": ["create_*"], "args": {"create_*": {"title": {"prefix": "["}}}},
                "github": {"allow": ["create_issue"], "args": {"create_issue": {"repo": {"in": ["web", "app"]}}}}}},
            {"match": {"scope": "free"}, "upstreams": {"github": {"allow": ["create_issue"]}}}]}"#,
    );
    let grant = policy.grant(&bearer(&[], &[]));
    let check = |arguments: &str| grant.check_arguments("github", "create_issue", arguments).is_ok();
    assert!(check(r#"{"repo": "web", "title": "[x]"}"#));
    assert!(!check(r#"{"repo": "infra", "title": "[x]"}"#) && !check(r#"{"repo": "web", "title": "x"}"#));
    assert!(grant.judges("github", "create_issue") && !grant.judges("github", "get_issue"));
    assert!(grant.check_arguments("other", "create_issue", "{}").is_ok());
    let free = policy.grant(&bearer(&["free"], &[]));
    assert!(free.check_arguments("github", "create_issue", "{}").is_ok(), "another rule permits it");
    let told = policy.explain(
        &bearer(&[], &[]),
        "github",
        "create_issue",
        Some(r#"{"repo": "infra", "title": "x"}"#),
    );
    let places: Vec<&str> = told.arguments.iter().map(|judged| &*judged.place).collect();
    assert_eq!(places, ["rules[0].upstreams.git*.args.create_*.title"], "one rule, one verdict");
}

#[test]
fn what_is_not_known_of_a_caller_takes_rights_and_gives_none() {
    let text = r#"{"default": "DEFAULT", "rules": [
        {"match": {"principal": "https://login.example|ann"}, "upstreams": {"s": {"allow": ["*"]}}, "limits": {"sessions": 5}},
        {"match": {"claim": {"level": "low"}}, "upstreams": {"s": {"deny": ["put_*"]}, "t": {"allow": ["*"]}},
         "limits": {"sessions": 9, "calls_per_minute": 3}, "operator": true},
        {"match": {"scope": "read"}, "upstreams": {"s": {"deny": ["drop_*"]}}},
        {"match": {"subject": "ann"}, "upstreams": {"s": {"deny": ["cut_*"]}}}]}"#;
    let deny = policy(&text.replace("DEFAULT", "deny"));
    let sees = |caller: &Caller| {
        let grant = deny.grant(caller);
        assert_eq!(grant.tool("s", "get_a"), Access::Allowed);
        ["put_a", "drop_a", "cut_a"].map(|tool| grant.tool("s", tool) == Access::Allowed)
    };
    let ann = |claims: &[(&str, &[&str])]| bearer(&[], claims);
    assert_eq!(sees(&ann(&[])), [true, true, false], "a token that was just read lacks what it does not say");
    assert_eq!(sees(&ann(&[]).recalled()), [false, true, false], "the claim was not asked for");
    assert_eq!(sees(&ann(&[("level", &[])]).recalled()), [true, true, false], "it was, and is not there");
    assert_eq!(sees(&ann(&[("level", &["low"])]).recalled()), [false, true, false]);
    let forgotten = Caller::forgotten("https://login.example|ann");
    assert_eq!(sees(&forgotten), [false, false, false]);
    let grant = deny.grant(&forgotten);
    assert!(!grant.upstream("t") && !grant.is_operator());
    let limits = Limits { sessions: Some(5), calls_per_minute: Some(3), ..Limits::default() };
    assert_eq!(grant.limits(), &limits, "the least that may hold");
    assert!(!Arc::ptr_eq(&grant, &deny.grant(&ann(&[]))));
    // Nobody knows whether the default is for it.
    let open = policy(&text.replace("DEFAULT", "allow"));
    let ben = || Caller { principal: "i|ben".into(), subject: Some("ben".into()), ..bearer(&["x"], &[]) };
    assert_eq!(access(&open, &ben(), "get_a"), Access::Allowed);
    assert_eq!(access(&open, &ben().recalled(), "get_a"), Access::Hidden);
    let ci = Caller::named("ci");
    assert_eq!(
        (Caller::forgotten("ci"), ci.clone().recalled()),
        (ci.clone(), ci),
        "there is nothing to forget"
    );
}

#[test]
fn the_least_limit_is_looked_for_up_to_the_first_that_holds_for_certain() {
    let policy = policy(
        r#"{"rules": [
            {"match": {"claim": {"staff": "yes"}}, "limits": {"sessions": 90, "memory_bytes": 1}},
            {"match": {}, "limits": {"sessions": 9}},
            {"match": {"claim": {"staff": "no"}}, "limits": {"sessions": 1, "in_flight_calls": 4}}]}"#,
    );
    let limits = policy.grant(&bearer(&[], &[]).recalled()).limits().clone();
    let least =
        Limits { sessions: Some(9), memory_bytes: Some(1), in_flight_calls: Some(4), ..Limits::default() };
    assert_eq!(limits, least);
}
