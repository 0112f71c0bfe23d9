//! Child processes: found, started in a process group of their own under a guard, watched, and
//! ended with everything they started.
//!
//! * [`ChildSpec`], [`ChildEnv`], [`ChildProcess`] — start one and hold it.
//! * [`guard`] — the small process between us and a child that ends the child's whole family when
//!   we are gone, killed included.
//! * [`StderrRing`] — the last of what a child said on standard error.

pub(crate) mod command;
mod environment;
pub mod guard;
mod process;
mod stderr;

pub(crate) use command::resolve_command;
pub use environment::ChildEnv;
pub use process::{ChildProcess, ChildSpec, Exit, Pipes, SpawnError};
pub use stderr::StderrRing;
