//! What calls see of sign-ins.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ptc_host::sign_in::PROCESS;
use ptc_mcp::json::json;

use super::world::{CLIENT_SECRET, World, call, call_as, fault, linear};
use ptc_test_support::authorization_server::{AuthorizationServer, Rotation, Script, Trouble};
use ptc_test_support::fake_http::Gate;
use ptc_test_support::wait_until_async;

const NEVER: &str = "not signed in to upstream 'linear'; a person must run: ptc login linear";

#[tokio::test]
async fn a_missing_sign_in_ends_no_start_and_a_later_one_is_noticed() {
    let world = World::new(Script::default());
    let process = world.process().await;
    assert_eq!(fault(&process, "whoami").await, ("auth_required", NEVER.to_owned()));
    assert_eq!(world.server.all_hits().len(), 0, "nothing is sent without a token");
    let server = process.unfiltered().catalog().server("linear").unwrap().clone();
    assert!(server.sign_in_needed && !server.loaded);
    world.log_in().await.unwrap();
    world.advance(1);
    process.load("linear").await.unwrap();
    call(&process, "whoami").await.unwrap();
    let server = process.unfiltered().catalog().server("linear").unwrap().clone();
    assert!(!server.sign_in_needed && server.loaded && server.tools().len() == 2);
    process.shutdown().await;
    let hits = world.server.hits("/mcp");
    let methods: Vec<&str> = hits.iter().map(|hit| hit.method.as_str()).collect();
    assert!(methods.contains(&"DELETE"), "{methods:?}");
    // The first is the probe of the sign-in.
    assert!(
        hits[1..].iter().all(|hit| hit.header("authorization").is_some()),
        "every request carries the token"
    );
    assert!(hits.iter().all(|hit| hit.form.is_empty()), "and none has it in its URL");
}

#[tokio::test]
async fn fifty_callers_at_the_end_of_a_token_make_one_refresh() {
    for rotation in [Rotation::Keep, Rotation::Rotate, Rotation::ReuseEndsFamily] {
        let world = World::new(Script { rotation, ..Script::default() });
        world.log_in().await.unwrap();
        let process = world.process().await;
        for round in 1..=3 {
            world.advance(3600);
            let calls = (0..50).map(|_| call(&process, "whoami"));
            for reply in futures_util::future::join_all(calls).await {
                reply.unwrap();
            }
            let refreshes = world.server.grants("refresh_token");
            assert_eq!(refreshes.len(), round, "{rotation:?}");
            assert!(refreshes.iter().all(|hit| hit.get("resource") == Some(world.server.mcp().as_str())));
            assert!(refreshes.iter().all(|hit| hit.get("scope").is_none()));
        }
    }
}

#[tokio::test]
async fn a_401_is_answered_by_one_refresh_and_one_repetition() {
    let world = World::new(Script { lifetime: None, ..Script::default() });
    world.log_in().await.unwrap();
    let process = world.process().await;
    call(&process, "whoami").await.unwrap();
    world.server.forget_access();
    let calls = (0..20).map(|_| call(&process, "whoami"));
    for reply in futures_util::future::join_all(calls).await {
        reply.unwrap();
    }
    assert_eq!(world.server.grants("refresh_token").len(), 1);
    assert_eq!(linear(&process).health().starts, 1, "the session goes on");
}

#[tokio::test]
async fn a_call_that_is_given_up_does_not_give_up_the_refresh() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    let process = world.process().await;
    world.advance(3600);
    let gate = Gate::default();
    world.server.trouble("/token", Trouble::Held(gate.clone()));
    let mut given_up = Box::pin(call(&process, "whoami"));
    wait_until_async("it is refreshing", async || {
        assert!(given_up.as_mut().now_or_never().is_none());
        gate.came() == 1
    })
    .await;
    drop(given_up);
    gate.let_one_pass();
    call(&process, "whoami").await.unwrap();
    assert_eq!(world.server.grants("refresh_token").len(), 1);
    assert!(world.server.is_signed_in());
}

