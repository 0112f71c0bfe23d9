//! The `ptc` command: it puts the parts together, and serves them by MCP, by its sub-commands and in a terminal.
//!
//! | Module | Content |
//! |---|---|
//! | [`cli`] | the sub-commands |
//! | [`boot`], [`options`] | a server of its parts, as flags and variables say |
//! | [`protocol`], [`tools`], [`observers`], [`transport`] | the parts: messages of both eras, what clients call, what operators see, pipes and sockets |
//! | [`runs`] | programs that outlive their request |

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod boot;
pub mod cli;
mod control;
pub mod options;
mod sampling;

pub use ptc_observers as observers;
pub use ptc_protocol::{self as protocol, principal, settings};
pub use ptc_runs as runs;
pub use ptc_tools as tools;
pub use ptc_transport as transport;
