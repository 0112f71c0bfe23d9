//! MCP without a transport: messages in, answers out, for both eras of the protocol on the same conversation.
//!
//! A transport reads frames or bodies, gives each [`message::Message`] to [`service::Service::handle`] and sends what
//! comes back. Calls that take time come back as a [`call::Call`] to be run; everything else is answered at once.

pub mod call;
pub mod connection;
pub mod drain;
pub mod error;
mod handled;
pub mod message;
pub mod methods;
pub mod observer;
pub mod progress;
pub mod reply;
mod results;
pub mod service;
pub mod tool;

pub use call::{Call, Finished};
pub use connection::Connection;
pub use drain::Drain;
pub use error::RpcError;
pub use handled::{Disposition, Handled, Reply};
pub use service::{Era, MessageContext, Service};
