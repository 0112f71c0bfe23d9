//! The transports of messages.

pub mod http;
pub mod stdio;
