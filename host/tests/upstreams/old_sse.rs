//! Servers of HTTP+SSE, 2024-11-05: found by `mcp_http`, and named outright.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use libtest_mimic::Trial;
use ptc_host::mcp::HttpUpstream;
use ptc_host::upstream::{CallLimits, FaultReason, Phase, Upstream as _, UpstreamEvent};
use ptc_mcp::json::{Value, json};

use crate::http::upstream_with;
use crate::support::{
    HOUR, advance, an_hour, call, call_with, fault_of, json, limits, run_out, run_out_of_all, trial,
};
use ptc_test_support::fake_http::{FakeHttp, Gate, Hit, Step, Steps, event_head, reply, response};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("old_sse::it_is_found_where_posts_are_refused", found_where_posts_are_refused),
        trial("old_sse::it_may_be_named_outright", named_outright),
        trial("old_sse::other_refusals_are_not_taken_for_it", other_refusals),
        trial("old_sse::replies_come_in_any_order", replies_in_any_order),
        trial("old_sse::requests_of_the_server_are_answered", requests_are_answered),
        trial("old_sse::another_origin_gets_no_messages", another_origin),
        trial("old_sse::a_broken_stream_is_opened_anew", a_broken_stream),
        trial("old_sse::a_stream_with_too_many_events_is_closed_for_a_while", a_stream_too_fast),
        trial("old_sse::a_session_lost_is_begun_anew", a_session_lost),
        trial("old_sse::answers_are_bounded_and_slow_ones_time_out", bounds),
        trial("old_sse::shutdown_closes_the_stream", shutdown),
    ]
}

/// What the server says on its stream.
#[derive(Clone)]
struct Says(Sender<Vec<u8>>);

impl Says {
    fn event(&self, message: &Value) {
        let _ = self.0.send(format!("event: message\r\ndata: {message}\r\n\r\n").into_bytes());
    }
}

struct OldServer {
    http: FakeHttp,
    streams: Arc<Mutex<Vec<Option<Says>>>>,
}

