//! Child processes: started in their own process group under a guard, watched, and ended with all their descendants.
//!
//! * [`ChildSpec`], [`ChildEnv`], [`ChildProcess`] — start and hold a child.
//! * [`guard`] — the small process that ends the child and its descendants when the host dies, even if killed.
//! * [`StderrRing`] — the last output of a child on standard error.

pub(crate) mod command;
mod environment;
pub mod guard;
mod process;
mod stderr;

pub(crate) use command::resolve_command;
pub(crate) use environment::ChildEnv;
pub(crate) use process::{ChildProcess, ChildSpec, Exit};
pub(crate) use stderr::StderrRing;
