//! All facts of one evaluation, before a response profile selects from them.

use std::borrow::Cow;

use ptc_host::aggregator::notes;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Attachments, CallRecord, EvalOutcome, Failure};
use ptc_host::text::with_dots;
use ptc_mcp::json::write_strings;
use ptc_vm::Reason;

use super::ptc_metrics::PtcMetrics;
use super::session::SessionPart;

/// Longest message of a failure that is searched: no result is longer.
const MAX_MESSAGE_BYTES: usize = 256 << 10;

/// The reason for the failure of a tool call, as in `reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorReason {
    /// The program cannot be read.
    ParseError,
    /// The program caused an error.
    RuntimeError,
    /// The program exceeded its time limit.
    Timeout,
    /// The program exceeded its memory limit.
    MemoryLimit,
    /// The program exceeded its step limit.
    StepLimit,
    /// The arguments of the call are wrong.
    ArgsError,
    /// The program called `(fail …)`.
    Fail,
    /// The value does not fit `output_schema`.
    ValidationError,
    /// No permit is free.
    Busy,
    /// The call was cancelled.
    Cancelled,
    /// There is no such tool.
    UnknownTool,
    /// The server is shutting down.
    ShuttingDown,
    /// The program's definitions exceed a limit of its session.
    SessionLimitExceeded,
    /// Another run has changed the session in the meantime.
    SessionConflict,
    /// The store of sessions is unavailable.
    StateUnavailable,
}

impl ErrorReason {
    /// All reasons of `lisp_eval`, in the order of the advertised enumeration.
    pub const ALL: [ErrorReason; 12] = [
        ErrorReason::ParseError,
        ErrorReason::RuntimeError,
        ErrorReason::Timeout,
        ErrorReason::MemoryLimit,
        ErrorReason::StepLimit,
        ErrorReason::ArgsError,
        ErrorReason::Fail,
        ErrorReason::ValidationError,
        ErrorReason::Busy,
        ErrorReason::Cancelled,
        ErrorReason::UnknownTool,
        ErrorReason::ShuttingDown,
    ];

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            ErrorReason::ParseError => "parse_error",
            ErrorReason::RuntimeError => "runtime_error",
            ErrorReason::Timeout => "timeout",
            ErrorReason::MemoryLimit => "memory_limit",
            ErrorReason::StepLimit => "step_limit",
            ErrorReason::ArgsError => "args_error",
            ErrorReason::Fail => "fail",
            ErrorReason::ValidationError => "validation_error",
            ErrorReason::Busy => "busy",
            ErrorReason::Cancelled => "cancelled",
            ErrorReason::UnknownTool => "unknown_tool",
            ErrorReason::ShuttingDown => "shutting_down",
            ErrorReason::SessionLimitExceeded => "session_limit_exceeded",
            ErrorReason::SessionConflict => "session_conflict",
            ErrorReason::StateUnavailable => "state_unavailable",
        }
    }
}

impl From<Reason> for ErrorReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::ParseError | Reason::ProgramTooLarge => ErrorReason::ParseError,
            Reason::Timeout => ErrorReason::Timeout,
            Reason::MemoryExceeded | Reason::CompileMemoryExceeded => ErrorReason::MemoryLimit,
            Reason::StepLimitExceeded => ErrorReason::StepLimit,
            Reason::Fail => ErrorReason::Fail,
            Reason::ValidationError => ErrorReason::ValidationError,
            Reason::Cancelled => ErrorReason::Cancelled,
            _ => ErrorReason::RuntimeError,
        }
    }
}

/// How an evaluation ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// With a value.
    Ok {
        /// `user=> ` and the value's text; `None` for nil.
        result: Option<String>,
        /// The text itself, if the value is a string with line breaks: as much of it as `result` shows.
        lines: Option<String>,
        /// The note about omitted text, if there is any.
        cut: Option<String>,
        /// The value as JSON, if a schema was given.
        validated: Option<String>,
    },
    /// Without a value.
    Error {
        /// The reason.
        reason: ErrorReason,
        /// The sentence.
        message: String,
        /// Advice or the place of the error, if the message does not have them.
        hint: Option<String>,
        /// The value given to `fail`.
        result: Option<String>,
    },
}

/// Longest name of a definition that is shown.
const LONGEST_NAME: usize = 80;

/// The place where a program failed, in words.
fn place(failure: &Failure, program: &str) -> Option<String> {
    let (at, inside) = match &failure.definition {
        Some(definition) => (definition.position, Some(definition.name())),
        None => (failure.position.filter(|_| tells_more(failure, program))?, None),
    };
    let place = format!("at line {}, column {}", at.line, at.column);
    Some(match inside {
        Some("") => format!("{place} of an earlier definition"),
        Some(name) => format!("{place} of the definition of {}", with_dots(name, LONGEST_NAME)),
        None => place,
    })
}

/// True if the place of a failure adds to its message. Parse errors name the place themselves, and the only `fail` in
/// a program of one line needs no place.
fn tells_more(failure: &Failure, program: &str) -> bool {
    match failure.reason {
        Reason::ParseError => !failure.message.contains(" at line "),
        Reason::Fail => program.trim().contains('\n'),
        _ => true,
    }
}

