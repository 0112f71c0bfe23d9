//! The transports of messages.

pub(crate) mod health;
pub mod http;
pub(crate) mod readiness;
pub mod stdio;
