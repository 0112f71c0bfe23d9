//! Drives PTC-Lisp machines on tokio and connects them to upstream tool servers.
//!
//! | Module | What it is |
//! |---|---|
//! | [`engine`] | evaluates programs on a few single-threaded runtimes; a `Send + Clone` handle |
//! | [`aggregator`] | owns the configured upstreams, answers `tool/call` and discovery |
//! | [`config`], [`credentials`] | the upstreams file, fully validated; secrets, their request headers, the redactor |
//! | [`catalog`] | what the upstreams offer: rendering, search, checks of calls |
//! | [`upstream`], [`audience`] | the trait of all transports; who hears what upstreams say while they work |
//! | [`text`], [`visible`] | text helpers: truncation, literals; hidden characters made visible |
//! | [`mcp`], [`child`] | MCP client of both eras; child processes under a guard |

pub mod aggregator;
pub mod audience;
pub mod catalog;
pub mod child;
pub mod config;
mod config_error;
pub mod credentials;
pub mod engine;
mod environment;
mod former_variables;
pub mod http;
pub mod json;
mod json_schema;
pub mod maybe_ready;
pub mod mcp;
mod memory;
pub mod openapi;
pub mod output_schema;
mod seen_shape;
pub mod similar;
pub mod text;
pub mod upstream;
pub mod visible;
