//! The MCP client: tool servers reached over a child's pipes or over Streamable HTTP, of either era of the protocol.
//!
//! * [`StdioUpstream`] — `mcp_stdio`: many calls in flight on one child.
//! * [`HttpUpstream`] — `mcp_http`: JSON or event streams over kept-alive connections.
//!
//! What the transports share: `upstream` (calls, lists and the end, over a `Transport`), `protocol` (what is said at the start of a connection), `tools` (reading
//! `tools/list`), `result` (unwrapping `tools/call`), `lifecycle` (one connection, restarted when needed), `slots`
//! (how many calls are in flight).

pub mod http;
mod protocol;
mod result;
mod stdio;
mod tools;
mod upstream;

pub use http::HttpUpstream;
pub use stdio::StdioUpstream;
