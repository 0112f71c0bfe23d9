//! The approval that a call needs before it is sent (waiting.md 3.3).

use crate::catalog::ToolEntry;
use crate::config::UpstreamConfig;
use crate::questions::Level;
use crate::upstream::{CallFault, FaultReason};

/// How far from the model somebody must allow a call of this tool; `None` if it goes out at once. A tool that is not described
/// is taken for one of which nothing good is known.
pub(super) fn needed(config: &UpstreamConfig, name: &str, tool: Option<&ToolEntry>) -> Option<Level> {
    if config.approval.is_never() {
        return None;
    }
    config.approval.needs(name, tool.and_then(|tool| tool.annotations.as_ref()))
}

/// The fault of a call that needs an approval where nobody can be asked.
pub(super) fn unanswerable() -> CallFault {
    CallFault::new(FaultReason::Unanswerable, "nobody can be asked here").before_sending()
}
