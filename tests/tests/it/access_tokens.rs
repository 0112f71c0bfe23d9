//! `ptc start --http --issuer … --public-url …` as a process, with a scripted provider: sign-ins of callers by JWTs and opaque tokens
//! (auth.md 13).

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use ptc_test_support::authorization_server::{AuthorizationServer, INTROSPECTION_CLIENT, Script, Trouble};
use ptc_test_support::process::{Answer, Http, Launch};
use ptc_test_support::wait_until;

/// What the server calls itself, wherever it listens.
const RESOURCE: &str = "https://ptc.example/mcp";
const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// A server whose only issuer is `provider`, with these flags, and a clock that the tests set ahead.
fn server(provider: &AuthorizationServer, flags: &[&str]) -> Http {
    let issuer = provider.issuer();
    let flags =
        [&["--issuer", &issuer, "--public-url", RESOURCE, "--required-scope", "mcp:read"], flags].concat();
    Launch::of(PROGRAM, &flags).stepped().on_http()
}

/// The same, and it asks about opaque tokens.
fn asking_server(provider: &AuthorizationServer) -> Http {
    let client = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(client.path(), INTROSPECTION_CLIENT).expect("written");
    server(provider, &["--introspection-client", client.path().to_str().expect("UTF-8")])
}

/// The answer to a call of `(+ 40 2)` with this token.
fn call(server: &Http, token: &str) -> Answer {
    eval(server, token, "(+ 40 2)")
}

/// The answer to a program's call with this token.
fn eval(server: &Http, token: &str, program: &str) -> Answer {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "lisp_eval", "arguments": {"program": program}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: lisp_eval\r\nAuthorization: Bearer {token}\r\n"
    );
    server.post(&headers, message.to_string().as_bytes())
}

fn is_good(server: &Http, token: &str) {
    let answer = call(server, token);
    assert!(
        answer.status == 200 && answer.body.contains("user=> 42"),
        "{answer:?}\n{}",
        server.server.launch.log()
    );
}

fn is_refused(server: &Http, token: &str, description: &str) {
    let answer = call(server, token);
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    assert!(
        answer.status == 401 && challenge.contains(&format!("error_description=\"{description}\"")),
        "{answer:?}\n{}",
        server.server.launch.log()
    );
}

#[test]
fn a_client_finds_its_way_from_the_challenge_to_a_program() {
    let provider = AuthorizationServer::start(Script { issuer_path: "/tenant", ..Script::default() });
    let server = server(&provider, &[]);
    let answer = server.post("", b"{}");
    let place = "https://ptc.example/.well-known/oauth-protected-resource/mcp";
    let challenge = format!(r#"Bearer resource_metadata="{place}", scope="mcp:read""#);
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some(&*challenge)));
    let metadata = server.get("/.well-known/oauth-protected-resource/mcp");
    let metadata: Value = serde_json::from_str(&metadata.body).expect("JSON");
    assert_eq!(metadata["resource"], RESOURCE);
    assert_eq!(metadata["authorization_servers"], json!([provider.issuer()]));
    is_good(&server, &provider.jwt("ann", RESOURCE, 600));
    for (audience, description) in
        [("https://ptc.example/", "another audience"), ("https://other.example/mcp", "another audience")]
    {
        is_refused(&server, &provider.jwt("ann", audience, 600), &format!("the token is for {description}"));
    }
    let stranger = AuthorizationServer::start(Script::default());
    is_refused(&server, &stranger.jwt("ann", RESOURCE, 600), "the token is from another issuer");
    is_refused(&server, "neither-nor", "the token cannot be verified");
    // A server that says it is the issuer signs with another key.
    let mut forged = stranger.jwt("ann", RESOURCE, 600);
    let own = provider.jwt("ann", RESOURCE, 600);
    forged =
        format!("{}.{}", own.rsplit_once('.').expect("parts").0, forged.rsplit_once('.').expect("parts").1);
    is_refused(&server, &forged, "the token cannot be verified");
    assert!(!server.server.launch.log().contains(&own), "no token is logged");
}

