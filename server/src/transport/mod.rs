//! How messages travel.

pub mod http;
pub mod stdio;
