//! Attempts to call a tool, and their records (upstreams.md 11.1).

use super::overview::overview;
use super::runtime::Aggregator;
use crate::config::UpstreamConfig;
use crate::credentials::Redactor;
use crate::engine::{CallAuth, CallRecord, CallStatus, RunContext, whole_millis};
use crate::upstream::{CallFault, CallReply};
use ptc_vm::machine::Reply;
use std::borrow::Cow;
use tokio::time::Instant;

/// One call of a tool that a program tried.
pub(super) struct Attempt<'a> {
    pub(super) aggregator: &'a Aggregator,
    pub(super) run: &'a RunContext,
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
    pub(super) config: Option<&'a UpstreamConfig>,
}

impl Attempt<'_> {
    /// Records a success.
    pub(super) fn succeeded(&self, arguments: &[u8], began: Instant, reply: &CallReply) {
        let overview = match self.aggregator.overviews {
            true => overview(&reply.payload, &self.aggregator.redactor),
            false => None,
        };
        self.record(CallRecord {
            result_bytes: Some(reply.result_bytes),
            overview,
            ..self.begun(arguments, Some(began))
        });
    }

    /// Records a fault and gives it to the program. `began` is `None` when nothing went out.
    pub(super) fn failed(&self, arguments: &[u8], began: Option<Instant>, fault: CallFault) -> Reply {
        let oversize = fault.oversize();
        let message = self.aggregator.redactor.scrub_string(fault.message);
        self.record(CallRecord {
            status: CallStatus::Error,
            reason: Some(fault.reason.as_str().to_owned()),
            error: Some(message.clone()),
            // There was no result, but for an answer that was refused for its size.
            result_bytes: oversize.then_some(fault.received_bytes),
            oversize,
            http_status: fault.http_status,
            ..self.begun(arguments, began)
        });
        Reply::Fault { reason: fault.reason.as_str().to_owned(), message, raw: None }
    }

    /// The common part of all attempts' records.
    fn begun(&self, arguments: &[u8], began: Option<Instant>) -> CallRecord {
        // When it was made, counted from the beginning of its program; now, if nothing was tried.
        let offset = began.unwrap_or_else(Instant::now).saturating_duration_since(self.run.started);
        CallRecord {
            server: self.server.to_owned(),
            tool: self.tool.to_owned(),
            args: recorded_arguments(arguments, &self.aggregator.redactor),
            status: CallStatus::Ok,
            offset_ms: whole_millis(offset),
            duration_ms: began.map_or(0, |began| whole_millis(began.elapsed())),
            reason: None,
            error: None,
            result_bytes: None,
            oversize: false,
            auth: self.config.and_then(auth),
            http_status: None,
            overview: None,
        }
    }

    fn record(&self, record: CallRecord) {
        self.run.records.borrow_mut().push(record);
    }
}

/// Which credential a call to this upstream carries, by name.
fn auth(config: &UpstreamConfig) -> Option<CallAuth> {
    let emitter = config.transport.auth()?.emitters.first()?;
    Some(CallAuth { scheme: emitter.scheme.as_str().to_owned(), binding: emitter.binding.clone() })
}

/// The arguments as a record keeps them, if it does. They are looked at as text, and read only where that shows a
/// secret, which may span what JSON keeps apart.
fn recorded_arguments(arguments: &[u8], redactor: &Redactor) -> Option<Box<str>> {
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
        let recorded = |text: &str| recorded_arguments(text.as_bytes(), &redactor);
        assert_eq!(recorded(r#"{"n": 1}"#).as_deref(), Some(r#"{"n": 1}"#));
        assert_eq!(recorded(r#"{"t":["x s3cret\"s3cret"]}"#).as_deref(), Some(r#"{"t":["x [REDACTED]"]}"#));
        assert_eq!(recorded(r#"{"k":"a","b":"c"}"#).as_deref(), Some(r#"{"k":"a","b":"c"}"#), "still JSON");
        assert_eq!(recorded(&format!("{{\"a\":\"{}\"}}", "x".repeat(CallRecord::MAX_ARGS_BYTES))), None);
    }
}
