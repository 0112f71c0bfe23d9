//! OAuth 2 towards MCP servers (`auth.md`), without I/O. State machines yield requests and take answers and times; they know no
//! socket, no clock and no random source, so that they can be tested and fuzzed whole. `ptc-host` and `ptc-server` drive them.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`secret`], [`timestamp`], [`message`] | secret text; points in time; requests, answers, and [`Flow`](message::Flow), a conversation of several |
//! | [`failure`], [`error_code`] | why a sign-in failed, in the words of the specification; codes of servers |
//! | [`challenge`] | `WWW-Authenticate` |
//! | [`fetch_address`] | where metadata and tokens may be fetched from |
//! | [`metadata`], [`discovery`], [`cache`] | whose resource an upstream is, who gives tokens for it, and how long that is known |
//! | [`scopes`], [`resource`] | the parameters `scope` and `resource` |
//! | [`client`], [`client_key`], [`registration`] | clients, how they authenticate, and how we come to one |
//! | [`authorize`], [`callback`] | the request that a browser carries, and its answer |
//! | [`grants`] | requests for tokens and their answers |
//! | [`tokens`] | the record of tokens, their validity, and their renewal |

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod authorize;
pub mod cache;
pub mod callback;
pub mod challenge;
pub mod client;
pub mod client_key;
pub mod discovery;
pub mod error_code;
pub mod failure;
pub mod fetch_address;
mod form;
pub mod grants;
mod json;
pub mod message;
pub mod metadata;
pub mod registration;
pub mod resource;
pub mod scopes;
pub mod secret;
pub mod timestamp;
pub mod tokens;
