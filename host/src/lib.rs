//! Evaluates PTC-Lisp programs on tokio, many at a time within limits, and connects them to MCP servers and REST services.
//!
//! # A program
//!
//! ```
//! use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits, Render};
//! use ptc_host::json::json;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let engine = Engine::start(EngineOptions::default())?;
//! let request = EvalRequest {
//!     context: Some(json!({"basket": [{"cents": 450, "n": 3}, {"cents": 800, "n": 1}]}).to_string().into()),
//!     limits: Limits { timeout: Duration::from_secs(1), ..Limits::plain() },
//!     render: Render { max_text_bytes: None, json: true },
//!     ..EvalRequest::new("{:total (reduce + (map #(* (:cents %) (:n %)) data/basket))}")
//! };
//! let outcome = engine.eval(request).await;
//! let answer = outcome.result.map_err(|failure| failure.full_message())?;
//! assert_eq!(answer.text, "{:total 2150}");
//! assert_eq!(answer.json.ok_or("JSON was requested")??, r#"{"total":2150}"#);
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Engine`](engine::Engine) is a cheap handle of worker threads; a process usually has one. Dropping the future of
//! [`eval`](engine::Engine::eval) cancels the program. A failed program is an `Err` with a message for its author, and never a
//! panic. Functions of your own, called as `(tool/NAME …)`, implement [`AppTools`](engine::AppTools).
//!
//! # Upstream servers
//!
//! The configuration is that of an upstreams file. A program calls the servers in it by `tool/call`, and finds their tools by
//! `apropos` and `doc`:
//!
//! ```
//! # #[cfg(feature = "upstreams")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
//! use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
//! use ptc_host::engine::{Engine, EngineOptions, EvalRequest};
//! use ptc_host::json::json;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let file = json!({"upstreams": {
//!     "notes": {"transport": "mcp_http", "url": "http://127.0.0.1:9/mcp", "allow_insecure_http": true},
//! }});
//! let env = ProcessEnv::current();
//! let config = UpstreamsConfig::from_value(&file, &LoadOptions { env: &env, base_dir: None, own_exe: None })?;
//! // `Live` connects at the first call; `Frozen` connects now and fails if a server is missing.
//! let upstreams = Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Live)).await?;
//!
//! let engine = Engine::start(EngineOptions::default())?;
//! let program = r#"
//!   (let [reply (tool/call {:server "notes" :tool "read" :args {:id 7}})]
//!     (if (:ok reply) (:value reply) "notes are unavailable"))"#;
//! let request = EvalRequest { upstreams: Some(upstreams), ..EvalRequest::new(program) };
//! let outcome = engine.eval(request).await;
//! let answer = outcome.result.map_err(|failure| failure.full_message())?;
//! // No server listens there. Failed calls are data: the program decides, and the record has the cause.
//! assert_eq!(answer.text, r#""notes are unavailable""#);
//! assert_eq!(outcome.upstream_calls.len(), 1);
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "upstreams"))]
//! # fn main() {}
//! ```
//!
//! # Features
//!
//! | Feature | Adds |
//! |---|---|
//! | `upstreams` (default) | MCP and OpenAPI clients, their configuration, child processes and the catalog; brings `http2` and `seals` |
//! | `http` | the HTTP client alone, for HTTP/1.1 |
//! | `http2` | HTTP/2 where TLS negotiates it; brings `http` |
//! | `saved-sessions` | sessions and suspended programs as bytes, for stores |
//! | `state` | stores of state in a file and in Redis; brings `seals` |
//! | `seals` | the interface of stores, and encryption and signatures under the operator's secret |
//!
//! The engine needs no feature.
//!
//! # Modules
//!
//! | Module | Content |
//! |---|---|
//! | [`engine`] | evaluation of programs, their limits, sessions and suspension |
//! | [`aggregator`] | the running upstreams, which answer `tool/call` and discovery |
//! | [`config`], [`credentials`] | the upstreams file, validated; secrets, request headers and the redactor |
//! | [`catalog`] | the tools of the upstreams: descriptions, search, checks of calls |
//! | [`upstream`], [`mcp`], [`openapi`] | the interface of all upstreams; MCP clients of both eras; REST services |
//! | [`sign_in`] | OAuth sign-ins to upstreams and their stores |
//! | [`issuers`] | verification of the access tokens that callers of a server bring |
//! | [`questions`], [`audience`] | questions to people; receivers of upstreams' progress and log messages |
//! | [`state`] | stores for sessions and runs that outlive a process |
//! | [`http`], [`child`] | the HTTP client; child processes under a guard |
//! | [`output_schema`], [`similar`] | JSON Schema for the values of programs; similar names for error messages |
//! | [`json`], [`canonical_json`], [`digest`] | JSON values; the canonical form for digests; SHA-256 |
//! | [`text`], [`visible`], [`line_diff`] | truncation and literals; hidden characters made visible; what differs between two texts |
//! | [`time`], [`pace`] | the clock, which tests can set ahead; cooperative yielding |
//! | [`sync`] | locks without poison |
//! | [`environment`], [`ordinary_file`] | environment variables; bounded reading of configuration and key files |

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "upstreams")]
pub mod aggregator;
#[cfg(feature = "upstreams")]
pub mod catalog;

#[cfg(feature = "saved-sessions")]
pub use ptc_base::codec;
pub use ptc_base::{
    environment, json, line_diff, name_pattern, ordinary_file, pace, sync, text, time, trace, visible,
};
pub use ptc_engine::{self as engine, audience, questions};
#[cfg(feature = "http")]
pub use ptc_http as http;
pub use ptc_policy as policy;
pub use ptc_schema::output_schema;
#[cfg(feature = "seals")]
pub use ptc_secret::{canonical_json, digest, folder_hold, private_folder};

/// Secrets: their sources, their use in request headers, and their redaction everywhere else.
pub mod credentials {
    pub use ptc_base::redactor::{NoRoom, PROCESS, Redactor};
    pub use ptc_base::secret::{REDACTED, Secret};
    #[cfg(feature = "upstreams")]
    pub use ptc_secret::credentials::CredentialStore;
}
#[cfg(feature = "seals")]
pub use ptc_state as state;
#[cfg(feature = "upstreams")]
pub use {
    ptc_base::similar,
    ptc_upstreams::{child, config, issuers, mcp, openapi, sign_in, upstream},
};
