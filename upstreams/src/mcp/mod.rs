//! The MCP client: tool servers over a child's pipes or Streamable HTTP, in either era of the protocol.
//!
//! * [`StdioUpstream`] — `mcp_stdio`: many calls in flight on one child.
//! * [`HttpUpstream`] — `mcp_http`: JSON or event streams over kept-alive connections.
//!
//! The transports share `upstream` (calls, lists and shutdown, over a `Transport`), `protocol` (the start of a connection),
//! `tools` (reading `tools/list`), `result` (reading `tools/call`, with `content`, `wrapper` and `unfinished`), `features`
//! (servers' features besides tools), `inbound` (servers' unsolicited messages), `elicit` (their questions to people), `roots`,
//! `lifecycle` (one connection, restarted when needed) and `slots` (the limit on calls in flight).

mod content;
mod elicit;
pub mod features;
pub mod http;
mod inbound;
mod inbound_reply;
mod open_questions;
mod protocol;
mod repair;
mod result;
mod roots;
mod stdio;
mod tools;
pub mod unfinished;
mod upstream;
mod wrapper;

pub use features::is_role;
pub use http::HttpUpstream;
pub use result::read_task_result;
pub use roots::ClientRoots;
pub use stdio::StdioUpstream;
