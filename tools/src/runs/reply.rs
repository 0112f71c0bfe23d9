//! What the tools of runs answer.

use std::time::Duration;

use crate::lisp_eval::EvalOptions;
use crate::shaping::{Shaper, running, waiting};
use ptc_protocol::tool::ToolReply;
use ptc_runs::{RunError, RunView, Status};

/// The answer about a run. `notes` are about answers that did not count.
pub(super) fn told(
    options: &EvalOptions,
    shaper: &Shaper,
    run: Result<RunView, RunError>,
    notes: &[String],
) -> ToolReply {
    match (run.map(RunView::into_reply), &options.asks) {
        (Ok(Ok(reply)), _) => reply,
        (Ok(Err(run)), _) if run.status == Status::Running => running(shaper, &run),
        (Ok(Err(run)), Some(asks)) => asks.told(&run, shaper, notes),
        (Ok(Err(run)), None) => waiting(shaper, &run, None, notes),
        (Err(why), _) => why.reply(),
    }
}

/// The failure of a tool whose arguments are wrong.
pub(super) fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("args_error", message, message)
}

/// The default wait of a client.
pub(super) const DEFAULT_WAIT: Duration = Duration::from_secs(20);
