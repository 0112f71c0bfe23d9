//! The `mcp_stdio` transport: a child process that speaks newline-delimited JSON-RPC on its standard streams.
//!
//! `connection` is the state shared by callers and the pipe's tasks; `tasks` holds those tasks (reader, writer,
//! standard error, and the supervisor of the child); `handshake` starts a connection in the right era; `transport`
//! combines them.

mod connection;
mod handshake;
mod outbox;
mod tasks;
mod transport;

pub use transport::StdioUpstream;
