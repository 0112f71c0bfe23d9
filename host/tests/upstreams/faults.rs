//! One table: what each fault of the network or of a server comes to, for each transport. Every one has a name, nothing
//! hangs, and nothing is left: no task, no connection, and (see `main`) no child and no socket of the whole suite.

use std::collections::BTreeMap;
use std::time::Duration;

use libtest_mimic::Trial;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::upstream::{
    Arrivals, Call, CallFault, CallLimits, CallReply, Caller, FaultReason, Phase, ResendMembers, Upstream,
};
use ptc_mcp::json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Handle;

use crate::fault_proxy::{Fault, HttpProxy, MARK, ROLE};
use crate::support::{HOUR, advance, an_hour, limits, patient, run_out, run_out_of_all, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Steps, chunk, chunked_event_head, reply};
use ptc_test_support::wait_until_async;

/// How to reach the server behind the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Handshake,
    Modern,
    OpenApi,
}

const WAYS: [Way; 4] = [Way::Stdio, Way::Handshake, Way::Modern, Way::OpenApi];

/// What a call has to come to.
enum Outcome {
    Answered,
    Fault(FaultReason, &'static str),
}

/// Largest answer that calls admit.
const CAP: usize = 50_000;

fn outcome(way: Way, fault: Fault) -> Outcome {
    use FaultReason::{AuthFailed, ResponseTooLarge, Timeout, UpstreamError, UpstreamUnavailable};
    let (reason, text) = match (fault, way) {
        (Fault::Twice, _) | (Fault::ToNobody, Way::OpenApi) => return Outcome::Answered,
        // A brace too many is noise behind the answer; one that is missing may still come, for a moment.
        (Fault::TooLong, Way::Stdio) => return Outcome::Answered,
        (Fault::TooShort, Way::Stdio) => {
            (UpstreamError, "invalid JSON-RPC response: it ends too early, at byte ")
        }

        (Fault::Refused, Way::Stdio) => (UpstreamUnavailable, "mcp_stdio process exited with status 1"),
        (Fault::Reset, Way::Stdio) => (UpstreamUnavailable, "mcp_stdio process exited with status 1"),
        (Fault::HalfClosed, Way::Stdio) => (UpstreamUnavailable, "mcp_stdio process closed its pipes"),
        (Fault::NotUtf8, Way::Stdio) => (UpstreamError, "invalid JSON-RPC response: not UTF-8 at byte "),
        (Fault::Oversized, Way::Stdio) => (ResponseTooLarge, "mcp_stdio response exceeded 50000 bytes"),
        (Fault::Unauthorized, Way::Stdio) => (UpstreamError, "unauthorized"),
        (Fault::ServerError, Way::Stdio) => (UpstreamError, "internal error"),
        (Fault::Redirect, Way::Stdio) => (UpstreamError, "moved to http://elsewhere.invalid/"),
        // Lines that are no message are noise, and noise is no answer.
        (Fault::EndlessEvents | Fault::ToNobody | Fault::Dripping, Way::Stdio) => {
            (Timeout, "mcp_stdio request timed out")
        }

        (Fault::Refused, _) => (UpstreamUnavailable, "connection refused"),
        (Fault::Reset | Fault::TooShort | Fault::HalfClosed, _) => (UpstreamUnavailable, "connection closed"),
        (Fault::Dripping, _) => (Timeout, "http read timeout"),
        (Fault::TooLong | Fault::NotUtf8, Way::OpenApi) => (UpstreamError, "malformed JSON response: "),
        (Fault::TooLong | Fault::NotUtf8, _) => (UpstreamError, "invalid JSON response: "),
        (Fault::EndlessEvents | Fault::Oversized, Way::OpenApi) => {
            (ResponseTooLarge, "response exceeded 50000 bytes")
        }
        (Fault::EndlessEvents, _) => (ResponseTooLarge, "SSE response "),
        (Fault::Oversized, _) => (ResponseTooLarge, "mcp_http response exceeded 50000 bytes"),
        (Fault::Unauthorized, _) => (AuthFailed, "auth_failed"),
        (Fault::ServerError, _) => (UpstreamUnavailable, "http 500"),
        (Fault::Redirect, _) => (UpstreamError, "http 302"),
        (Fault::ToNobody, _) => (UpstreamError, "unexpected JSON-RPC response "),
    };
    Outcome::Fault(reason, text)
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = WAYS
        .into_iter()
        .flat_map(|way| Fault::ALL.map(|fault| (way, fault)))
        .map(|(way, fault)| trial(format!("faults::{way:?}::{fault:?}"), move || hurt(way, fault)))
        .collect();
    for way in WAYS {
        trials.push(trial(format!("faults::{way:?}::shut_down"), move || shut_down(way)));
    }
    trials.push(trial(
        "faults::a_call_that_was_read_is_not_made_twice",
        a_call_that_was_read_is_not_made_twice,
    ));
    trials.push(trial("faults::a_caller_without_memory_ends_the_answer", a_caller_without_memory));
    trials
}

/// A healthy tool server, or web service, on HTTP.
fn healthy(way: Way) -> FakeHttp {
    let echo = |hit: &Hit| -> Steps {
        reply(200, &hit.result(json!({"structuredContent": hit.body["params"]["arguments"]})))
    };
    match way {
        Way::Modern => FakeHttp::modern(json!([{"name": "echo", "inputSchema": {"type": "object"}}]), echo),
        Way::OpenApi => FakeHttp::start(|hit| {
            let query = hit.path.split_once('?').map_or("", |(_, query)| query);
            let value = query.split_once('=').map_or("", |(_, value)| value);
            reply(200, &json!({"word": value}))
        }),
        _ => FakeHttp::handshake(echo),
    }
}

fn entry(way: Way, fault: Fault, proxy: &HttpProxy) -> Value {
    let window = HOUR.as_millis() as u64;
    let backoff = json!({"backoff_initial_ms": window, "backoff_max_ms": window});
    let mut entry = match way {
        Way::Stdio => {
            let number = Fault::ALL.iter().position(|known| *known == fault).unwrap();
            json!({"transport": "mcp_stdio", "command": std::env::current_exe().unwrap(),
                   "args": [ROLE, number.to_string()]})
        }
        Way::OpenApi => {
            json!({"transport": "openapi", "base_url": proxy.url.as_str(), "allow_insecure_http": true,
                   "include_operations": ["echo"], "connect_timeout_ms": 24 * window, "timeout_ms": 24 * window})
        }
        _ => {
            let entry =
                json!({"transport": "mcp_http", "url": proxy.url.as_str(), "allow_insecure_http": true});
            patient(entry)
        }
    };
    let members = entry.as_object_mut().unwrap();
    members.extend(backoff.as_object().unwrap().clone());
    entry
}

const DOCUMENT: &str = r#"{"openapi": "3.1.0", "paths": {"/echo": {"get": {"operationId": "echo",
    "parameters": [{"name": "word", "in": "query", "schema": {"type": "string"}}],
    "responses": {"200": {"content": {"application/json": {}}}}}}}}"#;

