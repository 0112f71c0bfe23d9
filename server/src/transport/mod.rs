//! How messages travel.

pub mod stdio;
