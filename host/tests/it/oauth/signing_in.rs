//! Discovery, registration, the browser's answer, devices.

use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::{PROCESS, document_address, redirect_address};
use ptc_mcp::json::json;

use super::world::{CLIENT_SECRET, REDIRECT, World, call, call_as, consent_at};
use ptc_test_support::authorization_server::{Iss, Registration, Script, Trouble, browse};

/// Code and text of the sign-in that fails.
async fn refused(world: &World) -> (String, String) {
    let error = world.log_in().await.expect_err("the sign-in should fail");
    (error.code().to_owned(), error.to_string())
}

#[tokio::test]
async fn an_answer_of_somebody_else_is_not_acted_on() {
    for (advertises, iss) in [
        (Some(true), Iss::Absent),
        (Some(true), Iss::Other("https://evil.example".to_owned())),
        (None, Iss::Other("https://evil.example".to_owned())),
    ] {
        let world = World::new(Script { advertises_iss: advertises, iss, denies: true, ..Script::default() });
        let text = "the answer came from another authorization server; nothing was sent to it";
        assert_eq!(refused(&world).await, ("iss_mismatch".to_owned(), text.to_owned()));
        assert!(world.server.hits("/token").is_empty());
    }
    for advertises in [None, Some(false)] {
        let world = World::new(Script { advertises_iss: advertises, iss: Iss::Absent, ..Script::default() });
        world.log_in().await.unwrap();
    }
}

#[tokio::test]
async fn refusals_have_the_codes_and_texts_of_the_specification() {
    let issuer = |world: &World| world.server.issuer();
    let world = World::new(Script { denies: true, ..Script::default() });
    assert_eq!(refused(&world).await.1, "the authorization server answered: access_denied");
    let world = World::new(Script { pkce: None, ..Script::default() });
    assert_eq!(refused(&world).await.0, "no_pkce");
    let world = World::new(Script { issuer: Some(json!("https://other.example")), ..Script::default() });
    assert_eq!(
        refused(&world).await.1,
        format!(
            "metadata for issuer {:?} says it is \"https://other.example\"; auth.issuer names the one that you trust",
            issuer(&world)
        )
    );
    let world =
        World::new(Script { resource: Some("https://other.example/mcp".to_owned()), ..Script::default() });
    assert_eq!(refused(&world).await.0, "resource_mismatch");
    let world = World::new(Script { registration: Registration::Refused(403), ..Script::default() });
    assert_eq!(
        refused(&world).await.1,
        format!(
            "{} refuses the registration: access_denied (refused: ); an application of your own may work, with auth.client",
            issuer(&world)
        )
    );
    let world = World::new(Script { registration: Registration::None, ..Script::default() });
    assert_eq!(refused(&world).await.0, "no_registration");
    let world =
        World::new(Script { servers: Some(vec!["https://10.0.0.1".to_owned()]), ..Script::default() });
    assert_eq!(refused(&world).await.0, "address_refused");
    let world = World::new(Script::default());
    world.server.trouble(
        "/.well-known/oauth-authorization-server",
        Trouble::Redirect("https://169.254.169.254/latest/meta-data".to_owned()),
    );
    assert_eq!(refused(&world).await.0, "address_refused");
    let world = World::new(Script::default());
    world.server.trouble("/token", Trouble::Redirect("https://elsewhere.example/token".to_owned()));
    assert_eq!(refused(&world).await.1, "the token endpoint redirects; not followed");
}

#[tokio::test]
async fn a_registration_that_the_server_has_forgotten_is_made_anew_by_the_next_sign_in() {
    for forgets_with in [None, Some(400), Some(401), Some(404)] {
        let world = World::new(Script { forgets_with, ..Script::default() });
        world.log_in().await.unwrap();
        world.log_in().await.unwrap();
        assert_eq!(world.server.hits("/register").len(), 1, "one that is known stays");
        world.server.forget_clients();
        world.log_in().await.unwrap();
        assert_eq!(world.server.hits("/register").len(), 2, "{forgets_with:?}");
        call(&world.process().await, "whoami").await.unwrap();
    }
    // Where the page tells nothing, the token endpoint does: the next sign-in registers anew.
    for code in ["invalid_client", "unauthorized_client"] {
        let world = World::new(Script::default());
        world.log_in().await.unwrap();
        world.server.trouble("/token", Trouble::Error(code));
        assert_eq!(refused(&world).await.0, code);
        world.log_in().await.unwrap();
        assert_eq!(world.server.hits("/register").len(), 2, "{code}");
    }
}