impl OldServer {
    /// `refuse` answers posts to the stream's own URL; `on_call` answers `tools/call`, or its post where it yields steps.
    fn start(
        refuse: impl Fn(&Hit) -> Steps + Send + Sync + 'static,
        on_call: impl Fn(&Hit, &Says) -> Option<Steps> + Send + Sync + 'static,
    ) -> Self {
        let streams: Arc<Mutex<Vec<Option<Says>>>> = Arc::default();
        let known = streams.clone();
        let http = FakeHttp::start(move |hit| {
            if hit.method == "GET" {
                assert_eq!(hit.header("accept"), Some("text/event-stream"));
                let (sender, receiver) = channel();
                let mut streams = known.lock().unwrap();
                let endpoint = format!("event: endpoint\ndata: /messages?session={}\n\n", streams.len());
                sender.send(endpoint.into_bytes()).unwrap();
                streams.push(Some(Says(sender)));
                return vec![event_head(), Step::Follow(receiver)];
            }
            let Some(number) = hit.path.strip_prefix("/messages?session=") else { return refuse(hit) };
            let says = known.lock().unwrap()[number.parse::<usize>().unwrap()].clone();
            let Some(says) = says else { return response(404, &[], b"Could not find session") };
            match hit.rpc() {
                "initialize" => says.event(&hit.result(json!({"protocolVersion": "2024-11-05",
                    "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "old", "version": "1"}}))),
                "tools/list" => says.event(&hit.result(json!({"tools": [{"name": "t"}]}))),
                "tools/call" => {
                    if let Some(steps) = on_call(hit, &says) {
                        return steps;
                    }
                }
                _ => {}
            }
            response(202, &[], b"Accepted")
        });
        Self { http, streams }
    }

    fn says(&self, stream: usize) -> Says {
        self.streams.lock().unwrap()[stream].clone().expect("it is open")
    }

    /// Ends a stream and forgets its session.
    fn forget(&self, stream: usize) {
        self.streams.lock().unwrap()[stream] = None;
    }

    fn streams(&self) -> usize {
        self.streams.lock().unwrap().len()
    }
}

fn upstream(server: &OldServer) -> HttpUpstream {
    upstream_with(&server.http.url, |_, _| {})
}

fn echo(hit: &Hit, says: &Says) -> Option<Steps> {
    says.event(&hit.result(json!({"structuredContent": hit.body["params"]["arguments"]})));
    None
}

async fn found_where_posts_are_refused() {
    let refusals: [fn(&Hit) -> Steps; 4] = [
        |_| response(405, &[], b"Method Not Allowed"),
        |_| response(404, &[("content-type", "application/json")], br#"{"detail":"Not Found"}"#),
        |_| response(400, &[], b""),
        |hit| reply(404, &hit.error(-32601, "no such path")),
    ];
    for refuse in refusals {
        let server = OldServer::start(refuse, echo);
        let upstream = upstream(&server);
        for n in 0..3 {
            let arguments = format!(r#"{{"n":{n}}}"#);
            assert_eq!(json(&upstream, "t", &arguments).await, arguments);
        }
        let health = upstream.health();
        assert_eq!((health.phase, health.starts, health.tools), (Phase::Started, 1, 1));
        assert_eq!(health.protocol_version.as_deref(), Some("2024-11-05"));
        assert_eq!(server.streams(), 1);
        upstream.shutdown().await;
    }
}

async fn named_outright() {
    let server = OldServer::start(|_| panic!("nothing is posted there"), echo);
    let upstream = upstream_with(&server.http.url, |entry, _| entry.old_stream = true);
    assert_eq!(json(&upstream, "t", r#"{"n":1}"#).await, r#"{"n":1}"#);
    upstream.shutdown().await;
    // A server of today is not one: the message says what it answered.
    let server = FakeHttp::start(|_| response(405, &[], b""));
    let upstream = upstream_with(&server.url, |entry, _| entry.old_stream = true);
    assert_eq!(fault_of(call(&upstream, "t", "{}").await).1, "GET for the event stream: http 405");
    upstream.shutdown().await;
}

async fn other_refusals() {
    for status in [401, 403, 429, 500, 503] {
        let gets = Arc::new(AtomicUsize::new(0));
        let counted = gets.clone();
        let server = OldServer::start(move |_| response(status, &[], b""), echo);
        let upstream = upstream(&server);
        call(&upstream, "t", "{}").await.unwrap_err();
        counted.fetch_add(server.streams(), Ordering::SeqCst);
        assert_eq!(gets.load(Ordering::SeqCst), 0, "{status}");
        upstream.shutdown().await;
    }
    // Where there is no stream either, the first refusal is what is told.
    let server = FakeHttp::start(|_| response(404, &[], b""));
    let upstream = upstream_with(&server.url, |_, _| {});
    let fault = call(&upstream, "t", "{}").await.unwrap_err();
    let told = "http 404\nIt has no event stream of 2024-11-05 either: GET for the event stream: http 404\nThere is no MCP endpoint at ";
    assert!(fault.message.starts_with(told), "{fault}");
    upstream.shutdown().await;
}

async fn replies_in_any_order() {
    // All calls wait until the last has come; that one is answered first. The posts answer before and after.
    let waiting: Mutex<Vec<Hit>> = Mutex::default();
    let gate = Gate::default();
    let may_close = gate.clone();
    let server = OldServer::start(
        |_| response(405, &[], b""),
        move |hit, says| {
            let mut waiting = waiting.lock().unwrap();
            waiting.push(hit.clone());
            if waiting.len() == 10 {
                for hit in waiting.drain(..).rev() {
                    echo(&hit, says);
                }
                return Some(vec![Step::Wait(may_close.clone()), Step::Close]);
            }
            None
        },
    );
    let upstream = upstream(&server);
    let calls = (0..10).map(|n| {
        let (upstream, arguments) = (&upstream, format!(r#"{{"n":{n}}}"#));
        async move { assert_eq!(json(upstream, "t", &arguments).await, arguments) }
    });
    // A post that is not answered behind its reply is given up.
    run_out(futures_util::future::join_all(calls), async || gate.came() == 1).await;
    gate.let_one_pass();
    upstream.shutdown().await;
}

async fn requests_are_answered() {
    let server = OldServer::start(
        |_| response(405, &[], b""),
        |hit, says| {
            says.event(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
            says.event(&json!({"jsonrpc": "2.0", "id": 8, "method": "sampling/createMessage"}));
            says.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            echo(hit, says)
        },
    );
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let mut events = upstream.events();
    json(&upstream, "t", "{}").await;
    let replies = || -> Vec<Value> {
        let bodies = server.http.hits().into_iter().map(|hit| hit.body);
        bodies.filter(|body| !body.is_null() && body.get("method").is_none()).collect()
    };
    wait_until_async("both are answered", async || replies().len() == 2).await;
    assert_eq!(replies()[0], json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    assert_eq!(replies()[1]["error"]["code"], -32601);
    assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
    upstream.shutdown().await;
}

async fn another_origin() {
    let other = FakeHttp::start(|_| response(202, &[], b""));
    let named = format!("event: endpoint\ndata: {}\n\n", other.url);
    let server = FakeHttp::start(move |hit| match hit.method.as_str() {
        "GET" => vec![event_head(), Step::Bytes(named.clone().into_bytes()), Step::Hang],
        _ => response(405, &[], b""),
    });
    let upstream = upstream_with(&server.url, |entry, _| entry.old_stream = true);
    let fault = fault_of(call(&upstream, "t", "{}").await);
    assert!(fault.1.contains("names another origin, which gets no messages"), "{}", fault.1);
    assert_eq!(other.connections(), 0);
    upstream.shutdown().await;
    // Neither a silent stream nor an endless first event holds a start for ever.
    for bytes in [b"".to_vec(), [b"data: ", vec![b'x'; 5000].as_slice()].concat()] {
        let is_silent = bytes.is_empty();
        let server = FakeHttp::start(move |_| vec![event_head(), Step::Bytes(bytes.clone()), Step::Hang]);
        let upstream = upstream_with(&server.url, |entry, _| {
            entry.old_stream = true;
            entry.handshake_timeout = HOUR;
            entry.max_response_bytes = 4000;
        });
        let starting = call(&upstream, "t", "{}");
        let fault = if is_silent { run_out_of_all(starting, HOUR).await } else { starting.await };
        fault.unwrap_err();
        upstream.shutdown().await;
    }
}

async fn a_broken_stream() {
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = silent.clone();
    let server = OldServer::start(
        |_| response(405, &[], b""),
        move |hit, says| if is_silent.load(Ordering::SeqCst) { None } else { echo(hit, says) },
    );
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    let (result, ()) = tokio::join!(call(&upstream, "t", "{}"), async {
        wait_until_async("it is posted", async || server.http.count("tools/call") == 1).await;
        server.forget(0);
    });
    assert_eq!(
        fault_of(result),
        (FaultReason::UpstreamUnavailable, "SSE stream closed before the response arrived".to_owned()),
        "it may have run, so that it is not sent again"
    );
    assert_eq!(server.http.count("tools/call"), 1);
    silent.store(false, Ordering::SeqCst);
    assert_eq!(json(&upstream, "t", r#"{"n":2}"#).await, r#"{"n":2}"#);
    assert_eq!(
        (server.streams(), server.http.count("server/discover")),
        (2, 1),
        "what it speaks is remembered"
    );
    upstream.shutdown().await;
}

async fn a_stream_too_fast() {
    for line in ["data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", ": c\n", "\n"] {
        let server = OldServer::start(|_| response(405, &[], b""), echo);
        let upstream = upstream(&server);
        upstream.ensure_started().await.unwrap();
        let mut events = upstream.events();
        server.says(0).0.send(line.repeat(5000).into_bytes()).unwrap();
        let ended = loop {
            if let UpstreamEvent::Ended { fault, .. } = events.recv().await.unwrap() {
                break fault.message;
            }
        };
        assert_eq!(ended, "SSE stream closed: more than 1000 events in a second");
        let fault = fault_of(call(&upstream, "t", "{}").await);
        assert!(fault.1.starts_with("in recovery"), "{fault:?}");
        advance(HOUR);
        assert_eq!(json(&upstream, "t", r#"{"n":1}"#).await, r#"{"n":1}"#);
        assert_eq!(server.streams(), 2);
        upstream.shutdown().await;
    }
}

async fn a_session_lost() {
    let server = OldServer::start(|_| response(405, &[], b""), echo);
    let upstream = upstream(&server);
    upstream.ensure_started().await.unwrap();
    // The stream stays open, as it does behind a proxy, and the server knows it no more.
    let open = server.says(0);
    server.forget(0);
    assert_eq!(json(&upstream, "t", r#"{"n":1}"#).await, r#"{"n":1}"#, "it was not run, so it is sent again");
    assert_eq!((server.streams(), server.http.count("tools/call")), (2, 2));
    drop(open);
    upstream.shutdown().await;
}

async fn bounds() {
    let server = OldServer::start(
        |_| response(405, &[], b""),
        |hit, says| {
            let bytes = hit.body["params"]["arguments"]["bytes"].as_u64();
            if let Some(bytes) = bytes {
                let text = "x".repeat(usize::try_from(bytes).unwrap());
                says.event(&hit.result(json!({"structuredContent": text})));
            }
            None
        },
    );
    let upstream = upstream_with(&server.http.url, |entry, _| entry.max_response_bytes = 4000);
    json(&upstream, "t", r#"{"bytes":3000}"#).await;
    let strict = CallLimits { max_bytes: 1000, ..limits() };
    let fault = fault_of(call_with(&upstream, "t", r#"{"bytes":3000}"#, strict).await);
    assert_eq!(fault.0, FaultReason::ResponseTooLarge);
    assert!(fault.1.ends_with("exceeds max_bytes (1000)"), "{}", fault.1);
    let before = server.http.count("tools/call");
    let quick = call_with(&upstream, "t", "{}", an_hour());
    let fault = fault_of(run_out(quick, async || server.http.count("tools/call") > before).await);
    assert_eq!(fault, (FaultReason::Timeout, "http read timeout".to_owned()));
    let called = server.http.hits().into_iter().rfind(|hit| hit.rpc() == "tools/call").unwrap();
    wait_until_async("it is cancelled", async || {
        let hits = server.http.hits();
        let mut cancelled = hits.iter().filter(|hit| hit.rpc() == "notifications/cancelled");
        cancelled.any(|hit| hit.body["params"]["requestId"] == called.body["id"])
    })
    .await;
    assert_eq!(server.streams(), 1, "none of these ends the stream");
    // An event beyond all caps does.
    let fault = fault_of(call(&upstream, "t", r#"{"bytes":500000}"#).await);
    assert_eq!(fault.0, FaultReason::ResponseTooLarge);
    json(&upstream, "t", r#"{"bytes":10}"#).await;
    upstream.shutdown().await;
}

async fn shutdown() {
    let server = OldServer::start(|_| response(405, &[], b""), echo);
    let upstream = upstream(&server);
    json(&upstream, "t", "{}").await;
    upstream.shutdown().await;
    assert_eq!(server.http.hits().iter().filter(|hit| hit.method == "DELETE").count(), 0);
    // The server notices with the next that it writes.
    let says = server.says(0);
    wait_until_async("the stream is closed", async || {
        says.event(&json!({"jsonrpc": "2.0", "method": "notifications/message"}));
        server.forget(0);
        server.http.open() == 0
    })
    .await;
}
