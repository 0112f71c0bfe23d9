//! The `mcp_stdio` transport: a child process that speaks newline-delimited JSON-RPC on its standard streams.
//!
//! `connection` is the meeting point of callers and the pipe's tasks; `tasks` are those: reader, writer, standard
//! error, and the supervisor of the child's life; `handshake` starts a connection in the right era; `transport` puts
//! it all together.

mod connection;
mod handshake;
mod outbox;
mod tasks;
mod transport;

pub use transport::StdioUpstream;