#[tokio::test]
async fn signing_out_forgets_a_registration_that_nobody_else_uses() {
    let world = World::with_auth(Script::default(), json!({"type": "oauth", "identity": "per_principal"}));
    let site = world.site();
    for principal in ["ann", "bob"] {
        let begun = site.begin(principal, REDIRECT).await.unwrap();
        site.complete(consent_at(begun.url.expose(), REDIRECT).await).await.unwrap().unwrap();
    }
    site.sign_out("ann").await.unwrap();
    site.begin("ann", REDIRECT).await.unwrap();
    assert_eq!(world.server.hits("/register").len(), 1, "bob still needs it");
    site.sign_out("bob").await.unwrap();
    site.begin("bob", REDIRECT).await.unwrap();
    assert_eq!(world.server.hits("/register").len(), 2);
}

#[tokio::test]
async fn an_issuer_may_be_written_with_and_without_its_last_slash() {
    let slashed = |world: &World| format!("{}/", world.server.issuer());
    let world = World::new(Script::default());
    let servers = Some(vec![slashed(&world)]);
    world.server.script().servers = servers;
    world.log_in().await.unwrap();
    call(&world.process().await, "whoami").await.unwrap();
    let world = World::new(Script { advertises_iss: None, ..Script::default() });
    let issuer = Some(json!(slashed(&world)));
    world.server.script().issuer = issuer;
    world.log_in().await.unwrap();
    call(&world.process().await, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_configured_client_is_never_registered() {
    let auth = json!({"type": "oauth", "client": {"id": "mine", "secret": "secret"}});
    let mut script = Script::default();
    script.clients.insert("mine".to_owned(), Some(CLIENT_SECRET.to_owned()));
    let world = World::with_auth(script, auth);
    world.log_in().await.unwrap();
    assert!(world.server.hits("/register").is_empty());
    assert_eq!(world.server.hits("/authorize")[0].get("client_id"), Some("mine"));
    world.advance(3600);
    call(&world.process().await, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_page_of_ours_says_who_we_are_where_a_server_reads_it() {
    let origin = "https://ptc.example";
    let (document, redirect) = (document_address(origin), redirect_address(origin));
    for cimd in [true, false] {
        let world = World::new(Script { cimd, redirects: "https://", ..Script::default() });
        let site = world.site_with_page(origin);
        let begun = site.begin("ann", &redirect).await.unwrap();
        let callback = consent_at(begun.url.expose(), &redirect).await;
        assert!(site.complete(callback).await.unwrap().is_some());
        let asked = world.server.hits("/authorize")[0].get("client_id").map(str::to_owned);
        assert_eq!(asked.as_deref() == Some(&document), cimd, "{asked:?}");
        assert_eq!(world.server.hits("/register").len(), usize::from(!cimd));
        // It is renewed as the same client, also by a process that has no page.
        let status = world.site().status_of("ann").await.unwrap();
        assert_eq!(status.client_id, asked);
        world.advance(3600);
        call_as(&world.process().await, "whoami", Some(&"ann".into())).await.unwrap();
        assert_eq!(world.server.grants("refresh_token")[0].status, 200);
    }
    // Whoever comes back to a port of their own machine is another client.
    let world = World::new(Script { cimd: true, ..Script::default() });
    world.site_with_page(origin).begin(PROCESS, REDIRECT).await.unwrap();
    assert_eq!(world.server.hits("/register").len(), 1);
}

#[tokio::test]
async fn a_registration_that_brings_a_secret_uses_it() {
    let world = World::new(Script {
        registration: Registration::WithSecret("client_secret_post"),
        ..Script::default()
    });
    world.log_in().await.unwrap();
    world.advance(3600);
    call(&world.process().await, "whoami").await.unwrap();
    assert!(
        world.server.hits("/token").iter().all(|hit| hit.get("client_secret").is_some() && hit.status == 200)
    );
}

#[tokio::test]
async fn a_state_is_good_once_and_for_its_own_upstream() {
    let world = World::new(Script::default());
    let site = world.site();
    let begun = site.begin(PROCESS, REDIRECT).await.unwrap();
    let url = begun.url.expose().to_owned();
    let back = tokio::task::spawn_blocking(move || browse(&url)).await.unwrap();
    let callback = || Callback::of_pasted(&back, REDIRECT, None).unwrap();
    let unknown = Callback::read("GET", "/callback?state=unknown&code=c", "/callback").unwrap();
    assert_eq!(site.complete(unknown).await.unwrap(), None);
    assert!(site.complete(callback()).await.unwrap().is_some());
    assert_eq!(site.complete(callback()).await.unwrap(), None, "spent");
    let begun = site.begin(PROCESS, REDIRECT).await.unwrap();
    let late =
        Callback::read("GET", &format!("/callback?state={}&code=c", begun.state.expose()), "/callback")
            .unwrap();
    world.advance(601);
    assert_eq!(site.complete(late).await.unwrap(), None, "too late");
}

#[tokio::test]
async fn a_device_is_waited_for() {
    let world = World::new(Script { device_patience: 1, ..Script::default() });
    let site = world.site();
    let mut device = site.begin_device(PROCESS, REDIRECT).await.unwrap();
    assert_eq!(device.shown.user_code, "WDJB-MJHT");
    let signed_in = site.finish_device(&mut device).await.unwrap();
    assert!(signed_in.refreshable);
    assert_eq!(world.server.hits("/device")[0].get("resource"), Some(&*world.server.mcp()));
    call(&world.process().await, "whoami").await.unwrap();
}

#[tokio::test]
async fn a_principal_that_begins_sign_ins_without_end_leaves_sixteen() {
    let world = World::new(Script::default());
    let site = world.site();
    let mut begun = Vec::new();
    for _ in 0..18 {
        begun.push(site.begin(PROCESS, REDIRECT).await.unwrap());
    }
    for (at, begun) in begun.iter().enumerate().rev() {
        let callback = consent_at(begun.url.expose(), REDIRECT).await;
        assert_eq!(site.complete(callback).await.unwrap().is_some(), at >= 2, "{at}");
    }
}

#[tokio::test]
async fn a_code_that_a_caller_picks_blanks_no_word_of_anybody() {
    let word = "production-database-of-ours";
    let world = World::new(Script::default());
    let site = world.site();
    let begun = site.begin(PROCESS, REDIRECT).await.unwrap();
    let path = url::Url::parse(REDIRECT).unwrap().path().to_owned();
    let issuer: String = url::form_urlencoded::byte_serialize(world.server.issuer().as_bytes()).collect();
    let target = format!("{path}?code={word}&state={}&iss={issuer}", begun.state.expose());
    let callback = Callback::read("GET", &target, &path).unwrap();
    site.complete(callback).await.unwrap_err();
    assert_eq!(world.server.hits("/token").len(), 1);
    for secret in [word, begun.state.expose()] {
        assert_eq!(world.redactor.for_log().scrub(secret), secret);
    }
}

#[tokio::test]
async fn bearers_of_access_tokens_are_sent_to_a_page_that_they_can_use() {
    let world = World::new(Script::default());
    let steps = |page_has_login| {
        let site = world.site_with_login("https://ptc.example", page_has_login);
        ["ci", "https://i.example|ann; touch x"].map(|account| site.next_step(account).to_string())
    };
    let page = |steps: &str| steps.starts_with("open: https://ptc.example/oauth/start?upstream=");
    let [fixed, bearer] = steps(true);
    assert!(page(&fixed) && page(&bearer), "{fixed} {bearer}");
    let [fixed, bearer] = steps(false);
    assert!(page(&fixed) && bearer.ends_with(" --principal 'https://i.example|ann; touch x'"), "{bearer}");
    assert!(bearer.starts_with("run: ptc login "), "{bearer}");
}
