//! The entries of `docs/guide/sign-in.md`: each is read, and each server's habits are played by a server of these tests, at which
//! the real command signs in with the entry of the guide. The other files hold what the product as a whole says and does around
//! sign-ins.

mod asked;
mod identities;
#[cfg(target_os = "linux")]
mod keyring;
mod leaks;
mod own_lists;
mod page;
mod person;
mod programs;
mod redirects;
mod replicas;
mod server;
mod states;

use std::collections::HashMap;
use std::path::Path;

use person::Person;
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_mcp::json::{Value, json};
use ptc_test_support::authorization_server::{AuthorizationServer, Iss, Registration, Rotation, Script};
use server::entry;

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

/// A server at this path without habits: what it publishes of itself says little, and its tenant has more scopes than are good.
fn plain(path: &str) -> Script {
    Script {
        path: path.to_owned(),
        rotation: Rotation::Keep,
        advertises_iss: None,
        iss: Iss::Absent,
        methods: vec!["none", "client_secret_post"],
        tenant_scopes: vec!["everything", "of-the-tenant"],
        redirects: "http://127.0.0.1:",
        ..Script::default()
    }
}

/// The clients of a server that has registered this one beforehand.
fn knows(id: &str, secret: Option<&str>) -> HashMap<String, Option<String>> {
    [(id.to_owned(), secret.map(str::to_owned))].into()
}

/// Signs in with the guide's entry at a server of these habits, calls a tool, and calls it again after the access token has ended.
fn signs_in(name: &str, habits: Script) -> AuthorizationServer {
    let mut file = file(name);
    let hosted = AuthorizationServer::start(habits);
    let entry = &mut file["upstreams"][name];
    entry["url"] = hosted.mcp().into();
    entry["protocol"] = "handshake".into();
    entry["allow_insecure_http"] = true.into();
    entry["auth"]["redirect"]["port"] = json!(0);
    if let Some(issuer) = entry["auth"]["issuer"].as_str() {
        let path = url::Url::parse(issuer).expect("a URL").path().to_owned();
        entry["auth"]["issuer"] = format!("{}{path}", hosted.origin()).into();
    }
    let person = Person::new(&file, APPLICATION);
    person.signs_in(name);
    // The server repeats the token, which is not shown.
    let said = "family 0 echoes Bearer [REDACTED]\n";
    assert_eq!(person.calls(name), said);
    hosted.forget_access();
    assert_eq!(person.calls(name), said);
    assert_eq!(person.calls(name), said);
    let of_protocol = ["/register", "/authorize", "/token"];
    for hit in hosted.all_hits() {
        let is_refused = of_protocol.iter().any(|end| hit.path.ends_with(end)) && hit.status >= 400;
        assert!(!is_refused, "{name} was refused: {hit:?}");
    }
    let authorized = hosted.all_hits().iter().filter(|hit| hit.path.ends_with("/authorize")).count();
    let grants = ["authorization_code", "refresh_token"].map(|grant| hosted.grants(grant).len());
    assert_eq!((authorized, grants), (1, [1, 1]));
    hosted
}

/// How many clients were registered.
fn registered(hosted: &AuthorizationServer) -> usize {
    hosted.all_hits().iter().filter(|hit| hit.path.ends_with("/register")).count()
}

#[test]
fn github_registers_nobody_and_has_a_path_in_its_issuer() {
    let path = path(&file("github"), "github");
    let hosted = signs_in(
        "github",
        Script {
            issuer_path: "/login/oauth",
            registration: Registration::None,
            clients: knows("Iv1.0123456789abcdef", Some(APPLICATION)),
            demands_scope: true,
            ..plain(&path)
        },
    );
    assert_eq!(registered(&hosted), 0);
}

#[test]
fn notion_rotates_at_each_refresh() {
    let path = path(&file("notion"), "notion");
    let hosted = signs_in("notion", Script { rotation: Rotation::ReuseEndsFamily, ..plain(&path) });
    assert_eq!((registered(&hosted), hosted.rotations()), (1, 1));
}

