//! Stateful sessions: definitions and results that stay from program to program (`--sessions`).
//!
//! Values live on the driver of the engine that runs a session's programs. Everything else about a session – whose
//! it is, when it ends, what it printed – is in the [`Directory`], which all six tools share. One file a tool.

mod arguments;
mod close;
mod directory;
mod eval;
mod forget;
mod inspect;
mod journal;
mod list;
mod record;
mod schemas;
mod start;
mod text;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use directory::{Clock, Directory, system_clock};

use super::lisp_eval::EvalOptions;
use super::{Tool, ToolReply};

/// The six tools over one directory, in listing order.
pub fn tools(directory: &Arc<Directory>, options: EvalOptions) -> Vec<Box<dyn Tool>> {
    let profile = options.shaper.profile;
    vec![
        Box::new(start::Start(directory.clone())),
        Box::new(list::List(directory.clone())),
        Box::new(eval::Eval::new(directory.clone(), options)),
        Box::new(inspect::Inspect { directory: directory.clone(), profile }),
        Box::new(forget::Forget(directory.clone())),
        Box::new(close::Close(directory.clone())),
    ]
}

/// The failure of a call whose arguments are wrong.
fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("session_args_error", message, message)
}
