//! `mcp_stdio` against a child that is well, ill, noisy, slow, dead, or a parent of many.

use std::cell::Cell;
use std::io::{BufRead as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ptc_host::config::{Backoff, Protocol, StdioConfig, Transport, UpstreamConfig};
use ptc_host::engine::MemoryBudget;
use ptc_host::mcp::{ClientRoots, StdioUpstream};
use ptc_host::time;
use ptc_host::upstream::{CallFault, CallLimits, CallReply, FaultReason, Phase, Upstream, UpstreamEvent};
use ptc_mcp::json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

use crate::fake_stdio;
use crate::support::{
    HOUR, advance, an_hour, call, call_with, fault_of, json, json_of, limits, run_out, run_out_of_all, text,
    trial,
};
use ptc_test_support::wait_until_async;

/// The first argument that makes the test binary a process that owns an upstream and waits to be killed.
pub(crate) const OWNER_ROLE: &str = "--owner-of-a-stdio-upstream";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("stdio::calls_and_lists", calls_and_lists),
        trial("stdio::arguments_and_results_stay_as_written", arguments_and_results_stay_as_written),
        trial("stdio::replies_come_in_any_order", replies_come_in_any_order),
        trial("stdio::faults_of_the_tool_and_of_the_protocol", faults_of_the_tool_and_of_the_protocol),
        trial("stdio::noise_is_skipped", noise_is_skipped),
        trial("stdio::text_that_is_almost_an_answer_is_read", text_that_is_almost_an_answer),
        trial("stdio::text_that_carries_the_id_of_a_call_is_never_noise", text_that_carries_an_id),
        trial("stdio::a_long_line_of_noise_fails_no_call", a_long_line_of_noise),
        trial("stdio::a_banner_is_quoted_where_the_handshake_fails", a_banner_is_quoted),
        trial("stdio::a_byte_order_mark_is_skipped", a_byte_order_mark),
        trial("stdio::a_call_waits_for_the_restart_after_a_crash_at_rest", a_crash_at_rest),
        trial("stdio::a_second_reply_is_dropped", a_second_reply_is_dropped),
        trial("stdio::an_oversized_line_fails_its_own_call_only", an_oversized_line_fails_its_own_call_only),
        trial("stdio::an_oversized_line_that_nobody_waits_for_fails_nobody", a_late_oversized_line),
        trial("stdio::a_reply_under_the_line_cap_is_still_held_to_its_own", a_reply_under_the_line_cap),
        trial("stdio::half_a_line_counts_in_the_memory_of_the_process", half_a_line_counts),
        trial("stdio::a_reply_of_neither_result_nor_error_fails_at_once", a_reply_of_neither),
        trial("stdio::a_revision_refused_and_offered_is_tried_once_more", a_revision_refused_and_offered),
        trial("stdio::text_that_is_not_utf8_is_told", text_that_is_not_utf8_is_told),
        trial("stdio::death_fails_the_calls_in_flight_and_opens_a_window", death_opens_a_window),
        trial("stdio::a_clean_exit_opens_no_window", a_clean_exit_opens_no_window),
        trial("stdio::a_timeout_cancels_at_the_child", a_timeout_cancels_at_the_child),
        trial("stdio::a_dripping_reply_times_out", a_dripping_reply_times_out),
        trial("stdio::a_dropped_call_cancels_at_the_child", a_dropped_call_cancels_at_the_child),
        trial("stdio::waiting_in_the_queue_is_free", waiting_in_the_queue_is_free),
        trial("stdio::server_requests_are_answered", server_requests_are_answered),
        trial("stdio::pings_are_answered_before_initialize_is", pings_before_initialize),
        trial("stdio::one_that_exits_at_a_request_of_a_newer_era_is_started_anew", exits_on_discover),
        trial("stdio::starts_that_fail_say_why", starts_that_fail_say_why),
        trial("stdio::a_silent_server_fails_the_handshake", a_silent_server_fails_the_handshake),
        trial("stdio::the_modern_era_is_found_and_spoken", the_modern_era_is_found_and_spoken),
        trial("stdio::pages_of_tools_are_followed", pages_of_tools_are_followed),
        trial("stdio::a_closed_output_ends_the_child", a_closed_output_ends_the_child),
        trial("stdio::changes_of_the_tool_list_are_events", changes_are_events),
        trial("stdio::callers_of_other_threads", callers_of_other_threads),
        trial("stdio::shutdown_ends_the_family", shutdown_ends_the_family),
        trial("stdio::shutdown_ends_a_child_that_ignores_eof", shutdown_ends_a_child_that_ignores_eof),
        trial("stdio::a_child_starts_with_no_signal_blocked", a_child_starts_with_no_signal_blocked),
        trial("stdio::dropping_ends_the_family", dropping_ends_the_family),
        trial("stdio::killing_us_ends_the_family", killing_us_ends_the_family),
        trial("stdio::large_arguments_pass", large_arguments_pass),
    ]
}

