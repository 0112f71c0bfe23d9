//! The port of observers: what they are told of a call, as plain events.
//!
//! A call is announced, may run, and ends exactly once, whichever way it ends. A [`CallSpan`] accompanies the call and
//! tells every observer. A span that is dropped tells that the call was cancelled. All observers hear the same events,
//! so they never disagree. Without observers nothing of this is computed.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use ptc_host::engine::EvalId;
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use smallvec::SmallVec;

use super::tool::{CallContext, Origin, ToolReply};
use crate::principal::Owner;
use crate::report::CallReport;

/// Characters of a tool's name that observers are told.
const MAX_NAME_CHARS: usize = 128;

/// Somebody who wants to know of calls.
pub trait CallObserver: Send + Sync {
    /// Whether it reads programs before their calls have ended.
    fn reads_programs(&self) -> bool {
        false
    }

    /// A call was announced. It may still be refused.
    fn announced(&self, _call: &ObservedCall) {}

    /// A call is about to run. Says whether the observer wants to be told of its end.
    fn runs(&self, _call: &ObservedCall) -> bool {
        true
    }

    /// A call has ended. Nothing more is told of it.
    fn ended(&self, call: &ObservedCall, end: &CallEnd);

    /// A call named a tool that does not exist. It was not announced.
    fn unknown_tool(&self, _call: &ObservedCall) {}
}

/// What is known of a call from its announcement.
#[derive(Debug)]
pub struct ObservedCall {
    /// Whose it is.
    pub owner: Owner,
    /// Its JSON-RPC id.
    pub request_id: RequestId,
    /// The evaluation that it may become.
    pub eval_id: EvalId,
    /// The revision it came under.
    pub revision: Revision,
    /// The request of the transport that brought it.
    pub origin: Option<Origin>,
    /// The tool. A name that is no tool's is cut after some characters.
    pub tool: Cow<'static, str>,
    /// The program, where the call has one and an observer reads programs.
    pub program: Option<Arc<str>>,
    /// Bytes of its context, where an observer reads programs.
    pub context_bytes: usize,
    /// When it was announced.
    pub at: Timestamp,
    /// The same by a clock that nobody can set.
    pub started: Instant,
    /// Whether it came to run.
    pub running: bool,
}

/// The end of a call.
#[derive(Debug)]
pub struct CallEnd {
    /// When.
    pub at: Timestamp,
    /// How long the call took; 0 for one that was refused.
    pub duration_ms: u64,
    /// How.
    pub outcome: CallOutcome,
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// Its tool answered.
    Answered(Answered),
    /// It ended by a fault of ours, which is told in this text.
    Crashed(String),
    /// It was cancelled.
    Cancelled,
    /// It was refused in a way that is not recorded.
    Discarded,
}

/// What a tool answered, as far as observers want to know.
#[derive(Debug)]
pub struct Answered {
    /// Whether the call failed.
    pub is_error: bool,
    /// The word for why.
    pub reason: Option<String>,
    /// Whether the tool did its work, rather than refuse the call.
    pub ran: bool,
    /// Whether the answer names an evaluation.
    pub is_eval: bool,
    /// Everything else there is to say.
    pub report: Option<Arc<CallReport>>,
}

/// All observers of a process.
pub struct Observers {
    all: Vec<Arc<dyn CallObserver>>,
    read_programs: bool,
}

impl Observers {
    /// Tells `all` of calls; `None` if there is nobody to tell.
    pub fn new(all: Vec<Arc<dyn CallObserver>>) -> Option<Arc<Observers>> {
        let read_programs = all.iter().any(|observer| observer.reads_programs());
        (!all.is_empty()).then(|| Arc::new(Observers { all, read_programs }))
    }

    /// Announces a call of `tool`.
    pub fn announce(
        self: &Arc<Self>,
        context: &CallContext,
        tool: &'static str,
        arguments: Option<Raw<'_>>,
    ) -> CallSpan {
        let call = self.observed(context, Cow::Borrowed(tool), arguments);
        self.all.iter().for_each(|observer| observer.announced(&call));
        let following = self.all.iter().map(|_| true).collect();
        CallSpan { observers: self.clone(), call, following, ended: false }
    }

    /// Tells of a call that names a tool that does not exist.
    pub fn unknown_tool(&self, context: &CallContext, name: &str) {
        let name: String = name.chars().take(MAX_NAME_CHARS).collect();
        let call = self.observed(context, Cow::Owned(name), None);
        self.all.iter().for_each(|observer| observer.unknown_tool(&call));
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
            tool,
            program,
            context_bytes,
            at: Timestamp::now(),
            started: Instant::now(),
            running: false,
        }
    }
}

/// A call on its way. Dropping it tells that the call was cancelled.
pub struct CallSpan {
    observers: Arc<Observers>,
    call: ObservedCall,
    /// Which of the observers are told of the end.
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
        let answered = Answered {
            is_error: reply.is_error,
            ran: !matches!(reason.as_deref(), Some("args_error" | "session_args_error" | "busy")),
            reason,
            is_eval: reply.eval_id.is_some(),
            report: reply.report.take(),
        };
        self.end(CallOutcome::Answered(answered));
    }

    /// The call was refused before it began, in a way that is not recorded.
    pub fn discard(mut self) {
        self.end(CallOutcome::Discarded);
    }

    /// The call ended by a fault of ours.
    pub fn crashed(mut self, message: &str) {
        self.end(CallOutcome::Crashed(message.to_owned()));
    }

    fn end(&mut self, outcome: CallOutcome) {
        self.ended = true;
        let refused = matches!(&outcome, CallOutcome::Answered(answered) if !answered.ran);
        let duration_ms = if refused { 0 } else { self.call.started.elapsed().as_millis() as u64 };
        let end = CallEnd { at: Timestamp::now(), duration_ms, outcome };
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