#[test]
fn people_of_other_groups_see_other_upstreams() {
    let provider = AuthorizationServer::start(Script::default());
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
        folder.path().join(name).to_str().expect("UTF-8").to_owned()
    };
    let policy = json!({"rules": [
        {"match": {"claim": {"groups": "of-ann"}, "issuer": provider.issuer()}, "upstreams": {"fake": {"allow": ["*"]}}},
        {"match": {"principal": "ci"}, "upstreams": {"fake": {"allow": ["*"]}}}]});
    let policy = write("policy.json", &policy.to_string());
    let machine = "0123456789abcdef0123456789abcdef";
    let tokens = write("tokens", &format!("ci:{machine}\nguest:{}\n", machine.replace('0', "x")));
    let issuer = provider.issuer();
    let flags =
        ["--issuer", &issuer, "--public-url", RESOURCE, "--policy", &policy, "--http-auth", "oauth,token"];
    let flags = [&flags[..], &["--http-auth-token-file", &tokens]].concat();
    let server = Launch::of(PROGRAM, &flags).with_only_the_upstream().on_http();
    let sees = |token: &str| {
        let answer = eval(&server, token, "(map :name (tool/servers))");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body.contains("fake")
    };
    let guest = machine.replace('0', "x");
    assert!(sees(&provider.jwt("ann", RESOURCE, 600)) && sees(machine));
    assert!(!sees(&provider.jwt("ben", RESOURCE, 600)) && !sees(&guest));
}

/// A client that is told 401 signs in anew at our issuer, which would not help.
#[test]
fn a_refusal_of_an_upstream_is_no_refusal_of_ours_and_no_token_of_a_caller_reaches_it() {
    let (provider, upstream) =
        (AuthorizationServer::start(Script::default()), AuthorizationServer::start(Script::default()));
    let entry = json!({"transport": "mcp_http", "url": upstream.mcp(), "allow_insecure_http": true, "required": false});
    let mut signed_in = entry.clone();
    signed_in["auth"] = json!({"type": "oauth"});
    let file = tempfile::NamedTempFile::new().expect("a file");
    let config = json!({"upstreams": {"plain": entry, "hosted": signed_in}});
    std::fs::write(file.path(), config.to_string()).expect("written");
    let flags = ["--questions", "client", "--upstreams-config", file.path().to_str().expect("UTF-8")];
    let server = server(&provider, &flags);
    let token = provider.jwt("ann", RESOURCE, 600);
    for (name, reason) in [("plain", "auth_failed"), ("hosted", "auth_required")] {
        let program = format!("(:reason (tool/call {{:server \"{name}\" :tool \"items\" :args {{}}}}))");
        let answer = eval(&server, &token, &program);
        assert_eq!((answer.status, answer.header("www-authenticate")), (200, None), "{name}: {answer:?}");
        assert!(answer.body.contains(reason), "{name}: {answer:?}");
    }
    let asked = upstream.all_hits();
    assert!(asked.iter().any(|hit| hit.path == "/mcp" && hit.status == 401), "it has refused us");
    let signature = token.rsplit('.').next().expect("a part");
    assert!(!asked.iter().any(|hit| format!("{hit:?}").contains(signature)), "{asked:?}");
    assert!(!server.server.launch.log().contains(signature));
}

#[test]
fn a_jwt_ends_with_its_exp_and_the_leeway() {
    let provider = AuthorizationServer::start(Script::default());
    let server = server(&provider, &[]);
    let token = provider.jwt("ann", RESOURCE, 600);
    is_good(&server, &token);
    server.server.advance(Duration::from_secs(610));
    is_good(&server, &token);
    server.server.advance(Duration::from_secs(60));
    is_refused(&server, &token, "the token has expired");
}

