//! `mcp_http` against servers of both eras and of all kinds of health.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use libtest_mimic::Trial;
use ptc_host::config::{
    Backoff, HttpConfig, LoadOptions, ProcessEnv, Protocol, Transport, UpstreamConfig, UpstreamsConfig,
};
use ptc_host::credentials::CredentialStore;
use ptc_host::http::Client;
use ptc_host::mcp::{ClientRoots, HttpUpstream};
use ptc_host::upstream::{CallLimits, FaultReason, Payload, Phase, Upstream, UpstreamEvent};
use ptc_mcp::json::{Value, json};
use tokio::runtime::Handle;
use url::Url;

use crate::support::{
    AMPLE, HOUR, advance, an_hour, call, call_with, fault_of, json, json_of, limits, run_out, settle, trial,
};
use ptc_test_support::fake_http::{
    FakeHttp, Gate, Hit, Step, Steps, chunk, chunked_event_head, event, event_head, reply, response,
};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("http::the_handshake_era", the_handshake_era),
        trial("http::the_modern_era", the_modern_era),
        trial("http::arguments_are_mirrored_into_headers", arguments_are_mirrored),
        trial("http::a_header_mismatch_lists_anew_and_asks_once_more", a_header_mismatch_lists_anew),
        trial("http::eras_are_told_apart", eras_are_told_apart),
        trial("http::a_forced_era_is_not_left", a_forced_era_is_not_left),
        trial("http::a_server_of_resources_needs_no_tools", a_server_of_resources),
        trial("http::connections_are_kept_alive", connections_are_kept_alive),
        trial("http::as_many_connections_wait_as_calls_may_be_under_way", as_many_connections_wait),
        trial("http::a_connection_closed_meanwhile_is_replaced", a_connection_closed_meanwhile),
        trial("http::statuses_become_faults", statuses_become_faults),
        trial("http::other_redirects_are_told", other_redirects_are_told),
        trial("http::odd_answers_become_faults", odd_answers_become_faults),
        trial("http::broken_connections_become_faults", broken_connections_become_faults),
        trial("http::starts_that_fail_say_why", starts_that_fail_say_why),
        trial("http::bodies_are_capped_to_the_byte", bodies_are_capped),
        trial("http::encoded_answers_are_decoded_within_the_cap", encoded_answers),
        trial("http::event_streams_are_read_up_to_the_answer", event_streams),
        trial("http::event_streams_that_fail", event_streams_that_fail),
        trial("http::a_broken_event_stream_is_taken_up_again", a_broken_stream_is_resumed),
        trial("http::server_requests_on_a_stream_are_answered", server_requests_are_answered),
        trial("http::a_forgotten_session_is_begun_anew", a_forgotten_session),
        trial("http::a_session_that_only_fails_is_begun_anew", a_session_that_only_fails),
        trial("http::faults_tell_whether_a_call_was_sent", faults_tell_whether_a_call_was_sent),
        trial("http::a_server_of_one_connection_is_freed_of_the_stream", a_server_of_one_connection),
        trial("http::redirects_within_the_origin_are_followed_once", redirects_within_the_origin),
        trial("http::a_refused_notification_is_no_end", a_refused_notification),
        trial("http::answers_that_are_almost_json_are_read", almost_json),
        trial("http::sessions_forgotten_again_and_again", sessions_forgotten_again_and_again),
        trial("http::a_session_lost_halfway_is_told", a_session_lost_halfway),
        trial("http::a_revision_refused_and_offered_is_tried_once_more", a_revision_refused_and_offered),
        trial("http::refused_credentials_end_the_session", refused_credentials),
        trial("http::slow_answers_time_out", slow_answers_time_out),
        trial("http::the_first_byte_has_a_limit_of_its_own", the_first_byte_has_a_limit_of_its_own),
        trial("http::giving_up_cancels", giving_up_cancels),
        trial("http::waiting_in_the_queue_is_free", waiting_in_the_queue_is_free),
        trial("http::credentials_go_where_they_belong", credentials_go_where_they_belong),
        trial("http::shutdown_says_farewell", shutdown_says_farewell),
        trial("http::changes_are_listened_for_once_somebody_cares", changes_are_listened_for),
        trial("http::a_farewell_that_nobody_answers_holds_up_nobody", a_farewell_unanswered),
        trial("http::a_stream_with_too_many_events_is_closed_for_a_while", a_stream_too_fast),
        trial("http::pings_make_no_call_longer", pings_make_no_call_longer),
        trial("http::nothing_is_left_open", nothing_is_left_open),
    ]
}

pub(crate) fn upstream_with(
    url: &Url,
    tweak: impl FnOnce(&mut HttpConfig, &mut UpstreamConfig),
) -> HttpUpstream {
    let mut entry = HttpConfig::for_url(url.clone());
    (entry.connect_timeout, entry.handshake_timeout, entry.request_timeout) = (AMPLE, AMPLE, AMPLE);
    let mut config = UpstreamConfig::new("fake", Transport::Http(entry.clone()));
    config.backoff = Backoff { initial: HOUR, max: HOUR };
    tweak(&mut entry, &mut config);
    let (store, roots) = (Arc::new(CredentialStore::default()), ClientRoots::default());
    HttpUpstream::new(&config, &entry, store, Client::new(), &roots, Handle::current()).unwrap()
}

fn upstream(server: &FakeHttp) -> HttpUpstream {
    upstream_with(&server.url, |_, _| {})
}

/// Answers with the call's arguments.
fn echo(hit: &Hit) -> Steps {
    reply(200, &hit.result(json!({"structuredContent": hit.body["params"]["arguments"]})))
}

async fn the_handshake_era() {
    let server = FakeHttp::handshake(echo);
    let upstream = upstream(&server);
    assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#);
    assert_eq!(upstream.health().protocol_version.as_deref(), Some("2025-06-18"));
    let hits = server.hits();
    let rpcs: Vec<&str> = hits.iter().map(Hit::rpc).collect();
    assert_eq!(
        rpcs,
        ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]
    );
    for hit in &hits {
        assert_eq!((hit.method.as_str(), hit.path.as_str()), ("POST", "/mcp"));
        assert_eq!(hit.header("content-type"), Some("application/json"));
        assert_eq!(hit.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(hit.header("accept-encoding"), Some("identity"));
        assert!(hit.header("user-agent").unwrap().starts_with("ptc-runner-mcp/"));
        assert_eq!(
            hit.header("host"),
            Some(&server.url.as_str()["http://".len()..][..server.url.authority().len()])
        );
    }
    assert_eq!(hits[1].header("mcp-protocol-version"), None);
    assert_eq!(hits[1].header("mcp-session-id"), None);
    assert_eq!(hits[1].body["params"]["clientInfo"]["name"], "ptc_runner");
    for hit in &hits[2..] {
        assert_eq!(hit.header("mcp-protocol-version"), Some("2025-06-18"));
        assert_eq!(hit.header("mcp-session-id"), Some("session-0"));
        assert_eq!(hit.header("mcp-method"), None);
    }
    upstream.shutdown().await;
}

