//! The tools for programs that outlast their clients' wait or that wait for people: `lisp_wait`, `lisp_cancel`
//! (waiting.md 6.4), `lisp_resume` (waiting.md 4.4).

mod cancel;
mod resume;
#[cfg(test)]
mod tests;
mod wait;

use std::time::Duration;

use super::lisp_eval::EvalOptions;
use crate::shaping::{Shaper, running, waiting};
use ptc_protocol::tool::{Tool, ToolReply};
use ptc_runs::{RunError, RunView, Status};

/// The tools, if programs may become runs.
pub fn tools(options: &EvalOptions) -> Vec<Box<dyn Tool>> {
    let Some(runs) = &options.runs else { return Vec::new() };
    let mut tools: Vec<Box<dyn Tool>> = Vec::new();
    if runs.settings().keeps {
        tools.push(Box::new(resume::ResumeTool { runs: runs.clone(), options: options.clone() }));
    }
    if runs.settings().long {
        tools.push(Box::new(wait::WaitTool { runs: runs.clone(), options: options.clone() }));
        tools.push(Box::new(cancel::CancelTool { runs: runs.clone(), options: options.clone() }));
    }
    tools
}

/// The answer about a run. `notes` are about answers that did not count.
fn told(
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
fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("args_error", message, message)
}

/// The default wait of a client.
const DEFAULT_WAIT: Duration = Duration::from_secs(20);
