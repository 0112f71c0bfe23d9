//! The caller of an upstream's request, and the audience for messages during it.

use std::sync::Arc;
use std::time::SystemTime;

use ptc_mcp::LogLevel;
use ptc_mcp::trace_context::TraceContext;

use super::asking::QuestionSink;
use ptc_engine::audience::Audience;

/// The caller of a request. The default has no principal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The principal's name. All without a name are one.
    pub principal: Option<&'a Arc<str>>,
    /// Whose sign-in is used, where a rule chooses: the principal's, or that of all (`*`). `None`: as the entry says.
    pub account: Option<&'a Arc<str>>,
    /// Receives progress and log messages.
    pub audience: Option<&'a Arc<Audience>>,
    /// Receives the upstream's questions to people and models; `None` if none can be answered.
    pub asking: Option<&'a Arc<QuestionSink>>,
    /// The trace that the request belongs to, whose context goes along.
    pub trace: Option<&'a TraceContext>,
    /// Whether the caller waits for the task that an upstream may answer with.
    pub follows_tasks: bool,
}

/// A log message of an upstream as operators see it. Untrusted text: remove secrets before showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidMessage {
    /// When it arrived.
    pub at: SystemTime,
    /// How severe it is.
    pub level: LogLevel,
    /// Its text on one line, bounded.
    pub text: String,
}