#[test]
fn linear_has_no_habits() {
    let path = path(&file("linear"), "linear");
    signs_in("linear", plain(&path));
}

#[test]
fn atlassian_publishes_little_and_names_a_foreign_issuer() {
    let path = path(&file("atlassian"), "atlassian");
    let issuer = Some(json!("https://auth.atlassian.example"));
    signs_in("atlassian", Script { has_resource_metadata: false, issuer, ..plain(&path) });
}

#[test]
fn sentry_demands_a_resource_with_its_path() {
    let path = path(&file("sentry"), "sentry");
    assert!(path.len() > "/mcp".len());
    let rotation = Rotation::ReuseEndsFamily;
    signs_in("sentry", Script { wants_resource: Some(true), rotation, ..plain(&path) });
}

#[test]
fn slack_wants_scopes_the_secret_in_the_body_and_localhost() {
    let path = path(&file("slack"), "slack");
    let habits = Script {
        registration: Registration::None,
        clients: knows("1234567890.1234567890", Some(APPLICATION)),
        methods: vec!["client_secret_post"],
        demands_scope: true,
        redirects: "http://localhost:",
        ..plain(&path)
    };
    signs_in("slack", habits);
}

#[test]
fn figma_refuses_to_register_whom_it_does_not_know() {
    let path = path(&file("figma"), "figma");
    let habits = Script {
        registration: Registration::Refused(403),
        clients: knows("AbCdEfGhIjKlMnOpQrStUv", Some(APPLICATION)),
        ..plain(&path)
    };
    signs_in("figma", habits.clone());

    // Whoever does not have an application is told what would help.
    let hosted = AuthorizationServer::start(habits);
    let file = json!({"upstreams": {"figma": entry(&hosted, json!({}))}});
    let told = Person::new(&file, APPLICATION).is_refused("figma");
    assert_eq!(told["code"], "registration_refused");
    let issuer = hosted.issuer();
    let expected = format!(
        "{issuer} refuses the registration: access_denied (refused: ); an application of your own may work, with auth.client"
    );
    assert_eq!(told["message"], expected);
}

#[test]
fn figma_hands_a_secret_to_public_clients_that_it_knows_and_demands_it() {
    let path = path(&file("figma"), "figma");
    let habits = Script { registration: Registration::WithSecret("none"), ..plain(&path) };
    let hosted = AuthorizationServer::start(habits);
    let file = json!({"upstreams": {"figma": entry(&hosted, json!({"redirect": {"port": 0}}))}});
    let person = Person::new(&file, APPLICATION);
    person.signs_in("figma");
    assert_eq!(person.calls("figma"), "family 0 echoes Bearer [REDACTED]\n");
    assert_eq!((registered(&hosted), hosted.grants("authorization_code").len()), (1, 1));
}

#[test]
fn entra_takes_scopes_in_place_of_a_resource() {
    let path = path(&file("fabric"), "fabric");
    let hosted = signs_in(
        "fabric",
        Script {
            issuer_path: "/11111111-1111-1111-1111-111111111111/v2.0",
            openid_only: true,
            registration: Registration::None,
            wants_resource: Some(false),
            demands_scope: true,
            redirects: "http://localhost:",
            clients: knows("00000000-0000-0000-0000-000000000000", None),
            ..plain(&path)
        },
    );
    assert_eq!(registered(&hosted), 0);
}

#[test]
fn a_server_that_registers_nobody_is_told_with_what_to_do() {
    let hosted = AuthorizationServer::start(Script { registration: Registration::None, ..plain("/mcp") });
    let file = json!({"upstreams": {"own": entry(&hosted, json!({"redirect": {"port": 0}}))}});
    let told = Person::new(&file, APPLICATION).is_refused("own");
    assert_eq!(told["code"], "no_registration");
    let text = told["message"].as_str().expect("a text");
    let expected = format!(
        "{} does not register clients by itself; create an application there with the redirect URI http://127.0.0.1:",
        hosted.issuer()
    );
    assert!(text.starts_with(&expected) && text.contains("/callback and set auth.client to"), "{text}");
}