pub(crate) fn entry(mode: &str) -> StdioConfig {
    let own = std::env::current_exe().unwrap();
    let mut entry = StdioConfig::for_command(own.to_str().unwrap());
    entry.args = vec![fake_stdio::ROLE.to_owned(), mode.to_owned()];
    entry.handshake_timeout = HOUR;
    entry
}

/// Holds back the answers to calls of the tool `later`.
struct Holder(TcpListener);

impl Holder {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Arguments of a call that is held back.
    fn arguments(&self, n: u64) -> String {
        format!(r#"{{"n":{n},"port":{}}}"#, self.0.local_addr().unwrap().port())
    }

    /// The next call that has come to the child. Dropped, it is answered.
    async fn held(&self) -> Held {
        let (connection, _) = self.0.accept().await.unwrap();
        let mut connection = BufReader::new(connection);
        let mut arguments = String::new();
        connection.read_line(&mut arguments).await.unwrap();
        Held { arguments: arguments.trim_end().to_owned(), _connection: connection }
    }
}

struct Held {
    arguments: String,
    _connection: BufReader<TcpStream>,
}

pub(crate) fn upstream_of(entry: StdioConfig, tweak: impl FnOnce(&mut UpstreamConfig)) -> StdioUpstream {
    let mut config = UpstreamConfig::new("fake", Transport::Stdio(entry.clone()));
    config.backoff = Backoff { initial: HOUR, max: HOUR };
    tweak(&mut config);
    StdioUpstream::new(&config, &entry, &ClientRoots::default(), Handle::current())
}

fn upstream(mode: &str) -> StdioUpstream {
    upstream_of(entry(mode), |_| {})
}

fn alive(pid: u32) -> bool {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), None).is_ok() && !is_zombie(pid)
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

