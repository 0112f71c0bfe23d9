//! The `mcp_http` transport: a tool server behind a Streamable HTTP endpoint.
//!
//! `post` sends one message and reads its answer, JSON or an event stream; `session` is what a handshake
//! leaves behind; `handshake` finds the era and lists the tools; `mirror` puts arguments into headers where the
//! modern era asks for it; `listen` hears of changes of the tool list; `transport` puts it all together.

mod handshake;
mod listen;
mod mirror;
mod post;
mod session;
mod transport;

pub use transport::HttpUpstream;