async fn start(mut entry: Value) -> Arc<Aggregator> {
    let folder = tempfile::tempdir().unwrap();
    if entry["transport"] == "openapi" {
        std::fs::write(folder.path().join("api.json"), DOCUMENT).unwrap();
        entry["schema_file"] = json!("api.json");
    }
    let env = ProcessEnv::current();
    let options = LoadOptions { env: &env, base_dir: Some(folder.path()), own_exe: None };
    let config = UpstreamsConfig::from_value(&json!({"upstreams": {"u": entry}}), &options).unwrap();
    Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen)).await.unwrap()
}

async fn echo(
    upstream: &dyn Upstream,
    way: Way,
    word: &str,
    limits: CallLimits,
) -> Result<CallReply, CallFault> {
    let tool = if way == Way::Handshake { "t" } else { "echo" };
    let arguments = format!("{{\"word\":\"{word}\"}}");
    upstream
        .call(Call {
            tool,
            arguments: arguments.as_bytes(),
            limits,
            again: ResendMembers::default(),
            arrivals: None,
            caller: Caller::default(),
            may_wrap: true,
            judged_by: None,
        })
        .await
}

fn word_of(reply: CallReply) -> String {
    let value: Value = serde_json::from_str(&crate::support::json_of(reply)).unwrap();
    value["word"].as_str().unwrap_or_default().to_owned()
}

