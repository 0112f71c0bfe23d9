//! OAuth 2 for clients of MCP servers and for protected resources (`auth.md`), without I/O. State machines yield requests and take answers and times; they
//! know no socket, no clock and no random source, so that they can be tested and fuzzed whole. `ptc-host` and `ptc-server`
//! drive them.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`secret`], [`timestamp`] | secret text; points in time |
//! | [`message`] | requests, answers, and [`Flow`](message::Flow), a conversation of several |
//! | [`failure`], [`error_code`] | errors of a sign-in, in the words of the specification; codes of servers |
//! | [`challenge`] | `WWW-Authenticate` |
//! | [`fetch_address`] | the addresses from which metadata and tokens may be fetched |
//! | [`metadata`], [`discovery`], [`cache`] | the resource of an upstream, its authorization server, and how long they are cached |
//! | [`scopes`], [`resource`] | the parameters `scope` and `resource` |
//! | [`client`], [`client_key`], [`registration`] | clients, their authentication and their registration |
//! | [`authorize`], [`callback`] | the request that a browser carries, and its answer |
//! | [`grants`] | requests for tokens and their answers |
//! | [`tokens`] | the record of tokens, their validity, and their renewal |
//! | [`jwt`] | access tokens that callers bring: JWTs, the keys of their issuers, introspection |

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
pub mod jwt;
pub mod message;
pub mod metadata;
pub mod registration;
pub mod resource;
pub mod scopes;
pub mod secret;
pub mod timestamp;
pub mod tokens;
