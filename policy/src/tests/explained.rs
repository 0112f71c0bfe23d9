//! Explanations name what decided, and never say other than what holds.

use super::{bearer, policy};
use crate::explain::{ArgumentMatch, PatternMatch};
use crate::{Access, Caller, Identity, Verdict};

const FILE: &str = r#"{"scope_implies": {"write": ["read"]}, "rules": [
    {"name": "ci", "match": {"principal": "ci"}, "upstreams": {"git*": {"allow": ["*"]}}},
    {"match": {"scope": "read"}, "upstreams": {"github": {"allow": ["get_*"], "list": ["put_*"]}}},
    {"match": {"claim": {"groups": "support"}}, "upstreams": {
        "github": {"allow": ["create_issue", "get_*"], "deny": ["get_secret"],
                   "args": {"create_*": {"repo": {"in": ["web"]}, "n": {"max": 3}}}},
        "*": {"allow": ["ping"]}}}]}"#;

#[test]
fn an_explanation_names_rules_patterns_and_arguments() {
    let policy = policy(FILE);
    let ann = bearer(&["write"], &[("groups", &["support"])]);
    let told = policy.explain(&ann, "github", "create_issue", Some(r#"{"repo": "web", "n": 4}"#));
    assert_eq!(told.verdict.as_str(), "refused");
    let Verdict::Refused(refusal) = &told.verdict else { panic!("{told:?}") };
    assert_eq!(&*refusal.reason, "4 is more than 3");
    let rules: Vec<_> = told.rules.iter().map(|rule| (&*rule.place, rule.unmet.as_deref())).collect();
    assert_eq!(
        rules,
        [("rules[0]", Some(r#"match.principal is "ci""#)), ("rules[1]", None), ("rules[2]", None)]
    );
    assert_eq!(told.rules[0].name.as_deref(), Some("ci"));
    assert_eq!(
        told.patterns,
        [PatternMatch {
            place: "rules[2].upstreams.github.allow[0]".into(),
            list: "allow",
            pattern: "create_issue".into()
        }]
    );
    assert_eq!(
        told.arguments,
        [ArgumentMatch {
            place: "rules[2].upstreams.github.args.create_*.n".into(),
            refusal: Some("4 is more than 3".into())
        }]
    );
    assert_eq!(told.by_default, None);

    let denied = policy.explain(&ann, "github", "get_secret", None);
    assert_eq!(denied.verdict, Verdict::Hidden);
    let places: Vec<_> = denied.patterns.iter().map(|found| &*found.place).collect();
    let at = "rules[2].upstreams.github";
    assert_eq!(
        places,
        ["rules[1].upstreams.github.allow[0]", &format!("{at}.allow[1]"), &format!("{at}.deny[0]")]
    );

    let nobody = policy.explain(&Caller::named("x"), "github", "get_a", Some("{}"));
    assert_eq!((nobody.verdict, nobody.by_default), (Verdict::Hidden, Some(false)));
    assert!(nobody.patterns.is_empty() && nobody.arguments.is_empty());
    assert_eq!(
        nobody.rules[1].unmet.as_deref(),
        Some(r#"match.scope is "read" or "write", which implies it"#)
    );
}

#[test]
fn an_explanation_says_what_the_grant_says() {
    let policy = policy(FILE);
    let callers = [
        Caller::named("ci"),
        Caller::named("x"),
        bearer(&["read"], &[]),
        bearer(&["write"], &[("groups", &["support"])]),
        bearer(&[], &[("groups", &["support"])]),
    ];
    let mut seen = Vec::new();
    for caller in &callers {
        for upstream in ["github", "gitlab", "other"] {
            for tool in ["get_a", "get_secret", "put_a", "create_issue", "ping", "x"] {
                for arguments in [None, Some("{}"), Some(r#"{"repo": "web", "n": 1}"#), Some("no JSON")] {
                    let grant = policy.grant(caller);
                    let told = policy.explain(caller, upstream, tool, arguments);
                    let permitted = grant.check_arguments(upstream, tool, arguments.unwrap_or_default());
                    let meant = match (grant.tool(upstream, tool), arguments, permitted) {
                        (Access::Hidden, ..) => "hidden",
                        (Access::Listed, ..) => "listed",
                        (Access::Allowed, Some(_), Err(_)) => "refused",
                        (Access::Allowed, ..) => "allowed",
                    };
                    assert_eq!(told.verdict.as_str(), meant, "{caller:?} {upstream}.{tool} {arguments:?}");
                    // The lists say the same.
                    let has = |list| told.patterns.iter().any(|found| found.list == list);
                    let access = match (has("allow") && !has("deny"), has("list")) {
                        (true, _) => Access::Allowed,
                        (false, true) => Access::Listed,
                        (false, false) => Access::Hidden,
                    };
                    assert_eq!(access, grant.tool(upstream, tool));
                    if access == Access::Allowed && arguments.is_some() {
                        let permits = told.arguments.iter().any(|found| found.refusal.is_none());
                        assert_eq!(permits, meant == "allowed");
                    }
                    seen.push(meant);
                }
            }
        }
    }
    for word in Verdict::WORDS {
        assert!(seen.contains(&word), "no case is {word}");
    }
}

#[test]
fn an_explanation_says_whose_sign_in_is_used() {
    let policy = policy(
        r#"{"rules": [
            {"match": {}, "upstreams": {"git*": {"allow": ["*"], "identity": "shared"}}},
            {"match": {"principal": "ann"}, "upstreams": {"github": {"identity": "per_principal"}}}]}"#,
    );
    let told = policy.explain(&Caller::named("ann"), "github", "get", None);
    let (first, second) = ("rules[0].upstreams.git*.identity", "rules[1].upstreams.github.identity");
    let found: Vec<_> = told.identities.iter().map(|found| (&*found.place, found.identity)).collect();
    assert_eq!(found, [(first, Identity::Shared), (second, Identity::PerPrincipal)]);
    assert_eq!(told.identity, Some(Identity::PerPrincipal));
    let told = policy.explain(&Caller::named("ben"), "github", "get", None);
    assert_eq!((told.identities.len(), told.identity), (1, Some(Identity::Shared)));
}
