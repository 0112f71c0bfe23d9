//! The entries of `docs/guide/sign-in.md`: each is read, and each server's habits are played by a server of these tests, at which
//! the real command signs in with the entry of the guide. `page.rs` does so on the page of a server.

mod hosted;
mod page;
mod person;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use hosted::{Habits, Hosted, Registration};
use person::Person;
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_mcp::json::{Value, json};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

const APPLICATION: &str = "own-application-secret-0123456789";

/// The files that the guide shows, whole.
fn files() -> Vec<Value> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/sign-in.md");
    let page = std::fs::read_to_string(page).expect("the guide");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.map(|block| serde_json::from_str(block).expect(block)).collect()
}

/// The file of the guide with the upstream of this name.
fn file(name: &str) -> Value {
    files().into_iter().rfind(|file| file["upstreams"][name].is_object()).expect("an entry in the guide")
}

/// The path of the entry's URL.
fn path(file: &Value, name: &str) -> String {
    let url = url::Url::parse(file["upstreams"][name]["url"].as_str().expect("a URL")).expect("a URL");
    url.path().to_owned()
}

#[test]
fn every_entry_of_the_guide_is_a_right_file() {
    let variables = ["GITHUB_APP_SECRET", "SLACK_APP_SECRET", "FIGMA_APP_SECRET", "MACHINE_SECRET"];
    let env = ProcessEnv::from_iter(variables.map(|name| (name, APPLICATION)));
    let mut names = Vec::new();
    for file in files() {
        let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config =
            UpstreamsConfig::from_value(&file, &options).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(config.warnings.is_empty(), "{file}: {}", config.warnings[0].message);
        names.extend(file["upstreams"].as_object().expect("entries").keys().cloned());
    }
    for server in ["github", "notion", "linear", "atlassian", "sentry", "slack", "figma", "fabric"] {
        assert!(names.iter().any(|name| name == server), "{server} has no entry");
    }
}

/// Signs in with the guide's entry at a server of these habits, calls a tool, and calls it again after the access token has ended.
/// What the server said is left to the caller.
fn signs_in(name: &str, habits: Habits) -> (Hosted, HashMap<&'static str, usize>) {
    let mut file = file(name);
    let hosted = Hosted::start(habits);
    let entry = &mut file["upstreams"][name];
    entry["url"] = hosted.url().into();
    entry["protocol"] = "handshake".into();
    entry["allow_insecure_http"] = true.into();
    entry["auth"]["redirect"]["port"] = json!(0);
    if let Some(issuer) = entry["auth"]["issuer"].as_str() {
        let path = url::Url::parse(issuer).expect("a URL").path().to_owned();
        entry["auth"]["issuer"] = format!("{}{path}", hosted.origin).into();
    }
    let person = Person::new(&file, APPLICATION);
    person.signs_in(name);
    assert_eq!(person.calls(name), "hello\n");
    hosted.end_access_tokens();
    assert_eq!(person.calls(name), "hello\n");
    assert_eq!(person.calls(name), "hello\n");
    let mut counts = HashMap::new();
    for said in hosted.said() {
        let known = ["registered", "authorized", "code", "refreshed"];
        let known = known.into_iter().find(|word| *word == said);
        *counts.entry(known.unwrap_or_else(|| panic!("{name} was refused: {said}"))).or_default() += 1;
    }
    assert_eq!((counts["authorized"], counts["code"], counts["refreshed"]), (1, 1, 1), "{counts:?}");
    (hosted, counts)
}

#[test]
fn github_registers_nobody_and_has_a_path_in_its_issuer() {
    let path = path(&file("github"), "github");
    let (_, counts) = signs_in(
        "github",
        Habits {
            issuer_path: "/login/oauth",
            registration: Registration::Absent,
            application: Some(("Iv1.0123456789abcdef", APPLICATION)),
            demands_scope: true,
            ..Habits::plain(&path)
        },
    );
    assert!(!counts.contains_key("registered"));
}

#[test]
fn notion_rotates_at_each_refresh() {
    let path = path(&file("notion"), "notion");
    let (_, counts) = signs_in("notion", Habits { rotates: true, ..Habits::plain(&path) });
    assert_eq!(counts["registered"], 1);
}

