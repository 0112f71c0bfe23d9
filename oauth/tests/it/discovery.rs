//! Discovery against sites that are tables of URLs (`auth.md` 2.2 to 2.6).

use std::time::Duration;

use ptc_oauth::challenge::Bearer;
use ptc_oauth::discovery::{Discovery, DiscoveryResult, DiscoveryTarget, Relax};
use ptc_oauth::failure::Failure;
use ptc_oauth::message::{Flow, Next, Purpose, RequestOutcome, Response, TransportError};
use ptc_oauth::timestamp::Timestamp;

const AT: Timestamp = Timestamp::from_seconds(1_700_000_000);
const URL: &str = "https://h.example/mcp";

/// What a URL answers: a status and a body, or trouble.
#[derive(Clone)]
enum Reply {
    Is(u16, String),
    Fails(TransportError),
}

fn ok(body: &str) -> Reply {
    Reply::Is(200, body.to_owned())
}

fn status(status: u16) -> Reply {
    Reply::Is(status, String::new())
}

/// Metadata of a resource and its servers.
fn prm(resource: &str, servers: &[&str]) -> Reply {
    let servers: Vec<String> = servers.iter().map(|server| format!("{server:?}")).collect();
    ok(&format!(r#"{{"resource":{resource:?},"authorization_servers":[{}]}}"#, servers.join(",")))
}

/// Metadata of a server that has what it must.
fn asm(issuer: &str) -> Reply {
    ok(&format!(
        r#"{{"issuer":{issuer:?},"token_endpoint":"https://a.example/token","authorization_endpoint":"https://a.example/authorize",
            "code_challenge_methods_supported":["S256"]}}"#
    ))
}

fn target() -> DiscoveryTarget {
    DiscoveryTarget {
        url: URL.to_owned(),
        issuer: None,
        signed_in_issuer: None,
        relax: Relax::default(),
        by_browser: true,
        legacy: false,
    }
}

struct Run {
    result: Result<DiscoveryResult, Failure>,
    asked: Vec<String>,
}

/// Discovers on a site; whatever is not there is a 404.
fn discover(target: DiscoveryTarget, challenge: Option<&str>, site: &[(&str, Reply)]) -> Run {
    let bearer = challenge.and_then(|value| Bearer::find([value]));
    let mut discovery = Discovery::new(target, bearer.as_ref());
    let mut asked = Vec::new();
    let mut next = discovery.start();
    loop {
        let request = match next {
            Next::Done(result) => return Run { result, asked },
            Next::Send(request) => request,
        };
        assert_eq!(request.purpose, Purpose::Metadata);
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
        assert!(names.starts_with(&["accept", "accept-encoding"]) && !names.contains(&"authorization"));
        let url = request.url.to_string();
        let reply = site.iter().find(|(at, _)| *at == url).map_or(status(404), |(_, reply)| reply.clone());
        asked.push(url);
        let result = match reply {
            Reply::Is(status, body) => Ok(Response::new(status, Vec::new(), body)),
            Reply::Fails(trouble) => Err(trouble),
        };
        next = discovery.receive(RequestOutcome { at: AT, result });
    }
}

const OF_PATH: &str = "https://h.example/.well-known/oauth-protected-resource/mcp";
const OF_ROOT: &str = "https://h.example/.well-known/oauth-protected-resource";
const OF_SERVER: &str = "https://a.example/.well-known/oauth-authorization-server";
const SERVER: &str = "https://a.example";

#[test]
fn the_usual_way_takes_two_requests() {
    let run = discover(target(), None, &[(OF_PATH, prm(URL, &[SERVER])), (OF_SERVER, asm(SERVER))]);
    let found = run.result.unwrap();
    assert_eq!(run.asked, [OF_PATH, OF_SERVER]);
    assert_eq!(found.server.issuer, SERVER);
    assert_eq!(found.resource.unwrap().resource, URL);
    assert!(!found.legacy);
    assert_eq!(found.fresh_until, AT + Duration::from_secs(300));
}

