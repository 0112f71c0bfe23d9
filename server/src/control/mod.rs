//! The control socket: how commands of the same user reach a running server.
//!
//! Each server has a Unix socket of its own in the state folder. Both sides write JSON lines: a command sends
//! `{"method":"reload","check":false}` and reads one answer. Nothing travels that is secret, and nothing can be asked for but what
//! SIGHUP does, too.

pub(crate) mod client;
pub(crate) mod listener;
pub(crate) mod message;

/// What the names of all sockets begin with; the process and a random part follow.
const PREFIX: &str = "control-";
/// What they end with.
const SUFFIX: &str = ".sock";
