//! Sign-in of people at the issuer (`--http-login-client`, auth.md 8): the console and the sign-in page by a session, with a scripted
//! provider.

use std::collections::HashMap;
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use ptc_test_support::authorization_server::{AuthorizationServer, Script, browse};
use ptc_test_support::process::{Answer, Http, Launch};
use ptc_test_support::wait_until;

/// What the server calls itself, wherever it listens.
const ORIGIN: &str = "https://ptc.example";
const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

fn provider() -> AuthorizationServer {
    let clients = HashMap::from([("pages".to_owned(), Some("secret-of-the-pages".to_owned()))]);
    AuthorizationServer::start(Script { redirects: "https://", clients, ..Script::default() })
}

/// A server whose pages sign in at `provider`, where members of `staff` are operators.
fn server(provider: &AuthorizationServer) -> Http {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let client = write("client", "pages:secret-of-the-pages\n");
    let policy =
        json!({"rules": [{"match": {"claim": {"groups": "staff"}}, "operator": true, "upstreams": {}}]});
    let policy = write("policy.json", &policy.to_string());
    let (issuer, resource) = (provider.issuer(), format!("{ORIGIN}/mcp"));
    let flags = ["--issuer", &issuer, "--public-url", &resource, "--console", "--http-login-client", &client];
    Launch::of(PROGRAM, &[&flags[..], &["--policy", &policy]].concat()).stepped().on_http()
}

fn request(server: &Http, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\
         {headers}\r\n{{}}"
    );
    server.exchange(text.as_bytes())
}

fn get(server: &Http, path: &str, cookie: &str) -> Answer {
    request(server, "GET", path, &[("Cookie", cookie)])
}

/// Name and value of the cookie that an answer sets.
fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").unwrap_or_else(|| panic!("{answer:?}"));
    assert!(set.ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

/// Goes to the provider and consents: the way back to us, and the cookie of the sign-in that waits.
fn consent(server: &Http, query: &str) -> (String, String) {
    let begun = request(server, "GET", &format!("/oauth/login{query}"), &[]);
    assert_eq!(begun.status, 303, "{begun:?}\n{}", server.server.launch.log());
    let url = begun.header("location").expect("a location");
    for part in ["code_challenge_method=S256", "scope=openid", "&nonce=", "&state="] {
        assert!(url.contains(part), "{url}");
    }
    let back = browse(url);
    let path = back.strip_prefix(ORIGIN).unwrap_or_else(|| panic!("{back}")).to_owned();
    assert!(path.starts_with("/oauth/login/callback?"), "{path}");
    (path, cookie(&begun))
}

/// The cookie of a person who has signed in.
fn sign_in(server: &Http) -> String {
    let (path, pending) = consent(server, "");
    let answer = get(server, &path, &pending);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/console?signed-in")),
        "{answer:?}\n{}",
        server.server.launch.log()
    );
    cookie(&answer)
}

