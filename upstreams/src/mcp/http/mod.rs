//! The `mcp_http` transport: a tool server at a Streamable HTTP endpoint.
//!
//! `post` sends one message and reads its answer, JSON or an event stream; `session` holds the result of a handshake, and
//! `session_loss` knows how servers say that they have forgotten it; `handshake` finds the era and lists the tools; `mirror`
//! copies arguments into headers where the modern era requires it; `listen` receives changes of the tool list, as fast as
//! `event_rate` lets it; `transport` combines them.

mod event_rate;
mod handshake;
mod listen;
mod mirror;
mod old_stream;
mod post;
mod rpc_failure;
mod session;
mod session_loss;
mod transport;

pub use transport::HttpUpstream;
