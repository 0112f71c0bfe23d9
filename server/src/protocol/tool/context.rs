//! What a tool is told about a call besides its arguments.

use std::sync::Arc;

use ptc_host::engine::{CallsSoFar, EvalId};
use ptc_mcp::Revision;
use ptc_mcp::message::id::RequestId;
use tokio::sync::watch;

use crate::principal::Owner;

/// The facts of a call.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Whose call it is.
    pub owner: Owner,
    /// Its JSON-RPC id.
    pub request_id: RequestId,
    /// The revision it came under.
    pub revision: Revision,
    /// The request of the transport that brought it. HTTP has requests, a pipe has none.
    pub origin: Option<Origin>,
    /// The id of the evaluation that the call may become: it joins answer, log, trace, metrics and debug record.
    pub eval_id: EvalId,
    /// Told how far the upstream calls of a program have come, where the client wants to know.
    pub progress: Option<watch::Sender<CallsSoFar>>,
}

/// The request of a transport that brought a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The request's own id, as logs name it.
    pub request_id: Arc<str>,
}
