//! Whose sign-in a call uses, by a rule of the policy (auth.md 14.2), whatever the entry of the upstream says.

use std::collections::HashMap;

use ptc_mcp::json::{Value, json};

use super::person::Person;
use super::server::{ANN, BEN, Server, entry};
use super::{APPLICATION, plain};
use ptc_test_support::authorization_server::{AuthorizationServer, Script};

#[test]
fn a_rule_chooses_whose_sign_in_calls_use() {
    for by_entry in ["per_principal", "shared"] {
        // The first to sign in is the operator, for all.
        let own_tools = HashMap::from([(0, vec!["fleet"]), (1, vec!["refund"])]);
        let hosted = AuthorizationServer::start(Script { own_tools, ..plain("/mcp") });
        let notes = entry(&hosted, json!({"identity": by_entry, "redirect": {"port": 0}}));
        let operator = Person::new(&json!({"upstreams": {"notes": notes}}), APPLICATION);
        match by_entry {
            "shared" => operator.signs_in("notes"),
            _ => operator.signs_in_for_all("notes"),
        }
        let about = |principal: &str, identity: &str| {
            let upstreams = json!({"notes": {"allow": ["*"], "resources": ["*"], "identity": identity}});
            json!({"match": {"principal": principal}, "upstreams": upstreams})
        };
        // Of two rules that differ, the one for the caller's own sign-in wins.
        let rules = [about("ann", "shared"), about("ann", "per_principal"), about("ben", "shared")];
        let policy = operator.writes("policy.json", &json!({"rules": rules}).to_string());
        let home = operator.path("").to_str().expect("UTF-8").to_owned();
        let flags = ["--console", "--expose", "resources", "--policy", &policy];
        let server = Server::start_of(notes, &flags, &[("HOME", home)]);
        let dir = |token: &str| server.evals(token, "(dir \"notes\")");
        let catalog = |token: &str| server.get("/console/api/catalog", token).body;
        let sign_in =
            |token: &str| server.get("/console/api/sign-ins", token).json()["sign_ins"][0]["state"].clone();

        assert!(server.calls(BEN).contains("family 0"), "{by_entry}: {}", server.calls(BEN));
        assert!(dir(BEN).contains("fleet"), "{by_entry}: {}", dir(BEN));
        assert_eq!((sign_in(BEN), sign_in(ANN)), (json!("signed_in"), json!("sign_in_needed")), "{by_entry}");
        let nobody = server.ask(
            "POST",
            "/oauth/start?upstream=notes",
            &[("Authorization", &format!("Bearer {BEN}"))],
            "",
        );
        assert_eq!(
            (nobody.status, nobody.body.as_str()),
            (404, "nobody signs in to an upstream 'notes' here")
        );

        // What all share is not hers, whether or not it has been listed.
        let told = server.calls(ANN);
        assert!(
            told.contains("not signed in to upstream 'notes'; a person must open: "),
            "{by_entry}: {told}"
        );
        let resources = |token: &str| server.post(token, "resources/list", None, json!({})).body;
        for (place, text) in
            [("dir", dir(ANN)), ("catalog", catalog(ANN)), ("resources/list", resources(ANN))]
        {
            assert!(!text.contains("fleet") && !text.contains("whoami"), "{by_entry}, {place}: {text}");
        }
        server.signs_in(ANN);
        assert!(server.calls(ANN).contains("family 1"), "{by_entry}: {}", server.calls(ANN));
        for (token, own, other) in [(ANN, "refund", "fleet"), (BEN, "fleet", "refund")] {
            for (place, text) in
                [("dir", dir(token)), ("catalog", catalog(token)), ("resources/list", resources(token))]
            {
                assert!(text.contains(own) && !text.contains(other), "{by_entry}, {place}: {text}");
            }
        }
        // What a model reads before it writes a program is the same for all whom the same rules match.
        let described = server.post(ANN, "tools/list", None, json!({})).body;
        assert!(!described.contains("fleet") && !described.contains("refund"), "{by_entry}: {described}");
    }
}

#[test]
fn a_sign_in_that_people_do_not_have_cannot_be_chosen() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let machine = json!({"grant": "client_credentials", "client": {"id": "i", "secret": "secret"}});
    let plain = json!({"transport": "mcp_stdio", "command": "true"});
    for (notes, why) in [
        (entry(&hosted, machine), "its auth.grant acts for no person"),
        (plain, "its entry has no auth of type \"oauth\""),
    ] {
        let secret: Value = json!({"secret": {"source": "literal", "value": APPLICATION}});
        let person = Person::new(&json!({"credentials": secret, "upstreams": {"notes": notes}}), APPLICATION);
        let rules = json!({"rules": [{"match": {}, "upstreams": {"notes": {"allow": ["*"], "identity": "per_principal"}}}]});
        let policy = person.writes("policy.json", &rules.to_string());
        let (succeeded, _, said) = person.runs(&["start", "--policy", &policy]);
        let expected = format!(
            "policy: the rule for 'notes' has identity per_principal, and nobody signs in to upstream 'notes': {why}; remove the rule's identity, or change auth of the entry"
        );
        let expected = json!(expected).to_string();
        assert!(!succeeded && said.contains(expected.trim_matches('"')), "{said}");
    }
}
