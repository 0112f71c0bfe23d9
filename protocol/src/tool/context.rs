//! The facts of a call that a tool receives besides the arguments.

use std::sync::Arc;

use ptc_host::audience::Audience;
use ptc_host::engine::{CallsSoFar, EvalId};
use ptc_host::questions::QuestionId;
use ptc_host::trace::Trace;
use ptc_mcp::Revision;
use ptc_mcp::message::id::RequestId;
use tokio::sync::watch;

use crate::client_requests::ClientLine;
use crate::concurrency_limiter::PermitLoan;
use crate::elicitation::Elicitation;
use crate::principal::Owner;
use crate::request_state::Opened;
use crate::tool::dialect::CallExtras;

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
    pub origin: Option<RequestOrigin>,
    /// The id of the evaluation that the call may become. It links answer, log, trace, metrics and debug record.
    pub eval_id: EvalId,
    /// The trace of the request, if its client sent one or spans are exported.
    pub trace: Option<Arc<Trace>>,
    /// Longest text of a result that the client passes to its model whole, in bytes, if that is known.
    pub result_room: Option<usize>,
    /// Receives the progress of a program's upstream calls, if the client asked for it.
    pub progress: Option<watch::Sender<CallsSoFar>>,
    /// Receives upstreams' messages about them, if the client asked for them.
    pub audience: Option<Arc<Audience>>,
    /// How its client can be asked.
    pub asked: ClientReach,
    /// The loan through which its program uses the permit.
    pub permit: PermitLoan,
}

/// How the client of a call can be asked the questions of a program (waiting.md 4.1).
#[derive(Debug, Clone, Default)]
pub struct ClientReach {
    /// The modes of questions that it shows to its user.
    pub modes: Elicitation,
    /// The line on which it is asked while the call runs: handshake era.
    pub line: Option<ClientLine>,
    /// The returned state and its answers: modern era.
    pub retry: Option<Arc<Retry>>,
    /// True if the call may become a task, whose client is then asked the questions of its program: modern era.
    pub takes_tasks: bool,
    /// Further facts of the call for a tool with a dialect.
    pub extras: Option<Arc<CallExtras>>,
}

/// A call that resumes a program which its client holds as a state.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The state.
    pub state: Opened,
    /// The digest of the state and `inputResponses`, byte by byte.
    pub digest: [u8; 32],
    /// `inputResponses` as sent: an object of objects with an action each.
    pub responses: Option<String>,
    /// The results of the pages that its user was sent to, once they have been awaited.
    pub visited: Option<PageVisits>,
}

/// The results of pages.
#[derive(Debug, Clone, Default)]
pub struct PageVisits {
    /// Questions that need no further answer: the page is done.
    pub done: Vec<QuestionId>,
    /// Questions for which only a page was opened.
    pub undone: Vec<QuestionId>,
}

/// The request of a transport that carried a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The request's own id, as it is logged.
    pub request_id: Arc<str>,
}
