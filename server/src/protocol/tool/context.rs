//! The facts of a call that a tool receives besides the arguments.

use std::sync::Arc;

use ptc_host::audience::Audience;
use ptc_host::engine::{CallsSoFar, EvalId};
use ptc_mcp::Revision;
use ptc_mcp::message::id::RequestId;
use tokio::sync::watch;

use crate::principal::Owner;

/// The facts of a call.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The owner of the call.
    pub owner: Owner,
    /// Its JSON-RPC id.
    pub request_id: RequestId,
    /// The protocol revision of the call.
    pub revision: Revision,
    /// The transport's request that carried it. HTTP has requests, a pipe has none.
    pub origin: Option<Origin>,
    /// The id of the evaluation that the call may become. It links answer, log, trace, metrics and debug record.
    pub eval_id: EvalId,
    /// Longest text of a result that the client hands to its model whole, in bytes, if that is known.
    pub result_room: Option<usize>,
    /// Receives the progress of a program's upstream calls, if the client asked for it.
    pub progress: Option<watch::Sender<CallsSoFar>>,
    /// Hears what upstreams say of them, if the client asked for it.
    pub audience: Option<Arc<Audience>>,
}

/// The request of a transport that brought a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The request's own id, as logs name it.
    pub request_id: Arc<str>,
}
