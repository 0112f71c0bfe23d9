//! Attempts to call a tool, and their records (upstreams.md 11.1).

use super::audit::AuditedCall;
use super::call_watch::SentCall;
use super::overview::overview;
use super::page_keys::page_keys;
use super::runtime::Aggregator;
use super::shape_file::SeenTool;
use crate::catalog::ToolEntry;
use ptc_base::time::{self, Instant};
use ptc_base::trace::{OpenSpan, SpanWork};
use ptc_engine::questions::{AnsweredBy, ArgumentsDigest};
use ptc_engine::{
    AnswerBlocks, CallAuth, CallRecord, CallStatus, PageRecord, RunContext, ValueSource, WholeReply,
    whole_millis,
};
use ptc_schema::seen_shape::SAMPLE_BYTES;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::config::{Transport, UpstreamConfig};
use ptc_upstreams::upstream::FaultReason;
use ptc_upstreams::upstream::{CallFault, CallReply};
use ptc_vm::machine::{Payload, Reply};
use ptc_vm::paging::CallFacts;
use ptc_vm::value::ReplyWatch;
use std::borrow::Cow;
use std::cell::Cell;

/// Longest message of a fault: it may quote the program or the upstream.
const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// The method of a tool's call.
pub(super) const TOOLS_CALL: &str = "tools/call";
/// Bytes of a value that its record keeps, and those in which a secret may end that begins among them.
const BEGINNING: usize = 80;
const LOOKED_THROUGH: usize = 4096;

/// The tool of a call.
#[derive(Clone, Copy)]
pub(super) struct CalledTool<'a> {
    /// The tool's entry in the catalog, if it has one.
    pub(super) entry: Option<&'a ToolEntry>,
    /// Whether the call is one for a page of `tool/pages`.
    pub(super) by_pages: bool,
}

/// One call of a tool that a program tried.
pub(super) struct Attempt<'a> {
    pub(super) aggregator: &'a Aggregator,
    pub(super) run: &'a RunContext,
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
    /// The method of its request, of which `tool` has the name if it is none of a tool.
    pub(super) method: &'static str,
    pub(super) config: Option<&'a UpstreamConfig>,
    /// A note for the reader about the arguments.
    pub(super) argument_note: Option<Box<str>>,
    /// Who answered the question whether it may be made.
    pub(super) approved: Option<AnsweredBy>,
    /// The digest of the arguments; `None` if no record needs it.
    digest: Option<ArgumentsDigest>,
    /// When it was sent, as long as its end has not been recorded.
    sent: Cell<Option<Instant>>,
    /// Its span, from then on until its end.
    span: Cell<Option<OpenSpan>>,
    /// The number under which somebody watches it, from then on until its end.
    watched: Cell<Option<u32>>,
}

impl Drop for Attempt<'_> {
    /// A call that was sent gets its record even if its program ended before it. A call that continues in another process is
    /// recorded there.
    fn drop(&mut self) {
        let Some(began) = self.sent.take() else { return };
        if self.run.has_left() {
            self.watch_ends(None);
            return self.ends(None);
        }
        self.ends(Some(&CallFault::new(FaultReason::Cancelled, "")));
        self.audited(Some(began), Some(FaultReason::Cancelled));
    }
}

