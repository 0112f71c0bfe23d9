//! `tool/call`: checks, cap, start, call, record (upstreams.md 8 to 11).

use super::overview::overview;
use super::{Aggregator, raise};
use crate::catalog::check_call;
use crate::config::UpstreamConfig;
use crate::engine::{CallAuth, CallRecord, CallStatus, RunContext};
use crate::upstream::{Call, CallFault, CallLimits, CallReply, FaultReason, Payload as Received};
use bytes::Bytes;
use ptc_vm::machine::{Payload, Reply, UpstreamCall};
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// Answers one `tool/call`.
pub(super) async fn answer(aggregator: Arc<Aggregator>, run: Rc<RunContext>, call: UpstreamCall) -> Reply {
    let catalog = aggregator.catalog();
    let checked = match check_call(&catalog, &call) {
        Ok(checked) => checked,
        Err(text) => return raise(&text),
    };
    let server = checked.server.name.clone();
    let tool = checked.tool_name.clone();
    let began = Instant::now();
    let refuse =
        |fault: CallFault, began: Option<Instant>| refuse(&aggregator, &run, &server, &tool, fault, began);
    if !RunContext::take(&run.calls, aggregator.limits.max_calls) {
        return refuse(CallFault::new(FaultReason::CapExhausted, "cap_exhausted"), None);
    }
    let Some(member) = aggregator.members.get(&server) else {
        return raise(&format!("no upstream '{server}' configured"));
    };
    let mut arguments = checked.arguments;
    if checked.tool.is_none() {
        // A cold upstream: start it, and check again now that its tools are known.
        if let Some(fault) = run.failed_starts.borrow().get(&server).cloned() {
            return refuse(CallFault::unavailable(fault), None);
        }
        let loaded = tokio::time::timeout_at(run.deadline, aggregator.load(&server)).await;
        let loaded = loaded.unwrap_or_else(|_| Err(CallFault::timeout("the upstream did not start in time")));
        if let Err(fault) = loaded {
            run.failed_starts.borrow_mut().insert(server.clone(), fault.message.clone());
            return refuse(fault, Some(began));
        }
        let catalog = aggregator.catalog();
        arguments = match check_call(&catalog, &call) {
            Ok(checked) => checked.arguments,
            Err(text) => return raise(&text),
        };
    }
    let limits = CallLimits {
        timeout: aggregator.limits.call_timeout,
        deadline: run.deadline,
        max_bytes: aggregator.limits.max_response_bytes,
    };
    match member.handle.call(Call { tool: &tool, arguments: &arguments, limits }).await {
        Ok(reply) => {
            run.records.borrow_mut().push(CallRecord {
                server: server.clone(),
                tool: tool.clone(),
                status: CallStatus::Ok,
                duration_ms: millis(began),
                reason: None,
                error: None,
                result_bytes: Some(reply.result_bytes),
                oversize: false,
                auth: auth(&member.config),
                http_status: None,
                overview: if aggregator.overviews {
                    overview(&reply.payload, &aggregator.redactor)
                } else {
                    None
                },
            });
            let raw = member.config.raw_envelope.for_tool(&tool).then(|| reply.envelope.clone());
            Reply::Success { payload: payload(reply), raw }
        }
        Err(fault) => refuse(fault, Some(began)),
    }
}

/// Which credential a call to this upstream carries, by name.
fn auth(config: &UpstreamConfig) -> Option<CallAuth> {
    let emitter = config.transport.auth()?.emitters.first()?;
    Some(CallAuth { scheme: emitter.scheme.as_str().to_owned(), binding: emitter.binding.clone() })
}

fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The payload as the machine takes it.
fn payload(reply: CallReply) -> Payload {
    match reply.payload {
        // The machine reads text that may be JSON and keeps it as text when it is not.
        Received::Json(bytes) | Received::JsonOrText(bytes) => Payload::Json(bytes),
        Received::Text(bytes) => Payload::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Received::JsonNull => Payload::Json(Bytes::from_static(b"null")),
        Received::None => Payload::None,
    }
}

/// Records a fault and gives it to the program. `began` is `None` when nothing was tried.
fn refuse(
    aggregator: &Aggregator,
    run: &RunContext,
    server: &str,
    tool: &str,
    fault: CallFault,
    began: Option<Instant>,
) -> Reply {
    let oversize = fault.oversize();
    let message = aggregator.redactor.scrub_string(fault.message);
    run.records.borrow_mut().push(CallRecord {
        server: server.to_owned(),
        tool: tool.to_owned(),
        status: CallStatus::Error,
        duration_ms: began.map_or(0, millis),
        reason: Some(fault.reason.as_str().to_owned()),
        error: Some(message.clone()),
        // There was no result, but for an answer that was refused for its size.
        result_bytes: oversize.then_some(fault.received_bytes),
        oversize,
        auth: aggregator.members.get(server).and_then(|member| auth(&member.config)),
        http_status: fault.http_status,
        overview: None,
    });
    Reply::Fault { reason: fault.reason.as_str().to_owned(), message, raw: None }
}