async fn calls_and_lists() {
    let upstream = upstream("plain");
    assert_eq!(upstream.health().phase, Phase::Stopped);
    assert_eq!(json(&upstream, "echo", r#"{"a":1}"#).await, r#"{"a":1}"#);
    let tools = upstream.list_tools().await.unwrap();
    assert_eq!(&*tools[0].name, "echo");
    let health = upstream.health();
    assert_eq!((health.phase, health.starts, health.in_flight), (Phase::Started, 1, 0));
    assert_eq!(health.protocol_version.as_deref(), Some("2024-11-05"));
    upstream.shutdown().await;
    assert_eq!(upstream.health().phase, Phase::Closed);
    assert_eq!(fault_of(call(&upstream, "echo", "{}").await).0, FaultReason::UpstreamUnavailable);
}

async fn arguments_and_results_stay_as_written() {
    let upstream = upstream("plain");
    let big = r#"{"n":123456789012345678901234567890,"f":1.5e300,"s":"a\u00e9\n","m":{"z":1,"a":[]}}"#;
    let reply = call(&upstream, "echo", big).await.unwrap();
    assert!(reply.result_bytes >= reply.envelope.len() as u64 - 8);
    let got = json_of(reply);
    for part in ["123456789012345678901234567890", "{\"z\":1,\"a\":[]}"] {
        assert!(got.contains(part), "{got}");
    }
    upstream.shutdown().await;
}

async fn a_reply_of_neither() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    // Not at the timeout, which nobody steps to.
    let fault = fault_of(call(&upstream, "neither", "{}").await);
    assert_eq!(fault.0, FaultReason::UpstreamError);
    assert!(fault.1.starts_with("unexpected JSON-RPC response {"), "{}", fault.1);
    upstream.shutdown().await;
}

async fn a_revision_refused_and_offered() {
    let upstream = upstream("modern-updating");
    assert_eq!(json(&upstream, "echo", r#"{"a":1}"#).await, r#"{"a":1}"#);
    upstream.shutdown().await;
}

async fn replies_come_in_any_order() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let (holder, answered) = (Holder::new().await, Cell::new(0));
    let calls = (0..20u64).map(|n| {
        let (upstream, arguments, answered) = (&upstream, holder.arguments(n), &answered);
        async move {
            assert_eq!(json(upstream, "later", &arguments).await, arguments);
            answered.set(answered.get() + 1);
        }
    });
    let answering = async {
        let mut held = Vec::new();
        while held.len() < 20 {
            held.push(holder.held().await);
        }
        // The last one is answered first.
        held.sort_by_key(|held| {
            let n = |n: &u64| held.arguments == holder.arguments(*n);
            (0..20).find(n)
        });
        while held.pop().is_some() {
            let so_many = 20 - held.len();
            wait_until_async("it is answered", async || answered.get() == so_many).await;
        }
    };
    tokio::join!(futures_util::future::join_all(calls), answering);
    upstream.shutdown().await;
}

async fn faults_of_the_tool_and_of_the_protocol() {
    let upstream = upstream("plain");
    assert_eq!(
        fault_of(call(&upstream, "fail", "{}").await),
        (FaultReason::ToolError, "no such PR".to_owned())
    );
    let refused = (FaultReason::UpstreamError, "bad arguments".to_owned());
    assert_eq!(fault_of(call(&upstream, "error", "{}").await), refused);
    upstream.shutdown().await;
}

async fn noise_is_skipped() {
    let upstream = upstream("plain");
    assert_eq!(json(&upstream, "noise", "{}").await, "\"after the noise\"");
    upstream.shutdown().await;
}

/// What the child writes to a call, with `$ID` for its id.
async fn written(upstream: &StdioUpstream, text: &str) -> Result<CallReply, CallFault> {
    call(upstream, "write", &json!({"text": text}).to_string()).await
}

async fn text_that_is_almost_an_answer() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let numbers = r#"{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":{"a":NaN,"b":[-Infinity]}}}"#;
    for (text, answer) in [
        (numbers, r#"{"a":null,"b":[null]}"#),
        (r#"{"jsonrpc":"2.0","id":"$ID","result":{"structuredContent":7}}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":7,},}"#, "7"),
        (r#"Loading... {"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":7}}"#, "7"),
        (r#"{"debug":1}{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":7}}"#, "7"),
        ("\u{feff}{\"id\":$ID,\"result\":{\"structuredContent\":7}}", "7"),
        (
            "{\n  \"id\": $ID,\n  \"result\": {\n    \"structuredContent\": [\n      {},\n      NaN\n    ]\n  },\n}",
            "[\n      {},\n      null\n    ]",
        ),
        ("{\nbanner\n{\"id\":$ID,\"result\":{\"structuredContent\":7}}", "7"),
        ("log {\nbanner\nbooting {\"id\":$ID,\"result\":{\"structuredContent\":7}}\n{\"method\":\"x\"}", "7"),
    ] {
        let reply =
            written(&upstream, &format!("{text}\n")).await.unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(reply.note.is_some(), text.contains("NaN"), "{text}");
        assert_eq!(json_of(reply), answer, "{text}");
    }
    // Without an end of its line, it is read when nothing more comes.
    let text = r#"{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":7}}"#;
    let mut reply = std::pin::pin!(written(&upstream, text));
    let mut answer = None;
    wait_until_async("it is read", async || {
        answer = (&mut reply).now_or_never();
        if answer.is_none() {
            advance(Duration::from_millis(100));
        }
        answer.is_some()
    })
    .await;
    assert_eq!(json_of(answer.unwrap().unwrap()), "7");
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn text_that_carries_an_id() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    for (text, told) in [
        (
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"a":undefined}}"#,
            "invalid JSON-RPC response: no JSON at byte ",
        ),
        (r#"{"result":{"a":01},"id":$ID}"#, "invalid JSON-RPC response: no JSON at byte "),
        (
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"a":"cut"#,
            "invalid JSON-RPC response: it ends too early, at byte ",
        ),
        (r#"{"jsonrpc":"2.0","id":0,"result":{}}"#, "unexpected JSON-RPC response {"),
        (r#"{"jsonrpc":"2.0","id":"x","result":{}}"#, "unexpected JSON-RPC response {"),
        (r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#, "no"),
        (
            "{\n\"id\": $ID,\n\"result\": {\"a\":\n{\"method\":\"x\"}",
            "invalid JSON-RPC response: it ends too early, at byte ",
        ),
    ] {
        let fault = written(&upstream, &format!("{text}\n")).await.unwrap_err();
        assert_eq!(fault.reason, FaultReason::UpstreamError, "{text}: {fault}");
        assert!(fault.message.starts_with(told) && fault.sent, "{text}: {fault}");
    }
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn a_long_line_of_noise() {
    let mut entry = entry("plain");
    entry.max_response_bytes = 5_000;
    let upstream = upstream_of(entry, |_| {});
    let small = CallLimits { max_bytes: 10_000, ..limits() };
    for noise in ["y".repeat(300_000), format!("{{\"debug\":\"{}\"}}", "y".repeat(300_000))] {
        let answer = r#"{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":7}}"#;
        let text = json!({"text": format!("{noise}\n{answer}\n")}).to_string();
        assert_eq!(json_of(call_with(&upstream, "write", &text, small).await.unwrap()), "7");
    }
    upstream.shutdown().await;
}

async fn a_banner_is_quoted() {
    let upstream = upstream_of(entry("prints-a-banner"), |_| {});
    let mut starting = std::pin::pin!(upstream.ensure_started());
    let mut fault = None;
    wait_until_async("the handshake's time is over", async || {
        fault = (&mut starting).now_or_never();
        if fault.is_none() {
            advance(HOUR / 8);
        }
        fault.is_some()
    })
    .await;
    let fault = fault.unwrap().unwrap_err();
    assert!(fault.message.starts_with("initialize was not answered within "), "{fault}");
    let quoted = "\nIt wrote \" [32mServer ready [0m on stdio\" to its standard output, which is no MCP.";
    assert!(fault.message.ends_with(quoted), "{fault}");
    assert!(!fault.sent);
    upstream.shutdown().await;
}

async fn a_byte_order_mark() {
    let upstream = upstream("marks-its-bytes");
    assert_eq!(json(&upstream, "echo", r#"{"a":1}"#).await, r#"{"a":1}"#);
    upstream.shutdown().await;
}

async fn a_crash_at_rest() {
    let upstream = upstream_of(entry("plain"), |config| {
        let window = Duration::from_secs(1);
        config.backoff = Backoff { initial: window, max: window };
    });
    for left_alone in [false, true] {
        let pid = family_of(&upstream).await[0];
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
        let has_ended = async || match upstream.health().phase {
            Phase::Recovery(_) => left_alone,
            phase => phase == Phase::Stopped && !left_alone,
        };
        wait_until_async("its end is known", has_ended).await;
        let echo = json(&upstream, "echo", "{}");
        assert_eq!(if left_alone { run_out(echo, async || true).await } else { echo.await }, "{}");
    }
    upstream.shutdown().await;
}

async fn a_second_reply_is_dropped() {
    let upstream = upstream("plain");
    for _ in 0..3 {
        assert_eq!(json(&upstream, "twice", "{}").await, "1");
    }
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn an_oversized_line_fails_its_own_call_only() {
    let mut entry = entry("plain");
    entry.max_response_bytes = 5_000;
    let upstream = upstream_of(entry, |_| {});
    let small = CallLimits { max_bytes: 10_000, ..limits() };
    let holder = Holder::new().await;
    let (one, two) = (holder.arguments(1), holder.arguments(2));
    for tool in ["big", "big_id_last"] {
        // Two others wait, and neither is its owner.
        let oversized = async {
            let _held = (holder.held().await, holder.held().await);
            call_with(&upstream, tool, r#"{"bytes":3000000}"#, small).await
        };
        let (oversized, other, patient) = tokio::join!(
            oversized,
            call_with(&upstream, "later", &one, small),
            call_with(&upstream, "later", &two, small),
        );
        let fault = oversized.unwrap_err();
        assert!(fault.oversize(), "{fault}");
        assert_eq!(fault.message, "mcp_stdio response exceeded 10000 bytes");
        assert!(fault.received_bytes >= 10_000);
        assert_eq!(json_of(other.unwrap()), one);
        assert_eq!(json_of(patient.unwrap()), two);
    }
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn a_late_oversized_line() {
    let mut entry = entry("plain");
    entry.max_response_bytes = 5_000;
    let upstream = upstream_of(entry, |_| {});
    let small = CallLimits { max_bytes: 10_000, ..limits() };
    let holder = Holder::new().await;
    let (one, two) = (holder.arguments(1), holder.arguments(2));
    // The second answer comes when the first has ended the call; two others wait, and neither is its owner.
    let twice = async {
        let _held = (holder.held().await, holder.held().await);
        let twice = call_with(&upstream, "big_again", r#"{"bytes":3000000}"#, small).await;
        // What comes behind the oversized line is answered.
        assert_eq!(json(&upstream, "echo", "{}").await, "{}");
        twice
    };
    let (twice, other, patient) = tokio::join!(
        twice,
        call_with(&upstream, "later", &one, small),
        call_with(&upstream, "later", &two, small),
    );
    assert_eq!(json_of(twice.unwrap()), "1");
    assert_eq!(json_of(other.unwrap()), one);
    assert_eq!(json_of(patient.unwrap()), two);
    upstream.shutdown().await;
}

async fn a_reply_under_the_line_cap() {
    let upstream = upstream("plain");
    let small = CallLimits { max_bytes: 1_000, ..limits() };
    let ample = limits();
    let (cut, whole) = tokio::join!(
        call_with(&upstream, "big", r#"{"bytes":5000}"#, small),
        call_with(&upstream, "big", r#"{"bytes":5000}"#, ample),
    );
    assert_eq!(cut.unwrap_err().message, "mcp_stdio response exceeded 1000 bytes");
    assert!(whole.unwrap().result_bytes > 5_000);
    upstream.shutdown().await;
}

async fn text_that_is_not_utf8_is_told() {
    let upstream = upstream("plain");
    let (reason, message) = fault_of(call(&upstream, "latin1", "{}").await);
    assert_eq!(reason, FaultReason::UpstreamError);
    assert!(message.starts_with("invalid JSON-RPC response: not UTF-8 at byte "), "{message}");
    upstream.shutdown().await;
}

async fn death_opens_a_window() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let mut events = upstream.events();
    let (waiting, dead) =
        tokio::join!(call(&upstream, "never", "{}"), call(&upstream, "die", r#"{"status":7}"#));
    for result in [waiting, dead] {
        let fault = result.unwrap_err();
        assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
        assert_eq!(fault.message, "mcp_stdio process exited with status 7\nstandard error: out of cheese");
    }
    wait_until_async("the end is noted", async || matches!(upstream.health().phase, Phase::Recovery(_)))
        .await;
    assert!(matches!(events.recv().await, Ok(UpstreamEvent::Ended { abnormal: true, .. })));
    let refused = (FaultReason::UpstreamUnavailable, "in recovery".to_owned());
    assert_eq!(fault_of(call(&upstream, "echo", "{}").await), refused);
    advance(HOUR);
    assert_eq!(upstream.health().phase, Phase::Stopped);
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    assert_eq!(upstream.health().starts, 2);
    upstream.shutdown().await;
}

async fn a_clean_exit_opens_no_window() {
    let upstream = upstream("plain");
    let fault = fault_of(call(&upstream, "die", r#"{"status":0}"#).await);
    assert_eq!(fault.1, "mcp_stdio process exited with status 0");
    wait_until_async("the end is noted", async || upstream.health().phase == Phase::Stopped).await;
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn a_timeout_cancels_at_the_child() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let in_flight = async || upstream.health().in_flight == 1;
    let fault = fault_of(run_out(call_with(&upstream, "never", "{}", an_hour()), in_flight).await);
    assert_eq!(fault, (FaultReason::Timeout, "mcp_stdio request timed out".to_owned()));
    let short = CallLimits { deadline: time::now() + HOUR, ..limits() };
    let fault = fault_of(run_out(call_with(&upstream, "never", "{}", short), in_flight).await);
    assert_eq!(fault.0, FaultReason::Timeout);
    let cancelled = json(&upstream, "cancelled", "{}").await;
    assert_eq!(cancelled.matches(',').count(), 1, "two ids: {cancelled}");
    upstream.shutdown().await;
}

async fn half_a_line_counts() {
    let memory = MemoryBudget::new(1 << 20);
    let upstream = upstream("plain").within(Some(memory.clone()));
    upstream.ensure_started().await.unwrap();
    let large = CallLimits { max_bytes: 10_000_000, ..limits() };
    let finish = async {
        wait_until_async("half a line is charged", async || memory.used() > 300_000).await;
        json(&upstream, "finish", "{}").await
    };
    let (half, _) = tokio::join!(call_with(&upstream, "half", r#"{"bytes":300000}"#, large), finish);
    assert!(half.unwrap().envelope.len() > 300_000);
    wait_until_async("it is given back", async || memory.used() == 0).await;

    let fault = call_with(&upstream, "half", r#"{"bytes":2000000}"#, large).await.unwrap_err();
    assert_eq!(fault.message, "no memory is left for the reply");
    // What is left of that line is not kept, and the next one is read as if nothing had been.
    assert_eq!(json(&upstream, "finish", "{}").await, "true");
    wait_until_async("nothing is kept", async || memory.used() == 0).await;
    upstream.shutdown().await;
}

async fn a_dripping_reply_times_out() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let dripping = call_with(&upstream, "drip", "{}", an_hour());
    let fault = fault_of(run_out(dripping, async || upstream.health().in_flight == 1).await);
    assert_eq!(fault.0, FaultReason::Timeout);
    upstream.shutdown().await;
}

async fn a_dropped_call_cancels_at_the_child() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let mut dropped = call(&upstream, "never", "{}").boxed_local();
    assert!(dropped.as_mut().now_or_never().is_none());
    assert_eq!(json(&upstream, "cancelled", "{}").await, "[]");
    drop(dropped);
    assert_ne!(json(&upstream, "cancelled", "{}").await, "[]");
    assert_eq!(upstream.health().in_flight, 0);
    upstream.shutdown().await;
}

async fn waiting_in_the_queue_is_free() {
    let upstream = upstream_of(entry("plain"), |config| config.max_concurrency = 1);
    upstream.ensure_started().await.unwrap();
    let holder = Holder::new().await;
    // One after the other, each with a limit that its own time fits in and the last one's wait does not.
    let arguments = holder.arguments(1);
    let calls = (0..6).map(|_| call_with(&upstream, "later", &arguments, an_hour()));
    let answering = async {
        for _ in 0..6 {
            let _held = holder.held().await;
            advance(HOUR * 2 / 3);
        }
    };
    let (results, ()) = tokio::join!(futures_util::future::join_all(calls), answering);
    for result in results {
        result.unwrap();
    }
    // The program's own end bounds the wait.
    let soon = CallLimits { deadline: time::now() + HOUR, ..limits() };
    let queued = async {
        let held = holder.held().await;
        let queued = run_out(call_with(&upstream, "echo", "{}", soon), async || true).await;
        drop(held);
        queued
    };
    let (first, queued) = tokio::join!(call(&upstream, "later", &arguments), queued);
    first.unwrap();
    let queued = fault_of(queued);
    assert_eq!(queued, (FaultReason::Timeout, "mcp_stdio call timed out before it could be sent".to_owned()));
    upstream.shutdown().await;
}

async fn server_requests_are_answered() {
    let upstream = upstream("plain");
    let answers: ptc_mcp::json::Value = serde_json::from_str(&json(&upstream, "ping", "{}").await).unwrap();
    assert_eq!(answers[0], ptc_mcp::json::json!({"jsonrpc": "2.0", "id": "p1", "result": {}}));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&2.into(), &(-32601).into()));
    upstream.shutdown().await;
}

async fn pings_before_initialize() {
    let upstream = upstream("pings-first");
    upstream.ensure_started().await.unwrap();
    upstream.shutdown().await;
}

async fn exits_on_discover() {
    let upstream = upstream("exits-on-discover");
    upstream.ensure_started().await.unwrap();
    assert_eq!(json(&upstream, "echo", r#"{"a":1}"#).await, r#"{"a":1}"#);
    assert_eq!(upstream.health().protocol_version.as_deref(), Some("2024-11-05"));
    upstream.shutdown().await;
}

async fn starts_that_fail_say_why() {
    let fault = |upstream: StdioUpstream| async move { upstream.ensure_started().await.unwrap_err() };
    let missing = fault(upstream_of(StdioConfig::for_command("no-such-command-anywhere"), |_| {})).await;
    let told = "command not found: no-such-command-anywhere\nThe PATH that was searched is \"";
    assert!(missing.message.starts_with(told), "{missing}");
    let mut nowhere = entry("plain");
    nowhere.cd = Some("/no/such/folder".into());
    assert!(fault(upstream_of(nowhere, |_| {})).await.message.contains("/no/such/folder does not exist"));
    let died = fault(upstream("dies-at-start")).await;
    assert_eq!(
        died.message,
        "mcp_stdio process exited with status 3\nstandard error: cannot open the database"
    );
    let refused = fault(upstream("refuses")).await;
    assert_eq!(refused.message, "initialize failed: license expired");
    let odd = fault(upstream("odd-list")).await;
    assert_eq!(odd.message, "tools/list returned unexpected payload {\"tools\":7}");
    for fault in [missing, died, refused] {
        assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
    }
    assert_eq!(odd.reason, FaultReason::UpstreamError);
    let legacy = StdioConfig { protocol: Protocol::Modern, ..entry("plain") };
    let legacy = fault(upstream_of(legacy, |_| {})).await;
    assert_eq!(legacy.message, "server/discover failed: no method server/discover");
}

async fn a_silent_server_fails_the_handshake() {
    let mut entry = entry("no-initialize");
    entry.handshake_timeout = HOUR;
    let upstream = upstream_of(entry, |_| {});
    let fault = run_out_of_all(upstream.ensure_started(), HOUR).await.unwrap_err();
    assert_eq!(fault.message, "initialize was not answered within 3600000 ms (handshake_timeout_ms)");
    assert_eq!(fault.reason, FaultReason::UpstreamUnavailable);
    assert_eq!(upstream.health().phase, Phase::Stopped, "a failed start opens no window");
}

async fn the_modern_era_is_found_and_spoken() {
    for protocol in [Protocol::Auto, Protocol::Modern] {
        let upstream = upstream_of(StdioConfig { protocol, ..entry("modern") }, |_| {});
        assert_eq!(json(&upstream, "echo", r#"{"a":1}"#).await, r#"{"a":1}"#);
        assert_eq!(upstream.health().protocol_version.as_deref(), Some("2026-07-28"));
        upstream.shutdown().await;
    }
    let only_handshake = StdioConfig { protocol: Protocol::Handshake, ..entry("modern") };
    let fault = upstream_of(only_handshake, |_| {}).ensure_started().await.unwrap_err();
    assert_eq!(fault.message, "initialize failed: Method not found");
}

async fn pages_of_tools_are_followed() {
    let paged = upstream("pages");
    let tools = paged.list_tools().await.unwrap();
    let plain = upstream("plain");
    assert_eq!(tools.len(), plain.list_tools().await.unwrap().len());
    tokio::join!(paged.shutdown(), plain.shutdown());
}

async fn a_closed_output_ends_the_child() {
    let upstream = upstream("plain");
    let closing = call(&upstream, "close_stdout", "{}");
    // The child has a moment for its end.
    let (reason, message) = fault_of(run_out_of_all(closing, Duration::from_secs(1)).await);
    assert_eq!(
        (reason, message.as_str()),
        (FaultReason::UpstreamUnavailable, "mcp_stdio process closed its pipes")
    );
    wait_until_async("the end is noted", async || matches!(upstream.health().phase, Phase::Recovery(_)))
        .await;
    advance(HOUR);
    assert_eq!(upstream.health().phase, Phase::Stopped);
    assert_eq!(json(&upstream, "echo", "{}").await, "{}");
    upstream.shutdown().await;
}

async fn changes_are_events() {
    let upstream = upstream("plain");
    upstream.ensure_started().await.unwrap();
    let mut events = upstream.events();
    json(&upstream, "change", "{}").await;
    assert_eq!(events.recv().await.unwrap(), UpstreamEvent::ToolsChanged);
    assert!(!upstream.refresh_tools().await.unwrap().is_empty());
    upstream.shutdown().await;
}

async fn callers_of_other_threads() {
    let upstream = std::sync::Arc::new(upstream("plain"));
    upstream.ensure_started().await.unwrap();
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let upstream = upstream.clone();
            tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    for n in 0..50 {
                        let arguments = format!(r#"{{"n":{}}}"#, thread * 1000 + n);
                        assert_eq!(json(&*upstream, "echo", &arguments).await, arguments);
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread.await.unwrap();
    }
    upstream.shutdown().await;
}

async fn family_of(upstream: &StdioUpstream) -> Vec<u32> {
    let pids: Vec<u32> = serde_json::from_str(&json(upstream, "family", "{}").await).unwrap();
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| alive(*pid)), "{pids:?}");
    pids
}

async fn shutdown_ends_the_family() {
    let upstream = upstream("plain");
    let pids = family_of(&upstream).await;
    upstream.shutdown().await;
    assert!(!pids.iter().any(|pid| alive(*pid)), "all are gone when shutdown resolves");
}

async fn shutdown_ends_a_child_that_ignores_eof() {
    let upstream = upstream("ignores-eof");
    let pids = family_of(&upstream).await;
    let ending = async {
        let fault = call(&upstream, "never", "{}").await;
        // Its input is closed, and it does not care: it has two seconds until it is asked by a signal.
        assert!(alive(pids[0]));
        advance(Duration::from_secs(2));
        fault
    };
    let (fault, ()) = tokio::join!(ending, upstream.shutdown());
    assert_eq!(
        fault_of(fault),
        (FaultReason::UpstreamUnavailable, "the upstream has been shut down".to_owned())
    );
    assert!(!pids.iter().any(|pid| alive(*pid)));
}

async fn a_child_starts_with_no_signal_blocked() {
    let upstream = upstream("plain");
    assert_eq!(json(&upstream, "signals", "{}").await, "0");
    upstream.shutdown().await;
}

async fn dropping_ends_the_family() {
    let pids = {
        let runtime = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            // The runtime is dropped with the upstream still up.
            runtime.block_on(async { family_of(&upstream("ignores-eof")).await })
        });
        runtime.join().unwrap()
    };
    wait_until_async("the family is gone", async || !pids.iter().any(|pid| alive(*pid))).await;
}

/// The process that [`killing_us_ends_the_family`] kills.
pub(crate) fn own() -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let upstream = upstream("ignores-eof");
        let pids = family_of(&upstream).await;
        println!("{}", serde_json::to_string(&pids).unwrap());
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
    unreachable!()
}

async fn killing_us_ends_the_family() {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .arg(OWNER_ROLE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = serde_json::from_str(&line).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until_async("the family is gone", async || !pids.iter().any(|pid| alive(*pid))).await;
}

async fn large_arguments_pass() {
    let upstream = upstream("plain");
    let ample = CallLimits { max_bytes: 8 << 20, ..limits() };
    let arguments = format!(r#"{{"s":"{}"}}"#, "y".repeat(3 << 20));
    let calls = (0..3).map(|_| call_with(&upstream, "echo", &arguments, ample));
    for reply in futures_util::future::join_all(calls).await {
        assert_eq!(json_of(reply.unwrap()).len(), arguments.len());
    }
    let reply = call(&upstream, "text", r#"{"text":"plain"}"#).await.unwrap();
    assert_eq!(
        text(&reply.envelope),
        r#"{"content":[{"text":"plain","type":"text"}]}"#
            .replace(r#""text":"plain","type":"text""#, r#""type":"text","text":"plain""#)
    );
    upstream.shutdown().await;
}
