//! The `ptc` server: MCP over stdio and Streamable HTTP, its tools, and the command line.
//!
//! Layers, each knowing only those above it in this list: [`protocol`] (messages, methods, both eras) and [`tools`]
//! (what the methods call), [`transport`] (pipes and sockets), [`cli`] (the sub-commands).

pub mod boot;
pub mod cli;
pub mod console;
mod descriptors;
pub mod gate;
pub mod identity;
pub mod insight;
pub mod log;
pub mod metrics;
pub mod options;
pub mod principal;
pub mod protocol;
pub mod tally;
#[cfg(test)]
mod testing;
pub mod tools;
pub mod trace;
pub mod transport;
