//! MCP without a transport: messages in, answers out, for both eras of the protocol on the same conversation.
//!
//! A transport reads frames or bodies, gives each [`StrictMessage`](ptc_mcp::message::strict::StrictMessage) to
//! [`service::Service::handle`] and sends the result. Calls that take time are returned as a [`call::Call`] to run;
//! all other messages are answered at once.

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answers;
pub mod call;
mod call_notifications;
mod client;
pub mod client_requests;
pub mod concurrency_limiter;
pub mod connection;
pub mod drain;
pub(crate) mod elicitation;
pub mod exposed_features;
mod handler_outcome;
pub mod identity;
pub mod listeners;
pub mod log_budget;
pub mod methods;
pub mod observer;
mod open_requests;
pub mod operator;
pub mod principal;
pub mod progress;
pub mod public_url;
mod replica_port;
pub mod reply;
pub mod report;
mod request_span;
pub mod request_state;
mod results;
pub mod schemas;
pub mod server_state;
pub mod service;
pub mod settings;
pub mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timestamp;
pub mod tool;
pub mod usage;
mod watches;

pub use answers::answers;
pub use call::Watching;
pub use call::{Call, CallResponse};
pub use client::LongText;
pub use client::{ClientFacts, KnownClient, ListStyle};
pub use connection::Connection;
pub use drain::Drain;
pub use elicitation::Elicitation;
pub use handler_outcome::Disposition;
pub use handler_outcome::{HandlerOutcome, Reply};
pub use replica_port::Elsewhere;
pub use results::change;
pub use schemas::SchemaDialect;
pub use service::{AskingSettings, Introduces, SessionNeed};
pub use service::{MessageContext, Service};
pub use watches::Notice;
