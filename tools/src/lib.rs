//! The tools that clients see, one folder per tool, behind the port [`Tool`](ptc_protocol::tool::Tool).

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod callable_programs;
pub mod channels;
pub mod descriptions;
pub mod drafts;
mod evaluator;
pub mod exposed;
pub mod extensions;
pub mod kept;
pub mod lisp_debug;
pub mod lisp_eval;
pub mod lisp_keep;
pub mod lisp_task;
mod long;
mod program_call;
pub mod recent_programs;
mod runs;
pub mod schemas;
pub mod sessions;
pub mod shaping;
mod tasks;
#[cfg(test)]
mod testing;
mod text_tool;
mod unknown_arguments;

pub use callable_programs::CallablePrograms;
pub use long::MAX_WAIT;
pub use runs::tools as run_tools;
pub use tasks::desk as task_desk;
