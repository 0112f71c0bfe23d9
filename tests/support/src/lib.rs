//! What integration tests of several crates share. Unit tests cannot use it for the types of their own crate: there these would be
//! those of another build of it.

pub mod authorization_server;
pub mod child_process;
pub mod fake_http;
pub mod guarded;
#[cfg(feature = "in-process")]
pub mod in_process;
pub mod modern;
pub mod other_clock;
pub mod process;
pub mod redis_server;
pub mod steps;
mod waiting;

pub use waiting::{PATIENCE, wait_until, wait_until_async};
