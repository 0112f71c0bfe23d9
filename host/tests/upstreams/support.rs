//! What all tests of transports need.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use libtest_mimic::Trial;
use ptc_host::time::{self, Clock};
use ptc_host::upstream::{
    Call, CallFault, CallLimits, CallReply, Caller, FaultReason, Payload, ResendMembers, Upstream,
};
use ptc_mcp::json::Value;
use ptc_test_support::{PATIENCE, wait_until_async};

/// A limit that runs out in a test, which sets its clock ahead for that.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A limit that runs out in no test.
pub(crate) const AMPLE: Duration = Duration::from_secs(24 * 3600);

/// A test that runs on a single-threaded runtime and by a clock of its own, and must come to an end.
pub(crate) fn trial<F: Future<Output = ()> + 'static>(
    name: impl Into<String>,
    test: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let name = name.into();
    Trial::test(name.clone(), move || {
        let _entered = Clock::stepped().enter();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime
            .block_on(async { tokio::time::timeout(PATIENCE, test()).await })
            .map_err(|_| format!("{name} hangs").into())
    })
}

/// Sets the clock of the test ahead.
pub(crate) fn advance(by: Duration) {
    Clock::current().advance(by);
}

/// The output of `limited`, whose time is set ahead by an hour once `has_begun`.
pub(crate) async fn run_out<T>(limited: impl Future<Output = T>, has_begun: impl AsyncFnMut() -> bool) -> T {
    let step = async {
        wait_until_async("what has a limit has begun", has_begun).await;
        advance(HOUR);
    };
    tokio::join!(limited, step).0
}

/// The output of `limited`, whose time is set ahead again and again by `step`: how many limits it waits for, and when each begins, cannot be seen.
pub(crate) async fn run_out_of_all<T>(limited: impl Future<Output = T>, step: Duration) -> T {
    let mut limited = std::pin::pin!(limited);
    let mut output = None;
    wait_until_async("its limits run out", async || {
        output = limited.as_mut().now_or_never();
        if output.is_none() {
            advance(step);
        }
        output.is_some()
    })
    .await;
    output.expect("it is there")
}

/// Lets the tasks of this thread read what lies in their sockets already.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// Limits that do not run out.
pub(crate) fn limits() -> CallLimits {
    CallLimits { timeout: AMPLE, deadline: time::now() + AMPLE, max_bytes: 1 << 20, binary_bytes: 0 }
}

/// The entry of an `mcp_http` upstream with limits that do not run out.
pub(crate) fn patient(mut entry: Value) -> Value {
    for limit in ["connect_timeout_ms", "handshake_timeout_ms", "request_timeout_ms"] {
        entry[limit] = u64::try_from(AMPLE.as_millis()).unwrap().into();
    }
    entry
}

/// Limits of a call that has an hour.
pub(crate) fn an_hour() -> CallLimits {
    CallLimits { timeout: HOUR, ..limits() }
}

/// Calls with ample limits.
pub(crate) async fn call(
    upstream: &dyn Upstream,
    tool: &str,
    arguments: &str,
) -> Result<CallReply, CallFault> {
    call_with(upstream, tool, arguments, limits()).await
}

/// Calls with the given limits.
pub(crate) async fn call_with(
    upstream: &dyn Upstream,
    tool: &str,
    arguments: &str,
    limits: CallLimits,
) -> Result<CallReply, CallFault> {
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

/// The JSON payload of a call that must succeed.
pub(crate) async fn json(upstream: &dyn Upstream, tool: &str, arguments: &str) -> String {
    json_of(call(upstream, tool, arguments).await.unwrap_or_else(|fault| panic!("{tool}: {fault}")))
}

/// The JSON payload of a reply.
pub(crate) fn json_of(reply: CallReply) -> String {
    match reply.decided() {
        Payload::Json(bytes) => text(&bytes),
        other => panic!("not JSON: {other:?}"),
    }
}

/// Reason and first line of the message of a fault.
pub(crate) fn fault_of(result: Result<CallReply, CallFault>) -> (FaultReason, String) {
    let fault = result.expect_err("the call should fail");
    (fault.reason, fault.message.lines().next().unwrap_or_default().to_owned())
}

pub(crate) fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
