//! Tokens over time: weeks, full disks, what is never shown.

use ptc_host::sign_in::PROCESS;
use ptc_host::sign_in::SignedOut;
use ptc_host::sign_in::store::{FileStore, Protection, SealingKeys};

use ptc_test_support::authorization_server::{Registration, Rotation, Script};
use ptc_test_support::wait_until_async;

use super::world::{World, call, fault, spellings};

#[tokio::test]
async fn three_processes_share_a_sign_in_for_a_week() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    let processes = [world.process().await, world.process().await, world.process().await];
    // Hours of an hour each, with calls at odd moments of whoever comes.
    let mut order = 7_u64;
    for _ in 0..7 * 24 * 2 {
        world.advance(1800);
        order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let first = &processes[(order >> 33) as usize % 3];
        let second = &processes[(order >> 43) as usize % 3];
        let (one, other) = tokio::join!(call(first, "whoami"), call(second, "whoami"));
        one.unwrap();
        other.unwrap();
    }
    assert!(world.server.is_signed_in());
    let refreshes = world.server.grants("refresh_token");
    assert_eq!(refreshes.len(), 7 * 24, "one an hour");
    assert!(refreshes.iter().all(|hit| hit.status == 200));
    assert_eq!(world.server.hits("/authorize").len(), 1, "one sign-in");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_to_costs_no_sign_in() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    let process = world.process().await;
    let folder = world.state.path().join("auth");
    let names =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let token = names.into_iter().find(|name| name.starts_with("token-") && name.ends_with(".json")).unwrap();
    // What cannot be replaced: as a full disk would have it.
    let obstacle = folder.join(format!(".{token}.new"));
    std::fs::create_dir(&obstacle).unwrap();
    world.advance(3600);
    call(&process, "whoami").await.unwrap();
    call(&process, "whoami").await.unwrap();
    world.advance(3600);
    call(&process, "whoami").await.unwrap();
    let stored = || async { world.site().statuses(PROCESS).await.unwrap()[0].expires_at };
    let before = stored().await;
    std::fs::remove_dir(&obstacle).unwrap();
    // The next use writes what was not written.
    wait_until_async("it is written", async || {
        call(&process, "whoami").await.unwrap();
        stored().await != before
    })
    .await;
    call(&world.process().await, "whoami").await.unwrap();
    assert!(world.server.is_signed_in());
}

#[tokio::test]
async fn no_secret_is_shown_in_any_form() {
    let script = Script { registration: Registration::WithSecret("client_secret_post"), ..Script::default() };
    let world = World::new(script);
    world.log_in().await.unwrap();
    let process = world.process().await;
    for _ in 0..3 {
        world.advance(3600);
        let reply = call(&process, "whoami").await.unwrap();
        // The server echoes the token; what is shown is scrubbed.
        let shown = format!("{reply:?}");
        assert!(world.server.secrets().iter().any(|secret| shown.contains(secret.as_str())), "{shown}");
        assert!(
            !world
                .server
                .secrets()
                .iter()
                .any(|secret| world.redactor.scrub(&shown).contains(secret.as_str()))
        );
    }
    // Codes, states and verifiers are known to nobody: their callers could pick words.
    let mut secrets = world.server.secrets();
    secrets.retain(|secret| secret.starts_with("access-token-") || secret.starts_with("refresh+token/"));
    assert!(secrets.len() >= 6, "{secrets:?}");
    for secret in secrets {
        for form in spellings(&secret) {
            let text = format!("before {form} after");
            let scrubbed = world.redactor.scrub(&text);
            assert!(scrubbed.contains("[REDACTED]"), "{text}");
        }
    }
}

#[tokio::test]
async fn an_authorization_url_is_no_leak() {
    // The URL that a person gets is whole.
    let world = World::new(Script::default());
    let begun = world.site().begin(PROCESS, super::world::REDIRECT).await.unwrap();
    let url = begun.url.expose();
    assert!(
        url.contains(begun.state.expose()) && url.contains("code_challenge=") && !url.contains("REDACTED")
    );
    assert!(!format!("{begun:?}").contains(begun.state.expose()));
}

#[tokio::test]
async fn sealed_tokens_are_not_in_the_files() {
    let world = World::new(Script::default());
    let keys = SealingKeys::of(&[b"a secret of at least 32 bytes, so long"]).unwrap();
    let store = FileStore::new(world.state.path(), Some(keys));
    world.log_in_with(std::sync::Arc::new(store)).await.unwrap();
    for entry in std::fs::read_dir(world.state.path().join("auth")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!world.server.secrets().iter().any(|secret| text.contains(secret.as_str())), "{text}");
    }
    // A process without the key is not signed in, and says why to operators.
    let status = &world.site().statuses(PROCESS).await.unwrap()[0];
    assert!(!status.signed_in && status.store == Protection::Plain);
}

#[tokio::test]
async fn signing_out_revokes_and_is_noticed() {
    let world = World::new(Script::default());
    assert_eq!(world.site().sign_out(PROCESS).await.unwrap(), SignedOut::WasNot);
    let signed_in = world.log_in().await.unwrap();
    let status = world.site().statuses(PROCESS).await.unwrap().remove(0);
    assert!(status.signed_in && status.refreshable && !status.legacy);
    assert_eq!(status.issuer.as_deref(), Some(world.server.issuer().as_str()));
    assert_eq!((status.expires_at, status.resource), (signed_in.expires_at, Some(world.server.mcp())));
    assert_eq!(world.site().sign_out(PROCESS).await.unwrap(), SignedOut::Revoked);
    let revoked = world.server.hits("/revoke");
    let hints: Vec<_> = revoked.iter().map(|hit| hit.get("token_type_hint").unwrap()).collect();
    assert_eq!(hints, ["refresh_token", "access_token"]);
    let status = world.site().statuses(PROCESS).await.unwrap().remove(0);
    assert!(!status.signed_in && status.last_error.is_none());
    let process = world.process().await;
    assert_eq!(fault(&process, "whoami").await.0, "auth_required");
    // The registration is forgotten: people sign out since something is wrong.
    world.log_in().await.unwrap();
    assert_eq!(world.server.hits("/register").len(), 2);
}
