//! The request of an eval.

use super::asking::Asker;
#[cfg(feature = "saved-sessions")]
use super::asking::Resume;
use super::eval_id::EvalId;
use super::kept::{ProgramSchema, ServedPrograms};
use super::limits::{Limits, whole_nanos};
use super::outcome::SavedSession;
use super::reply_slot::ReplySlot;
use super::running_turn::{nanoseconds, nanoseconds_at};
use super::session::{SessionKey, SessionRules};
use super::sleeping::RunPermit;
use super::tools::{AppTools, HostCalls};
use crate::audience::Audience;
use ptc_base::time::Instant;
use ptc_base::trace::Trace;
use ptc_policy::Authority;
use ptc_schema::output_schema::OutputSchema;
use ptc_vm::machine::UpstreamCall;
use ptc_vm::meter::Deadline;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

/// The progress of a program's upstream calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallsSoFar {
    /// Calls that the program has made.
    pub made: u32,
    /// Those of them that have ended, whichever way.
    pub ended: u32,
}

/// The wanted form and size of the value.
#[derive(Clone, Copy, Debug)]
pub struct Render {
    /// Most bytes of the value's text; `None` for all of it.
    pub max_text_bytes: Option<usize>,
    /// Whether the value is wanted as JSON too.
    pub json: bool,
}

/// A program and its inputs.
#[derive(Clone)]
pub struct EvalRequest {
    /// The program's text.
    pub program: Arc<str>,
    /// The granted context: the text of a JSON object.
    pub context: Option<Arc<str>>,
    /// What the context has to fit; one that does not ends the program before it begins. Properties that are declared and not there
    /// have their default, or are `nil`.
    pub input: Option<Arc<ProgramSchema>>,
    /// The session whose definitions and history the program shares.
    pub session: Option<SessionKey>,
    /// The stored version of that session, if it outlives its process; otherwise the resident session is used in any state.
    pub saved_session: Option<SavedSession>,
    /// Limits of the session's content; `None` for no limits.
    pub session_rules: Option<Arc<dyn SessionRules>>,
    /// The principal it runs for: principals share the workers equally, independent of how many programs each of them has. All
    /// unnamed ones are one principal.
    pub principal: Option<Arc<str>>,
    /// What the policy permits it; `None` if there is no policy.
    pub authority: Option<Arc<Authority>>,
    /// Limits.
    pub limits: Limits,
    /// Whether reading a context key that is not there is an error.
    pub strict_data: bool,
    /// The wanted form of the value.
    pub render: Render,
    /// Items of each collection that the value's text shows; `None` for all that fit.
    pub shown_items: Option<usize>,
    /// The schema of the value; a value that violates it makes the program fail.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// Bytes of binary content that may be attached to the reply in all; 0 if the reply cannot carry any.
    pub max_attached_bytes: u64,
    /// Answers `tool/call` and discovery over upstreams.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// The kept programs that its text may call; `None`: those that stand in it alone.
    pub programs: Option<Arc<dyn ServedPrograms>>,
    /// Answers `(tool/NAME …)`.
    pub tools: Option<Arc<dyn AppTools>>,
    /// Receives each print when the program makes it, besides the log in the outcome. The output of branches of `pmap` and
    /// `pcalls` arrives when they are joined.
    pub print_sink: Option<Arc<dyn PrintSink>>,
    /// Told whenever upstream calls begin or end, while the program runs.
    pub progress: Option<watch::Sender<CallsSoFar>>,
    /// Receives upstreams' messages about its calls while they run.
    pub audience: Option<Arc<Audience>>,
    /// Its permit within its host's concurrency limit: given back while it only waits by `sleep-ms`.
    pub permit: Option<Arc<dyn RunPermit>>,
    /// Obtains answers to questions of the program, its upstreams or the operator's policy; `None`: questions cannot be asked.
    pub asker: Option<Arc<dyn Asker>>,
    /// The program has begun already, and resumes where it waited.
    #[cfg(feature = "saved-sessions")]
    pub resume: Option<Arc<Resume>>,
    /// The run that it is part of, whose id is valid in all processes; records name it beside the eval.
    pub run_id: Option<Arc<str>>,
    /// The trace of the request that it answers, if there is one.
    pub trace: Option<Arc<Trace>>,
    /// The call that `(tool/call)` without arguments makes, once. Its arguments are one JSON object, checked by the caller, and go
    /// out as they are written.
    pub prepared_call: Option<Arc<UpstreamCall>>,
    /// The instant that the program sees as the present, in milliseconds since 1970; `None`: when it begins.
    pub instant_ms: Option<i64>,
    /// Gets the reply to the program's call whole; the program gets `nil` in its place.
    pub reply_slot: Option<Arc<ReplySlot>>,
    /// Whether its text goes with its snapshots, because the request that resumes it may have another one.
    pub text_travels: bool,
    /// Which eval this is.
    pub id: EvalId,
}

/// Receives what programs print.
pub trait PrintSink: Send + Sync {
    /// Takes one print. The program waits meanwhile.
    fn print(&self, text: &str);
}

/// If the receiver is gone, nothing happens.
impl PrintSink for UnboundedSender<String> {
    fn print(&self, text: &str) {
        let _ = self.send(text.to_owned());
    }
}

impl EvalRequest {
    /// A request for `program` with the limits of a program without upstreams and nothing else.
    pub fn new(program: impl Into<Arc<str>>) -> EvalRequest {
        EvalRequest::with_id(program, EvalId::new())
    }

    /// As [`new`](Self::new), for an eval that was given its id already.
    pub fn with_id(program: impl Into<Arc<str>>, id: EvalId) -> EvalRequest {
        EvalRequest {
            program: program.into(),
            context: None,
            input: None,
            session: None,
            saved_session: None,
            session_rules: None,
            principal: None,
            authority: None,
            limits: Limits::plain(),
            strict_data: false,
            render: Render { max_text_bytes: None, json: false },
            shown_items: None,
            output_schema: None,
            max_attached_bytes: 0,
            upstreams: None,
            programs: None,
            tools: None,
            print_sink: None,
            progress: None,
            audience: None,
            permit: None,
            asker: None,
            #[cfg(feature = "saved-sessions")]
            resume: None,
            run_id: None,
            trace: None,
            prepared_call: None,
            instant_ms: None,
            reply_slot: None,
            text_travels: false,
            id,
        }
    }

    /// When a program that began at `started` has to end, compilation included.
    pub(super) fn deadline(&self, started: Instant) -> Deadline {
        let limits = &self.limits;
        Deadline {
            clock: nanoseconds,
            at: nanoseconds_at(started).saturating_add(whole_nanos(limits.timeout)),
            allowed_ms: limits.timeout_ms(),
        }
    }
}
