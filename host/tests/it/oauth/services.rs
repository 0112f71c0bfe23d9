//! Sign-ins of other kinds of upstreams, and of services: REST with an OpenAPI document, and the identity of a company.

use ptc_mcp::json::{Value, json};

use super::world::{CLIENT_SECRET, World, call, fault};
use ptc_test_support::authorization_server::{AuthorizationServer, Script, Trouble};

/// A REST service whose metadata name its origin, or that publishes none and has an issuer in its entry.
fn rest(publishes: bool) -> World {
    let script = Script { has_resource_metadata: publishes, ..Script::default() };
    let world = World::of_rest(script, json!({"type": "oauth"}));
    if publishes {
        let origin = world.server.origin();
        world.server.script().resource = Some(origin);
        return world;
    }
    let issuer = world.server.issuer();
    world.authorized_by(json!({"type": "oauth", "issuer": issuer}))
}

#[tokio::test]
async fn a_rest_service_is_signed_in_to_and_stays_so() {
    for publishes in [true, false] {
        let world = rest(publishes);
        let process = world.process().await;
        let never = "not signed in to upstream 'linear'; a person must run: ptc login linear";
        assert_eq!(fault(&process, "items").await, ("auth_required", never.to_owned()));
        world.log_in().await.unwrap();
        world.advance(2);
        // Its document is behind the same door.
        process.load("linear").await.unwrap();
        call(&process, "items").await.unwrap();
        world.advance(3600);
        for reply in futures_util::future::join_all((0..20).map(|_| call(&process, "items"))).await {
            reply.unwrap();
        }
        let refreshes = world.server.grants("refresh_token");
        assert_eq!(refreshes.len(), 1);
        // Without metadata nobody has said what the resource is called.
        let expected = publishes.then(|| world.server.origin());
        for hit in world.server.hits("/authorize").iter().chain(&world.server.hits("/token")) {
            assert_eq!(hit.get("resource"), expected.as_deref());
        }
        world.server.forget_access();
        call(&process, "items").await.unwrap();
        assert_eq!(world.server.grants("refresh_token").len(), 2, "a 401 is answered by one refresh");
        world.server.end_families();
        let (reason, text) = fault(&process, "items").await;
        assert!(reason == "auth_required" && text.contains("has ended (invalid_grant)"), "{text}");
    }
}

#[tokio::test]
async fn a_rest_call_that_lacks_a_scope_says_so() {
    let world = rest(true);
    world.server.script().write_needs = vec!["items:write"];
    world.log_in().await.unwrap();
    let process = world.process().await;
    process.load("linear").await.unwrap();
    let needs = "upstream 'linear' needs the scope \"items:write\" for this call; a person must run: ptc login linear";
    assert_eq!(fault(&process, "write").await, ("auth_required", needs.to_owned()));
    call(&process, "items").await.unwrap();
    world.log_in().await.unwrap();
    world.advance(2);
    call(&process, "write").await.unwrap();
}

