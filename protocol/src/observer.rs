//! The observer port: the events of a call, as plain data.
//!
//! A call is announced, may run, and ends exactly once, in one way or another. A [`CallSpan`] accompanies the call
//! and informs every observer. Dropping the span reports the call as cancelled. All observers receive the same
//! events, so they never disagree. Without observers none of this is computed.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use ptc_host::engine::EvalId;
use ptc_host::time::{self, Instant};
use ptc_host::trace::Trace;
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::trace_context::TraceContext;
use smallvec::SmallVec;

use super::tool::{CallContext, KeptProgramName, RequestOrigin, ToolName, ToolReply, Unfinished};
use crate::principal::{Owner, Principal};
use crate::report::CallReport;
use crate::timestamp;

/// Maximum length of a tool's name for observers, in characters.
const MAX_NAME_CHARS: usize = 128;

/// An observer of calls.
pub trait CallObserver: Send + Sync {
    /// True if it reads programs before their calls have ended.
    fn reads_programs(&self) -> bool {
        false
    }

    /// Why no call may be made now, for its caller; `None` if one may.
    fn stop(&self) -> Option<String> {
        None
    }

    /// A request of a client for a feature of the upstreams besides tools has ended. `subject`: the URI or name that it is about.
    fn requested(&self, _request: &FeatureRequest<'_>) {}

    /// A call was announced. It may still be refused.
    fn announced(&self, _call: &ObservedCall) {}

    /// A call is about to run. Returns whether the observer wants its end.
    fn runs(&self, _call: &ObservedCall) -> bool {
        true
    }

    /// A call has ended. No further event follows.
    fn ended(&self, call: &ObservedCall, end: &CallEnd);

    /// A call named a tool that does not exist for its caller. It was not announced. `is_denied`: the policy hides it, and the
    /// audit log has been told so.
    fn unknown_tool(&self, _call: &ObservedCall, _is_denied: bool) {}
}

/// Begins the traces of calls.
pub trait Tracer: Send + Sync {
    /// The trace of a call whose client sent this context, if it sent one.
    fn begin(&self, client: Option<TraceContext>) -> Trace;
}

/// The facts known at the announcement of a call.
#[derive(Debug)]
pub struct ObservedCall {
    /// Its owner.
    pub owner: Owner,
    /// Its JSON-RPC id.
    pub request_id: RequestId,
    /// The id of the evaluation that it may become.
    pub eval_id: EvalId,
    /// The protocol revision of the call.
    pub revision: Revision,
    /// The request of the transport that brought it.
    pub origin: Option<RequestOrigin>,
    /// Its trace, if its client sent one or spans are exported.
    pub trace: Option<Arc<Trace>>,
    /// The tool. An unknown name is truncated.
    pub tool: Cow<'static, str>,
    /// The program, if the call has one and an observer reads programs.
    pub program: Option<Arc<str>>,
    /// The kept program that it runs, if it is a call of one.
    pub kept_program: Option<KeptProgramName>,
    /// Bytes of its context, if an observer reads programs.
    pub context_bytes: usize,
    /// When it was announced.
    pub at: Timestamp,
    /// The same on a monotonic clock.
    pub started: Instant,
    /// True if it ran.
    pub running: bool,
}

/// A request of a client for resources, prompts or completions that has ended.
#[derive(Debug, Clone, Copy)]
pub struct FeatureRequest<'a> {
    /// The client's principal.
    pub principal: &'a Principal,
    /// True if it came over HTTP.
    pub is_http: bool,
    /// The method.
    pub method: &'static str,
    /// The URI or the name that it is about, if it is about one.
    pub subject: Option<&'a str>,
    /// The code of the error that it was answered with.
    pub error: Option<i64>,
    /// How long it took.
    pub duration_ms: u64,
}

/// The end of a call.
#[derive(Debug)]
pub struct CallEnd {
    /// The time of the end.
    pub at: Timestamp,
    /// How long the call took; 0 for one that was refused.
    pub duration_ms: u64,
    /// The way it ended.
    pub outcome: CallOutcome,
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// Its tool answered.
    Answered(AnswerSummary),
    /// It ended with an internal error, described by this text.
    Crashed(String),
    /// It was cancelled.
    Cancelled,
    /// It was refused in a way that is not recorded.
    Discarded,
}

/// A tool's answer, as far as it concerns observers.
#[derive(Debug)]
pub struct AnswerSummary {
    /// True if the call failed.
    pub is_error: bool,
    /// The reason of the failure.
    pub reason: Option<String>,
    /// True if the tool did its work rather than refuse the call.
    pub ran: bool,
    /// What its program goes on doing, if the call was answered before it ended.
    pub unfinished: Option<Unfinished>,
    /// True if the answer names an evaluation.
    pub is_eval: bool,
    /// All other facts.
    pub report: Option<Arc<CallReport>>,
}

