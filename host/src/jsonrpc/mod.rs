//! JSON-RPC 2.0 as MCP peers really speak it: messages are encoded straight into byte buffers and
//! read leniently with borrowed raw JSON, so that arguments and results pass through untouched.
//!
//! * [`Message`], [`RpcError`] — one incoming message, classified without decoding its payload.
//! * [`encode`] — requests, notifications and replies as single lines.
//! * [`lines`] — newline framing with a byte cap that never loses the frame after an oversized one.

pub mod encode;
pub mod lines;
mod message;

pub(crate) use message::clip;
pub use message::{Message, Messages, RpcError, compact_len, id_of_head, id_of_tail, number_of_id, parse};
