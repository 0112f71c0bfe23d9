//! The sign-in page of `ptc start --http --public-url`, over real sockets (auth.md 8). A real browser is in `tests/interop/oauth`.

use std::process::Command;

use ptc_mcp::json::{Value, json};

use super::plain;
use super::server::{ANN, BEN, Server, consent};
use ptc_test_support::authorization_server::AuthorizationServer;

#[test]
fn callers_sign_in_each_for_themselves_in_the_browser_where_they_began() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &["--log-level", "error"]);
    let page = "/oauth/start?upstream=notes";

    // The page holds nothing, and is the same for every upstream.
    let document = server.ask("GET", page, &[], "");
    assert_eq!((document.status, document.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(!document.body.contains("notes"));
    let policy = document.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(document.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(document.body, server.ask("GET", "/oauth/start?upstream=%3Cb%3E", &[], "").body);

    // Who we are, for authorization servers that read it: open to all, and nothing in it is secret.
    let own = server.origin();
    let client = server.ask("GET", "/oauth/client.json", &[("Host", "127.0.0.1")], "");
    assert_eq!(
        (client.status, client.header("content-type")),
        (200, Some("application/json; charset=utf-8"))
    );
    assert_eq!(
        client.json(),
        json!({
            "client_id": format!("{own}/oauth/client.json"), "client_name": "ptc", "redirect_uris": [format!("{own}/oauth/callback")],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "token_endpoint_auth_method": "none",
        })
    );
    assert_eq!(server.ask("POST", "/oauth/client.json", &[], "").status, 405);

    // Only callers begin a sign-in, and only from our own pages.
    let ann = format!("Bearer {ANN}");
    let begin = |headers: &[(&str, &str)]| server.ask("POST", page, headers, "");
    assert_eq!(begin(&[]).status, 401);
    assert_eq!(begin(&[("Authorization", "Bearer wrong")]).status, 401);
    assert_eq!(begin(&[("Authorization", &ann), ("Origin", "https://evil.example")]).status, 403);
    assert_eq!(begin(&[("Authorization", &ann), ("Host", "evil.example")]).status, 403);
    assert_eq!(server.ask("PUT", page, &[("Authorization", &ann)], "").status, 405);
    let unknown = server.ask("POST", "/oauth/start?upstream=nobody", &[("Authorization", &ann)], "");
    assert_eq!(
        (unknown.status, unknown.body.as_str()),
        (404, "nobody signs in to an upstream 'nobody' here")
    );
    let begun = begin(&[("Authorization", &ann), ("Origin", &own)]);
    assert_eq!((begun.status, begun.header("cache-control")), (200, Some("no-store")), "{}", begun.body);
    let cookie = begun.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-ptc-"), "{cookie}");
    assert!(cookie.ends_with("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    let told: Value = serde_json::from_str(&begun.body).expect("JSON");

    // The browser where it began takes the answer back, and no other one.
    let back = consent(told["url"].as_str().expect("a link"));
    assert!(back.starts_with("/oauth/callback?"), "{back}");
    let other =
        cookie.split_once('=').map(|(name, _)| format!("{name}=AAAAAAAAAAAAAAAAAAAAAA")).expect("a pair");
    for headers in [&[][..], &[("Cookie", other.as_str())]] {
        let refused = server.ask("GET", &back, headers, "");
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains("No sign-in waits for this address."));
    }
    assert!(server.calls(ANN).contains("not signed in to upstream 'notes'"));
    let done = server.ask("GET", &back, &[("Cookie", &format!("a=b; {cookie}"))], "");
    assert_eq!(done.status, 200);
    assert!(done.body.contains("<p>Signed in. You can close this window.</p>"), "{}", done.body);
    assert!(done.header("content-security-policy").expect("a policy").starts_with("default-src 'none'"));
    assert_eq!(done.header("cache-control"), Some("no-store"));
    assert!(done.header("set-cookie").expect("it is taken away").contains("=; Max-Age=0;"));
    assert_eq!(server.ask("GET", &back, &[("Cookie", &cookie)], "").status, 400, "a state is good once");

    // She is signed in, as the next look into the store tells, and he is told where to go.
    server.knows(ANN);
    let link = format!("not signed in to upstream 'notes'; a person must open: {own}{page}");
    let told = server.calls(BEN);
    assert!(told.contains(&link), "{told}");
}

#[test]
fn a_public_url_is_https_or_of_this_machine() {
    let refused = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .env_clear()
        .args(["start", "--http", "--public-url", "http://ptc.example/mcp"])
        .output()
        .expect("it runs");
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(
        !refused.status.success() && said.contains("--public-url / PTC_PUBLIC_URL must be the https URL"),
        "{said}"
    );
}

#[test]
fn an_upstream_that_a_caller_does_not_see_is_none_on_the_sign_in_page() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.json");
    let rules = json!({"rules": [{"match": {"principal": "ann"}, "upstreams": {"notes": {"allow": ["*"]}}}]});
    std::fs::write(&policy, rules.to_string()).expect("written");
    let flags = ["--console", "--policy", policy.to_str().expect("UTF-8")];
    let server = Server::start(&hosted, &flags);
    let begin = |token: &str, upstream: &str| {
        let bearer = format!("Bearer {token}");
        let path = format!("/oauth/start?upstream={upstream}");
        server.ask("POST", &path, &[("Authorization", &bearer)], "")
    };
    assert_eq!(begin(ANN, "notes").status, 200);
    let (hidden, absent) = (begin(BEN, "notes"), begin(BEN, "wrote"));
    assert_eq!((hidden.status, hidden.body.as_str()), (404, "nobody signs in to an upstream 'notes' here"));
    assert_eq!((hidden.status, hidden.body.replace("notes", "wrote")), (absent.status, absent.body));
    let sign_ins = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.ask("GET", "/console/api/sign-ins", &[("Authorization", &bearer)], "").json()
    };
    assert_eq!(sign_ins(ANN)["sign_ins"][0]["server"], "notes");
    assert_eq!(sign_ins(BEN), json!({"sign_ins": []}));
}