async fn hurt(way: Way, fault: Fault) {
    let (server, elsewhere) = (healthy(way), FakeHttp::start(|_| Vec::new()));
    let proxy = HttpProxy::start(&server.url, fault, &elsewhere.url);
    let aggregator = start(entry(way, fault, &proxy)).await;
    let (_, upstream) = aggregator.unfiltered().upstreams().next().unwrap();
    let before = echo(&**upstream, way, "before-x", limits()).await;
    assert_eq!(word_of(before.unwrap()), "before-x");
    if fault == Fault::Refused {
        proxy.close();
        wait_until_async("the connection is closed", async || proxy.open() == 0).await;
    }

    let times_out = matches!(outcome(way, fault), Outcome::Fault(FaultReason::Timeout, _));
    let hurt = CallLimits { max_bytes: CAP, ..if times_out { an_hour() } else { limits() } };
    let word = format!("{MARK}-x");
    let answer = echo(&**upstream, way, &word, hurt);
    let answer = if times_out {
        // Nothing but the clock ends these.
        run_out(answer, async || has_come(&**upstream, way, fault, &proxy).await).await
    } else if way == Way::Stdio && matches!(fault, Fault::HalfClosed | Fault::TooShort) {
        // The child has a moment for its end, or for more.
        run_out_of_all(answer, Duration::from_secs(1)).await
    } else {
        answer.await
    };
    match (outcome(way, fault), answer) {
        (Outcome::Answered, answer) => assert!(word_of(answer.unwrap()).starts_with(MARK)),
        (Outcome::Fault(reason, text), answer) => {
            let fault = answer.expect_err("a fault");
            assert_eq!(fault.reason, reason, "{fault}");
            let line = fault.message.lines().next().unwrap_or_default();
            // Texts that end in a space or a colon go on with details.
            let exact = !text.ends_with(' ');
            assert!(
                if exact { line == text } else { line.starts_with(text) },
                "{line:?} instead of {text:?}"
            );
        }
    }
    if way != Way::Stdio {
        let times = usize::from(fault != Fault::Refused);
        wait_until_async("the call comes to the proxy", async || proxy.hurt() >= times).await;
        assert_eq!(proxy.hurt(), times, "a call is made once, whatever comes of it");
    }
    assert_eq!(elsewhere.connections(), 0, "no redirect is followed");

    // The next call is answered as if nothing had been, with its own answer.
    if way == Way::Stdio || fault != Fault::Refused {
        let ends = match way {
            Way::Stdio => matches!(fault, Fault::Refused | Fault::Reset | Fault::HalfClosed),
            Way::OpenApi => false,
            _ => fault == Fault::Unauthorized,
        };
        if ends {
            wait_until_async("the recovery window opens", async || {
                matches!(upstream.health().phase, Phase::Recovery(_))
            })
            .await;
            advance(HOUR);
            assert_eq!(upstream.health().phase, Phase::Stopped);
        }
        let after = echo(&**upstream, way, "after-x", limits()).await;
        assert_eq!(word_of(after.unwrap()), "after-x");
    }
    let stopped = (proxy, server);
    aggregator.shutdown().await;
    wait_until_async("all connections are closed", async || stopped.0.open() == 0 && stopped.1.open() == 0)
        .await;
    drop(aggregator);
    let tasks = || Handle::current().metrics().num_alive_tasks();
    wait_until_async("all tasks have ended", async || tasks() == 0).await;
}

/// Whether the hurt answer to the call in flight has come as far as it comes.
async fn has_come(upstream: &dyn Upstream, way: Way, fault: Fault, proxy: &HttpProxy) -> bool {
    if way != Way::Stdio {
        return proxy.hurt() > 0;
    }
    // On the one pipe it lies before the answer to a later call, unless it keeps that one waiting.
    if fault != Fault::Dripping {
        let later = echo(upstream, way, "later-x", limits()).await;
        assert_eq!(word_of(later.unwrap()), "later-x");
    }
    upstream.health().in_flight == 1
}

/// A call whose answer is under way when the upstream is shut down.
async fn shut_down(way: Way) {
    let server = healthy(way);
    let proxy = HttpProxy::start(&server.url, Fault::Dripping, &server.url);
    let aggregator = start(entry(way, Fault::Dripping, &proxy)).await;
    let (_, upstream) = aggregator.unfiltered().upstreams().next().unwrap();
    let answer = echo(&**upstream, way, MARK, limits());
    let end = async {
        wait_until_async("the call is in flight", async || upstream.health().in_flight == 1).await;
        aggregator.shutdown().await;
    };
    let (answer, ()) = tokio::join!(answer, end);
    let fault = answer.unwrap_err();
    assert_eq!(fault.to_string(), "upstream_unavailable: the upstream has been shut down");
    wait_until_async("all connections are closed", async || proxy.open() == 0 && server.open() == 0).await;
}

