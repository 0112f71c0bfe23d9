//! `tool/call`: checks, cap, start, call (upstreams.md 8 to 11).

use super::attempt::Attempt;
use super::program_fault::raise;
use super::runtime::Aggregator;
use super::usage::{Usage, take_call};
use crate::catalog::check_call;
use crate::engine::RunContext;
use crate::memory::ReplyCharge;
use crate::upstream::{Call, CallFault, CallLimits, CallReply, FaultReason, ReplyPayload};
use bytes::Bytes;
use ptc_vm::machine::{Payload, Reply, UpstreamCall};
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

/// Answers one `tool/call`.
pub(super) async fn answer(aggregator: Arc<Aggregator>, run: Rc<RunContext>, call: UpstreamCall) -> Reply {
    let catalog = aggregator.catalog();
    let checked = match check_call(&catalog, &call) {
        Ok(checked) => checked,
        Err(text) => return raise(&text),
    };
    let (server, tool) = (checked.server.name.as_str(), checked.tool_name);
    let began = Instant::now();
    let mut arguments = checked.arguments;
    let member = aggregator.members.get(server);
    let config = member.map(|member| &member.config);
    let attempt = Attempt { aggregator: &aggregator, run: &run, server, tool, config };
    if !take_call(&run, aggregator.limits.max_calls) {
        let fault = CallFault::new(FaultReason::CapExhausted, "cap_exhausted");
        return attempt.failed(&arguments, None, fault);
    }
    let Some(member) = member else {
        return raise(&format!("no upstream '{server}' configured"));
    };
    let warm;
    if checked.tool.is_none() {
        if let Err(NotStarted { fault, tried }) = start(&aggregator, &run, server).await {
            return attempt.failed(&arguments, tried.then_some(began), fault);
        }
        // Checked again, now that its tools are known.
        warm = aggregator.catalog();
        arguments = match check_call(&warm, &call) {
            Ok(checked) => checked.arguments,
            Err(text) => return raise(&text),
        };
    }
    let limits = CallLimits {
        timeout: aggregator.limits.call_timeout,
        deadline: run.deadline,
        max_bytes: aggregator.limits.max_response_bytes,
    };
    let charge = ReplyCharge::new(run.memory.clone());
    let sent = Call { tool, arguments: &arguments, limits, arrivals: Some(&charge) };
    match member.handle.call(sent).await {
        Ok(reply) => {
            run.arrived.borrow_mut().push(charge);
            attempt.succeeded(&arguments, began, &reply);
            let raw = member.config.raw_envelope.for_tool(tool).then(|| reply.envelope.clone());
            Reply::Success { payload: payload(reply), raw }
        }
        Err(fault) => attempt.failed(&arguments, Some(began), fault),
    }
}

/// Why an upstream did not start.
struct NotStarted {
    fault: CallFault,
    /// Whether a start was tried for this call.
    tried: bool,
}

/// Starts a cold upstream, unless that has failed in this program already.
async fn start(aggregator: &Aggregator, run: &RunContext, server: &str) -> Result<(), NotStarted> {
    let usage = Usage::of(run);
    if let Some(fault) = usage.failed_start(server) {
        return Err(NotStarted { fault: CallFault::unavailable(fault), tried: false });
    }
    // In a box, as most calls need no start and none should carry the room for it.
    let loaded = Box::pin(timeout_at(run.deadline, aggregator.load(server))).await;
    let loaded = loaded.unwrap_or_else(|_| Err(CallFault::timeout("the upstream did not start in time")));
    loaded.map_err(|fault| {
        usage.note_failed_start(server, fault.message.clone());
        NotStarted { fault, tried: true }
    })
}

/// The payload as the machine takes it.
fn payload(reply: CallReply) -> Payload {
    match reply.payload {
        // The machine reads text that may be JSON and keeps it as text when it is not.
        ReplyPayload::Json(bytes) | ReplyPayload::JsonOrText(bytes) => Payload::Json(bytes),
        ReplyPayload::Text(bytes) => Payload::Text(String::from_utf8_lossy(&bytes).into_owned()),
        ReplyPayload::JsonNull => Payload::Json(Bytes::from_static(b"null")),
        ReplyPayload::None => Payload::None,
    }
}