/// All observers of a process.
pub struct Observers {
    all: Vec<Arc<dyn CallObserver>>,
    read_programs: bool,
}

impl Observers {
    /// Informs `all` of calls; `None` if there are no observers.
    pub fn new(all: Vec<Arc<dyn CallObserver>>) -> Option<Arc<Observers>> {
        let read_programs = all.iter().any(|observer| observer.reads_programs());
        (!all.is_empty()).then(|| Arc::new(Observers { all, read_programs }))
    }

    /// Why no call may be made now, for its caller; `None` if one may.
    pub(crate) fn stop(&self) -> Option<String> {
        self.all.iter().find_map(|observer| observer.stop())
    }

    /// Reports a request for a feature that has ended.
    pub(crate) fn requested(&self, request: &FeatureRequest<'_>) {
        self.all.iter().for_each(|observer| observer.requested(request));
    }

    /// Announces a call of `tool`, which may be one of a kept program.
    pub fn announce(
        self: &Arc<Self>,
        context: &CallContext,
        tool: &ToolName,
        kept_program: Option<KeptProgramName>,
        arguments: Option<Raw<'_>>,
    ) -> CallSpan {
        // Arguments of a kept program are what it says they are.
        let read = arguments.filter(|_| kept_program.is_none());
        let call = ObservedCall { kept_program, ..self.observed(context, tool.into(), read) };
        self.all.iter().for_each(|observer| observer.announced(&call));
        let following = self.all.iter().map(|_| true).collect();
        CallSpan { observers: self.clone(), call, following, ended: false }
    }

    /// Reports a call that names a tool that does not exist for its caller, or that the policy denies it.
    pub(crate) fn unknown_tool(&self, context: &CallContext, name: &str, is_denied: bool) {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        let call = self.observed(context, Cow::Owned(name), None);
        self.all.iter().for_each(|observer| observer.unknown_tool(&call, is_denied));
    }

    fn observed(
        &self,
        context: &CallContext,
        tool: Cow<'static, str>,
        arguments: Option<Raw<'_>>,
    ) -> ObservedCall {
        let (mut program, mut context_bytes) = (None, 0);
        let arguments = arguments.filter(|_| self.read_programs).and_then(Raw::members);
        for (key, value) in arguments.into_iter().flatten() {
            match &*key {
                "program" => program = value.as_str().map(Arc::from),
                "context" => context_bytes = value.text().len(),
                _ => {}
            }
        }
        ObservedCall {
            owner: context.owner.clone(),
            request_id: context.request_id.clone(),
            eval_id: context.eval_id,
            revision: context.revision,
            origin: context.origin.clone(),
            trace: context.trace.clone(),
            tool,
            program,
            kept_program: None,
            context_bytes,
            at: timestamp::now(),
            started: time::now(),
            running: false,
        }
    }
}

/// A call in progress. Dropping it reports the call as cancelled.
pub struct CallSpan {
    observers: Arc<Observers>,
    call: ObservedCall,
    /// True for each observer that wants the end.
    following: SmallVec<[bool; 4]>,
    ended: bool,
}

impl CallSpan {
    /// The call is about to run.
    pub fn runs(&mut self) {
        self.call.running = true;
        for (observer, following) in self.observers.all.iter().zip(&mut self.following) {
            *following = observer.runs(&self.call);
        }
    }

    /// The call was answered. Takes the report out of the reply.
    pub fn answered(mut self, reply: &mut ToolReply) {
        let reason = reply.reason();
        let answered = AnswerSummary {
            is_error: reply.is_error,
            ran: !matches!(reason.as_deref(), Some("args_error" | "session_args_error" | "busy")),
            reason,
            unfinished: reply.unfinished,
            is_eval: reply.eval_id.is_some(),
            report: reply.report.take(),
        };
        self.end(CallOutcome::Answered(answered));
    }

    /// The call was refused before it began, in a way that is not recorded.
    pub fn discard(mut self) {
        self.end(CallOutcome::Discarded);
    }

    /// The call ended with an internal error.
    pub(crate) fn crashed(mut self, message: &str) {
        self.end(CallOutcome::Crashed(message.to_owned()));
    }

    fn end(&mut self, outcome: CallOutcome) {
        self.ended = true;
        let refused = matches!(&outcome, CallOutcome::Answered(answered) if !answered.ran);
        let duration_ms = if refused { 0 } else { time::since(self.call.started).as_millis() as u64 };
        let end = CallEnd { at: timestamp::now(), duration_ms, outcome };
        for (observer, following) in self.observers.all.iter().zip(&self.following) {
            if *following {
                observer.ended(&self.call, &end);
            }
        }
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.ended {
            self.end(CallOutcome::Cancelled);
        }
    }
}
