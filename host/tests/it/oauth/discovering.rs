//! Servers as they are: what they publish, or do not, and where.

use ptc_host::sign_in::PROCESS;
use ptc_mcp::json::json;

use super::world::{REDIRECT, World, call, consent, fault};
use ptc_test_support::authorization_server::{Iss, Registration, Script};

#[tokio::test]
async fn a_resource_goes_out_as_its_server_writes_it() {
    // With a slash at its end and without, and where a server publishes its origin alone.
    for (path, resource) in
        [("/mcp", ""), ("/mcp", "/"), ("/mcp", "/mcp"), ("/mcp/", "/mcp"), ("/mcp", "/mcp/")]
    {
        let world = World::new(Script { path: path.to_owned(), ..Script::default() });
        let resource = format!("{}{resource}", world.server.origin());
        world.server.script().resource = Some(resource.clone());
        world.log_in().await.unwrap();
        world.advance(3600);
        call(&world.process().await, "whoami").await.unwrap();
        let device = world.site().begin_device(PROCESS, REDIRECT).await.unwrap();
        assert_eq!(device.shown.user_code, "WDJB-MJHT");
        for (path, count) in [("/authorize", 1), ("/token", 2), ("/device", 1)] {
            let hits = world.server.hits(path);
            assert_eq!(hits.len(), count, "{path}");
            assert!(hits.iter().all(|hit| hit.get("resource") == Some(resource.as_str())), "{hits:?}");
        }
    }
}

#[tokio::test]
async fn scopes_of_the_whole_tenant_are_not_asked_for() {
    for (challenged, published, expected) in [
        (Some("issues:read"), vec!["issues:read", "issues:write"], Some("issues:read")),
        (None, vec!["issues:read", "issues:write"], Some("issues:read issues:write")),
        (None, vec![], None),
    ] {
        let tenant_scopes = vec!["directory:everything", "mail:send"];
        let world = World::new(Script { challenged, scopes: published, tenant_scopes, ..Script::default() });
        world.log_in().await.unwrap();
        assert_eq!(world.server.hits("/authorize")[0].get("scope"), expected);
        let registered = world.server.hits("/register")[0].json["scope"].to_string();
        assert!(!registered.contains("everything") && !registered.contains("mail"), "{registered}");
        call(&world.process().await, "whoami").await.unwrap();
    }
}

#[tokio::test]
async fn a_challenge_that_says_little_or_something_else_is_no_obstacle() {
    let resource = |world: &World| format!("Bearer resource=\"{}\"", world.server.mcp());
    let silent: [fn(&World) -> String; 4] = [
        // The parameter that some servers write in place of `resource_metadata`.
        |world| format!("Bearer resource=\"{}/elsewhere\"", world.server.origin()),
        |_| "Bearer".to_owned(),
        |_| "Bearer realm=\"mcp\", error=\"invalid_token\"".to_owned(),
        |_| "Negotiate, Basic realm=\"x\"".to_owned(),
    ];
    for challenge in silent.into_iter().chain([resource as fn(&World) -> String]) {
        let world = World::new(Script::default());
        let challenge = challenge(&world);
        world.server.script().challenge = Some(challenge.clone());
        world.log_in().await.unwrap_or_else(|error| panic!("{challenge}: {error}"));
        call(&world.process().await, "whoami").await.unwrap();
        let asked = world.server.hits("/.well-known/oauth-protected-resource/mcp");
        assert_eq!(asked.len(), 1, "the usual place is looked at, and no other one");
        assert!(world.server.hits("/elsewhere").is_empty());
    }
    // Some servers mean 401 and say 403.
    let world = World::new(Script::default());
    world.server.script().challenges_with = Some(403);
    world.log_in().await.unwrap();
    call(&world.process().await, "whoami").await.unwrap();
    // A challenge that leads to another host is refused rather than followed.
    let world = World::new(Script::default());
    world.server.script().challenge = Some(
        "Bearer resource_metadata=\"https://elsewhere.example/.well-known/oauth-protected-resource\""
            .to_owned(),
    );
    assert_eq!(world.log_in().await.unwrap_err().code(), "prm_origin");
}

/// A server of 2025-03-26: no metadata of the resource, and perhaps none of itself.
fn legacy(has_metadata: bool) -> Script {
    let issuer = has_metadata.then(|| json!("https://auth.elsewhere.example"));
    Script {
        has_resource_metadata: false,
        has_metadata,
        issuer,
        advertises_iss: None,
        iss: Iss::Absent,
        ..Script::default()
    }
}

#[tokio::test]
async fn servers_of_2025_03_26_are_signed_in_to_by_people_alone() {
    for has_metadata in [true, false] {
        let world = World::new(legacy(has_metadata));
        let process = world.process().await;
        assert_eq!(fault(&process, "whoami").await.0, "auth_required");
        assert!(world.server.all_hits().is_empty(), "calls guess nothing");
        let signed_in = world.log_in().await.unwrap();
        let issuer =
            if has_metadata { "https://auth.elsewhere.example".to_owned() } else { world.server.origin() };
        assert_eq!(signed_in.issuer, issuer);
        let asked = world.server.hits("/.well-known/oauth-authorization-server");
        assert!(asked.iter().all(|hit| hit.header("mcp-protocol-version") == Some("2025-03-26")));
        assert_eq!(asked.len(), 1);
        world.advance(2);
        call(&process, "whoami").await.unwrap();
        // It is renewed by what was found at the sign-in.
        world.advance(3600);
        call(&process, "whoami").await.unwrap();
        assert_eq!(world.server.grants("refresh_token").len(), 1);
        assert_eq!(world.server.hits("/.well-known/oauth-authorization-server").len(), 1);
        let status = &world.site().statuses(PROCESS).await.unwrap()[0];
        assert!(status.signed_in && status.legacy && status.issuer.as_deref() == Some(issuer.as_str()));
        assert_eq!(
            world.site().sign_out(PROCESS).await.unwrap(),
            match has_metadata {
                true => ptc_host::sign_in::SignedOut::Revoked,
                // Nobody has said where.
                false => ptc_host::sign_in::SignedOut::Deleted,
            }
        );
    }
    let never = World::with_auth(legacy(true), json!({"type": "oauth", "legacy_discovery": "never"}));
    assert_eq!(never.log_in().await.unwrap_err().code(), "no_metadata");
}

#[tokio::test]
async fn another_process_takes_the_browser_back() {
    // What was begun lies in the store: behind a balancer the answer may reach any replica.
    let world = World::new(Script { registration: Registration::WithSecret("none"), ..Script::default() });
    let begun = world.site().begin(PROCESS, REDIRECT).await.unwrap();
    let callback = consent(begun.url.expose()).await;
    let (one, other) = (world.site(), world.site());
    let (first, second) = tokio::join!(one.complete(callback.clone()), other.complete(callback));
    let signed_in = [first.unwrap(), second.unwrap()].into_iter().flatten().count();
    assert_eq!(signed_in, 1, "a state is good once, wherever it comes back");
    assert_eq!(world.server.grants("authorization_code").len(), 1);
    call(&world.process().await, "whoami").await.unwrap();
}
