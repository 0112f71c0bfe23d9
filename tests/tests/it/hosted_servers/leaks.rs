//! Everything that leaves the process while somebody signs in, calls, is refused, and signs out, searched for every secret of it:
//! results, traces, debug records, the log at its most talkative, metrics, pages, what commands print, and what is kept sealed.

use ptc_mcp::json::json;

use super::person::Person;
use super::server::{ANN, BEN, Server, consent, entry};
use super::{APPLICATION, plain};
use ptc_test_support::authorization_server::{AuthorizationServer, Registration, Rotation, Script, Trouble};

/// Characters that percent-encoding leaves.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// A secret as it might hide in a text: raw, percent-encoded, in base64, escaped in JSON.
fn spellings(secret: &str) -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    let percent: String = secret
        .bytes()
        .map(|byte| if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let json = json!(secret).to_string();
    vec![
        secret.to_owned(),
        percent,
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        json[1..json.len() - 1].to_owned(),
    ]
}

/// What was put out, by where.
#[derive(Default)]
struct Heard(Vec<(String, String)>);

impl Heard {
    fn add(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.push((place.into(), text.into()));
    }

    /// Fails if any of it holds one of the secrets.
    fn assert_clean(&self, secrets: &[String]) {
        for secret in secrets {
            for spelling in spellings(secret) {
                for (place, text) in &self.0 {
                    let Some(at) = text.find(&spelling) else { continue };
                    let start =
                        (0..=at.saturating_sub(200)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                    panic!("{place} shows {spelling:?}: …{}", &text[start..at + spelling.len()]);
                }
            }
        }
    }

    /// All of one place.
    fn of(&self, wanted: &str) -> String {
        self.0.iter().filter(|(place, _)| place == wanted).map(|(_, text)| text.as_str()).collect()
    }
}

/// A server that hands a secret to whoever registers, and rotates.
fn hosted() -> AuthorizationServer {
    AuthorizationServer::start(Script {
        registration: Registration::WithSecret("client_secret_post"),
        rotation: Rotation::ReuseEndsFamily,
        redirects: "http://",
        ..plain("/mcp")
    })
}

/// The link of a person is whole: what the server must see is in it, and nothing has been cut out.
fn assert_whole(link: &str) {
    let url = url::Url::parse(link).expect("a URL");
    let value =
        |name: &str| url.query_pairs().find(|(given, _)| given == name).map(|(_, value)| value.into_owned());
    let is_random = |text: &String, least: usize| text.len() >= least && text.bytes().all(is_unreserved);
    assert!(value("state").is_some_and(|state| is_random(&state, 22)), "{link}");
    assert!(value("code_challenge").is_some_and(|challenge| is_random(&challenge, 43)), "{link}");
    assert!(value("redirect_uri").is_some() && value("client_id").is_some(), "{link}");
    assert!(!link.contains("REDACTED"), "{link}");
}

#[test]
fn no_output_shows_a_secret_of_a_sign_in_but_the_link_that_a_person_needs() {
    let hosted = hosted();
    let mut heard = Heard::default();
    let (ann, cookies) = over_http(&hosted, &mut heard);
    assert_whole(&ann);
    let links = on_the_command_line(&hosted, &mut heard);
    links.iter().for_each(|link| assert_whole(link));

    let mut secrets = hosted.secrets();
    secrets.extend(cookies);
    secrets.extend([ANN.to_owned(), BEN.to_owned()]);
    // Codes, verifiers, states, tokens of both kinds before and after, client secrets, device codes, cookies.
    assert!(secrets.len() >= 24, "{secrets:#?}");
    heard.assert_clean(&secrets);
    // The echoes came, and were cut out.
    for place in ["a result", "a trace", "a debug record", "/console/api/calls"] {
        assert!(heard.of(place).contains("[REDACTED]"), "{place}: {}", heard.of(place));
    }
    for place in ["the log", "/metrics", "/console/api/sign-ins", "ptc login", "ptc auth", "a page"] {
        assert!(!heard.of(place).is_empty(), "{place}");
    }
    let log = heard.of("the log");
    for event in [
        "auth_sign_in_needed",
        "auth_signed_in",
        "auth_refreshed",
        "auth_refresh_failed",
        "auth_sign_in_failed",
    ] {
        assert!(log.contains(event), "{event} in the log");
    }
}

/// Signs in on the page, calls, renews, fails. Gives the link that a person got, and what the browser was given to prove itself.
fn over_http(hosted: &AuthorizationServer, heard: &mut Heard) -> (String, Vec<String>) {
    let flags = [
        "--console",
        "--http-metrics",
        "--debug-tool",
        "--sessions",
        "--log-level",
        "debug",
        "--trace-dir",
        "@traces",
        "--trace-payloads",
        "full",
    ];
    let mut server = Server::start(hosted, &flags);
    let mut cookies = Vec::new();
    let call = "(tool/call {:server \"notes\" :tool \"whoami\" :args {}})";
    let programs = [call.to_owned(), format!("(do (println {call}) (fail {call}))"), format!("(/ {call} 0)")];
    let calls = |heard: &mut Heard| {
        for program in &programs {
            heard.add("a result", server.call(ANN, "lisp_eval", json!({"program": program})).body);
        }
    };
    calls(heard);
    let (link, cookie) = server.begins(ANN);
    cookies.push(cookie.split_once('=').expect("a pair").1.to_owned());
    let back = consent(&link);
    // Somebody else comes first, with the right address and without the cookie.
    heard.add("a page", server.ask("GET", &back, &[], "").body);
    heard.add("a page", server.ask("GET", &back, &[("Cookie", &cookie)], "").body);
    heard.add("a page", server.ask("GET", &back, &[("Cookie", &cookie)], "").body);
    server.knows(ANN);
    calls(heard);
    // A caller that has come by a token somehow, and sends it.
    let token =
        hosted.secrets().into_iter().find(|secret| secret.starts_with("access-token-")).expect("a token");
    heard.add("a result", server.call(ANN, "lisp_eval", json!({"program": format!("(str {token:?})")})).body);
    // A renewal; one whose answer cannot be used; one that is refused with all that was sent.
    hosted.forget_access();
    calls(heard);
    hosted.forget_access();
    hosted.trouble("/token", Trouble::Garbage);
    calls(heard);
    // For a second nobody asks for new ones again.
    server.steps.advance(std::time::Duration::from_secs(2));
    calls(heard);
    hosted.end_families();
    calls(heard);
    // A sign-in that fails at its last step, and one that the person declines.
    for trouble in
        [Trouble::Error("invalid_grant"), Trouble::Redirect(format!("{}/?code=elsewhere", hosted.origin()))]
    {
        let (link, cookie) = server.begins(BEN);
        cookies.push(cookie.split_once('=').expect("a pair").1.to_owned());
        hosted.trouble("/token", trouble);
        let failed = server.ask("GET", &consent(&link), &[("Cookie", &cookie)], "");
        assert!(failed.body.contains("The sign-in failed. The server's log says why."), "{}", failed.body);
        heard.add("a page", failed.body);
    }
    hosted.script().denies = true;
    let (declined, cookie) = server.begins(BEN);
    cookies.push(cookie.split_once('=').expect("a pair").1.to_owned());
    heard.add("a page", server.ask("GET", &consent(&declined), &[("Cookie", &cookie)], "").body);
    hosted.script().denies = false;

    heard.add("a debug record", server.call(ANN, "lisp_debug", json!({"op": "recent", "limit": 100})).body);
    heard.add("a debug record", server.call(ANN, "lisp_debug", json!({"op": "stats"})).body);
    for page in [
        "/metrics",
        "/console/api/state",
        "/console/api/catalog",
        "/console/api/sign-ins",
        "/health",
        "/ready",
        "/oauth/start?upstream=notes",
    ] {
        for token in [ANN, BEN] {
            let answer = server.get(page, token);
            let head: String =
                answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
            heard.add(page, format!("{head}\n{}", answer.body));
        }
    }
    for token in [ANN, BEN] {
        let headers = [("Authorization", &*format!("Bearer {token}")), ("Content-Type", "application/json")];
        heard.add("/console/api/calls", server.ask("POST", "/console/api/calls", &headers, "{}").body);
    }
    server.ends();
    let traces = std::fs::read_dir(server.path("traces")).expect("traces");
    for trace in traces.flatten() {
        heard.add("a trace", std::fs::read_to_string(trace.path()).expect("a trace"));
    }
    heard.add("the log", server.log());
    (link, cookies)
}

/// Signs in with each of the three ways, looks, and signs out. Gives the links that were printed, which alone hold `state`.
fn on_the_command_line(hosted: &AuthorizationServer, heard: &mut Heard) -> Vec<String> {
    let file = json!({"upstreams": {"notes": entry(hosted, json!({"redirect": {"port": 0}}))}});
    let person = Person::new(&file, APPLICATION);
    let mut links = Vec::new();
    // In words, with the browser elsewhere; then as events.
    let mut login = person.begins_to_sign_in(&["notes"]);
    let (_, link) = (login.line(), login.line().trim().to_owned());
    let (_, page) = super::person::get(&ptc_test_support::authorization_server::browse(&link));
    heard.add("a page", page);
    login.line();
    heard.add("ptc login", login.heard.replace(&link, ""));
    heard.add("ptc login", login.ends().1);
    links.push(link);
    let mut login = person.begins_to_sign_in(&["notes", "--paste", "--json"]);
    let link = login.event()["url"].as_str().expect("a link").to_owned();
    login.types(&ptc_test_support::authorization_server::browse(&link));
    login.event();
    heard.add("ptc login", login.heard.replace(&link, ""));
    heard.add("ptc login", login.ends().1);
    links.push(link);
    let mut login = person.begins_to_sign_in(&["notes", "--device"]);
    assert!(login.line().starts_with("Open ") && login.line().starts_with("Signed in to notes."));
    heard.add("ptc login", login.heard.clone());
    heard.add("ptc login", login.ends().1);
    // One that fails.
    let mut login = person.begins_to_sign_in(&["notes", "--paste", "--json"]);
    let link = login.event()["url"].as_str().expect("a link").to_owned();
    hosted.trouble("/token", Trouble::Error("invalid_grant"));
    login.types(&ptc_test_support::authorization_server::browse(&link));
    assert_eq!(login.event()["event"], "failed");
    heard.add("ptc login", login.heard.replace(&link, ""));
    heard.add("ptc login", login.ends().1);
    links.push(link);
    let program =
        "(let [r (tool/call {:server \"notes\" :tool \"whoami\"})] (do (println r) {:key (:value r)}))";
    let line = format!("{}\n", json!({"id": 1, "program": program}));
    let (_, out, said) = person.runs_with(&["eval", "--jsonl"], &line);
    assert!(out.matches("[REDACTED]").count() >= 3, "{out}");
    heard.add("ptc eval", format!("{out}{said}"));
    for arguments in [
        &["auth"][..],
        &["auth", "--json"],
        &["check"],
        &["check", "--json"],
        &["call", "notes", "whoami"],
        &["tools"],
        &["eval", "-e", "(tool/call {:server \"notes\" :tool \"whoami\"})"],
        &["logout", "notes"],
        &["auth"],
        &["call", "notes", "whoami"],
    ] {
        let (_, out, said) = person.runs(arguments);
        heard.add(format!("ptc {}", arguments[0]), format!("{out}{said}"));
    }
    links
}

#[test]
fn what_is_sealed_shows_nothing_and_opens_with_its_key_alone() {
    let hosted = hosted();
    let file = json!({"upstreams": {"notes": entry(&hosted, json!({"redirect": {"port": 0}}))}});
    let person = Person::new(&file, APPLICATION);
    let key = person.writes("key", "a-sealing-key-of-at-least-32-bytes-0123456789\n");
    let (_, _, said) = person.runs(&["auth", "--state-key-file", &key]);
    assert_eq!(said, "");
    let mut login = person.begins_to_sign_in(&["notes", "--json", "--state-key-file", &key]);
    let back = ptc_test_support::authorization_server::browse(login.event()["url"].as_str().expect("a link"));
    super::person::get(&back);
    assert_eq!(login.event()["event"], "signed_in");
    assert!(login.ends().0);
    let mut heard = Heard::default();
    let folder = person.path(".local/state/ptc/auth");
    for file in std::fs::read_dir(folder).expect("a store").flatten() {
        heard.add("a file", std::fs::read_to_string(file.path()).expect("text"));
    }
    heard.assert_clean(&hosted.secrets());
    assert!(heard.of("a file").contains("\"sealed\""));
    let (_, told, _) = person.runs(&["auth", "--state-key-file", &key]);
    assert!(told.contains("sealed  signed in"), "{told}");
    let (_, told, _) = person.runs(&["auth"]);
    assert!(told.contains("sign in with: ptc login notes (sealed_with_another_key)\n"), "{told}");
}
