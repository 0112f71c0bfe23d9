//! A small HTTP client over raw `hyper` connections: HTTP/1.1 kept alive, HTTP/2 where TLS negotiates it, one pool
//! for each origin.
//!
//! * [`Client`] — sends a [`Request`], yields a [`Response`] whose [`Body`] arrives piece by piece.
//! * [`Target`] — the destination of a request: an origin and a path.
//! * [`Route`] — how it gets there: directly, through a [`Proxy`], over a Unix socket.
//! * [`Certificates`] — the operator's own authorities and servers, trusted besides the system's.
//! * [`Limits`] — separate bounds on connecting, on the first byte, on the whole exchange, and on the body's size.
//! * [`SseDecoder`] — splits an event stream into [`Event`]s as it arrives.
//! * [`HttpError`] — the errors, with short fixed texts.
//!
//! The client follows no redirect: a redirect is an ordinary response, and the caller decides. It retries only requests that
//! the server has certainly not read, because the server had already closed a kept-alive connection or, in HTTP/2, disowns the
//! stream. Such a request is sent once more, on a fresh connection.

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod body;
mod certificates;
mod client;
mod connect;
#[cfg(feature = "upstreams")]
mod encoding;
mod error;
mod exchange;
mod host;
mod hyper_timer;
#[cfg(not(feature = "upstreams"))]
mod identity;
mod issuer;
mod pool;
mod route;
#[cfg(feature = "http2")]
mod shared;
#[cfg(not(feature = "http2"))]
#[path = "unshared.rs"]
mod shared;
mod socket;
pub mod standstill;
mod stream;
mod target;
mod tls;
mod tls_advice;
mod verifier;

pub use body::Body;
pub use certificates::{Certificates, TlsRootsError};
pub use client::{Client, Limits, Request, Response, Unanswered};
pub use error::HttpError;
pub use hyper_timer::HyperTimer;
pub use ptc_mcp::sse::{Event, SseDecoder};
pub use route::{Proxy, Route};
pub use target::Target;