#[test]
fn linear_has_no_habits() {
    let path = path(&file("linear"), "linear");
    signs_in("linear", Habits::plain(&path));
}

#[test]
fn atlassian_publishes_little_and_names_a_foreign_issuer() {
    let path = path(&file("atlassian"), "atlassian");
    let habits = Habits {
        resource_metadata: false,
        foreign_issuer: Some("https://auth.atlassian.example"),
        ..Habits::plain(&path)
    };
    signs_in("atlassian", habits);
}

#[test]
fn sentry_demands_a_resource_with_its_path() {
    let path = path(&file("sentry"), "sentry");
    assert!(path.len() > "/mcp".len());
    signs_in("sentry", Habits { resource: Some(true), rotates: true, ..Habits::plain(&path) });
}

#[test]
fn slack_wants_scopes_the_secret_in_the_body_and_localhost() {
    let path = path(&file("slack"), "slack");
    let habits = Habits {
        registration: Registration::Absent,
        application: Some(("1234567890.1234567890", APPLICATION)),
        demands_scope: true,
        redirect_host: "localhost",
        ..Habits::plain(&path)
    };
    signs_in("slack", habits);
}

#[test]
fn figma_refuses_to_register_whom_it_does_not_know() {
    let path = path(&file("figma"), "figma");
    let habits = Habits {
        registration: Registration::Refused,
        application: Some(("AbCdEfGhIjKlMnOpQrStUv", APPLICATION)),
        ..Habits::plain(&path)
    };
    signs_in("figma", habits.clone());

    // Whoever does not have an application is told what would help.
    let hosted = Hosted::start(habits);
    let file = json!({"upstreams": {"figma": {"transport": "mcp_http", "url": hosted.url(), "allow_insecure_http": true, "auth": {"type": "oauth"}}}});
    let told = Person::new(&file, APPLICATION).is_refused("figma");
    assert_eq!(told["code"], "registration_refused");
    let issuer = &hosted.origin;
    let expected = format!(
        "{issuer} refuses the registration: access_denied; an application of your own may work, with auth.client"
    );
    assert_eq!(told["message"], expected);
}

#[test]
fn figma_hands_a_secret_to_public_clients_that_it_knows_and_demands_it() {
    let path = path(&file("figma"), "figma");
    let hosted = Hosted::start(Habits { registration: Registration::WithSecret, ..Habits::plain(&path) });
    let entry = json!({"transport": "mcp_http", "url": hosted.url(), "allow_insecure_http": true, "protocol": "handshake", "auth": {"type": "oauth", "redirect": {"port": 0}}});
    let person = Person::new(&json!({"upstreams": {"figma": entry}}), APPLICATION);
    person.signs_in("figma");
    assert_eq!(person.calls("figma"), "hello\n");
    assert_eq!(hosted.said(), ["registered", "authorized", "code"]);
}

#[test]
fn entra_takes_scopes_in_place_of_a_resource() {
    let path = path(&file("fabric"), "fabric");
    let habits = Habits {
        issuer_path: "/11111111-1111-1111-1111-111111111111/v2.0",
        openid_only: true,
        registration: Registration::Absent,
        resource: Some(false),
        demands_scope: true,
        redirect_host: "localhost",
        application: None,
        ..Habits::plain(&path)
    };
    let (_, counts) = signs_in(
        "fabric",
        Habits { application: Some(("00000000-0000-0000-0000-000000000000", "")), ..habits },
    );
    assert!(!counts.contains_key("registered"));
}

#[test]
fn a_server_that_registers_nobody_is_told_with_what_to_do() {
    let hosted = Hosted::start(Habits { registration: Registration::Absent, ..Habits::plain("/mcp") });
    let entry = json!({"transport": "mcp_http", "url": hosted.url(), "allow_insecure_http": true, "auth": {"type": "oauth"}});
    let told = Person::new(&json!({"upstreams": {"own": entry}}), APPLICATION).is_refused("own");
    assert_eq!(told["code"], "no_registration");
    let text = told["message"].as_str().expect("a text");
    let expected = format!(
        "{} does not register clients by itself; create an application there with the redirect URI http://127.0.0.1:",
        hosted.origin
    );
    assert!(text.starts_with(&expected) && text.contains("/callback and set auth.client to"), "{text}");
}