#[test]
fn a_session_stands_for_a_person_on_pages_and_never_at_mcp() {
    let (provider, state) = (provider(), "/console/api/state");
    let server = server(&provider);
    let page = get(&server, "/console", "");
    let host = provider.issuer();
    assert_eq!(page.header("ptc-login"), host.split_once("://").map(|(_, host)| host));
    let session = sign_in(&server);
    assert!(session.starts_with("__Host-ptc-session="), "{session}");
    let seen = get(&server, state, &session);
    assert!(seen.status == 200 && seen.json()["server"]["operator"] == json!(true), "{seen:?}");
    assert_eq!(get(&server, state, "").status, 401);
    assert_eq!(get(&server, state, "__Host-ptc-session=AAAA").status, 401);
    // A wrong token is wrong, whatever stands beside it.
    let both = [("Cookie", session.as_str()), ("Authorization", "Bearer wrong")];
    assert_eq!(request(&server, "GET", state, &both).status, 401);
    let own = [("Cookie", session.as_str()), ("Origin", ORIGIN)];
    assert_eq!(request(&server, "POST", "/mcp", &own).status, 401);
    // What changes something needs the origin of our own pages.
    for path in ["/console/api/runs/run_a/cancel", "/oauth/start?upstream=none", "/oauth/logout"] {
        for origin in [None, Some("https://evil.example"), Some("http://localhost"), Some("null")] {
            let mut headers = vec![("Cookie", session.as_str())];
            headers.extend(origin.map(|origin| ("Origin", origin)));
            assert_eq!(request(&server, "POST", path, &headers).status, 403, "{path} {origin:?}");
        }
    }
    let cancelled = request(&server, "POST", "/console/api/runs/run_a/cancel", &own);
    assert_eq!(cancelled.status, 404, "{cancelled:?}");
    let started = request(&server, "POST", "/oauth/start?upstream=none", &own);
    assert!(started.status == 404 && started.body.contains("nobody signs in"), "{started:?}");
    // A session ends when its person says so, and with its ID token.
    assert_eq!(request(&server, "POST", "/oauth/logout", &own).status, 200);
    assert_eq!(get(&server, state, &session).status, 401);
    let session = sign_in(&server);
    server.server.advance(Duration::from_secs(3500));
    assert_eq!(get(&server, state, &session).status, 200);
    server.server.advance(Duration::from_secs(170));
    assert_eq!(get(&server, state, &session).status, 401);
}

#[test]
fn bad_id_tokens_sign_nobody_in() {
    let provider = provider();
    let server = server(&provider);
    for (claims, reason) in [
        (json!({"nonce": "of-another"}), "it belongs to another sign-in"),
        (json!({"nonce": null}), "it belongs to another sign-in"),
        (json!({"aud": "another"}), "it was issued to another client"),
        (json!({"aud": ["pages", "another"]}), "it was issued to another client"),
        (json!({"typ": "at+jwt"}), "it is no ID token"),
        (json!({"iss": "https://evil.example"}), "its issuer is"),
        (json!({"exp": 1}), "it has expired"),
        (Value::Null, "no id_token"),
    ] {
        provider.script().id_token = claims.clone();
        let (path, pending) = consent(&server, "");
        let answer = get(&server, &path, &pending);
        assert!(answer.status == 200 && answer.body.contains("server's log"), "{claims}: {answer:?}");
        assert!(!answer.header("set-cookie").unwrap_or_default().contains("session"), "{claims}: {answer:?}");
        wait_until(reason, || server.server.launch.log().contains(reason));
    }
}

#[test]
fn an_answer_counts_once_and_in_its_own_browser() {
    let provider = provider();
    let server = server(&provider);
    let (path, pending) = consent(&server, "?upstream=a%26b");
    let (_, other) = consent(&server, "");
    let renamed = format!("{}={}", pending.split_once('=').unwrap().0, other.split_once('=').unwrap().1);
    for cookie in ["", other.as_str(), renamed.as_str()] {
        let answer = get(&server, &path, cookie);
        assert!(answer.status == 400 && answer.header("location").is_none(), "{cookie}: {answer:?}");
    }
    let answer = get(&server, &path, &pending);
    assert_eq!(answer.header("location"), Some("/oauth/start?upstream=a%26b&signed-in"), "{answer:?}");
    // The code was used.
    let again = get(&server, &path, &pending);
    assert!(again.status == 200 && again.body.contains("server's log"), "{again:?}");
    // Without a client there is nothing of this.
    let issuer = provider.issuer();
    let resource = format!("{ORIGIN}/mcp");
    let plain = Launch::of(PROGRAM, &["--issuer", &issuer, "--public-url", &resource]).stepped().on_http();
    for path in ["/oauth/login", "/oauth/login/callback?state=a&code=b", "/oauth/logout"] {
        assert_eq!(get(&plain, path, "").status, 404, "{path}");
    }
}
