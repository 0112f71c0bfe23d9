//! Stateful sessions: definitions and results persist from program to program (`--sessions`).
//!
//! Values live on the engine worker that runs a session's programs. Everything else about a session – its owner, its
//! end, its prints – is in the [`Directory`], which all six tools share. Each tool has one file. The directory says
//! whether the process (`resident.rs`) or a store (`stored/`) has the session.

mod arguments;
#[cfg(test)]
mod back_ends;
mod bounds;
mod close;
mod directory;
mod environment;
mod eval;
mod forget;
mod inspect;
mod journal;
mod list;
#[cfg(test)]
mod over_http;
mod record;
mod refusal;
mod reservation;
mod resident;
mod schemas;
mod start;
mod stored;
mod text;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use directory::Directory;
pub use environment::system_clock;
pub use stored::Keeping;

use self::bounds::Bounded;
use super::lisp_eval::EvalOptions;
use ptc_protocol::tool::{Tool, ToolReply};

/// The six tools over one directory, in listing order.
pub fn tools(directory: &Arc<Directory>, options: EvalOptions) -> Vec<Box<dyn Tool>> {
    let shaper = options.shaper;
    let profile = shaper.profile;
    vec![
        Box::new(Bounded { tool: start::Start(directory.clone()), shaper }),
        Box::new(Bounded { tool: list::List { directory: directory.clone(), profile }, shaper }),
        Box::new(eval::Eval::new(directory.clone(), options)),
        Box::new(Bounded { tool: inspect::Inspect { directory: directory.clone(), profile }, shaper }),
        Box::new(Bounded { tool: forget::Forget { directory: directory.clone(), profile }, shaper }),
        Box::new(Bounded { tool: close::Close(directory.clone()), shaper }),
    ]
}

/// The names of the six tools, which are known even if sessions are off.
pub const NAMES: [&str; 6] = [
    "lisp_session_start",
    "lisp_session_list",
    "lisp_session_eval",
    "lisp_session_inspect",
    "lisp_session_forget",
    "lisp_session_close",
];

/// The answer of all of them if sessions are off.
pub fn disabled() -> ToolReply {
    let message = "stateful PTC-Lisp sessions are disabled; start the server with --sessions or \
                   PTC_SESSIONS=true";
    ToolReply::failure("sessions_disabled", message, message)
}