/// A server that has read a request and hangs up without a word may have acted upon it.
async fn a_call_that_was_read_is_not_made_twice() {
    let server = FakeHttp::handshake(|hit| {
        if hit.body["params"]["arguments"]["word"] == "silence" {
            return vec![ptc_test_support::fake_http::Step::Close];
        }
        reply(200, &hit.result(json!({"structuredContent": hit.body["params"]["arguments"]})))
    });
    let entry = json!({"transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true});
    let aggregator = start(entry).await;
    let (_, upstream) = aggregator.unfiltered().upstreams().next().unwrap();
    for _ in 0..3 {
        // The connection of the silent call is one that has carried others.
        echo(&**upstream, Way::Handshake, "warm", limits()).await.unwrap();
        let before = server.count("tools/call");
        let fault = echo(&**upstream, Way::Handshake, "silence", limits()).await.unwrap_err();
        assert_eq!(fault.to_string(), "upstream_unavailable: connection closed");
        assert_eq!(server.count("tools/call"), before + 1);
    }
    aggregator.shutdown().await;
}

/// Admits some bytes and no more.
#[derive(Debug)]
struct Room(AtomicUsize);

impl Arrivals for Room {
    fn arrived(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

async fn a_caller_without_memory() {
    let server = FakeHttp::handshake(|hit| match hit.body["params"]["arguments"]["word"].as_str() {
        Some("events") => {
            let mut steps = vec![chunked_event_head()];
            steps.extend((0..100_000).map(|_| chunk(&"data: {\"method\":\"n\"}\n\n".repeat(100))));
            steps
        }
        _ => reply(200, &hit.result(json!({"structuredContent": {"word": "x".repeat(500_000)}}))),
    });
    let entry = json!({"transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true,
                       "max_response_bytes": 1_000_000_000});
    let aggregator = start(entry).await;
    let (_, upstream) = aggregator.unfiltered().upstreams().next().unwrap();
    let limits = CallLimits { max_bytes: usize::MAX, ..limits() };
    let ask = async |word: &str, room: usize| {
        let room = Room(AtomicUsize::new(room));
        let arguments = format!("{{\"word\":\"{word}\"}}");
        let call = Call {
            tool: "t",
            arguments: arguments.as_bytes(),
            again: ResendMembers::default(),
            limits,
            arrivals: Some(&room),
            caller: Caller::default(),
            may_wrap: true,
            judged_by: None,
        };
        upstream.call(call).await.map(|reply| reply.result_bytes)
    };
    assert!(ask("json", 1_000_000).await.unwrap() > 500_000);
    for word in ["json", "events"] {
        let fault = ask(word, 200_000).await.unwrap_err();
        assert_eq!(fault.message, "no memory is left for the reply");
        assert!(fault.received_bytes > 200_000 && fault.received_bytes < 1_000_000, "{fault:?}");
    }
    aggregator.shutdown().await;
    wait_until_async("all connections are closed", async || server.open() == 0).await;
}

/// Processes that this one has started and not seen the end of, and network sockets that it holds, by kind.
pub(crate) fn left_over() -> BTreeMap<&'static str, usize> {
    // tokio's one pair of sockets for signals is no network socket.
    let network: Vec<String> = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .iter()
        .flat_map(|table| {
            std::fs::read_to_string(table)
                .unwrap_or_default()
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter_map(|line| line.split_whitespace().nth(9).map(|inode| format!("socket:[{inode}]")))
        .collect();
    let links = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    let sockets =
        targets.filter(|target| network.iter().any(|known| target.as_os_str() == known.as_str())).count();
    let own = std::process::id().to_string();
    let is_ours = |status: &str| {
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        parent.is_some_and(|parent| parent.trim() == own)
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses =
        processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok());
    let children = statuses.filter(|status| is_ours(status)).count();
    [("children", children), ("sockets", sockets)].into_iter().filter(|(_, number)| *number > 0).collect()
}
