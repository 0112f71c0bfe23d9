//! What all tests of transports need.

use std::time::Duration;

use bytes::Bytes;
use libtest_mimic::Trial;
use ptc_host::upstream::{
    Again, Call, CallFault, CallLimits, CallReply, Caller, FaultReason, ReplyPayload, Upstream,
};
use tokio::time::Instant;

/// Nothing here may take longer, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test that runs on a single-threaded runtime of its own and must come to an end.
pub(crate) fn trial<F: Future<Output = ()> + 'static>(
    name: impl Into<String>,
    test: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    let name = name.into();
    Trial::test(name.clone(), move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime
            .block_on(async { tokio::time::timeout(PATIENCE, test()).await })
            .map_err(|_| format!("{name} hangs").into())
    })
}

/// Ample limits.
pub(crate) fn limits() -> CallLimits {
    let timeout = Duration::from_secs(30);
    CallLimits { timeout, deadline: Instant::now() + timeout, max_bytes: 1 << 20, binary_bytes: 0 }
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
            again: Again::default(),
            arrivals: None,
            caller: Caller::default(),
            may_wrap: true,
        })
        .await
}

/// The JSON payload of a call that must succeed.
pub(crate) async fn json(upstream: &dyn Upstream, tool: &str, arguments: &str) -> String {
    json_of(call(upstream, tool, arguments).await.unwrap_or_else(|fault| panic!("{tool}: {fault}")))
}

/// The JSON payload of a reply.
pub(crate) fn json_of(reply: CallReply) -> String {
    match reply.payload.resolve() {
        ReplyPayload::Json(bytes) => text(&bytes),
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