#[test]
fn keys_rotate_without_a_restart() {
    let provider = AuthorizationServer::start(Script::default());
    let server = server(&provider, &[]);
    let old = provider.jwt("ann", RESOURCE, 100_000);
    is_good(&server, &old);
    let fetches = provider.hits("/jwks").len();
    provider.rotate_key();
    let new = provider.jwt("ben", RESOURCE, 100_000);
    // Nobody can say whether it is one of the provider's, as often as it comes.
    let is_unclear = |token: &str| {
        for _ in 0..20 {
            let answer = call(&server, token);
            assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
        }
    };
    is_unclear(&new);
    assert_eq!(provider.hits("/jwks").len(), fetches);
    // The fetch at the start is not the one of a minute.
    server.server.advance(Duration::from_secs(6));
    is_good(&server, &new);
    assert_eq!(provider.hits("/jwks").len(), fetches + 1);
    provider.rotate_key();
    let newest = provider.jwt("cid", RESOURCE, 100_000);
    server.server.advance(Duration::from_secs(50));
    is_unclear(&newest);
    assert_eq!(provider.hits("/jwks").len(), fetches + 1);
    server.server.advance(Duration::from_secs(11));
    is_good(&server, &newest);
    assert_eq!(provider.hits("/jwks").len(), fetches + 2);
    // The old key is withdrawn: its tokens end with their verdict, an hour after they came.
    server.server.advance(Duration::from_secs(3600));
    is_refused(&server, &old, "the token cannot be verified");
}

#[test]
fn cached_keys_serve_while_the_provider_is_away_and_for_a_day_at_most() {
    let provider = AuthorizationServer::start(Script::default());
    let server = server(&provider, &[]);
    is_good(&server, &provider.jwt("ann", RESOURCE, 1_000_000));
    let away = |provider: &AuthorizationServer| {
        let mut script = provider.script();
        for path in ["/jwks", "/.well-known/oauth-authorization-server"] {
            script.trouble.entry(path).or_default().extend(vec![Trouble::Status(503, None); 100]);
        }
    };
    away(&provider);
    server.server.advance(Duration::from_secs(20 * 3600));
    is_good(&server, &provider.jwt("ben", RESOURCE, 1_000_000));
    server.server.launch.logged("issuer_unavailable");
    server.server.advance(Duration::from_secs(5 * 3600));
    let answer = call(&server, &provider.jwt("cid", RESOURCE, 1_000_000));
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
    provider.script().trouble.clear();
    server.server.advance(Duration::from_secs(5));
    is_good(&server, &provider.jwt("dan", RESOURCE, 1_000_000));
}

#[test]
fn a_channel_for_news_ends_with_its_token() {
    let provider = AuthorizationServer::start(Script::default());
    let server = asking_server(&provider);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}});
    let message = message.to_string();
    let open = |token: &str| {
        let mut stream = server.connect();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: subscriptions/listen\r\nAccept: application/json, text/event-stream\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{message}",
            message.len()
        )
        .expect("the server reads");
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        assert!(lines.any(|line| line.contains("notifications/subscriptions/acknowledged")), "it is open");
        lines
    };
    let (opaque, jwt) = (provider.opaque("ann", RESOURCE), provider.jwt("ben", RESOURCE, 600));
    let (of_ann, of_ben) = (open(&opaque), open(&jwt));
    provider.revoke_opaque(&opaque);
    server.server.advance(Duration::from_secs(60));
    assert!(of_ann.into_iter().any(|line| line.contains("subscriptionId")), "its end is told");
    server.server.advance(Duration::from_secs(601));
    assert!(of_ben.into_iter().any(|line| line.contains("subscriptionId")), "its end is told");
}

