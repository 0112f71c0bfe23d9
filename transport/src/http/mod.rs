//! MCP over Streamable HTTP, both eras on one endpoint, and the two routes that operators probe.
//!
//! Every connection lives on one worker thread of the engine, where its programs start without a thread switch. A
//! request is checked in a fixed order — host, origin, credentials, method — before its body is read.

mod admission;
mod answer;
mod auth;
mod body;
mod callers;
mod calm_stream;
mod connection;
mod connection_registry;
mod console;
mod console_calls;
mod console_drafts;
mod console_runs;
mod console_trial;
mod counts;
mod endpoint;
mod frames;
mod gated_future;
mod headers;
mod ids;
mod in_progress;
mod limiter;
mod listener;
mod metrics;
mod origin;
mod patience;
mod portable_id;
mod post;
mod protected_resource;
mod replica_announcements;
mod replica_listener;
mod router;
mod sealed_id;
mod sessions;
mod siblings;
mod sign_in;
mod small_body;
mod tls;
mod webhook;

#[cfg(test)]
mod tests;

pub use callers::{CallerChanges, Callers};
pub use listener::{BoundListener, HttpServer, Listening};
pub use tls::{Certificate, CurrentCertificate};