#[test]
fn the_path_is_inserted_and_then_left_out() {
    // Failure 10 of auth.md 18.5.
    let rows: &[(&str, &[&str])] = &[
        ("https://h.example/a/b", &["https://h.example/.well-known/oauth-protected-resource/a/b", OF_ROOT]),
        ("https://h.example/a/b/", &["https://h.example/.well-known/oauth-protected-resource/a/b", OF_ROOT]),
        (
            "https://h.example/a?x=1",
            &["https://h.example/.well-known/oauth-protected-resource/a?x=1", OF_ROOT],
        ),
        ("https://h.example", &[OF_ROOT]),
        ("https://h.example/", &[OF_ROOT]),
        ("https://h.example/a#f", &["https://h.example/.well-known/oauth-protected-resource/a", OF_ROOT]),
        ("https://u:p@h.example/a", &["https://h.example/.well-known/oauth-protected-resource/a", OF_ROOT]),
    ];
    for (url, expected) in rows {
        let run = discover(DiscoveryTarget { url: (*url).to_owned(), ..target() }, None, &[]);
        assert_eq!(run.asked, *expected, "{url}");
        assert_eq!(run.result, Err(Failure::NoMetadata), "{url}");
    }
}

#[test]
fn the_urls_of_an_issuer_are_those_of_the_table() {
    let base = "https://h/.well-known";
    let rows = [
        (
            "https://h/t1",
            vec![
                format!("{base}/oauth-authorization-server/t1"),
                format!("{base}/openid-configuration/t1"),
                "https://h/t1/.well-known/openid-configuration".to_owned(),
            ],
        ),
        (
            "https://h",
            vec![format!("{base}/oauth-authorization-server"), format!("{base}/openid-configuration")],
        ),
        (
            "https://h/",
            vec![format!("{base}/oauth-authorization-server"), format!("{base}/openid-configuration")],
        ),
        (
            "https://h/login/oauth/",
            vec![
                format!("{base}/oauth-authorization-server/login/oauth"),
                format!("{base}/openid-configuration/login/oauth"),
                "https://h/login/oauth/.well-known/openid-configuration".to_owned(),
            ],
        ),
    ];
    for (issuer, expected) in rows {
        let run = discover(target(), None, &[(OF_PATH, prm(URL, &[issuer]))]);
        assert_eq!(run.asked[1..], expected, "{issuer}");
        let reason = "http 404".to_owned();
        assert_eq!(run.result, Err(Failure::MetadataUnavailable { url: expected[0].clone(), reason }));
        // Whichever of them answers is taken.
        for url in &expected {
            let run = discover(target(), None, &[(OF_PATH, prm(URL, &[issuer])), (url, asm(issuer))]);
            assert_eq!(run.result.unwrap().server.issuer, issuer, "{url}");
        }
    }
}

#[test]
fn the_document_that_a_challenge_names_is_the_only_one_asked_for() {
    let site = [("https://h.example/meta", prm(URL, &[SERVER])), (OF_SERVER, asm(SERVER))];
    for named in ["https://h.example/meta", "/meta", "meta"] {
        let run = discover(target(), Some(&format!("Bearer resource_metadata=\"{named}\"")), &site);
        assert!(run.result.is_ok(), "{named}");
        assert_eq!(run.asked[0], "https://h.example/meta");
    }
    let elsewhere = [
        ("https://evil.example/meta", "evil.example"),
        ("//evil.example/meta", "evil.example"),
        ("http://h.example/meta", "h.example"),
        ("https://h.example:8443/meta", "h.example"),
        ("javascript:alert(1)", "javascript:alert(1)"),
    ];
    for (named, host) in elsewhere {
        let run = discover(target(), Some(&format!("Bearer resource_metadata=\"{named}\"")), &site);
        assert_eq!(run.result, Err(Failure::PrmOrigin { host: host.to_owned() }), "{named}");
        assert!(run.asked.is_empty());
    }
    // Nothing is guessed beside it, and the fallback is not for it.
    let known = [(OF_PATH, prm(URL, &[SERVER])), (OF_SERVER, asm(SERVER))];
    let legacy = DiscoveryTarget { legacy: true, issuer: Some(SERVER.to_owned()), ..target() };
    let run = discover(legacy, Some("Bearer resource_metadata=\"/meta\""), &known);
    assert_eq!(run.asked, ["https://h.example/meta"]);
    let reason = "http 404".to_owned();
    assert_eq!(
        run.result,
        Err(Failure::MetadataUnavailable { url: "https://h.example/meta".to_owned(), reason })
    );
}