/// A server that has no keys says so, whatever the reason, and its log says which.
#[test]
fn providers_that_lie_or_lead_inside_give_no_keys() {
    let internal = |uri: &str| Script { jwks_uri: Some(uri.to_owned()), ..Script::default() };
    let answering = |trouble: Trouble| {
        let mut script = Script::default();
        script.trouble.insert("/jwks", vec![trouble; 100].into());
        script
    };
    for (script, reason) in [
        (internal("https://10.0.0.1/jwks"), "is not public"),
        (internal("https://169.254.169.254/latest"), "is not public"),
        (internal("http://keys.example/jwks"), "have no jwks_uri that is an https URL"),
        (internal("file:///etc/passwd"), "have no jwks_uri that is an https URL"),
        (answering(Trouble::Redirect("http://10.0.0.1/".into())), "is not public"),
        (answering(Trouble::Page(200)), "no JSON object with a list of keys"),
        (answering(Trouble::Status(500, None)), "http 500"),
        (answering(Trouble::Huge(300 << 10)), "over 256 KiB"),
        (answering(Trouble::Huge(2 << 20)), "over 1 MiB"),
        (Script { issuer: Some(json!("https://evil.example")), ..Script::default() }, "are of the issuer"),
    ] {
        let provider = AuthorizationServer::start(script);
        let server = server(&provider, &[]);
        let answer = call(&server, &provider.jwt("ann", RESOURCE, 600));
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{reason}: {answer:?}");
        wait_until(&format!("the log says {reason}"), || server.server.launch.log().contains(reason));
        // Nobody is let in meanwhile, and whoever has no token learns where to get one.
        assert_eq!(server.post("", b"{}").status, 401);
    }
}

#[test]
fn an_issuer_that_writes_itself_with_a_slash_is_told_so() {
    let provider = AuthorizationServer::start(Script::default());
    provider.script().issuer = Some(json!(format!("{}/", provider.issuer())));
    let server = server(&provider, &[]);
    assert_eq!(call(&server, &provider.jwt("ann", RESOURCE, 600)).status, 503);
    let advice = format!("it calls itself \\\"{}/\\\"; write --issuer so", provider.issuer());
    server.server.launch.logged(&advice);
}

#[test]
fn a_provider_that_hangs_holds_up_nobody_whose_key_is_known() {
    let provider = AuthorizationServer::start(Script::default());
    let server = server(&provider, &[]);
    let known = provider.jwt("ann", RESOURCE, 1_000_000);
    is_good(&server, &known);
    let asked = provider.hits("/jwks").len();
    provider.rotate_key();
    let new = provider.jwt("ben", RESOURCE, 1_000_000);
    server.server.advance(Duration::from_secs(61));
    for _ in 0..8 {
        provider.trouble("/jwks", Trouble::Ignored);
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&server, &new));
        wait_until("the new key is asked for", || provider.hits("/jwks").len() == asked + 1);
        is_good(&server, &known);
        // The one who waits is told to come back, after five seconds.
        wait_until("the wait has ended", || {
            server.server.advance(Duration::from_secs(1));
            waiting.is_finished()
        });
        let answer = waiting.join().expect("an answer");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
    });
    provider.script().trouble.clear();
    // A minute after the fetch has ended, which its own task finds out.
    wait_until("the new key is known", || {
        server.server.advance(Duration::from_secs(61));
        call(&server, &new).status == 200
    });
}

#[test]
fn a_revoked_opaque_token_ends_within_a_minute() {
    let provider = AuthorizationServer::start(Script::default());
    let server = asking_server(&provider);
    let token = provider.opaque("ann", RESOURCE);
    for _ in 0..3 {
        is_good(&server, &token);
    }
    assert_eq!(provider.hits("/introspect").len(), 1);
    provider.revoke_opaque(&token);
    server.server.advance(Duration::from_secs(60));
    is_refused(&server, &token, "the token cannot be verified");
    is_refused(
        &server,
        &provider.opaque("ann", "https://other.example"),
        "the token is for another audience",
    );
    // It fails closed.
    let token = provider.opaque("ben", RESOURCE);
    provider.trouble("/introspect", Trouble::Status(500, None));
    let answer = call(&server, &token);
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{answer:?}");
    is_good(&server, &token);
    // JWTs are verified as before, and nobody is asked about them.
    let asked = provider.hits("/introspect").len();
    is_good(&server, &provider.jwt("ann", RESOURCE, 600));
    assert_eq!(provider.hits("/introspect").len(), asked);
}
