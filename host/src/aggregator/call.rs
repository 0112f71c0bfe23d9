//! `tool/call`: checks, cap, start, call, record (upstreams.md 8 to 11).

use super::overview::overview;
use super::{Aggregator, raise};
use crate::catalog::check_call;
use crate::config::UpstreamConfig;
use crate::credentials::Redactor;
use crate::engine::{CallAuth, CallRecord, CallStatus, ReplyCharge, RunContext};
use crate::upstream::{Call, CallFault, CallLimits, CallReply, FaultReason, Payload as Received};
use bytes::Bytes;
use ptc_vm::machine::{Payload, Reply, UpstreamCall};
use std::borrow::Cow;
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
    let (server, tool) = (checked.server.name.as_str(), checked.tool_name);
    let began = Instant::now();
    let mut arguments = checked.arguments;
    let refuse = |fault: CallFault, arguments: &[u8], began: Option<Instant>| {
        let attempt = Attempt { server, tool, arguments, began };
        refuse(&aggregator, &run, &attempt, fault)
    };
    if !RunContext::take(&run.calls, aggregator.limits.max_calls) {
        return refuse(CallFault::new(FaultReason::CapExhausted, "cap_exhausted"), &arguments, None);
    }
    let Some(member) = aggregator.members.get(server) else {
        return raise(&format!("no upstream '{server}' configured"));
    };
    let warm;
    if checked.tool.is_none() {
        // A cold upstream: start it, and check again now that its tools are known.
        if let Some(fault) = run.failed_starts.borrow().get(server).cloned() {
            return refuse(CallFault::unavailable(fault), &arguments, None);
        }
        let load = Box::pin(tokio::time::timeout_at(run.deadline, aggregator.load(server)));
        let loaded = load.await;
        let loaded = loaded.unwrap_or_else(|_| Err(CallFault::timeout("the upstream did not start in time")));
        if let Err(fault) = loaded {
            run.failed_starts.borrow_mut().insert(server.to_owned(), fault.message.clone());
            return refuse(fault, &arguments, Some(began));
        }
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
            run.records.borrow_mut().push(CallRecord {
                server: server.to_owned(),
                tool: tool.to_owned(),
                args: shown_arguments(&arguments, &aggregator.redactor),
                status: CallStatus::Ok,
                offset_ms: offset(&run, Some(began)),
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
            let raw = member.config.raw_envelope.for_tool(tool).then(|| reply.envelope.clone());
            Reply::Success { payload: payload(reply), raw }
        }
        Err(fault) => refuse(fault, &arguments, Some(began)),
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

/// When a call was made, counted from the beginning of its program; now, if nothing was tried.
fn offset(run: &RunContext, began: Option<Instant>) -> u64 {
    let at = began.unwrap_or_else(Instant::now).saturating_duration_since(run.started);
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
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

/// What was tried.
struct Attempt<'a> {
    server: &'a str,
    tool: &'a str,
    arguments: &'a [u8],
    /// `None` when nothing went out.
    began: Option<Instant>,
}

/// Records a fault and gives it to the program.
fn refuse(aggregator: &Aggregator, run: &RunContext, attempt: &Attempt<'_>, fault: CallFault) -> Reply {
    let oversize = fault.oversize();
    let message = aggregator.redactor.scrub_string(fault.message);
    run.records.borrow_mut().push(CallRecord {
        server: attempt.server.to_owned(),
        tool: attempt.tool.to_owned(),
        args: shown_arguments(attempt.arguments, &aggregator.redactor),
        status: CallStatus::Error,
        offset_ms: offset(run, attempt.began),
        duration_ms: attempt.began.map_or(0, millis),
        reason: Some(fault.reason.as_str().to_owned()),
        error: Some(message.clone()),
        // There was no result, but for an answer that was refused for its size.
        result_bytes: oversize.then_some(fault.received_bytes),
        oversize,
        auth: aggregator.members.get(attempt.server).and_then(|member| auth(&member.config)),
        http_status: fault.http_status,
        overview: None,
    });
    Reply::Fault { reason: fault.reason.as_str().to_owned(), message, raw: None }
}

/// The arguments as a record keeps them, if it does. They are looked at as text, and read only where that shows a
/// secret, which may span what JSON keeps apart.
fn shown_arguments(arguments: &[u8], redactor: &Redactor) -> Option<Box<str>> {
    let text = std::str::from_utf8(arguments).ok().filter(|text| text.len() <= CallRecord::MAX_ARGS_BYTES)?;
    if let Cow::Borrowed(text) = redactor.scrub(text) {
        return Some(text.into());
    }
    let mut value = serde_json::from_str(text).ok()?;
    redactor.scrub_json(&mut value);
    Some(value.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Secret;

    #[test]
    fn records_keep_short_arguments_without_their_secrets() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("s3cret\"s3cret"), &Secret::new("a\",\"b\":\"c")]);
        let shown = |text: &str| shown_arguments(text.as_bytes(), &redactor);
        assert_eq!(shown(r#"{"n": 1}"#).as_deref(), Some(r#"{"n": 1}"#));
        assert_eq!(shown(r#"{"t":["x s3cret\"s3cret"]}"#).as_deref(), Some(r#"{"t":["x [REDACTED]"]}"#));
        assert_eq!(shown(r#"{"k":"a","b":"c"}"#).as_deref(), Some(r#"{"k":"a","b":"c"}"#), "still JSON");
        assert_eq!(shown(&format!("{{\"a\":\"{}\"}}", "x".repeat(CallRecord::MAX_ARGS_BYTES))), None);
    }
}