#[test]
fn trouble_is_never_taken_for_absence() {
    let issuer = DiscoveryTarget { issuer: Some(SERVER.to_owned()), ..target() };
    let legacy = DiscoveryTarget { legacy: true, ..target() };
    let troubles = [
        (status(503), "http 503"),
        (status(429), "http 429"),
        (Reply::Fails(TransportError::TimedOut), "no answer within 30 s"),
        (Reply::Fails(TransportError::TooLarge), "the answer is over 1 MiB"),
        (Reply::Fails(TransportError::Unreachable("connection refused".to_owned())), "connection refused"),
    ];
    for (reply, reason) in troubles {
        for target in [target(), issuer.clone(), legacy.clone()] {
            let run = discover(target, None, &[(OF_PATH, reply.clone()), (OF_SERVER, asm(SERVER))]);
            assert_eq!(run.asked, [OF_PATH, OF_ROOT]);
            let unavailable =
                Failure::MetadataUnavailable { url: OF_PATH.to_owned(), reason: reason.to_owned() };
            assert_eq!(run.result, Err(unavailable));
        }
        // What the other URL has is good all the same.
        let site =
            [(OF_PATH, reply), (OF_ROOT, prm("https://h.example", &[SERVER])), (OF_SERVER, asm(SERVER))];
        assert!(discover(target(), None, &site).result.is_ok());
    }
    let url = "http://10.0.0.1/".to_owned();
    let refused = Reply::Fails(TransportError::AddressRefused { url: url.clone() });
    let run = discover(target(), None, &[(OF_PATH, refused)]);
    assert_eq!((run.result, run.asked.len()), (Err(Failure::AddressRefused { url }), 1));
}

#[test]
fn what_is_no_json_object_is_absent() {
    for body in ["<html>", "[]", "\"x\"", "", "{"] {
        let site =
            [(OF_PATH, ok(body)), (OF_ROOT, prm("https://h.example", &[SERVER])), (OF_SERVER, asm(SERVER))];
        assert!(discover(target(), None, &site).result.is_ok(), "{body}");
    }
}

