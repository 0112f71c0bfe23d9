//! MCP without a transport: messages in, answers out, for both eras of the protocol on the same conversation.
//!
//! A transport reads frames or bodies, gives each [`Message`](ptc_mcp::message::strict::Message) to
//! [`service::Service::handle`] and sends the result. Calls that take time are returned as a [`call::Call`] to run;
//! all other messages are answered at once.

mod answers;
pub mod call;
mod client;
pub(crate) mod client_requests;
pub mod connection;
pub mod drain;
pub(crate) mod elicitation;
mod elsewhere;
pub(crate) mod exposed;
mod handled;
mod hearing;
pub(crate) mod listeners;
mod log_budget;
pub mod methods;
pub mod observer;
pub mod progress;
pub mod reply;
mod results;
pub mod service;
pub(crate) mod tasks;
pub mod tool;
mod watches;

pub(crate) use answers::answers;
pub(crate) use call::Watching;
pub use call::{Call, Finished};
pub use client::LongText;
pub(crate) use client::{ClientFacts, KnownClient};
pub use connection::Connection;
pub(crate) use drain::Drain;
pub(crate) use elicitation::Elicitation;
pub(crate) use elsewhere::Elsewhere;
pub(crate) use handled::Disposition;
pub use handled::{Handled, Reply};
pub(crate) use results::change;
pub(crate) use service::{Asking, SessionNeed};
pub use service::{MessageContext, Service};
pub(crate) use watches::Notice;