#[tokio::test]
async fn a_refused_refresh_ends_the_sign_in_without_a_loop() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    world.server.end_families();
    world.advance(3600);
    let ended =
        "the sign-in to upstream 'linear' has ended (invalid_grant); a person must run: ptc login linear";
    assert_eq!(fault(&process, "whoami").await, ("auth_required", ended.to_owned()));
    let asked = world.server.hits("/token").len();
    for _ in 0..5 {
        world.advance(2);
        assert_eq!(fault(&process, "whoami").await, ("auth_required", ended.to_owned()));
    }
    assert_eq!(world.server.hits("/token").len(), asked, "a refused credential is not tried again");
    // It is not stuck.
    world.log_in().await.unwrap();
    world.advance(2);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_lost_costs_one_rotation_and_ends_in_a_sign_in() {
    let world = World::new(Script { rotation: Rotation::ReuseEndsFamily, ..Script::default() });
    world.log_in().await.unwrap();
    let process = world.process().await;
    world.advance(3600);
    world.server.trouble("/token", Trouble::Lost);
    assert_eq!(fault(&process, "whoami").await.0, "upstream_unavailable");
    world.advance(2);
    for _ in 0..3 {
        let (reason, text) = fault(&process, "whoami").await;
        assert!(reason == "auth_required" && text.contains("(invalid_grant)"), "{text}");
    }
    assert_eq!(world.server.grants("refresh_token").len(), 2);
}

#[tokio::test]
async fn a_registration_that_the_server_has_forgotten_is_made_anew() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    world.advance(3600);
    world.server.trouble("/token", Trouble::Error("invalid_client"));
    assert!(fault(&process, "whoami").await.1.contains("has ended (invalid_client)"));
    world.log_in().await.unwrap();
    assert_eq!(world.server.hits("/register").len(), 2);
    world.advance(2);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_page_of_a_proxy_at_the_token_endpoint_ends_no_sign_in() {
    for status in [200, 302, 400, 401, 403, 404, 407, 500, 502, 511] {
        let world = World::new(Script::default());
        world.log_in().await.unwrap();
        let process = world.process().await;
        world.advance(3600);
        world.server.trouble("/token", Trouble::Page(status));
        let (reason, text) = fault(&process, "whoami").await;
        assert_eq!(reason, "upstream_unavailable", "{status}: {text}");
        world.advance(2);
        call(&process, "whoami").await.unwrap_or_else(|fault| panic!("{status}: {fault:?}"));
    }
    // A code that is none of the closed list is nobody's last word either.
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    world.advance(3600);
    world.server.trouble("/token", Trouble::Error("try_again"));
    assert_eq!(fault(&process, "whoami").await.0, "upstream_unavailable");
    world.advance(2);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_however_that_is_told() {
    for status in [200, 303, 400, 403, 500] {
        let tells_ended_by = Some(status);
        let world = World::new(Script { lifetime: None, tells_ended_by, ..Script::default() });
        world.log_in().await.unwrap();
        let process = world.process().await;
        call(&process, "whoami").await.unwrap();
        world.server.forget_access();
        let (_, text) = fault(&process, "whoami").await;
        if [200, 400, 403].contains(&status) {
            let advice = "If the sign-in to upstream 'linear' has ended, a person must run: ptc login linear";
            assert!(text.contains(advice), "{status}: {text}");
        }
        wait_until_async("the token is renewed", async || {
            world.server.grants("refresh_token").len() == 1 && call(&process, "whoami").await.is_ok()
        })
        .await;
        // Once a minute at most.
        for _ in 0..5 {
            world.server.forget_access();
            fault(&process, "whoami").await;
        }
        assert_eq!(world.server.grants("refresh_token").len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_told_and_left_alone_for_a_while() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    // A token that is due and still good is used meanwhile.
    world.advance(3600 - 30);
    world.server.trouble("/token", Trouble::Status(503, Some(7)));
    call(&process, "whoami").await.unwrap();
    call(&process, "whoami").await.unwrap();
    assert_eq!(world.server.hits("/token").len(), 2);
    world.advance(31);
    world.server.trouble("/token", Trouble::Status(503, None));
    let away = ("upstream_unavailable", "cannot renew the sign-in to upstream 'linear': http 503".to_owned());
    assert_eq!(fault(&process, "whoami").await, away);
    assert_eq!(fault(&process, "whoami").await, away);
    assert_eq!(world.server.hits("/token").len(), 3, "there is a pause");
    world.advance(61);
    call(&process, "whoami").await.unwrap();
}

#[tokio::test]
async fn redirects_and_rubbish_of_a_token_endpoint_are_told() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    for (trouble, text) in [
        (
            Trouble::Redirect("https://elsewhere.example/token".to_owned()),
            "the token endpoint redirects; not followed",
        ),
        (Trouble::Garbage, "the token endpoint's answer cannot be used (no JSON object)"),
        (Trouble::Huge(2 << 20), "the answer is over 1 MiB"),
    ] {
        world.advance(3600);
        world.server.trouble("/token", trouble);
        let expected = format!("cannot renew the sign-in to upstream 'linear': {text}");
        assert_eq!(fault(&process, "whoami").await, ("upstream_unavailable", expected));
    }
}

#[tokio::test]
async fn scopes_that_a_call_lacks_are_asked_for_at_the_next_sign_in_and_three_times_at_most() {
    let script =
        Script { write_needs: vec!["issues:write"], challenged: Some("issues:read"), ..Script::default() };
    let world = World::new(script);
    world.log_in().await.unwrap();
    let process = world.process().await;
    let needs = "upstream 'linear' needs the scope \"issues:write\" for this call; a person must run: ptc login linear";
    assert_eq!(fault(&process, "write").await, ("auth_required", needs.to_owned()));
    call(&process, "whoami").await.unwrap();
    world.log_in().await.unwrap();
    let asked = world.server.hits("/authorize");
    assert_eq!(asked[0].get("scope"), Some("issues:read"));
    assert_eq!(asked[1].get("scope"), Some("issues:read issues:write"), "the union");
    world.advance(2);
    call(&process, "write").await.unwrap();
    // A server that is never content.
    world.server.script().write_needs = vec!["issues:admin", "unheard:of"];
    let mut told = Vec::new();
    for another in ["more", "still:more", "ever:more"] {
        told.push(fault(&process, "write").await.1);
        world.server.script().write_needs.push(another);
        world.log_in().await.unwrap();
        world.advance(2);
    }
    assert!(told[0].contains("needs the scope") && told[1].contains("needs the scope"), "{told:#?}");
    assert!(told[2].ends_with("after it was requested; giving up"), "{told:#?}");
}

#[tokio::test]
async fn a_client_that_acts_for_itself_needs_nobody() {
    let auth = json!({"type": "oauth", "grant": "client_credentials", "client": {"id": "robot", "secret": "secret"}, "scopes": ["a"]});
    let mut script = Script { lifetime: Some(100), ..Script::default() };
    script.clients.insert("robot".to_owned(), Some(CLIENT_SECRET.to_owned()));
    let world = World::with_auth(script, auth);
    let process = world.process().await;
    for reply in futures_util::future::join_all((0..20).map(|_| call(&process, "whoami"))).await {
        reply.unwrap();
    }
    let grants = world.server.grants("client_credentials");
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].get("scope"), Some("a"));
    assert_eq!(grants[0].get("resource"), Some(&*world.server.mcp()));
    assert!(world.server.hits("/register").is_empty());
    world.server.forget_access();
    call(&process, "whoami").await.unwrap();
    assert_eq!(world.server.grants("client_credentials").len(), 2, "once per 401");
    // More scopes are fetched without asking anybody, once.
    world.server.script().write_needs = vec!["b"];
    call(&process, "write").await.unwrap();
    assert_eq!(world.server.grants("client_credentials")[2].get("scope"), Some("a b"));
}