/// The full result of an evaluation.
#[derive(Debug, Clone)]
pub struct Payload {
    /// How it ended.
    pub ending: Ending,
    /// The prints, one text each.
    pub prints: Vec<String>,
    /// Further notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The attachments of its reply.
    pub attachments: Attachments,
    /// Its upstream calls, in order of completion.
    pub upstream_calls: Vec<CallRecord>,
    /// The session it ran in.
    pub session: Option<Box<SessionPart>>,
}

impl Payload {
    /// The payload of a call that never ran.
    pub fn refused(reason: ErrorReason, message: impl Into<String>, hint: Option<String>) -> Self {
        Payload {
            ending: Ending::Error { reason, message: message.into(), hint, result: None },
            prints: Vec::new(),
            notes: Vec::new(),
            attachments: Attachments::default(),
            upstream_calls: Vec::new(),
            session: None,
        }
    }

    /// The payload of an evaluation of `program`.
    pub fn of(outcome: EvalOutcome, program: &str) -> Self {
        let notes = notes(&outcome);
        let ending = match outcome.result {
            Ok(answer) => Ending::Ok {
                result: (!answer.is_nil).then(|| format!("user=> {}", answer.text)),
                lines: answer.lines,
                cut: answer.cut.map(|cut| cut.to_string()),
                validated: answer.validated,
            },
            Err(failure) => Ending::Error {
                reason: failure.reason.into(),
                hint: place(&failure, program),
                message: failure.full_message(),
                result: failure.payload,
            },
        };
        Payload {
            ending,
            prints: outcome.prints,
            notes,
            attachments: outcome.attachments,
            upstream_calls: outcome.upstream_calls,
            session: None,
        }
    }

    /// Turns a success into a failure: the program returned a value, but its purpose was not achieved.
    pub fn withhold(&mut self, reason: ErrorReason, message: &str) {
        let result = self.result().map(Cow::into_owned);
        self.ending = Ending::Error { reason, message: message.to_owned(), hint: None, result };
    }

    /// Replaces secrets in everything that programs and upstreams wrote.
    #[expect(clippy::disallowed_methods, reason = "entry point: Payload.scrub")]
    pub fn scrub(&mut self, redactor: &Redactor) {
        let text = |text: &mut String| *text = redactor.scrub_string(std::mem::take(text));
        match &mut self.ending {
            Ending::Ok { result, lines, cut, validated } => {
                result.iter_mut().chain(lines).chain(cut).for_each(text);
                if let Some(json) = validated
                    && let Cow::Owned(_) = redactor.scrub(json)
                    && let Ok(mut tree) = serde_json::from_str(json)
                {
                    redactor.scrub_json(&mut tree);
                    *json = tree.to_string();
                }
            }
            Ending::Error { message, result, .. } => {
                *message = redactor.scrub_beginning(std::mem::take(message), MAX_MESSAGE_BYTES);
                result.iter_mut().for_each(text);
            }
        }
        self.prints.iter_mut().chain(&mut self.notes).for_each(text);
        if self.is_error() {
            for call in &mut self.upstream_calls {
                call.seen_shape = call.shape().map(|shape| redactor.scrub_string(shape));
            }
        }
        // All other parts of call records are scrubbed where they are made.
    }

    /// True if the evaluation failed.
    pub fn is_error(&self) -> bool {
        matches!(self.ending, Ending::Error { .. })
    }

    /// The reason of a failure.
    pub fn reason(&self) -> Option<ErrorReason> {
        match &self.ending {
            Ending::Error { reason, .. } => Some(*reason),
            Ending::Ok { .. } => None,
        }
    }

    /// The figures on how much upstream data the evaluation reduced to its answer.
    pub fn ptc_metrics(&self) -> PtcMetrics {
        let mut prints = Vec::new();
        if !self.prints.is_empty() {
            write_strings(&mut prints, self.prints.iter().map(String::as_str));
        }
        PtcMetrics::of(&self.upstream_calls, self.final_result_bytes(), prints.len() as u64)
    }

    /// `result` as it is sent: the value's text and, on a line of its own, the note about omitted text; after `(fail
    /// …)` the given value.
    pub fn result(&self) -> Option<Cow<'_, str>> {
        match &self.ending {
            Ending::Ok { result, cut: Some(cut), .. } => {
                result.as_ref().map(|result| Cow::Owned(format!("{result}\n{cut}")))
            }
            Ending::Ok { result, .. } | Ending::Error { result, .. } => result.as_deref().map(Cow::Borrowed),
        }
    }

    /// The bytes of a reply besides its prints: the value, or the message.
    pub fn beside_prints(&self) -> usize {
        match &self.ending {
            Ending::Ok { .. } => self.final_result_bytes() as usize,
            Ending::Error { message, .. } => message.len(),
        }
    }

    /// The bytes of the `result` of a success as it is sent; 0 for everything else.
    pub fn final_result_bytes(&self) -> u64 {
        match &self.ending {
            Ending::Ok { result: Some(result), cut, .. } => {
                (result.len() + cut.as_ref().map_or(0, |cut| 1 + cut.len())) as u64
            }
            _ => 0,
        }
    }
}