impl<'a> Attempt<'a> {
    /// A call of `tool` with these arguments.
    pub(super) async fn new(
        aggregator: &'a Aggregator,
        run: &'a RunContext,
        server: &'a str,
        tool: &'a str,
        config: Option<&'a UpstreamConfig>,
        arguments: &[u8],
    ) -> Attempt<'a> {
        let mut attempt = Attempt {
            aggregator,
            run,
            server,
            tool,
            method: TOOLS_CALL,
            config,
            argument_note: None,
            approved: None,
            digest: None,
            sent: Cell::new(None),
            span: Cell::new(None),
            watched: Cell::new(None),
        };
        attempt.takes(arguments).await;
        attempt
    }

    /// Notes the arguments as they are sent, before they are.
    pub(super) async fn takes(&mut self, arguments: &[u8]) {
        if self.aggregator.audit.is_some() {
            self.digest = Some(ArgumentsDigest::of_sent(arguments).await);
        }
    }

    /// The digest of the arguments.
    pub(super) async fn digest_of(&self, arguments: &[u8]) -> ArgumentsDigest {
        match self.digest {
            Some(digest) => digest,
            None => ArgumentsDigest::of_sent(arguments).await,
        }
    }

    /// The fault of a call that may not be made now, as it could not be recorded.
    pub(super) fn stopped(&self) -> Option<CallFault> {
        let text = self.aggregator.audit.as_ref()?.stop()?;
        Some(CallFault::unavailable(text).before_sending())
    }

    /// As [`failed`](Self::failed), of a call that cannot be recorded: the record counts it already.
    pub(super) fn failed_unrecorded(mut self, arguments: &[u8], fault: CallFault) -> Reply {
        self.digest = None;
        self.fault(arguments, None, fault, false)
    }

    /// Notes that it is about to be sent, under this span if its trace is recorded.
    pub(super) fn is_sent(&self, began: Instant, span: Option<OpenSpan>) {
        self.sent.set(Some(began));
        self.span.set(span);
        if let Some(watch) = self.aggregator.watch.get().filter(|_| self.watched.get().is_none()) {
            let number = self.run.sent_calls.get().wrapping_add(1);
            self.run.sent_calls.set(number);
            self.watched.set(Some(number));
            watch.sent(&SentCall {
                eval: self.run.eval,
                number,
                upstream: self.server,
                tool: self.tool,
                began,
                offset_ms: whole_millis(began.saturating_duration_since(self.run.started())),
            });
        }
    }

    /// Notes that it was not sent after all, as its upstream lists other tools by now.
    pub(super) fn is_not_sent(&self, fault: &CallFault) {
        self.sent.set(None);
        self.watch_ends(Some(fault.reason));
        self.end_span(fault);
    }

    fn watch_ends(&self, fault: Option<FaultReason>) {
        if let (Some(number), Some(watch)) = (self.watched.take(), self.aggregator.watch.get()) {
            watch.ended(self.run.eval, number, fault.map(FaultReason::as_str));
        }
    }

    /// Ends its span with this fault, if it has one.
    pub(super) fn end_span(&self, fault: &CallFault) {
        self.ends(Some(fault));
    }

    fn ends(&self, fault: Option<&CallFault>) {
        let Some(span) = self.span.take() else { return };
        span.end(SpanWork::Call {
            upstream: self.server,
            transport: self.config.map_or("", |config| config.transport.as_str()),
            method: self.method,
            tool: (self.method == TOOLS_CALL).then_some(self.tool),
            fault: fault.map(|fault| fault.reason.as_str()),
            rpc_code: fault.and_then(|fault| fault.rpc_code),
            http_status: fault.and_then(|fault| fault.http_status),
        });
    }

    /// Records a success and passes it to the program. `called`: the tool, where it was one.
    pub(super) fn succeeded(
        &self,
        arguments: &[u8],
        began: Instant,
        reply: CallReply,
        called: Option<CalledTool<'_>>,
    ) -> Reply {
        let tool = called.and_then(|called| called.entry);
        let undescribed = tool.filter(|tool| tool.output_schema.is_none());
        self.ends(None);
        self.audited(Some(began), None);
        let overview = match self.aggregator.overviews {
            true => overview(&reply.payload, &self.redactor()),
            false => None,
        };
        let wants_raw = self.config.is_some_and(|config| config.raw_envelope.for_tool(self.tool));
        let beginning = reply.payload.text().map(|text| &text[..text.len().min(SAMPLE_BYTES)]);
        if let (Some(tool), Some(seen), Some(beginning)) = (undescribed, &self.aggregator.seen, beginning) {
            let principal = self.run.principal.as_ref();
            seen.note(principal, SeenTool::of(self.server, tool), beginning, &self.redactor());
        }
        let sample = beginning.filter(|_| self.run.log.wants_sample(self.server, self.tool)).map(Box::from);
        let (page, watch) = match called {
            Some(called) => self.paged(arguments, called),
            None => (None, ReplyWatch::default()),
        };
        let record = CallRecord {
            sample,
            beginning: self.beginning(&reply.payload),
            result_bytes: Some(reply.result_bytes),
            overview,
            blocks: blocks(&reply),
            answer_note: reply.note.map(Box::from),
            page,
            ..self.begun(arguments, Some(began))
        };
        let watch = self.run.log.push_watched(record, watch);
        if let Some(slot) = &self.run.reply_slot {
            let is_rest = matches!(self.config.map(|config| &config.transport), Some(Transport::OpenApi(_)));
            let json = reply.envelope;
            slot.put(if is_rest {
                WholeReply::Body(json)
            } else {
                WholeReply::Result { json, is_error: false }
            });
            return Reply::Value(Payload::None);
        }
        Reply::Success {
            payload: reply.payload,
            content: reply.content,
            raw: wants_raw.then_some(reply.envelope),
            watch: Some(watch),
        }
    }

    /// The page that a tool's answer is, once its value has been read.
    fn paged(&self, arguments: &[u8], called: CalledTool<'_>) -> (Option<Box<PageRecord>>, ReplyWatch) {
        let CalledTool { entry, by_pages } = called;
        let parameters = entry.map(|tool| tool.parameters.clone()).unwrap_or_default();
        let (sent, page) = page_keys(arguments, &parameters, by_pages);
        let asked = CallFacts { tool: self.tool.into(), parameters, sent, by_pages };
        (Some(Box::new(page)), ReplyWatch::of_call(asked))
    }

    /// Records a fault and passes it to the program. `began` is `None` when nothing went out.
    pub(super) fn failed(&self, arguments: &[u8], began: Option<Instant>, fault: CallFault) -> Reply {
        self.fault(arguments, began, fault, false)
    }

    /// Records a refusal after which the call is sent again: the program has no part in it.
    pub(super) fn refused(&self, arguments: &[u8], began: Instant, fault: CallFault) {
        self.fault(arguments, Some(began), fault, true);
    }

    fn fault(&self, arguments: &[u8], began: Option<Instant>, fault: CallFault, looked_at: bool) -> Reply {
        let fault = match (fault.reason, began) {
            (FaultReason::Timeout, Some(began)) => fault.with_hint(&self.limit(began)),
            _ => fault,
        };
        self.end_span(&fault);
        self.audited(began, Some(fault.reason));
        let oversize = fault.oversize();
        let sent = Some(fault.sent && began.is_some());
        let message = self.redactor().scrub_beginning(fault.message, MAX_MESSAGE_BYTES);
        let reason = fault.reason.as_str().to_owned();
        let record = CallRecord {
            status: CallStatus::Error,
            reason: Some(reason.clone()),
            sent,
            error: Some(message.clone()),
            result_bytes: (oversize || fault.received_bytes > 0).then_some(fault.received_bytes),
            oversize,
            http_status: fault.http_status,
            looked_at,
            ..self.begun(arguments, began)
        };
        let watch = self.run.log.push_watched(record, ReplyWatch::default());
        if let Some(slot) = &self.run.reply_slot {
            slot.put(match fault.answer {
                Some(answer) => WholeReply::Result { json: answer.envelope, is_error: true },
                None => WholeReply::Fault {
                    reason: fault.reason.as_str(),
                    message,
                    // An upstream that limits calls has been asked.
                    is_quota: fault.reason == FaultReason::RateLimited && fault.uncounted,
                },
            });
            return Reply::Value(Payload::None);
        }
        let wants_raw = self.config.is_some_and(|config| config.raw_envelope.for_tool(self.tool));
        let (data, envelope) =
            fault.answer.map_or((None, None), |answer| (answer.data, Some(answer.envelope)));
        let raw = envelope.filter(|_| wants_raw);
        Reply::Fault { reason, message, sent, data, raw, watch: Some(watch) }
    }

    /// The beginning of a value as text, shown where its program fails.
    fn beginning(&self, payload: &Payload) -> Option<Box<str>> {
        let bytes = payload.text()?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_THROUGH)]).into_owned();
        Some(self.redactor().scrub_beginning(text, BEGINNING).into())
    }

    /// Which limit of time a call has met, its value, and where it is set.
    fn limit(&self, began: Instant) -> String {
        let (flag, entry) = (
            self.aggregator.limits.call_timeout,
            self.config.and_then(|config| config.transport.request_timeout()),
        );
        let deadline = self.run.deadline();
        if time::now() >= deadline {
            let allowed = whole_millis(deadline.saturating_duration_since(self.run.started()));
            return format!("The program had {allowed} ms in all (flag `--program-timeout-ms`).");
        }
        let entry = entry.filter(|entry| *entry < flag);
        let first_byte = self.config.and_then(|config| config.transport.first_byte_timeout());
        if let Some(first) = first_byte.filter(|_| time::since(began) < entry.unwrap_or(flag)) {
            let (allowed, server) = (whole_millis(first), self.server);
            return format!(
                "An answer has to begin within {allowed} ms (`first_byte_timeout_ms` of the entry {server:?})."
            );
        }
        match entry {
            Some(entry) => format!(
                "The limit of a call is {} ms (`request_timeout_ms` of the entry {:?}).",
                whole_millis(entry),
                self.server
            ),
            None => format!(
                "The limit of a call is {} ms (flag `--upstream-call-timeout-ms`).",
                whole_millis(flag)
            ),
        }
    }

    /// Removes secrets from the texts that this caller gets.
    fn redactor(&self) -> Redactor {
        self.aggregator.redactor.for_principal(self.run.principal.as_deref())
    }

    /// Tells the operator's record of it.
    fn audited(&self, began: Option<Instant>, fault: Option<FaultReason>) {
        self.sent.set(None);
        self.watch_ends(fault);
        let (Some(audit), Some(arguments)) = (&self.aggregator.audit, self.digest) else { return };
        audit.called(&AuditedCall {
            principal: self.run.principal.as_deref(),
            eval: Some(self.run.eval),
            run_id: self.run.run_id.as_deref(),
            upstream: self.server,
            tool: self.tool,
            arguments,
            fault,
            duration_ms: began.map_or(0, |began| whole_millis(time::since(began))),
            approved: self.approved.as_ref(),
        });
    }

    /// The common part of all attempts' records.
    fn begun(&self, arguments: &[u8], began: Option<Instant>) -> CallRecord {
        // When it was made, counted from the beginning of its program; now, if nothing was tried.
        let offset = began.unwrap_or_else(time::now).saturating_duration_since(self.run.started());
        CallRecord {
            server: self.server.to_owned(),
            tool: self.tool.to_owned(),
            args: recorded_arguments(arguments, &self.redactor()),
            status: CallStatus::Ok,
            offset_ms: whole_millis(offset),
            duration_ms: began.map_or(0, |began| whole_millis(time::since(began))),
            reason: None,
            sent: None,
            error: None,
            result_bytes: None,
            oversize: false,
            auth: self.config.and_then(auth),
            http_status: None,
            overview: None,
            looked_at: false,
            blocks: None,
            argument_note: self.argument_note.clone(),
            answer_note: None,
            sample: None,
            beginning: None,
            seen_shape: None,
            page: None,
        }
    }
}

