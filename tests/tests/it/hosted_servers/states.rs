//! A missing sign-in is a state with a next step, wherever somebody looks (auth.md 11, 12).

use ptc_mcp::json::{Value, json};

use super::person::Person;
use super::server::{ANN, BEN, Server, entry};
use super::{APPLICATION, plain};
use ptc_test_support::authorization_server::AuthorizationServer;

#[test]
fn commands_tell_who_has_to_sign_in_and_how() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let relaxed = entry(
        &hosted,
        json!({"redirect": {"port": 0}, "relax": ["missing_issuer", "missing_pkce"], "resource": ""}),
    );
    let file =
        json!({"upstreams": {"notes": entry(&hosted, json!({"redirect": {"port": 0}})), "relaxed": relaxed}});
    let person = Person::new(&file, APPLICATION);

    let (succeeded, checked, said) = person.runs(&["check"]);
    assert!(succeeded, "a missing sign-in is no failure: {said}");
    for name in ["notes", "relaxed"] {
        assert!(checked.contains(&format!("sign in with: ptc login {name}\n")), "{checked}");
    }
    // What breaks a rule of the specification is told as long as it is there.
    for words in [
        "auth.relax \"missing_issuer\" drops",
        "auth.relax \"missing_pkce\" accepts",
        "auth.resource \"\" leaves",
    ] {
        assert!(checked.contains(&format!("\nupstream relaxed: {words}")), "{words} in: {checked}");
    }
    assert!(!checked.contains("upstream notes:"), "{checked}");
    let (_, checked, _) = person.runs(&["check", "--json"]);
    let checked: Value = serde_json::from_str(&checked).expect("JSON");
    assert_eq!(checked["ok"], true);
    let row = &checked["upstreams"][0];
    assert_eq!(
        (&row["ok"], &row["state"], &row["next_step"]),
        (&json!(true), &json!("sign_in_needed"), &json!("ptc login notes"))
    );
    let (_, table, _) = person.runs(&["auth"]);
    assert!(table.contains("sign in with: ptc login notes\n"), "{table}");
    let (succeeded, _, said) = person.runs(&["call", "notes", "whoami"]);
    assert!(
        !succeeded && said.contains("not signed in to upstream 'notes'; a person must run: ptc login notes"),
        "{said}"
    );
    let (succeeded, out, said) =
        person.runs(&["eval", "-e", "[(dir \"notes\") (doc \"notes/whoami\") (apropos \"notes\")]"]);
    assert!(
        succeeded && out.contains("notes: notes. Needs sign-in: a person must run ptc login notes."),
        "{out}{said}"
    );

    person.signs_in("notes");
    let (_, checked, _) = person.runs(&["check"]);
    let line = checked.lines().find(|line| line.starts_with("notes ")).expect("a line");
    assert!(line.ends_with("2  ok"), "{checked}");
    let (_, told, _) = person.runs(&["auth", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let row = &told["upstreams"][0];
    assert_eq!(
        (&row["state"], &row["next_step"], &row["store"]),
        (&json!("signed_in"), &Value::Null, &json!("plain"))
    );
    let (succeeded, told, _) = person.runs(&["logout", "notes"]);
    assert_eq!((succeeded, told.as_str()), (true, "Signed out of notes; the server revoked the token.\n"));
    let (_, table, _) = person.runs(&["auth"]);
    assert!(table.contains("sign in with: ptc login notes\n"), "{table}");
}

#[test]
fn a_server_tells_each_caller_its_own_sign_ins() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(
        &hosted,
        &["--console", "--http-metrics", "--log-level", "info", "--catalog-mode", "inline"],
    );
    let page = format!("{}/oauth/start?upstream=notes", server.origin());
    let row = |token| {
        let told = server.get("/console/api/sign-ins", token);
        assert_eq!((told.status, told.header("cache-control")), (200, Some("no-store")), "{}", told.body);
        told.json()["sign_ins"][0].clone()
    };
    let needed = json!({"server": "notes", "state": "sign_in_needed", "issuer": null, "scopes": [], "expires_at": null, "last_error": null, "open": page});
    assert_eq!((row(ANN), row(BEN)), (needed.clone(), needed.clone()));
    for headers in [&[][..], &[("Authorization", "Bearer wrong")]] {
        assert_eq!(server.ask("GET", "/console/api/sign-ins", headers, "").status, 401);
    }
    let bearer = format!("Bearer {ANN}");
    assert_eq!(server.ask("POST", "/console/api/sign-ins", &[("Authorization", &bearer)], "").status, 405);

    // In a program, in what a model reads before it writes one, and in the log.
    let told = server.calls(ANN);
    assert!(told.contains(&format!("a person must open: {page}")), "{told}");
    let servers = server.evals(ANN, "(tool/servers)");
    assert!(servers.contains("\"sign_in_needed\" true") && servers.contains("\"tool_count\" 0"), "{servers}");
    let nothing = server.evals(ANN, "[(dir \"notes\") (doc \"notes/whoami\") (meta \"notes/whoami\")]");
    assert!(nothing.contains("[nil nil nil]"), "{nothing}");
    let tools = server.post(ANN, "tools/list", None, json!({})).body;
    assert!(tools.contains("Needs sign-in."), "{tools}");
    server.tells("auth_sign_in_needed");
    let metric = |name: &str| {
        let text = server.ask("GET", "/metrics", &[], "").body;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    assert_eq!(metric("ptc_upstream_sign_in_needed{server=\"notes\"}"), "1");
    assert_eq!(metric("ptc_http_auth_failures_total{reason=\"missing\"}"), "1");
    assert_eq!(metric("ptc_http_auth_failures_total{reason=\"invalid\"}"), "1");

    server.signs_in(ANN);
    let own = row(ANN);
    assert_eq!(
        (&own["state"], &own["issuer"], own.get("open")),
        (&json!("signed_in"), &json!(hosted.issuer()), None)
    );
    assert!(own["expires_at"].is_u64(), "{own}");
    // Hers is not his.
    assert_eq!(row(BEN), needed);
    let told = server.calls(BEN);
    assert!(told.contains(&format!("a person must open: {page}")), "{told}");
    let state = |token| server.get("/console/api/state", token).json()["upstreams"][0].clone();
    assert_eq!((&state(ANN)["phase"], &state(ANN)["tools"]), (&json!("started"), &json!(2)));
    assert_eq!(state(BEN)["tools"], 0, "{}", state(BEN));
    assert_eq!(metric("ptc_auth_sign_ins_total{server=\"notes\",outcome=\"ok\"}"), "1");
    server.tells("auth_signed_in");

    // A sign-in that the server has ended has a code, and the same next step.
    hosted.end_families();
    let told = server.calls(ANN);
    assert!(told.contains("has ended (invalid_grant); a person must open:"), "{told}");
    let own = row(ANN);
    assert_eq!(
        (&own["state"], &own["last_error"], &own["open"]),
        (&json!("sign_in_needed"), &json!("invalid_grant"), &json!(page))
    );
    assert_eq!(metric("ptc_auth_refreshes_total{server=\"notes\",outcome=\"refused\"}"), "1");
}
