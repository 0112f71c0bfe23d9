//! The tools for programs that outlast their clients' wait or that wait for people: `lisp_wait`, `lisp_cancel`
//! (waiting.md 6.4), `lisp_resume` (waiting.md 4.4).

mod cancel;
mod reply;
mod resume;
#[cfg(test)]
mod tests;
mod wait;

use super::lisp_eval::EvalOptions;
use ptc_protocol::tool::Tool;

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
