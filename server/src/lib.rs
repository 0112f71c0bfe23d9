//! The `ptc` server: MCP over stdio and Streamable HTTP, its tools, and the command line.
//!
//! Layers; each knows only those above it in this list: [`protocol`] (messages, methods, both eras) and [`tools`]
//! (called by the methods), [`transport`] (pipes and sockets), [`cli`] (the sub-commands).

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod boot;
pub mod cli;
mod closing_page;
mod codec;
mod concurrency_limiter;
mod identity;
pub mod observers;
pub mod options;
pub mod principal;
pub mod protocol;
mod public_url;
mod report;
mod request_state;
pub mod runs;
mod sampling;
mod server_state;
pub mod settings;
mod sharded_counter;
mod static_page;
#[cfg(test)]
mod testing;
mod timestamp;
pub mod tools;
pub mod transport;
mod usage;
mod webhook;