async fn the_modern_era() {
    let server = FakeHttp::modern(json!([{"name": "tü"}]), echo);
    let upstream = upstream(&server);
    assert_eq!(
        json(&upstream, "tü", r#"{"n":12345678901234567890123}"#).await,
        r#"{"n":12345678901234567890123}"#
    );
    let hits = server.hits();
    let rpcs: Vec<&str> = hits.iter().map(Hit::rpc).collect();
    assert_eq!(rpcs, ["server/discover", "tools/list", "tools/call"]);
    for hit in &hits {
        assert_eq!(hit.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(hit.header("mcp-method"), Some(hit.rpc()));
        assert_eq!(hit.header("mcp-session-id"), None);
        let meta = &hit.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    }
    assert_eq!(hits[2].header("mcp-name"), Some("=?base64?dMO8?="));
    upstream.shutdown().await;
    assert!(server.hits().iter().all(|hit| hit.method == "POST"), "there is no session to delete");
}

fn annotated() -> Value {
    json!([
        {"name": "sql", "inputSchema": {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"}}}},
        {"name": "bad", "inputSchema": {"properties": {"x": {"type": "number", "x-mcp-header": "X"}}}},
    ])
}

async fn arguments_are_mirrored() {
    let server = FakeHttp::modern(annotated(), echo);
    let upstream = upstream(&server);
    let tools = upstream.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|t| &*t.name).collect::<Vec<_>>(), ["sql"], "the other breaks the rules");
    json(&upstream, "sql", r#"{"region":"us west ","limit":null}"#).await;
    let hit = server.hits().pop().unwrap();
    assert_eq!(hit.header("mcp-param-region"), Some("=?base64?dXMgd2VzdCA=?="));
    assert_eq!(hit.header("mcp-param-limit"), None);
    assert_eq!(hit.header("mcp-name"), Some("sql"));
    upstream.shutdown().await;
}

async fn a_header_mismatch_lists_anew() {
    let lists = AtomicUsize::new(0);
    let server = FakeHttp::start(move |hit| match hit.rpc() {
        "server/discover" => reply(200, &hit.result(json!({"supportedVersions": ["2026-07-28"]}))),
        "tools/list" if lists.fetch_add(1, Ordering::SeqCst) == 0 => {
            reply(200, &hit.result(json!({"tools": [{"name": "sql"}]})))
        }
        "tools/list" => reply(200, &hit.result(json!({"tools": annotated()}))),
        _ if hit.header("mcp-param-region").is_none() => {
            reply(400, &hit.error(-32020, "Mcp-Param-Region is missing"))
        }
        _ => echo(hit),
    });
    let upstream = upstream(&server);
    assert_eq!(json(&upstream, "sql", r#"{"region":"eu"}"#).await, r#"{"region":"eu"}"#);
    assert_eq!((server.count("tools/list"), server.count("tools/call")), (2, 2));
    let refused = fault_of(call(&upstream, "sql", "{}").await);
    assert_eq!(refused, (FaultReason::UpstreamError, "Mcp-Param-Region is missing".to_owned()));
    assert_eq!(server.count("tools/call"), 4, "asked once more, and no further");
    upstream.shutdown().await;
}

async fn eras_are_told_apart() {
    // What servers with a handshake answer to a method that they do not know.
    let refusals: [fn(&Hit) -> Steps; 6] = [
        |hit| reply(200, &hit.error(-32601, "Method not found")),
        |hit| reply(404, &hit.error(-32601, "Method not found")),
        |_| response(400, &[], b"Bad Request"),
        |_| response(405, &[], b""),
        |_| response(500, &[], b"oops"),
        |hit| {
            let data = json!({"supported": ["2025-11-25"], "requested": "2026-07-28"});
            let error = json!({"code": -32022, "message": "Unsupported protocol version", "data": data});
            reply(400, &json!({"jsonrpc": "2.0", "id": hit.body["id"], "error": error}))
        },
    ];
    for (n, refuse) in refusals.into_iter().enumerate() {
        let server = FakeHttp::start(move |hit| match hit.rpc() {
            "initialize" => reply(200, &hit.result(json!({"protocolVersion": "2025-11-25"}))),
            "notifications/initialized" => response(200, &[], b""),
            "tools/list" => reply(200, &hit.result(json!({"tools": []}))),
            "tools/call" => response(404, &[], b"not here"),
            _ => refuse(hit),
        });
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap_or_else(|fault| panic!("refusal {n}: {fault}"));
        // Without a session, 404 is just a status.
        let fault = call(&upstream, "t", "{}").await.unwrap_err();
        assert_eq!((fault.message.as_str(), fault.http_status), ("http 404\nnot here", Some(404)));
        upstream.shutdown().await;
    }
    // Errors that only a modern server gives are no reason to shake hands.
    let modern: [fn(&Hit) -> Steps; 2] = [
        |hit| reply(400, &hit.error(-32021, "Missing required client capability")),
        |hit| {
            let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2099-01-01"]}});
            reply(400, &json!({"jsonrpc": "2.0", "id": hit.body["id"], "error": error}))
        },
    ];
    for refuse in modern {
        let server = FakeHttp::start(refuse);
        let fault = upstream(&server).ensure_started().await.unwrap_err();
        assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
        assert_eq!(server.count("initialize"), 0);
    }
}

async fn a_forced_era_is_not_left() {
    let server = FakeHttp::handshake(echo);
    let forced = |protocol| upstream_with(&server.url, |entry, _| entry.protocol = protocol);
    let fault = forced(Protocol::Modern).ensure_started().await.unwrap_err();
    assert_eq!(fault.message, "server/discover failed: Bad Request: Server not initialized");
    assert_eq!(server.count("initialize"), 0);
    forced(Protocol::Handshake).ensure_started().await.unwrap();
    assert_eq!(server.count("server/discover"), 1);
}

async fn connections_are_kept_alive() {
    let server = FakeHttp::handshake(echo);
    let upstream = upstream(&server);
    for n in 0..20 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        assert_eq!(json(&upstream, "t", &arguments).await, arguments);
    }
    assert_eq!(server.connections(), 1);
    for _ in 0..3 {
        let calls = (0..5).map(|_| json(&upstream, "t", "{}"));
        futures_util::future::join_all(calls).await;
    }
    assert_eq!(server.connections(), 5);
    assert_eq!(server.hits().iter().map(|hit| hit.connection).max(), Some(4));
    upstream.shutdown().await;
}

/// Whoever may have more calls under way than wait by default does not open connections again and again.
async fn as_many_connections_wait() {
    const CALLS: usize = 100;
    // Each answer of a round waits for the last call of it, so that each call has a connection of its own.
    let round = Arc::new(std::sync::Barrier::new(CALLS));
    let tools = json!([{"name": "echo", "inputSchema": {"type": "object"}}]);
    let server = FakeHttp::modern(tools, move |hit| {
        round.wait();
        echo(hit)
    });
    let upstream = upstream_with(&server.url, |_, config| config.max_concurrency = CALLS);
    upstream.ensure_started().await.unwrap();
    for _ in 0..2 {
        futures_util::future::join_all((0..CALLS).map(|_| json(&upstream, "echo", "{}"))).await;
        assert_eq!(server.connections(), CALLS);
    }
}

async fn a_connection_closed_meanwhile() {
    let server = FakeHttp::handshake(|hit| {
        let mut steps = echo(hit);
        steps.push(Step::Close);
        steps
    });
    let upstream = upstream(&server);
    for n in 0..5 {
        json(&upstream, "t", "{}").await;
        wait_until_async("the server has hung up", async || server.open() == 0).await;
        assert_eq!(server.connections(), n + 1);
    }
    // A call right after another one does not look first, and may find out too late.
    for n in 5..25 {
        json(&upstream, "t", "{}").await;
        assert_eq!(server.connections(), n + 1);
    }
    assert_eq!(server.count("tools/call"), 25);
    upstream.shutdown().await;
}

async fn statuses_become_faults() {
    let status = Arc::new(AtomicUsize::new(0));
    let body: Arc<std::sync::Mutex<Option<Value>>> = Arc::default();
    let (asked, error) = (status.clone(), body.clone());
    let server = FakeHttp::handshake(move |hit| {
        let status = u16::try_from(asked.load(Ordering::SeqCst)).unwrap();
        match &*error.lock().unwrap() {
            Some(text) => reply(status, &hit.error(-32602, text.as_str().unwrap())),
            None => response(status, &[("content-type", "text/plain")], b"because\nof this"),
        }
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    for (code, reason, message) in [
        (403, FaultReason::UpstreamError, "http 403\nbecause"),
        (400, FaultReason::UpstreamError, "http 400\nbecause"),
        (429, FaultReason::RateLimited, "rate_limited\nbecause\nhttp 429 from URL"),
        (500, FaultReason::UpstreamUnavailable, "http 500"),
        (503, FaultReason::UpstreamUnavailable, "http 503"),
        (304, FaultReason::UpstreamError, "http 304"),
        (307, FaultReason::UpstreamError, "http 307"),
    ] {
        status.store(code, Ordering::SeqCst);
        let fault = call(&upstream, "t", "{}").await.unwrap_err();
        let message = message.replace("URL", server.url.as_str());
        assert_eq!((fault.reason, fault.message.as_str()), (reason, message.as_str()));
        assert_eq!(fault.http_status, u16::try_from(code).ok());
        let arrived = if code == 304 { 0 } else { 15 };
        assert_eq!(fault.received_bytes, arrived, "what had arrived is counted");
    }
    *body.lock().unwrap() = Some(json!("bad arguments"));
    status.store(400, Ordering::SeqCst);
    let fault = fault_of(call(&upstream, "t", "{}").await);
    assert_eq!(fault, (FaultReason::UpstreamError, "bad arguments".to_owned()));
    assert_eq!(upstream.health().phase, Phase::Started);
    upstream.shutdown().await;
}

async fn other_redirects_are_told() {
    let other = FakeHttp::handshake(echo);
    for (status, place) in [(302, "/login"), (301, "/mcp/"), (303, "/x"), (307, "/mcp"), (308, "/mcp")] {
        let away = if status < 307 { "" } else { other.url.as_str().strip_suffix("/mcp").unwrap() };
        let location = format!("{away}{place}");
        let told = location.clone();
        let server = FakeHttp::handshake(move |_| response(status, &[("location", &location)], b""));
        let upstream = upstream(&server);
        let message = call(&upstream, "t", "{}").await.unwrap_err().message;
        let place = server.url.join(&told).unwrap();
        assert!(message.starts_with(&format!("http {status}\nIt points to {place}: ")), "{message}");
        assert!(message.contains(&format!("write \"url\": \"{place}\"")), "{message}");
        assert_eq!(message.contains("a page to sign in on"), status == 302, "{message}");
        assert!(server.hits().iter().all(|hit| hit.path == "/mcp"), "no POST becomes a GET");
        upstream.shutdown().await;
    }
    assert_eq!(other.connections(), 0);
}

async fn redirects_within_the_origin() {
    for status in [307, 308] {
        // Another path of the server is the endpoint.
        let moved = FakeHttp::start(move |hit| match hit.path.as_str() {
            "/mcp" => response(status, &[("location", "/mcp/")], b""),
            _ => match hit.rpc() {
                "server/discover" => response(400, &[], b""),
                "initialize" => {
                    reply(200, &hit.result(json!({"protocolVersion": "2025-06-18", "capabilities": {}})))
                }
                "notifications/initialized" => response(202, &[], b""),
                "tools/list" => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
                _ => echo(hit),
            },
        });
        let upstream = upstream(&moved);
        assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#);
        upstream.shutdown().await;
        let round = FakeHttp::handshake(move |_| response(status, &[("location", "/mcp?again")], b""));
        let upstream = self::upstream(&round);
        let message = call(&upstream, "t", "{}").await.unwrap_err().message;
        assert!(message.starts_with(&format!("http {status}\nIt points to ")), "{message}");
        assert_eq!(round.count("tools/call"), 2, "once");
        upstream.shutdown().await;
    }
}

async fn a_refused_notification() {
    for status in [400, 404, 405, 500, 204] {
        let server = FakeHttp::start(move |hit| match hit.rpc() {
            "server/discover" => response(400, &[], b""),
            "initialize" => {
                reply(200, &hit.result(json!({"protocolVersion": "2025-06-18", "capabilities": {}})))
            }
            "notifications/initialized" => response(status, &[], b"{\"error\":\"no id\"}"),
            "tools/list" => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
            _ => echo(hit),
        });
        let upstream = upstream(&server);
        assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#, "{status}");
        upstream.shutdown().await;
    }
}

async fn almost_json() {
    type Case = (fn(String) -> Steps, &'static str);
    let cases: [Case; 5] = [
        (
            |id| {
                response(
                    200,
                    &[],
                    format!("{{\"id\":{id},\"result\":{{\"structuredContent\":[NaN,]}}}}").as_bytes(),
                )
            },
            "[null]",
        ),
        (
            |id| {
                response(
                    200,
                    &[],
                    format!("\u{feff}{{\"id\":{id},\"result\":{{\"structuredContent\":1}}}}").as_bytes(),
                )
            },
            "1",
        ),
        (
            |id| {
                response(
                    200,
                    &[],
                    format!("<br>Warning: x{{\"id\":{id},\"result\":{{\"structuredContent\":1}}}}")
                        .as_bytes(),
                )
            },
            "1",
        ),
        (
            |id| {
                let data =
                    format!("data: {{\"id\":{id},\"result\":{{\"structuredContent\":[Infinity]}}}}\n\n");
                vec![event_head(), Step::Bytes(data.into_bytes()), Step::Hang]
            },
            "[null]",
        ),
        (
            |id| {
                response(200, &[], format!("{{\"id\":{id},\"result\":{{\"content\":\"plain\"}}}}").as_bytes())
            },
            "plain",
        ),
    ];
    for (answer, value) in cases {
        let server = FakeHttp::handshake(move |hit| answer(hit.body["id"].to_string()));
        let upstream = upstream(&server);
        let reply = call(&upstream, "t", "{}").await.unwrap();
        match reply.clone().decided() {
            Payload::Text(text) => assert_eq!(text, value.as_bytes()),
            _ => assert_eq!(json_of(reply), value),
        }
        upstream.shutdown().await;
    }
    for (answer, told) in [
        (
            (|_| response(200, &[("content-type", "text/html; charset=utf-8")], b"<html>"))
                as fn(String) -> Steps,
            "it answered text/html: no MCP endpoint",
        ),
        (
            |id| response(200, &[], format!("{{\"id\":{id},\"result\":undefined}}").as_bytes()),
            "invalid JSON response: no JSON at byte ",
        ),
        (
            |id| {
                vec![
                    event_head(),
                    Step::Bytes(format!("data: {{\"id\":{id},\"result\":undefined}}\n\n").into_bytes()),
                    Step::Hang,
                ]
            },
            "invalid JSON response: no JSON at byte ",
        ),
    ] {
        let server = FakeHttp::handshake(move |hit| answer(hit.body["id"].to_string()));
        let upstream = upstream(&server);
        let fault = call(&upstream, "t", "{}").await.unwrap_err();
        assert!(fault.message.starts_with(told) && fault.reason == FaultReason::UpstreamError, "{fault}");
        upstream.shutdown().await;
    }
}

async fn odd_answers_become_faults() {
    type Case = (fn(&Hit) -> Steps, &'static str);
    let answers: Vec<Case> = vec![
        (|_| response(202, &[], b""), "unexpected JSON-RPC response nil"),
        (|_| response(200, &[], b" "), "unexpected JSON-RPC response nil"),
        (|_| response(200, &[], b"[7]"), "unexpected JSON-RPC response [7]"),
        (
            |_| reply(200, &json!({"id": 999, "result": 1})),
            "unexpected JSON-RPC response {\"id\":999,\"result\":1}",
        ),
        (|_| reply(200, &json!({"id": null, "error": {"message": "no id"}})), "no id"),
        (
            |hit| vec![event_head(), event(&json!({"id": hit.body["id"]})), Step::Hang],
            "unexpected JSON-RPC response {\"id\":8}",
        ),
        (|hit| reply(200, &hit.error(-32000, "own id")), "own id"),
        (
            |hit| reply(200, &hit.result(json!({"isError": true, "content": []}))),
            "upstream isError envelope: {\"isError\":true,\"content\":[]}",
        ),
        (
            |hit| reply(200, &hit.result(json!({"resultType": "input_required"}))),
            "input_required has neither inputRequests nor requestState",
        ),
        (
            |hit| reply(200, &hit.result(json!({"resultType": "input_required", "requestState": "s"}))),
            "the tool asks for input (input_required), which a program cannot give",
        ),
        (
            |_| response(200, &[("content-encoding", "br")], b"\x1f\x8b"),
            "malformed HTTP response: content-encoding br although identity was asked for",
        ),
    ];
    let next = Arc::new(AtomicUsize::new(0));
    let asked = next.clone();
    let handlers: Vec<_> = answers.iter().map(|(handler, _)| *handler).collect();
    let server = FakeHttp::handshake(move |hit| handlers[asked.load(Ordering::SeqCst)](hit));
    let upstream = upstream(&server);
    for (n, (_, message)) in answers.iter().enumerate() {
        next.store(n, Ordering::SeqCst);
        assert_eq!(fault_of(call(&upstream, "t", "{}").await).1, *message);
    }
    upstream.shutdown().await;
    let server = FakeHttp::handshake(|_| response(200, &[], b"{\"id\":"));
    let upstream = self::upstream(&server);
    let (reason, message) = fault_of(call(&upstream, "t", "{}").await);
    assert!(message.starts_with("invalid JSON response: "), "{message}");
    assert_eq!(reason, FaultReason::UpstreamError);
    upstream.shutdown().await;
    let server = FakeHttp::handshake(|_| response(200, &[], b"{\"id\":4,\"result\":\"caf\xe9\"}"));
    let upstream = self::upstream(&server);
    let (_, message) = fault_of(call(&upstream, "t", "{}").await);
    assert!(message.starts_with("invalid JSON response: "), "{message}");
    upstream.shutdown().await;
}

async fn broken_connections_become_faults() {
    let part = || Step::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":".to_vec());
    type Case = (Box<dyn Fn() -> Steps + Send + Sync>, FaultReason, &'static str);
    let cases: Vec<Case> = vec![
        (Box::new(move || vec![part(), Step::Reset]), FaultReason::UpstreamUnavailable, "connection closed"),
        (Box::new(move || vec![part(), Step::Close]), FaultReason::UpstreamUnavailable, "connection closed"),
        (Box::new(|| vec![Step::Close]), FaultReason::UpstreamUnavailable, "connection closed"),
        (Box::new(|| vec![Step::Reset]), FaultReason::UpstreamUnavailable, "connection closed"),
        (
            Box::new(|| vec![Step::Bytes(b"220 smtp.example.com\r\n\r\n".to_vec()), Step::Close]),
            FaultReason::UpstreamError,
            "malformed HTTP response: invalid HTTP version parsed",
        ),
    ];
    for (steps, reason, message) in cases {
        let server = FakeHttp::handshake(move |_| steps());
        let upstream = upstream(&server);
        assert_eq!(fault_of(call(&upstream, "t", "{}").await), (reason, message.to_owned()));
        assert_eq!(upstream.health().phase, Phase::Started, "the session outlives its connections");
        upstream.shutdown().await;
    }
    // More than was announced belongs to nobody: the connection is not used again.
    let gate = Gate::default();
    let has_said_more = gate.clone();
    let server = FakeHttp::handshake(move |hit| {
        let mut steps = echo(hit);
        steps.extend([Step::Bytes(b"and more".to_vec()), Step::Wait(has_said_more.clone())]);
        steps
    });
    let upstream = upstream(&server);
    for n in 1..=3 {
        json(&upstream, "t", "{}").await;
        wait_until_async("more is written", async || gate.came() == n).await;
        settle().await;
        gate.let_one_pass();
    }
    assert_eq!(server.connections(), 3);
    upstream.shutdown().await;
}

async fn starts_that_fail_say_why() {
    async fn fault(handler: impl Fn(&Hit) -> Steps + Send + Sync + 'static) -> (FaultReason, String) {
        let server = FakeHttp::start(handler);
        let upstream = upstream_with(&server.url, |entry, _| entry.handshake_timeout = HOUR);
        let fault = upstream.ensure_started().await.unwrap_err();
        (fault.reason, fault.message)
    }
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap()
    };
    let refused = upstream_with(&closed, |_, _| {}).ensure_started().await.unwrap_err();
    let first = refused.to_string().lines().next().unwrap().to_owned();
    assert_eq!(first, "upstream_unavailable: connection refused");
    assert!(refused.message.contains("Nothing listens at http://127.0.0.1"), "{refused}");
    let unknown = Url::parse("http://no-such-host.invalid/").unwrap();
    let unknown = upstream_with(&unknown, |_, _| {}).ensure_started().await.unwrap_err();
    assert!(unknown.message.starts_with("dns: "), "{unknown}");

    use FaultReason::{AuthFailed, RateLimited, UpstreamError, UpstreamUnavailable};
    let text = |text: &str| text.to_owned();
    let (reason, message) = fault(|_| response(401, &[], b"")).await;
    assert_eq!(reason, AuthFailed);
    assert!(message.starts_with("auth_failed\nhttp 401 from http://127.0.0.1:"), "{message}");
    assert!(
        message.contains("; this upstream's entry has no auth\nIt wants its callers to sign in: "),
        "{message}"
    );
    let (reason, message) = fault(|_| response(429, &[("retry-after", "30")], b"")).await;
    assert_eq!(reason, RateLimited);
    assert!(message.starts_with("rate_limited\nhttp 429 from http://127.0.0.1:"), "{message}");
    assert!(message.ends_with("; Retry-After: 30"), "{message}");
    assert_eq!(fault(|_| response(500, &[], b"")).await, (UpstreamUnavailable, text("http 500")));
    let page = fault(|_| response(200, &[("content-type", "text/html; charset=utf-8")], b"<html>")).await;
    assert_eq!(page, (UpstreamError, text("it answered text/html: no MCP endpoint")));
    let (reason, message) = fault(|_| response(301, &[("location", "/")], b"")).await;
    assert!(
        reason == UpstreamError && message.starts_with("http 301\nIt points to http://127.0.0.1:"),
        "{message}"
    );
    let silent = FakeHttp::start(|_| vec![Step::Hang]);
    let starting = upstream_with(&silent.url, |entry, _| entry.handshake_timeout = HOUR);
    // It is asked for its era first, which takes a part of the time only.
    let discovering = run_out(starting.ensure_started(), async || silent.count("server/discover") == 1);
    let fault_of_silence = run_out(discovering, async || silent.count("initialize") == 1).await.unwrap_err();
    assert_eq!(
        (fault_of_silence.reason, fault_of_silence.message),
        (UpstreamUnavailable, text("initialize was not answered within 3600000 ms (handshake_timeout_ms)"))
    );
    assert_eq!(
        fault(|hit| match hit.rpc() {
            "initialize" => reply(200, &hit.result(json!({"protocolVersion": "1999-12-31"}))),
            _ => response(400, &[], b""),
        })
        .await,
        (UpstreamUnavailable, text("protocol version mismatch: server=1999-12-31 client=2025-11-25"))
    );
    assert_eq!(
        fault(|hit| match hit.rpc() {
            "initialize" => reply(200, &hit.result(json!({"protocolVersion": "2025-03-26"}))),
            _ => response(400, &[], b""),
        })
        .await,
        (UpstreamError, text("http 400"))
    );
    assert_eq!(
        fault(|hit| match hit.rpc() {
            "server/discover" => reply(200, &hit.result(json!({"supportedVersions": ["2026-07-28"]}))),
            _ => reply(200, &hit.result(json!({"tools": null}))),
        })
        .await,
        (UpstreamError, text("tools/list returned unexpected payload {\"tools\":null}"))
    );
}

async fn bodies_are_capped() {
    let server = FakeHttp::handshake(|hit| {
        let body = hit.result(json!({"structuredContent": "x".repeat(1000)})).to_string();
        if hit.body["params"]["arguments"]["chunked"] == true {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
            let (first, second) = body.split_at(500);
            vec![Step::Bytes(head.into_bytes()), chunk(first), chunk(second), chunk("")]
        } else {
            response(200, &[], body.as_bytes())
        }
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let size = {
        let reply = call(&upstream, "t", "{}").await.unwrap();
        // `{"jsonrpc":"2.0","id":N,"result":…}` with an id of one digit, whatever the order of its members.
        usize::try_from(reply.result_bytes).unwrap() + r#"{"jsonrpc":"2.0","id":4,"result":}"#.len()
    };
    for arguments in ["{}", r#"{"chunked":true}"#] {
        let exact = CallLimits { max_bytes: size, ..limits() };
        json_of(call_with(&upstream, "t", arguments, exact).await.unwrap());
        let short = CallLimits { max_bytes: size - 1, ..limits() };
        let fault = call_with(&upstream, "t", arguments, short).await.unwrap_err();
        assert_eq!(fault.message, format!("mcp_http response exceeded {} bytes", size - 1));
        assert!(fault.oversize() && fault.received_bytes as usize >= size - 1);
    }
    let small = upstream_with(&server.url, |entry, _| entry.max_response_bytes = 900);
    assert_eq!(fault_of(call(&small, "t", "{}").await).1, "mcp_http response exceeded 900 bytes");
    tokio::join!(upstream.shutdown(), small.shutdown());
}

/// Servers and proxies compress although they are asked not to.
async fn encoded_answers() {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let encode = move |coding: &str, bytes: &[u8]| match coding {
        "zstd" => compress_to_vec(bytes, CompressionLevel::Fastest),
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => gzip(bytes),
    };
    for coding in ["gzip", "deflate", "zstd"] {
        let server = FakeHttp::handshake(move |hit| {
            let bytes = hit.body["params"]["arguments"]["bytes"].as_u64().unwrap();
            let text = "x".repeat(usize::try_from(bytes).unwrap());
            let body = encode(coding, hit.result(json!({"structuredContent": text})).to_string().as_bytes());
            response(200, &[("content-type", "application/json"), ("content-encoding", coding)], &body)
        });
        let upstream = upstream(&server);
        for _ in 0..2 {
            assert_eq!(json(&upstream, "t", r#"{"bytes":100000}"#).await.len(), 100_002, "{coding}");
        }
        assert_eq!(server.connections(), 1, "{coding}: the connection serves again");
        // Far more than may come, out of a few bytes.
        let fault = fault_of(call(&upstream, "t", r#"{"bytes":4000000}"#).await);
        assert_eq!(fault.0, FaultReason::ResponseTooLarge, "{coding}");
        upstream.shutdown().await;
    }
    // An encoded event stream: what is flushed is read at once.
    let server = FakeHttp::handshake(move |hit| {
        let answer = hit.result(json!({"structuredContent": true}));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(format!("data: {answer}\n\n").as_bytes()).unwrap();
        encoder.flush().unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
        vec![Step::Bytes(head.into()), Step::Bytes(encoder.get_ref().clone()), Step::Hang]
    });
    let upstream = self::upstream(&server);
    assert_eq!(json(&upstream, "t", "{}").await, "true");
    upstream.shutdown().await;
    // One that breaks off is no answer.
    let server = FakeHttp::handshake(move |hit| {
        let body = gzip(hit.result(json!({"structuredContent": 1})).to_string().as_bytes());
        response(200, &[("content-encoding", "gzip")], &body[..body.len() - 6])
    });
    let upstream = self::upstream(&server);
    let fault = fault_of(call(&upstream, "t", "{}").await);
    assert!(fault.1.starts_with("malformed HTTP response: gzip: "), "{}", fault.1);
    upstream.shutdown().await;
}

async fn event_streams() {
    let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
    let (before_end, behind_end) = (Gate::default(), Gate::default());
    let (may_end, has_ended) = (before_end.clone(), behind_end.clone());
    let server = FakeHttp::handshake(move |hit| {
        let answer = hit.result(json!({"structuredContent": hit.body["params"]["arguments"]}));
        let other = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
        match hit.body["params"]["arguments"]["kind"].as_str() {
            // Held open after the answer.
            Some("held") => vec![event_head(), event(&note), event(&other), event(&answer), Step::Hang],
            // A batch in one event, in pieces, with other line ends, its last blank line missing.
            Some("pieces") => {
                let text = format!(": hi\r\nid: 1\r\ndata: [{note},\r\ndata:  {answer}]\r\n");
                let mut steps = vec![event_head()];
                for piece in text.as_bytes().chunks(7) {
                    steps.extend([Step::Bytes(piece.to_vec()), Step::Pause(Duration::from_millis(1))]);
                }
                steps.push(Step::Close);
                steps
            }
            // Ended in order: the connection serves again.
            _ => vec![
                chunked_event_head(),
                chunk(&format!("data: {answer}\n\n")),
                Step::Wait(may_end.clone()),
                chunk(""),
                Step::Wait(has_ended.clone()),
            ],
        }
    });
    let upstream = upstream(&server);
    for kind in ["held", "pieces", "chunked"] {
        let arguments = format!(r#"{{"kind":"{kind}"}}"#);
        assert_eq!(json(&upstream, "t", &arguments).await, arguments);
    }
    let before = server.connections();
    for n in 1..=4 {
        before_end.let_one_pass();
        wait_until_async("the stream has ended", async || behind_end.came() == n).await;
        behind_end.let_one_pass();
        settle().await;
        if n < 4 {
            json(&upstream, "t", "{}").await;
        }
    }
    assert_eq!(server.connections(), before, "a stream that ends soon after its answer keeps its connection");
    upstream.shutdown().await;
}

async fn event_streams_that_fail() {
    let server = FakeHttp::handshake(|hit| match hit.body["params"]["arguments"]["kind"].as_str() {
        Some("closed") => vec![event_head(), Step::Bytes(b"data: {}\n\n".to_vec()), Step::Close],
        Some("silent") => vec![event_head(), Step::Hang],
        _ => {
            let mut steps = vec![event_head()];
            steps.extend((0..100_000).map(|_| Step::Bytes(b"data: {\"method\":\"n\"}\n\n".repeat(100))));
            steps
        }
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let id =
        server.hits().iter().filter(|hit| hit.rpc() != "server/discover" && hit.body["id"].is_u64()).count()
            + 1;
    let closed = fault_of(call(&upstream, "t", r#"{"kind":"closed"}"#).await);
    let expected = format!("SSE stream closed before response with id={id} arrived");
    assert_eq!(closed, (FaultReason::UpstreamUnavailable, expected));
    let capped = CallLimits { max_bytes: 50_000, ..limits() };
    let endless = call_with(&upstream, "t", r#"{"kind":"endless"}"#, capped).await.unwrap_err();
    let bytes = endless.received_bytes;
    assert!((50_001..300_000).contains(&bytes), "{bytes}");
    assert_eq!(endless.message, format!("SSE response {bytes} bytes exceeds max_bytes (50000)"));
    let before = server.count("tools/call");
    let silent = call_with(&upstream, "t", r#"{"kind":"silent"}"#, an_hour());
    let silent = fault_of(run_out(silent, async || server.count("tools/call") > before).await);
    assert_eq!(silent, (FaultReason::Timeout, "http read timeout".to_owned()));
    upstream.shutdown().await;
    wait_until_async("all connections are closed", async || server.open() == 0).await;
}

async fn a_broken_stream_is_resumed() {
    let server = FakeHttp::handshake(|hit| {
        if hit.method == "GET" {
            assert_eq!(hit.header("accept"), Some("text/event-stream"));
            assert_eq!(hit.header("last-event-id"), Some("e1"));
            assert_eq!(hit.header("mcp-session-id"), Some("session-0"));
            return vec![
                event_head(),
                event(&json!({"id": 3, "result": {"structuredContent": "at last"}})),
                Step::Close,
            ];
        }
        vec![event_head(), Step::Bytes(b"id: e1\nretry: 1\ndata:\n\n".to_vec()), Step::Close]
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    assert_eq!(json(&upstream, "t", "{}").await, "\"at last\"");
    upstream.shutdown().await;
}

async fn server_requests_are_answered() {
    let gate = Gate::default();
    let may_answer = gate.clone();
    let server = FakeHttp::handshake(move |hit| {
        let answer = hit.result(json!({"structuredContent": true}));
        vec![
            event_head(),
            event(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})),
            event(&json!({"jsonrpc": "2.0", "id": 8, "method": "sampling/createMessage"})),
            event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})),
            Step::Wait(may_answer.clone()),
            event(&answer),
            Step::Close,
        ]
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let mut events = upstream.events();
    let replies = || -> Vec<Value> {
        server.hits().into_iter().map(|hit| hit.body).filter(|body| body.get("method").is_none()).collect()
    };
    tokio::join!(json(&upstream, "t", "{}"), async {
        wait_until_async("both are answered", async || replies().len() == 2).await;
        gate.let_one_pass();
    });
    let replies = replies();
    assert_eq!(replies[0], json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    assert_eq!((&replies[1]["id"], &replies[1]["error"]["code"]), (&8.into(), &(-32601).into()));
    assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
    upstream.shutdown().await;
}

/// The ways in which servers say that they know no such session.
fn forgotten_answers() -> [fn() -> Steps; 10] {
    [
        || response(404, &[], b""),
        || {
            let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
            reply(400, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
        },
        || {
            let error = json!({"code": -32000, "message": "Bad Request: Server not initialized"});
            reply(400, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
        },
        || response(400, &[("content-type", "text/plain")], b"Bad Request: No valid session ID provided"),
        || response(410, &[], b""),
        || {
            let error = json!({"code": -32600, "message": "Session not found or expired"});
            reply(200, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
        },
        || {
            let error = json!({"code": -32600, "message": "Session not found"});
            vec![
                event_head(),
                event(&json!({"jsonrpc": "2.0", "id": "server-error", "error": error})),
                Step::Hang,
            ]
        },
        || vec![event_head(), event(&json!({"error": "Session not found"})), Step::Close],
        || {
            let error = json!({"code": -32603, "message": "Invalid session"});
            reply(500, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
        },
        || response(500, &[("content-type", "application/json")], b"{\"detail\": \"session expired\"}"),
    ]
}

async fn a_forgotten_session() {
    for forgotten in forgotten_answers() {
        let server = FakeHttp::handshake(move |hit| match hit.header("mcp-session-id") {
            Some("session-0") => forgotten(),
            _ => echo(hit),
        });
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        let calls = (0..5).map(|n| {
            let (upstream, arguments) = (&upstream, format!(r#"{{"a":{n}}}"#));
            async move { (json(upstream, "t", &arguments).await, arguments) }
        });
        for (answer, arguments) in futures_util::future::join_all(calls).await {
            assert_eq!(answer, arguments, "it was not run, so it is sent again");
        }
        assert_eq!(
            (server.count("initialize"), server.count("server/discover")),
            (2, 1),
            "the era is remembered"
        );
        upstream.shutdown().await;
    }
}

async fn a_session_that_only_fails() {
    type Failing = fn() -> Steps;
    let failings: [Failing; 4] = [
        || response(500, &[], b"internal"),
        || response(503, &[], b""),
        || vec![event_head(), Step::Close],
        || vec![Step::Close],
    ];
    for failing in failings {
        let sessions = AtomicUsize::new(0);
        let server = FakeHttp::start(move |hit| {
            let has_forgotten = hit.header("mcp-session-id") == Some("session-0");
            match (hit.method.as_str(), hit.rpc()) {
                (_, "server/discover") => response(400, &[], b""),
                (_, "initialize") => {
                    let id = format!("session-{}", sessions.fetch_add(1, Ordering::SeqCst));
                    let headers = [("content-type", "application/json"), ("mcp-session-id", id.as_str())];
                    let result = hit.result(json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
                    response(200, &headers, result.to_string().as_bytes())
                }
                (_, "notifications/initialized") => response(202, &[], b""),
                (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
                (_, "tools/call" | "ping") if has_forgotten => failing(),
                (_, "tools/call") => echo(hit),
                _ => response(200, &[], b""),
            }
        });
        let upstream = upstream(&server);
        let fault = call(&upstream, "t", "{}").await.unwrap_err();
        assert!(fault.sent && fault.reason == FaultReason::UpstreamUnavailable, "{fault}");
        assert_eq!(server.count("tools/call"), 1, "nothing says that it has not run");
        assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#);
        assert_eq!((server.count("ping"), server.count("initialize"), server.count("tools/call")), (1, 2, 2));
        upstream.shutdown().await;
    }
    // A server that knows the session keeps it.
    let failed = AtomicUsize::new(0);
    let server = FakeHttp::handshake(move |hit| match failed.fetch_add(1, Ordering::SeqCst) {
        0 => response(500, &[], b"internal"),
        _ => echo(hit),
    });
    let upstream = self::upstream(&server);
    call(&upstream, "t", "{}").await.unwrap_err();
    assert_eq!(json(&upstream, "t", "{}").await, "{}");
    assert_eq!((server.count("ping"), server.count("initialize")), (1, 1));
    upstream.shutdown().await;
}

async fn faults_tell_whether_a_call_was_sent() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap()
    };
    assert!(!call(&upstream_with(&closed, |_, _| {}), "t", "{}").await.unwrap_err().sent);
    for (answer, message) in [
        ((|_| vec![Step::Reset]) as fn(&Hit) -> Steps, "connection closed"),
        (|_| response(429, &[], b""), "rate_limited"),
        (|_| response(500, &[], b""), "http 500"),
        (|hit| reply(200, &hit.error(-32000, "no")), "no"),
    ] {
        let server = FakeHttp::handshake(answer);
        let upstream = upstream(&server);
        let fault = call(&upstream, "t", "{}").await.unwrap_err();
        assert_eq!(fault.message.lines().next(), Some(message));
        assert!(fault.sent, "{fault}");
        upstream.shutdown().await;
    }
}

async fn a_server_of_one_connection() {
    let streaming = Arc::new(AtomicUsize::new(0));
    let open = streaming.clone();
    let server = FakeHttp::start(move |hit| {
        let capabilities = json!({"tools": {"listChanged": true}});
        match (hit.method.as_str(), hit.rpc()) {
            ("GET", _) => {
                open.store(1, Ordering::SeqCst);
                vec![event_head(), Step::Hang]
            }
            // It is as if nobody read what comes on another connection.
            (_, "ping") if open.load(Ordering::SeqCst) == 1 => vec![Step::Hang],
            (_, "initialize") => reply(
                200,
                &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities})),
            ),
            (_, "notifications/initialized") => response(202, &[], b""),
            (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
            (_, "tools/call") => echo(hit),
            _ => response(400, &[], b""),
        }
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let _events = upstream.events();
    wait_until_async("it is asked beside the stream", async || server.count("ping") == 1).await;
    wait_until_async("the stream is given up", async || {
        advance(Duration::from_millis(200));
        server.open() <= 1
    })
    .await;
    assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#);
    advance(HOUR);
    settle().await;
    assert_eq!(
        server.hits().iter().filter(|hit| hit.method == "GET").count(),
        1,
        "for as long as the session lives"
    );
    upstream.shutdown().await;
}

async fn sessions_forgotten_again_and_again() {
    // A server that restarts twice within the time of the recovery window: the call waits the window out.
    let server = FakeHttp::handshake(|hit| match hit.header("mcp-session-id") {
        Some("session-0" | "session-1") if hit.body["params"]["arguments"] == json!({}) => {
            response(404, &[], b"")
        }
        Some("session-0") => response(404, &[], b""),
        _ => echo(hit),
    });
    let upstream = upstream(&server);
    json(&upstream, "t", r#"{"first":1}"#).await;
    let again = json(&upstream, "t", "{}");
    let in_recovery = async || matches!(upstream.health().phase, Phase::Recovery(_));
    assert_eq!(run_out(again, in_recovery).await, "{}");
    assert_eq!((server.count("initialize"), server.count("tools/call")), (3, 4));
    upstream.shutdown().await;
    // One that keeps no session at all: each call is sent twice, and the fault says that it has not run.
    let server = FakeHttp::handshake(|_| response(404, &[], b""));
    let upstream = self::upstream(&server);
    let fault = call(&upstream, "t", "{}").await.unwrap_err();
    assert_eq!(
        fault.message,
        "session_lost\nThe server forgot two sessions, one after the other: the call has not run."
    );
    assert_eq!(server.count("tools/call"), 2);
    upstream.shutdown().await;
}

async fn a_session_lost_halfway() {
    // The answer had begun: the call may have run and is not sent again.
    let server = FakeHttp::handshake(|hit| {
        if hit.method == "GET" {
            return response(404, &[], b"");
        }
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        let event = Step::Bytes(format!("id: 1\ndata: {progress}\n\n").into_bytes());
        vec![event_head(), event, Step::Close]
    });
    let upstream = upstream(&server);
    let fault = call(&upstream, "t", "{}").await.unwrap_err();
    assert_eq!(
        fault.message,
        "session_lost\nThe server forgot the session while it answered: the call may have run."
    );
    assert_eq!((server.count("tools/call"), upstream.health().phase), (1, Phase::Stopped));
    upstream.shutdown().await;
}

/// A server in the middle of an update: one of its processes does not know our revision yet, and yet offers it.
async fn a_revision_refused_and_offered() {
    for refused in ["server/discover", "tools/list", "tools/call"] {
        let refusals = AtomicUsize::new(0);
        let server = FakeHttp::start(move |hit| {
            if hit.rpc() == refused && refusals.fetch_add(1, Ordering::SeqCst) == 0 {
                let data = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
                let error = json!({"code": -32022, "message": "Unsupported protocol version", "data": data});
                return reply(400, &json!({"jsonrpc": "2.0", "id": hit.body["id"], "error": error}));
            }
            let result = match hit.rpc() {
                "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
                "tools/list" => json!({"tools": [{"name": "t"}]}),
                _ => return echo(hit),
            };
            reply(200, &hit.result(result))
        });
        let upstream = upstream(&server);
        assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#, "{refused}");
        assert_eq!((server.count(refused), server.count("initialize")), (2, 0), "{refused}");
        upstream.shutdown().await;
    }
    // Once more, and not for ever.
    let server = FakeHttp::start(|hit| {
        let data = json!({"supported": ["2026-07-28"]});
        let error = json!({"code": -32022, "message": "no", "data": data});
        reply(400, &json!({"jsonrpc": "2.0", "id": hit.body["id"], "error": error}))
    });
    let upstream = self::upstream(&server);
    assert_eq!(
        fault_of(call(&upstream, "t", "{}").await).1,
        "protocol version mismatch: server=2026-07-28 client=2026-07-28"
    );
    assert_eq!(server.count("server/discover"), 2);
    upstream.shutdown().await;
}

async fn refused_credentials() {
    let server = FakeHttp::handshake(|_| response(401, &[("www-authenticate", "Bearer")], b""));
    let upstream = upstream_with(&server.url, |_, config| {
        config.backoff = Backoff { initial: HOUR, max: HOUR };
    });
    let fault = fault_of(call(&upstream, "t", "{}").await);
    assert_eq!(fault, (FaultReason::AuthFailed, "auth_failed".to_owned()));
    for _ in 0..3 {
        assert_eq!(fault_of(call(&upstream, "t", "{}").await).1, "in recovery");
    }
    assert_eq!(server.count("tools/call"), 1, "not asked again and again");
    upstream.shutdown().await;
}

async fn slow_answers_time_out() {
    let server = FakeHttp::handshake(|hit| {
        let text = String::from_utf8(match echo(hit).remove(0) {
            Step::Bytes(bytes) => bytes,
            _ => unreachable!(),
        });
        let mut bytes = text.unwrap().into_bytes();
        let last = bytes.pop().unwrap();
        let drip = |byte: u8| [Step::Bytes(vec![byte]), Step::Pause(Duration::from_millis(5))];
        // The end does not come as long as somebody waits for it.
        let end = [Step::Hang, Step::Bytes(vec![last])];
        bytes.into_iter().flat_map(drip).chain(end).collect()
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let expected = (FaultReason::Timeout, "http read timeout".to_owned());
    let short = call_with(&upstream, "t", "{}", an_hour());
    assert_eq!(fault_of(run_out(short, async || server.count("tools/call") == 1).await), expected);
    let impatient = upstream_with(&server.url, |entry, _| entry.request_timeout = HOUR);
    let short = call(&impatient, "t", "{}");
    assert_eq!(fault_of(run_out(short, async || server.count("tools/call") == 2).await), expected);
    tokio::join!(upstream.shutdown(), impatient.shutdown());
}

async fn the_first_byte_has_a_limit_of_its_own() {
    let gate = Gate::default();
    let may_go_on = gate.clone();
    let server = FakeHttp::handshake(move |hit| {
        let mut steps = echo(hit);
        match hit.body["params"]["arguments"]["kind"].as_str() {
            Some("late") => steps.insert(0, Step::Hang),
            _ => {
                let Step::Bytes(bytes) = steps.remove(0) else { unreachable!() };
                let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
                let (head, body) = bytes.split_at(head + 1);
                let (head, body) = (head.to_vec(), body.to_vec());
                steps.extend([Step::Bytes(head), Step::Wait(may_go_on.clone()), Step::Bytes(body)]);
            }
        }
        steps
    });
    let upstream = upstream_with(&server.url, |entry, _| {
        entry.first_byte_timeout = Some(HOUR);
    });
    upstream.ensure_started().await.unwrap();
    let late = call(&upstream, "t", r#"{"kind":"late"}"#);
    let late = fault_of(run_out(late, async || server.count("tools/call") == 1).await);
    assert_eq!(late, (FaultReason::Timeout, "http read timeout".to_owned()));
    let slow = r#"{"kind":"slow body"}"#;
    let (answer, ()) = tokio::join!(json(&upstream, "t", slow), async {
        wait_until_async("the head and a byte are written", async || gate.came() == 1).await;
        settle().await;
        advance(2 * HOUR);
        gate.let_one_pass();
    });
    assert_eq!(answer, slow, "the body has the time of the whole call");
    upstream.shutdown().await;
}

async fn giving_up_cancels() {
    let server = FakeHttp::handshake(|_| vec![Step::Hang]);
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let short = call_with(&upstream, "t", "{}", an_hour());
    let fault = fault_of(run_out(short, async || server.count("tools/call") == 1).await);
    assert_eq!(fault.0, FaultReason::Timeout);
    // Each has a connection of its own, and the server reads them as it comes to them.
    let both = ["tools/call", "notifications/cancelled"];
    wait_until_async("it is cancelled", async || both.iter().all(|method| server.count(method) == 1)).await;
    let hits = server.hits();
    let called = hits.iter().find(|hit| hit.rpc() == "tools/call").unwrap();
    let cancelled = hits.iter().find(|hit| hit.rpc() == "notifications/cancelled").unwrap();
    assert_eq!(cancelled.body["params"]["requestId"], called.body["id"]);
    assert_eq!(cancelled.header("mcp-session-id"), Some("session-0"));
    upstream.shutdown().await;

    // In the modern era hanging up is enough.
    let server = FakeHttp::modern(json!([]), |_| vec![Step::Hang]);
    let upstream = self::upstream(&server);
    upstream.ensure_started().await.unwrap();
    let mut dropped = call(&upstream, "t", "{}").boxed_local();
    assert!(dropped.as_mut().now_or_never().is_none());
    wait_until_async("the call arrives", async || {
        dropped.as_mut().now_or_never().is_some() || server.count("tools/call") == 1
    })
    .await;
    drop(dropped);
    wait_until_async("the connection is closed", async || server.open() == 0).await;
    assert_eq!(server.count("notifications/cancelled"), 0);
    upstream.shutdown().await;
}

async fn waiting_in_the_queue_is_free() {
    let gate = Gate::default();
    let may_answer = gate.clone();
    let server = FakeHttp::handshake(move |hit| {
        let mut steps = echo(hit);
        steps.insert(0, Step::Wait(may_answer.clone()));
        steps
    });
    let upstream = upstream_with(&server.url, |_, config| config.max_concurrency = 1);
    upstream.ensure_started().await.unwrap();
    // One after the other, each with a limit that its own time fits in and the last one's wait does not.
    let calls = (0..6).map(|_| call_with(&upstream, "t", "{}", an_hour()));
    let answering = async {
        for n in 1..=6 {
            wait_until_async("a call has come", async || gate.came() == n).await;
            advance(HOUR * 2 / 3);
            gate.let_one_pass();
        }
    };
    let (results, ()) = tokio::join!(futures_util::future::join_all(calls), answering);
    for result in results {
        result.unwrap();
    }
    assert_eq!(server.connections(), 1);
    upstream.shutdown().await;
}

async fn credentials_go_where_they_belong() {
    let server = FakeHttp::handshake(echo);
    let text = json!({
        "credentials": {"key": {"source": "literal", "value": "a-secret-of-length"}},
        "upstreams": {"fake": {
            "transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true, "allow_insecure_auth": true,
            "auth": [{"scheme": "bearer", "binding": "key"}, {"scheme": "custom_header", "binding": "key", "header": "X-Api-Key"}],
            "static_headers": {"X-Tenant": "acme"},
        }},
    })
    .to_string();
    let env = ProcessEnv::default();
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let loaded = UpstreamsConfig::from_json(&text, &options).unwrap();
    let config = loaded.upstream("fake").unwrap();
    let Transport::Http(entry) = &config.transport else { panic!("not http") };
    let store = Arc::new(loaded.credentials.clone());
    let upstream =
        HttpUpstream::new(config, entry, store, Client::new(), &ClientRoots::default(), Handle::current())
            .unwrap();
    json(&upstream, "t", "{}").await;
    upstream.shutdown().await;
    for hit in server.hits() {
        assert_eq!(hit.header("authorization"), Some("Bearer a-secret-of-length"));
        assert_eq!(hit.header("x-api-key"), Some("a-secret-of-length"));
        assert_eq!(hit.header("x-tenant"), Some("acme"));
    }
}

async fn shutdown_says_farewell() {
    let server = FakeHttp::handshake(|_| vec![Step::Hang]);
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let (waiting, ()) = tokio::join!(call(&upstream, "t", "{}"), async {
        wait_until_async("the call is under way", async || server.count("tools/call") == 1).await;
        upstream.shutdown().await;
    });
    let closed = (FaultReason::UpstreamUnavailable, "the upstream has been shut down".to_owned());
    assert_eq!(fault_of(waiting), closed);
    assert_eq!(fault_of(call(&upstream, "t", "{}").await), closed);
    let deleted: Vec<Hit> = server.hits().into_iter().filter(|hit| hit.method == "DELETE").collect();
    assert_eq!(deleted.len(), 1);
    assert_eq!(deleted[0].text, "", "it says all in its head");
    assert_eq!(deleted[0].header("mcp-session-id"), Some("session-0"));
    assert_eq!(deleted[0].header("mcp-protocol-version"), Some("2025-06-18"));
}

async fn a_farewell_unanswered() {
    let server = FakeHttp::start(|hit| match (hit.method.as_str(), hit.rpc()) {
        ("DELETE", _) => vec![Step::Hang],
        (_, "initialize") => response(
            200,
            &[("content-type", "application/json"), ("mcp-session-id", "session-0")],
            hit.result(json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}))
                .to_string()
                .as_bytes(),
        ),
        (_, "notifications/initialized") => response(202, &[], b""),
        (_, "tools/list") => reply(200, &hit.result(json!({"tools": []}))),
        _ => response(400, &[], b""),
    });
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let deleted = || server.hits().iter().filter(|hit| hit.method == "DELETE").count();
    run_out(upstream.shutdown(), async || deleted() == 1).await;
    assert_eq!(deleted(), 1);
}

async fn changes_are_listened_for() {
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    for modern in [true, false] {
        let change = change.clone();
        let server = FakeHttp::start(move |hit| {
            let capabilities = json!({"tools": {"listChanged": true}});
            match (hit.method.as_str(), hit.rpc()) {
                (_, "server/discover") if modern => reply(
                    200,
                    &hit.result(json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})),
                ),
                (_, "initialize") => reply(
                    200,
                    &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities})),
                ),
                (_, "notifications/initialized") => response(202, &[], b""),
                (_, "tools/list") => reply(200, &hit.result(json!({"tools": []}))),
                (_, "subscriptions/listen") | ("GET", _) => {
                    vec![event_head(), event(&change), Step::Hang]
                }
                _ => response(400, &[], b""),
            }
        });
        let opened = |server: &FakeHttp| {
            server.hits().iter().filter(|h| h.method == "GET" || h.rpc() == "subscriptions/listen").count()
        };
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        assert_eq!(opened(&server), 0, "nobody cares yet");
        let mut events = upstream.events();
        assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
        let _more = upstream.events();
        upstream.refresh_tools().await.unwrap();
        assert_eq!(opened(&server), 1);
        upstream.shutdown().await;
        wait_until_async("the stream is closed", async || server.open() == 0).await;
    }
}

async fn a_stream_too_fast() {
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let log =
        format!("data: {}\n\n", json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}));
    for (line, marks, stays) in
        [(&*log, 998, true), (&*log, 5000, false), (": c\n", 5000, false), ("\n", 5000, false)]
    {
        let (change, lines) = (change.clone(), line.repeat(marks));
        let server = FakeHttp::start(move |hit| {
            let capabilities = json!({"tools": {"listChanged": true}});
            match (hit.method.as_str(), hit.rpc()) {
                ("GET", _) => {
                    vec![event_head(), Step::Bytes(lines.clone().into_bytes()), event(&change), Step::Hang]
                }
                (_, "initialize") => reply(
                    200,
                    &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities})),
                ),
                (_, "notifications/initialized") => response(202, &[], b""),
                (_, "tools/list") => reply(200, &hit.result(json!({"tools": []}))),
                (_, "tools/call") => echo(hit),
                _ => response(400, &[], b""),
            }
        });
        let opened = || server.hits().iter().filter(|hit| hit.method == "GET").count();
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        let mut events = upstream.events();
        if stays {
            assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
            advance(Duration::from_secs(60));
        } else {
            // The pause before it is opened again begins when it was closed.
            wait_until_async("it is opened again", async || {
                advance(Duration::from_millis(100));
                opened() > 1
            })
            .await;
        }
        assert_eq!(json(&upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#, "calls go on");
        assert_eq!(opened() == 1, stays, "{line:?}");
        upstream.shutdown().await;
    }
}

async fn pings_make_no_call_longer() {
    let (say, said) = std::sync::mpsc::channel();
    let said = std::sync::Mutex::new(Some(said));
    let ping = || format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).into_bytes();
    let server = FakeHttp::start(move |hit| match (hit.method.as_str(), hit.rpc()) {
        ("DELETE", _) => response(200, &[], b""),
        (_, "initialize") => {
            reply(200, &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})))
        }
        (_, "notifications/initialized") => response(202, &[], b""),
        (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
        (_, "tools/call") => {
            say.send(ping()).unwrap();
            vec![event_head(), Step::Follow(said.lock().unwrap().take().unwrap())]
        }
        // Each answer is followed by the next one.
        (_, "") => {
            let _ = say.send(ping());
            response(202, &[], b"")
        }
        _ => response(400, &[], b""),
    });
    let upstream = upstream(&server);
    let replies = || server.hits().iter().filter(|hit| hit.body.get("result").is_some()).count();
    let called = run_out(call_with(&upstream, "t", "{}", an_hour()), async || replies() > 3).await;
    assert_eq!(fault_of(called).0, FaultReason::Timeout);
    upstream.shutdown().await;
}

async fn nothing_is_left_open() {
    let server = FakeHttp::handshake(echo);
    let upstream = upstream(&server);
    futures_util::future::join_all((0..10).map(|_| json(&upstream, "t", "{}"))).await;
    upstream.shutdown().await;
    wait_until_async("all connections are closed", async || server.open() == 0).await;
}

async fn a_server_of_resources() {
    for modern in [true, false] {
        for (capabilities, starts) in [
            (json!({"resources": {}}), true),
            (json!({"prompts": {}, "logging": {}}), true),
            // It says that it has tools, or nothing at all.
            (json!({"tools": {}, "resources": {}}), false),
            (json!({"logging": {}}), false),
            (json!({}), false),
        ] {
            let told = capabilities.clone();
            let server = FakeHttp::start(move |hit| match (hit.method.as_str(), hit.rpc()) {
                ("GET" | "DELETE", _) => response(405, &[], b""),
                (_, "server/discover") if modern => reply(
                    200,
                    &hit.result(json!({"supportedVersions": ["2026-07-28"], "capabilities": told})),
                ),
                (_, "initialize") if !modern => {
                    reply(200, &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": told})))
                }
                (_, "notifications/initialized") => response(202, &[], b""),
                _ => reply(if modern { 404 } else { 200 }, &hit.error(-32601, "Method not found")),
            });
            let upstream = upstream(&server);
            let tools = upstream.list_tools().await;
            match starts {
                true => assert_eq!(tools.expect("a start").len(), 0, "{capabilities}"),
                false => {
                    assert_eq!(tools.expect_err("no start").message, "Method not found", "{capabilities}")
                }
            }
            upstream.shutdown().await;
        }
    }
}
