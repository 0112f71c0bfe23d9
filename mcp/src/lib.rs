//! The MCP protocol of both sides, without I/O. The client of `ptc-host`, the server of `ptc-server` and every small
//! client read and write the same bytes by the same code.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`json`] | JSON: a scanner that builds nothing, a writer straight into bytes, a tree |
//! | [`message`] | one JSON-RPC message, classified without decoding its payload |
//! | [`error`] | JSON-RPC errors, their codes and texts |
//! | [`encode`] | requests, notifications and replies as single lines |
//! | [`greeting`] | client identification |
//! | [`meta`], [`headers`] | names in `_meta`; headers of Streamable HTTP |
//! | [`lines`] | newline framing with a byte cap that never loses the frame after an oversized one |
//! | [`sse`] | event streams, decoded as they arrive |
//! | [`text`] | text helpers |
//! | [`trace_context`] | the position of a request in a trace |
//! | [`LogLevel`] | severities of log messages |
//! | [`revision`] | the published revisions of MCP and the two eras they fall into |

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod encode;
pub mod error;
pub mod greeting;
pub mod headers;
mod id_finder;
pub mod json;
pub mod lines;
mod log_level;
pub mod message;
pub mod meta;
pub mod revision;
pub mod sse;
pub mod text;
pub mod trace_context;

pub use error::RpcError;
pub use greeting::ClientInfo;
pub use log_level::LogLevel;
pub use revision::{Era, Revision};