#[tokio::test]
async fn an_upstream_that_has_moved_wants_a_new_sign_in() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    let other = AuthorizationServer::start(Script::default());
    world.server.script().servers = Some(vec![other.issuer()]);
    world.server.script().lifetime = Some(0);
    world.server.forget_access();
    let moved =
        "upstream 'linear' has moved to another authorization server; a person must run: ptc login linear";
    assert_eq!(fault(&process, "whoami").await, ("auth_required", moved.to_owned()));
    assert!(other.hits("/token").is_empty(), "the tokens of one issuer never go to another");
}

#[tokio::test]
async fn principals_have_sign_ins_of_their_own() {
    let world = World::new(Script::default());
    world.log_in().await.unwrap();
    let process = world.process().await;
    let (own, other): (Arc<str>, Arc<str>) = (PROCESS.into(), "ci".into());
    call_as(&process, "whoami", Some(&own)).await.unwrap();
    let fault = call_as(&process, "whoami", Some(&other)).await.unwrap_err();
    assert_eq!(
        fault.message,
        "not signed in to upstream 'linear'; a person must run: ptc login linear --principal ci"
    );
    let shared = World::with_auth(Script::default(), json!({"type": "oauth", "identity": "shared"}));
    shared.log_in().await.unwrap();
    call_as(&shared.process().await, "whoami", Some(&other)).await.unwrap();
}
