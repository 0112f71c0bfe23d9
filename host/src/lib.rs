//! (front page to be written)

pub mod catalog;
pub mod config;
pub mod credentials;
pub mod engine;
