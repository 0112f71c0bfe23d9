//! The facts of a call that a tool receives besides the arguments.

use std::sync::Arc;

use ptc_host::audience::Audience;
use ptc_host::engine::{CallsSoFar, EvalId};
use ptc_host::questions::QuestionId;
use ptc_mcp::Revision;
use ptc_mcp::message::id::RequestId;
use tokio::sync::watch;

use crate::concurrency_limiter::PermitLoan;
use crate::principal::Owner;
use crate::protocol::client_requests::ClientLine;
use crate::protocol::elicitation::Elicitation;
use crate::protocol::tool::dialect::CallExtras;
use crate::request_state::Opened;

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
    /// How its client can be asked.
    pub asked: Asked,
    /// By what its program lends its permit.
    pub permit: PermitLoan,
}

/// How the client of a call can be asked what a program waits for (waiting.md 4.1).
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// What it shows to its user, if anything.
    pub(crate) modes: Elicitation,
    /// The line on which it is asked while the call runs: handshake era.
    pub(crate) line: Option<ClientLine>,
    /// The state that it brought back, and what it answers: modern era.
    pub(crate) retry: Option<Arc<Retry>>,
    /// Whether the call may become a task, which is then asked what its program waits for: modern era.
    pub(crate) takes_tasks: bool,
    /// What else a tool with a dialect knows of it.
    pub(crate) extras: Option<Arc<CallExtras>>,
}

/// A call that goes on with a program that was given to the client.
#[derive(Debug, Clone)]
pub(crate) struct Retry {
    /// What the state has.
    pub(crate) state: Opened,
    /// Stands for the state and `inputResponses`, byte by byte.
    pub(crate) digest: [u8; 32],
    /// `inputResponses` as sent: an object of objects with an action each.
    pub(crate) responses: Option<String>,
    /// What has come of the pages that its user was sent to, once they have been waited for.
    pub(crate) visited: Option<Visited>,
}

/// What has come of pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visited {
    /// Questions of which nobody needs to say more: it has been done.
    pub(crate) done: Vec<QuestionId>,
    /// Questions whose pages were opened and no more.
    pub(crate) undone: Vec<QuestionId>,
}

/// The request of a transport that brought a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The request's own id, as logs name it.
    pub request_id: Arc<str>,
}