/// A server that takes the word of a company's identity provider, and the file with a person's token.
struct Company {
    world: World,
    file: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Company {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("subject");
        let clients = [("mine", Some(CLIENT_SECRET)), ("at-the-provider", None)];
        let clients =
            clients.map(|(id, secret): (&str, Option<&str>)| (id.to_owned(), secret.map(str::to_owned)));
        let script = Script { clients: clients.into(), ..Script::default() };
        let world = World::new(script);
        let auth = json!({
            "type": "oauth", "grant": "id_jag", "client": {"id": "mine", "secret": "secret"}, "scopes": ["a"],
            "idp": {
                "token_endpoint": format!("{}/token", world.server.origin()), "client": {"id": "at-the-provider"},
                "subject_token_file": file.to_str().unwrap(), "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            },
        });
        Self { world: world.authorized_by(auth), file, _folder: folder }
    }

    /// The person's token is this one from now on.
    fn has(&self, token: &str) {
        std::fs::write(&self.file, format!("{token}\n")).unwrap();
    }
}

#[tokio::test]
async fn a_persons_token_is_read_anew_at_each_exchange() {
    let company = Company::new();
    let world = &company.world;
    company.has("subject-token-of-the-morning");
    let process = world.process().await;
    for reply in futures_util::future::join_all((0..10).map(|_| call(&process, "whoami"))).await {
        reply.unwrap();
    }
    let exchanges = || world.server.grants("urn:ietf:params:oauth:grant-type:token-exchange");
    let [first] = &exchanges()[..] else { panic!("one exchange for all callers") };
    assert_eq!(first.get("subject_token"), Some("subject-token-of-the-morning"));
    assert_eq!(first.get("audience"), Some(world.server.issuer().as_str()));
    assert_eq!(first.get("resource"), Some(world.server.mcp().as_str()));
    assert_eq!(first.get("requested_token_type"), Some("urn:ietf:params:oauth:token-type:id-jag"));
    assert_eq!(first.get("client_id"), Some("at-the-provider"));
    let grants = world.server.grants("urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert!(grants[0].get("assertion").unwrap().starts_with("identity-grant-"));
    assert!(world.server.hits("/register").is_empty());
    // Another token lies there when the access token ends.
    company.has("subject-token-of-the-evening");
    world.advance(3600);
    call(&process, "whoami").await.unwrap();
    assert_eq!(exchanges()[1].get("subject_token"), Some("subject-token-of-the-evening"));
    // None of them is shown.
    for token in ["subject-token-of-the-morning", "subject-token-of-the-evening"] {
        assert_eq!(world.redactor.scrub(token), "[REDACTED]");
    }
    // A file that has gone is told, and is looked for again after a pause.
    std::fs::remove_file(&company.file).unwrap();
    world.advance(3600);
    let gone = "cannot renew the sign-in to upstream 'linear': auth.idp.subject_token_file cannot be read"
        .to_owned();
    assert_eq!(fault(&process, "whoami").await, ("upstream_unavailable", gone));
    company.has("subject-token-of-the-night");
    world.advance(2);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_provider_that_refuses_ends_calls_and_no_process() {
    let company = Company::new();
    company.has("subject-token-that-is-over");
    let world = &company.world;
    world.server.trouble("/token", Trouble::Error("invalid_grant"));
    let process = world.process().await;
    let (reason, text) = fault(&process, "whoami").await;
    assert!(reason == "auth_required" && text.contains("has ended (invalid_grant)"), "{text}");
    assert_eq!(fault(&process, "whoami").await.0, "auth_required");
    assert_eq!(world.server.hits("/token").len(), 1, "it is not asked at each call");
    world.advance(61);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn services_are_found_without_guessing() {
    // A grant without a person never falls back to the rules of 2025-03-26.
    let clients = [("robot".to_owned(), Some(CLIENT_SECRET.to_owned()))];
    let script = Script { has_resource_metadata: false, clients: clients.into(), ..Script::default() };
    let auth = json!({"type": "oauth", "grant": "client_credentials", "client": {"id": "robot", "secret": "secret"}});
    let world = World::with_auth(script, auth).optional();
    let process = world.process().await;
    let (reason, text) = fault(&process, "whoami").await;
    let expected = "cannot renew the sign-in to upstream 'linear': the server publishes no authorization metadata; set auth.issuer if you know its issuer";
    assert_eq!((reason, text.as_str()), ("upstream_unavailable", expected));
    assert!(world.server.hits("/token").is_empty());
    assert!(
        world
            .server
            .all_hits()
            .iter()
            .all(|hit| hit.header("mcp-protocol-version").is_none() || hit.path == "/mcp")
    );
    // With its issuer it is.
    let issuer: Value = world.server.issuer().into();
    let auth = json!({"type": "oauth", "grant": "client_credentials", "client": {"id": "robot", "secret": "secret"}, "issuer": issuer});
    let world = world.authorized_by(auth);
    call(&world.process().await, "whoami").await.unwrap();
}

#[tokio::test]
async fn the_tokens_of_one_server_are_no_use_at_another() {
    let company = Company::new();
    company.has("subject-token-of-the-day");
    let other = AuthorizationServer::start(Script::default());
    company.world.server.script().servers = Some(vec![other.issuer()]);
    let process = company.world.process().await;
    // The provider's grant is for the issuer that the resource names, which does not know the client.
    assert_eq!(fault(&process, "whoami").await.0, "auth_required");
    let exchanges = company.world.server.grants("urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(exchanges[0].get("audience"), Some(other.issuer().as_str()));
    assert!(company.world.server.grants("urn:ietf:params:oauth:grant-type:jwt-bearer").is_empty());
    assert!(other.hits("/token").iter().all(|hit| hit.get("subject_token").is_none()));
}
