//! The tools for programs that run for longer than their clients wait: `lisp_wait`, `lisp_cancel` (waiting.md 6.4).

mod cancel;
#[cfg(test)]
mod tests;
mod wait;

use std::time::Duration;

use super::lisp_eval::EvalOptions;
use crate::protocol::tool::{Tool, ToolReply};
use crate::runs::NotSeen;

/// The tools, where programs may become runs.
pub(crate) fn tools(options: &EvalOptions) -> Vec<Box<dyn Tool>> {
    let Some(runs) = &options.runs else { return Vec::new() };
    vec![
        Box::new(wait::Wait { runs: runs.clone(), options: options.clone() }),
        Box::new(cancel::Cancel { runs: runs.clone(), options: options.clone() }),
    ]
}

/// The failure of a tool whose arguments are wrong.
fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("args_error", message, message)
}

/// The answer where a run is not seen.
fn not_seen(why: NotSeen) -> ToolReply {
    match why {
        NotSeen::NotFound => ToolReply::failure(
            "run_not_found",
            "run not found",
            "No run of that run_id is yours; results are kept for a while only (--run-ttl-ms). Run the program again.",
        ),
        NotSeen::Unavailable => ToolReply::failure(
            "state_unavailable",
            "the state store is unavailable",
            "The run is not lost. Retry in a second.",
        ),
    }
}

/// As long as a client waits that does not say.
const DEFAULT_WAIT: Duration = Duration::from_secs(20);
