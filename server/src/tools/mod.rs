//! The tools that clients see, one folder per tool, behind the port [`Tool`](crate::protocol::tool::Tool).

pub mod asking;
pub mod descriptions;
mod evaluator;
pub mod extensions;
pub mod lisp_debug;
pub mod lisp_eval;
pub mod lisp_task;
mod long;
mod runs;
pub mod schemas;
pub mod sessions;
pub mod shaping;
mod tasks;
mod unknown_arguments;

pub(crate) use long::MAX_WAIT;
pub(crate) use runs::tools as run_tools;
pub(crate) use tasks::desk as task_desk;
