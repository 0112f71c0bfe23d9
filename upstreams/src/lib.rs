//! Clients of upstream servers, and what they need.
//!
//! | Module | Content |
//! |---|---|
//! | [`config`] | the upstreams file, validated |
//! | [`upstream`], [`mcp`], [`openapi`] | the interface of all upstreams; MCP clients of both eras; REST services |
//! | [`sign_in`] | OAuth sign-ins to upstreams and their stores |
//! | [`issuers`] | who gives access tokens to our own callers: their keys, and what they say of opaque tokens |
//! | [`child`] | child processes under a guard |

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod child;
pub mod config;
pub mod issuers;
pub mod mcp;
pub mod openapi;
pub mod sign_in;
pub mod upstream;
