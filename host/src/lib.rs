//! Drives PTC-Lisp machines on tokio and connects them to upstream tool servers.
//!
//! | Module | What it is |
//! |---|---|
//! | [`engine`] | evaluates programs on a few single-threaded runtimes; a `Send + Clone` handle |
//! | [`aggregator`] | owns the configured upstreams, answers `tool/call` and discovery |
//! | [`config`], [`credentials`] | the upstreams file, fully validated; secrets, their request headers, the redactor |
//! | [`catalog`] | what the upstreams offer: rendering, search, checks of calls |
//! | [`questions`], [`canonical_json`] | what people are asked; JSON in one spelling, for digests |
//! | [`upstream`], [`audience`] | the trait of all transports; who hears what upstreams say while they work |
//! | [`state`] | stores of what outlives a request or a process |
//! | [`time`], [`pace`] | the one clock, which tests can set ahead; how work on bytes of others gives way |
//! | [`text`], [`visible`] | text helpers: truncation, literals; hidden characters made visible |
//! | [`ordinary_file`] | the one reader of configuration, keys and the like |
//! | [`mcp`], [`child`] | MCP client of both eras; child processes under a guard |
//!
//! The engine is always there. Upstreams and all that they need are behind the feature `upstreams` (on by default), which
//! brings `http`, the HTTP client, too.

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(feature = "upstreams"),
    expect(dead_code, unreachable_pub, reason = "what upstreams alone use stays where it belongs")
)]

#[cfg(feature = "upstreams")]
pub mod aggregator;
mod answer_shape;
pub mod audience;
#[cfg(feature = "seals")]
pub mod canonical_json;
#[cfg(feature = "upstreams")]
pub mod catalog;
#[cfg(feature = "upstreams")]
pub mod child;
#[cfg(feature = "upstreams")]
pub mod config;
mod config_error;
pub mod credentials;
#[cfg(feature = "seals")]
pub mod digest;
pub mod engine;
pub mod environment;
#[cfg(feature = "upstreams")]
mod former_variables;
#[cfg(feature = "http")]
pub mod http;
pub mod json;
#[cfg(feature = "upstreams")]
mod json_schema;
pub mod maybe_ready;
#[cfg(feature = "upstreams")]
pub mod mcp;
mod memory;
#[cfg(feature = "upstreams")]
pub mod openapi;
pub mod ordinary_file;
pub mod output_schema;
pub mod pace;
#[cfg(feature = "seals")]
mod private_file;
pub mod questions;
mod seen_shape;
#[cfg(feature = "upstreams")]
pub mod sign_in;
#[cfg(feature = "upstreams")]
pub mod similar;
pub mod state;
pub mod text;
pub mod time;
#[cfg(feature = "upstreams")]
pub mod upstream;
pub mod visible;