#[test]
fn metadata_of_somebody_else_ends_discovery() {
    let other = "https://other.example/mcp";
    let site = [(OF_PATH, prm(other, &[SERVER])), (OF_ROOT, prm(URL, &[SERVER])), (OF_SERVER, asm(SERVER))];
    let run = discover(target(), None, &site);
    assert_eq!(
        run.result,
        Err(Failure::ResourceMismatch { resource: other.to_owned(), url: URL.to_owned() })
    );
    assert_eq!(run.asked, [OF_PATH]);
    let run = discover(target(), None, &[(OF_PATH, ok(r#"{"resource":"https://h.example/mcp"}"#))]);
    let reason = "no authorization_servers".to_owned();
    assert_eq!(run.result, Err(Failure::BadMetadata { url: OF_PATH.to_owned(), reason }));
}

#[test]
fn the_resource_is_kept_as_it_came() {
    for resource in
        ["https://h.example", "https://h.example/", "HTTPS://H.EXAMPLE/mcp/", "https://h.example:443/mcp"]
    {
        let run = discover(target(), None, &[(OF_PATH, prm(resource, &[SERVER])), (OF_SERVER, asm(SERVER))]);
        assert_eq!(run.result.unwrap().resource.unwrap().resource, resource);
    }
}

#[test]
fn the_configured_issuer_goes_before_the_signed_in_one_and_that_before_the_first() {
    let servers = ["https://one.example", "https://two.example", "https://three.example"];
    let asked =
        |target: DiscoveryTarget| discover(target, None, &[(OF_PATH, prm(URL, &servers))]).asked[1].clone();
    let of = |issuer: &str| format!("{issuer}/.well-known/oauth-authorization-server");
    let some = |issuer: &str| Some(issuer.to_owned());
    assert_eq!(asked(target()), of(servers[0]));
    let signed_in = DiscoveryTarget { signed_in_issuer: some(servers[1]), ..target() };
    assert_eq!(asked(signed_in.clone()), of(servers[1]));
    assert_eq!(asked(DiscoveryTarget { issuer: some(servers[2]), ..signed_in }), of(servers[2]));
    // One that the resource does not list any more is not asked.
    assert_eq!(
        asked(DiscoveryTarget { signed_in_issuer: some("https://old.example"), ..target() }),
        of(servers[0])
    );
}

#[test]
fn with_an_issuer_absent_metadata_are_no_fault() {
    // Failure 12 of auth.md 18.5.
    let with = DiscoveryTarget { issuer: Some(SERVER.to_owned()), ..target() };
    let found = discover(with, None, &[(OF_SERVER, asm(SERVER))]).result.unwrap();
    assert_eq!((found.resource, found.server.issuer.as_str()), (None, SERVER));
}

#[test]
fn the_issuer_is_compared_byte_for_byte() {
    // But for the slash behind an issuer without a path, which servers write once and once not.
    for (asked, found) in
        [("https://a.example", "https://a.example/"), ("https://a.example/", "https://a.example")]
    {
        let run = discover(target(), None, &[(OF_PATH, prm(URL, &[asked])), (OF_SERVER, asm(found))]);
        assert_eq!(run.result.unwrap().server.issuer, found, "{asked}");
    }
    for (asked, found) in [
        ("https://a.example", "https://A.example"),
        ("https://a.example", "https://a.example:443"),
        ("https://a.example", "https://b.example"),
    ] {
        let run = discover(target(), None, &[(OF_PATH, prm(URL, &[asked])), (OF_SERVER, asm(found))]);
        let mismatch = Failure::IssuerMismatch { asked: asked.to_owned(), found: found.to_owned() };
        assert_eq!(run.result, Err(mismatch), "{asked} {found}");
        assert_eq!(run.asked.len(), 2, "no other URL is tried");
    }
}

#[test]
fn two_checks_can_be_relaxed_and_each_by_its_name_alone() {
    let without = |what: &str| {
        let all = [
            ("issuer", r#""issuer":"https://a.example""#),
            ("pkce", r#""code_challenge_methods_supported":["S256"]"#),
            ("endpoint", r#""authorization_endpoint":"https://a.example/a""#),
        ];
        let rest: Vec<&str> =
            all.iter().filter(|(name, _)| *name != what).map(|(_, member)| *member).collect();
        let body = format!(r#"{{"token_endpoint":"https://a.example/t",{}}}"#, rest.join(","));
        [(OF_PATH, prm(URL, &[SERVER])), (OF_SERVER, ok(&body))]
    };
    let relaxed = |missing_issuer, missing_pkce| DiscoveryTarget {
        relax: Relax { missing_issuer, missing_pkce },
        ..target()
    };
    let result = |target, what| discover(target, None, &without(what)).result;
    // Failure 11 of auth.md 18.5.
    assert_eq!(result(relaxed(false, true), "issuer"), Err(Failure::NoIssuer { asked: SERVER.to_owned() }));
    assert_eq!(result(relaxed(true, false), "issuer").unwrap().server.issuer, SERVER);
    assert_eq!(result(relaxed(true, false), "pkce"), Err(Failure::NoPkce));
    assert!(result(relaxed(false, true), "pkce").is_ok());
    let reason = "no authorization_endpoint".to_owned();
    let bad = Failure::BadMetadata { url: OF_SERVER.to_owned(), reason };
    assert_eq!(result(relaxed(true, true), "endpoint"), Err(bad));
    for what in ["pkce", "endpoint"] {
        assert!(result(DiscoveryTarget { by_browser: false, ..target() }, what).is_ok(), "{what}");
    }
}

#[test]
fn issuers_that_are_no_https_urls_are_not_asked() {
    for issuer in [
        "http://a.example",
        "a.example",
        "file:///etc",
        "https://a.example?x=1",
        "https://u:p@a.example",
        "https://a.example#f",
    ] {
        let run = discover(target(), None, &[(OF_PATH, prm(URL, &[issuer]))]);
        let reason = "no https URL of an issuer".to_owned();
        assert_eq!(run.result, Err(Failure::BadMetadata { url: issuer.to_owned(), reason }), "{issuer}");
    }
    let local = DiscoveryTarget { url: "http://127.0.0.1:1/mcp".to_owned(), ..target() };
    let site = [
        (
            "http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp",
            prm("http://127.0.0.1:1/mcp", &["http://localhost:2"]),
        ),
        ("http://localhost:2/.well-known/oauth-authorization-server", asm("http://localhost:2")),
    ];
    assert!(discover(local, None, &site).result.is_ok());
}

#[test]
fn the_fallback_is_for_people_and_for_servers_without_any_metadata() {
    let root = "https://h.example/.well-known/oauth-authorization-server";
    // Without the permission, nothing is asked beyond the resource.
    let run = discover(target(), None, &[(root, asm("https://h.example"))]);
    assert_eq!((run.result, run.asked.len()), (Err(Failure::NoMetadata), 2));

    let legacy = DiscoveryTarget { legacy: true, ..target() };
    let run = discover(legacy.clone(), None, &[(root, asm("https://cf.mcp.example"))]);
    let found = run.result.unwrap();
    // A foreign issuer is expected from then on.
    assert_eq!(
        (found.server.issuer.as_str(), found.legacy, found.resource),
        ("https://cf.mcp.example", true, None)
    );
    assert_eq!(run.asked, [OF_PATH, OF_ROOT, root]);

    let found = discover(legacy.clone(), None, &[]).result.unwrap();
    assert!(found.legacy);
    assert_eq!(found.server.issuer, "https://h.example");
    let endpoints = [
        found.server.authorization_endpoint.unwrap(),
        found.server.token_endpoint,
        found.server.registration_endpoint.unwrap(),
    ];
    let expected = ["https://h.example/authorize", "https://h.example/token", "https://h.example/register"];
    assert_eq!(endpoints.map(String::from), expected);

    // A server that has trouble is not guessed at, and checks hold here too.
    let run = discover(legacy.clone(), None, &[(root, status(503))]);
    assert!(matches!(run.result, Err(Failure::MetadataUnavailable { .. })));
    let no_pkce = r#"{"issuer":"https://h.example","token_endpoint":"https://h.example/t","authorization_endpoint":"https://h.example/a"}"#;
    assert_eq!(discover(legacy, None, &[(root, ok(no_pkce))]).result, Err(Failure::NoPkce));
}

#[test]
fn the_fallback_says_which_revision_it_speaks() {
    let mut discovery = Discovery::new(DiscoveryTarget { legacy: true, ..target() }, None);
    let mut next = discovery.start();
    let mut revisions = Vec::new();
    while let Next::Send(request) = next {
        let revision = request.headers.iter().find(|(name, _)| *name == "mcp-protocol-version");
        revisions.push(revision.map(|(_, value)| value.expose().to_owned()));
        next = discovery.receive(RequestOutcome { at: AT, result: Ok(Response::new(404, Vec::new(), "")) });
    }
    assert_eq!(revisions, [None, None, Some("2025-03-26".to_owned())]);
}
