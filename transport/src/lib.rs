//! The transports of messages.

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod closing_page;
pub mod health;
pub mod http;
pub mod metrics;
pub mod readiness;
mod sharded_counter;
pub mod stdio;
