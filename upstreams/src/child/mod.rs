//! Child processes: started in their own process group under a guard, watched, and ended with all their descendants.
//!
//! Upstreams over stdio are such children. [`guard`] is the small process that ends a child and its descendants when the host
//! dies, even if killed: a binary that embeds this crate calls [`guard::init`] first.

pub(crate) mod command;
mod environment;
pub mod guard;
mod process;
mod stderr;

pub(crate) use command::resolve_command;
pub(crate) use environment::ChildEnv;
pub(crate) use process::{ChildProcess, ChildSpec, Exit};
pub(crate) use stderr::StderrRing;