/// The blocks of an answer beyond its value; `None` if the value holds everything.
fn blocks(reply: &CallReply) -> Option<AnswerBlocks> {
    let first = reply.content.first()?;
    let value = match &reply.payload {
        Payload::None => ValueSource::Nothing,
        Payload::Json(_) | Payload::JsonNull => ValueSource::Structured,
        Payload::JsonOrText(_) | Payload::Text(_) if first.text().is_some() => ValueSource::FirstBlock,
        Payload::JsonOrText(_) | Payload::Text(_) => ValueSource::FirstText,
        Payload::Content(_) => ValueSource::FirstBlock,
    };
    Some(AnswerBlocks { count: reply.content.len(), value })
}

/// Which credential a call to this upstream carries, by name.
fn auth(config: &UpstreamConfig) -> Option<CallAuth> {
    let emitter = config.transport.auth()?.emitters.first()?;
    Some(CallAuth { scheme: emitter.scheme.as_str().to_owned(), binding: emitter.binding.clone() })
}

/// The arguments as a record keeps them, if it does. They are scanned as text, and parsed only if that finds a secret, which
/// may span separate parts of the JSON.
#[expect(clippy::disallowed_methods, reason = "entry point: recorded_arguments()")]
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
    use ptc_secret::credentials::Secret;

    #[test]
    fn records_keep_short_arguments_without_their_secrets() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("s3cret\"s3cret"), &Secret::new("a\",\"b\":\"c")]).unwrap();
        let recorded = |text: &str| recorded_arguments(text.as_bytes(), &redactor);
        assert_eq!(recorded(r#"{"n": 1}"#).as_deref(), Some(r#"{"n": 1}"#));
        assert_eq!(recorded(r#"{"t":["x s3cret\"s3cret"]}"#).as_deref(), Some(r#"{"t":["x [REDACTED]"]}"#));
        assert_eq!(recorded(r#"{"k":"a","b":"c"}"#).as_deref(), Some(r#"{"k":"a","b":"c"}"#), "still JSON");
        assert_eq!(recorded(&format!("{{\"a\":\"{}\"}}", "x".repeat(CallRecord::MAX_ARGS_BYTES))), None);
    }
}
