//! On whose behalf an upstream is asked, and who hears what it says meanwhile.

use std::sync::Arc;
use std::time::SystemTime;

use ptc_mcp::LogLevel;

use super::asking::Asking;
use crate::audience::Audience;

/// On whose behalf a request goes out. The default is nobody in particular.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The principal's name. All without a name are one.
    pub principal: Option<&'a Arc<str>>,
    /// Who hears of progress and log messages.
    pub audience: Option<&'a Arc<Audience>>,
    /// Who is asked what the upstream asks, people and models; nobody is where this is `None`.
    pub asking: Option<&'a Arc<Asking>>,
    /// Whether the caller waits for the task that an upstream may answer with.
    pub follows_tasks: bool,
}

/// A log message of an upstream as operators see it. Untrusted text: remove secrets before anybody sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidMessage {
    /// When it came.
    pub at: SystemTime,
    /// How severe it is.
    pub level: LogLevel,
    /// Its text on one line, bounded.
    pub text: String,
}
