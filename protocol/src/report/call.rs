//! A tool's report to observers about a call, before a response profile selects from it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::engine::EvalOutcome;
use ptc_mcp::json::Map;

use super::Payload;

/// The unshaped facts of one call. Secrets are scrubbed from `payload`; program and context are as sent.
#[derive(Debug, Clone)]
pub struct CallReport {
    /// The reason of the failure, if the payload does not state it.
    pub reason: Option<Cow<'static, str>>,
    /// The program, unless the call ended before it was read.
    pub program: Option<Arc<str>>,
    /// The context as the text of a JSON object.
    pub context: Option<Arc<str>>,
    /// True if the call came with an output schema.
    pub output_schema: bool,
    /// The full result.
    pub payload: Payload,
    /// The resources that the program used; `None` if none ran.
    pub usage: Option<CallUsage>,
    /// The planner's report, for tasks.
    pub planner: Option<PlannerReport>,
    /// The events within a task, for its trace.
    pub events: Vec<TaskEvent>,
}

impl CallReport {
    /// The report of a call that never ran.
    pub fn refused(payload: Payload, output_schema: bool) -> Self {
        CallReport {
            reason: None,
            program: None,
            context: None,
            output_schema,
            payload,
            usage: None,
            planner: None,
            events: Vec::new(),
        }
    }

    /// The report of a call whose program is not the caller's: records name the tool in its place.
    pub fn of_tool(payload: Payload, usage: CallUsage) -> Self {
        CallReport { usage: Some(usage), ..CallReport::refused(payload, false) }
    }

    /// The reason of the failure; `None` for a success.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref().or_else(|| self.payload.reason().map(|reason| reason.name()))
    }
}

/// An event within a task. Secrets are scrubbed from it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEvent {
    /// When.
    pub at: Timestamp,
    /// Its name, such as `ptc_lisp.agentic_planner.start`.
    pub name: String,
    /// The duration of the step that it ends.
    pub duration_ms: Option<u64>,
    /// Counts, flags, sizes and hashes.
    pub metadata: Map,
    /// The texts exchanged, as the text of a JSON object, if they may be recorded.
    pub data: Option<String>,
}

impl TaskEvent {
    /// Bytes that it occupies, roughly.
    pub fn size(&self) -> usize {
        512 + self.data.as_ref().map_or(0, String::len)
    }
}

/// The resources that a program used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallUsage {
    /// Steps.
    pub steps: u64,
    /// Peak bytes held.
    pub memory_peak_bytes: u64,
    /// Time from its first step to its end.
    pub duration: Duration,
}

impl CallUsage {
    /// The resources an evaluation used.
    pub fn of(outcome: &EvalOutcome) -> Self {
        CallUsage {
            steps: outcome.steps,
            memory_peak_bytes: outcome.memory_peak_bytes,
            duration: outcome.duration,
        }
    }
}

/// The figures of a task's planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlannerReport {
    /// True if its last call succeeded.
    pub ok: bool,
    /// Time of all its calls, in milliseconds.
    pub duration_ms: u64,
    /// Its calls.
    pub calls: u64,
    /// Programs that it ran.
    pub turns: u64,
    /// Bytes of its last program.
    pub program_bytes: u64,
    /// True if the provider reported tokens for every call.
    pub provider_reported: bool,
    /// Tokens of all prompts, as far as reported.
    pub prompt_tokens: u64,
    /// Tokens of all completions, as far as reported.
    pub completion_tokens: u64,
    /// Bytes of all prompts.
    pub prompt_bytes: u64,
    /// Bytes of all completions.
    pub completion_bytes: u64,
}
