//! (front page to be written)

pub mod catalog;
pub mod child;
pub mod config;
pub mod credentials;
pub mod engine;
pub mod jsonrpc;
pub mod mcp;
pub mod upstream;
