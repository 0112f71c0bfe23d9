//! The interface to an upstream: start it, list its tools, call one, use its other features, report its health, stop it.
//! Programs and the engine do not see the transport.
//!
//! * [`Upstream`] — the trait every transport implements (`mcp_stdio`, `mcp_http`, `openapi`).
//! * [`Call`], [`CallLimits`], [`Arrivals`] — one tool call, its limits, and the account that its reply is charged to.
//! * [`Caller`] — the principal of a request, and the audience for the upstream's messages during it.
//! * [`Query`] — a request for something besides tools: resources, prompts, completions.
//! * [`CallReply`], [`Payload`] — the reply, still as the upstream's own JSON bytes.
//! * [`CallFault`], [`FaultReason`] — world faults, from a closed set of reasons.
//! * [`Unfinished`], [`Elicitation`], [`SamplingRequest`] — an upstream's requirements before it answers; [`QuestionSink`] — where it
//!   asks during a call; [`Visits`] — the pages that it sends people to.
//! * [`Health`], [`UpstreamEvent`] — for operators, `ptc check` and live catalogs.

pub(crate) mod asking;
mod caller;
pub mod connections;
mod elicitation;
mod fault;
mod health;
pub(crate) mod http_refusal;
mod introduction;
pub(crate) mod lifecycle;
#[cfg(test)]
mod numbered;
pub(crate) mod one_run;
pub(crate) mod open_for;
pub mod per_principal;
mod reply;
pub(crate) mod request_token;
mod sampling;
pub(crate) mod slots;
pub(crate) mod trace_headers;
pub mod unavailable_upstream;
mod unfinished;
mod visits;

pub use asking::{AcceptedQuestions, AskedSampling, CallQuestion, QuestionSink, Stopwatch};
pub use caller::{Caller, SaidMessage};
pub use elicitation::{Elicitation, ElicitationMode, NotAskable};
pub use fault::{CallFault, FailureAnswer, FaultReason};
pub use health::{Health, Phase, UpstreamEvent};
pub use introduction::{Introduction, Offers};
pub use ptc_base::memory::Arrivals;
pub use ptc_vm::machine::{BlockMember, ContentBlock, Payload};
pub use reply::CallReply;
pub use sampling::{
    MAX_SAMPLING_BYTES, Sampled, SamplingContent, SamplingFault, SamplingFaultKind, SamplingMessage,
    SamplingRequest, SamplingStop,
};
pub use unfinished::{
    InputRequest, InputRequired, MAX_INPUT_KEY, MAX_INPUT_REQUESTS, MAX_REQUEST_STATE, MAX_TASK_ID,
    TaskAnswer, Unfinished,
};
pub use visits::Visits;

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ptc_base::time::{self, Instant};
pub use ptc_mcp::encode::ResendMembers;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

/// The most tools of one upstream; a longer list is cut (decision 241).
pub const MAX_TOOLS: usize = 2_000;

/// One configured tool server, over any transport.
///
/// Handles are `Send + Sync`: a machine's worker may call an upstream whose transport lives on another runtime thread. Dropping
/// a returned future cancels its request: a call that was already written is cancelled at the upstream too (stdio:
/// `notifications/cancelled`, HTTP: the exchange is closed), a start continues in the background for the next caller.
pub trait Upstream: Send + Sync {
    /// The name under `upstreams` in the configuration file.
    fn name(&self) -> &str;

    /// The transport's name as the configuration file spells it, for instance `mcp_stdio`.
    fn transport(&self) -> &'static str;

    /// The upstream that serves the caller, where callers do not share one connection and one list of tools. `None`: this upstream
    /// itself does.
    fn serving(&self, caller: Caller<'_>) -> Option<Result<Arc<dyn Upstream>, CallFault>> {
        let _ = caller;
        None
    }

    /// Starts the upstream unless it runs already, and lists its tools.
    ///
    /// At most one start is under way at any time; all callers wait for that one. The wait is
    /// bounded by the upstream's own `handshake_timeout_ms`; a caller with less time drops the
    /// future.
    ///
    /// # Errors
    /// The fault of the failed start; `in recovery` while the recovery window of a crash is open.
    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>>;

    /// The tools of the latest start or listing, in the upstream's own order: listed if they have not been, and listed
    /// afresh if the upstream has announced a change since.
    ///
    /// # Errors
    /// As [`Upstream::ensure_started`].
    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>>;

    /// How the upstream introduced itself at its latest start; empty before, and where a transport knows no greeting.
    fn introduction(&self) -> Introduction {
        Introduction::default()
    }

    /// Lists the tools afresh, whether or not a change was announced.
    ///
    /// # Errors
    /// As [`Upstream::ensure_started`]; the list of before then stays.
    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>>;

    /// Calls one tool, starting the upstream first if it is not running.
    ///
    /// # Errors
    /// A [`CallFault`] with a reason of the closed set. A tool that reports `isError` is the fault [`FaultReason::ToolError`].
    /// If the upstream lists other tools than those of `judged_by`, nothing is sent and `relisted` says so.
    /// If the upstream requires something before it answers, `unfinished` describes it; for a caller that cannot provide it,
    /// that is a fault like any other.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>>;

    /// Asks for something besides tools, starting the upstream first if it is not running. Yields the text of the
    /// answer's `result`, a JSON object.
    ///
    /// # Errors
    /// As [`Upstream::call`]; [`FaultReason::UpstreamError`] from a transport that knows nothing besides tools.
    fn query<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        let text = format!("upstream '{}' has tools only, no {}", self.name(), query.method);
        Box::pin(std::future::ready(Err(CallFault::upstream_error(text))))
    }

    /// How the upstream is right now. Never blocks, never starts anything.
    fn health(&self) -> Health;

    /// The latest log messages of the upstream that this principal may see, the oldest first: those of its own calls, and those
    /// from before the first call.
    fn messages(&self, principal: Option<&str>) -> Vec<SaidMessage> {
        let _ = principal;
        Vec::new()
    }

    /// The pages that it has sent this principal to; `None` if it sends people to none, or has not been called yet.
    fn visits(&self, principal: Option<&str>) -> Option<Arc<Visits>> {
        let _ = principal;
        None
    }

    /// Whose questions are open on the one stream that all calls share, where there is such a stream.
    #[expect(
        private_interfaces,
        reason = "connections of one upstream ask each other; nobody else makes any"
    )]
    fn open_for(&self) -> Option<&Arc<open_for::OpenFor>> {
        None
    }

    /// Events of the upstream from now on. A receiver that lags loses the oldest events.
    fn events(&self) -> broadcast::Receiver<UpstreamEvent>;

    /// Ends the upstream for good: children are gone, sessions deleted when this resolves. Calls in
    /// flight fail with [`FaultReason::UpstreamUnavailable`]; later ones do so at once.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// One tool call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name as the upstream lists it.
    pub tool: &'a str,
    /// The arguments as the text of one JSON object. It is sent unchanged: nothing is re-typed, re-ordered or dropped.
    pub arguments: &'a [u8],
    /// Additions to a repeated call: the answers that the upstream asked for.
    pub again: ResendMembers<'a>,
    /// The limits of the call.
    pub limits: CallLimits,
    /// The account of the reply's bytes, if there is one.
    pub arrivals: Option<&'a dyn Arrivals>,
    /// The caller.
    pub caller: Caller<'a>,
    /// Whether an answer of nothing but `result` is taken as a wrapper around the payload: the tool's description says so,
    /// or says nothing about its answers.
    pub may_wrap: bool,
    /// The list of tools by which it was judged: it is sent only while the upstream lists the same. `None`: whatever it lists.
    pub judged_by: Option<&'a Weak<[ToolInfo]>>,
}

/// A request for something besides tools.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The method, for instance `resources/read`.
    pub method: &'static str,
    /// The members of `params` as the text of one JSON object.
    pub params: &'a [u8],
    /// The name in the request, which the modern era wants in a header: a resource's URI or a prompt's name.
    pub subject: Option<&'a str>,
    /// The limits of the exchange.
    pub limits: CallLimits,
    /// The account of the reply's bytes, if there is one.
    pub arrivals: Option<&'a dyn Arrivals>,
    /// The caller.
    pub caller: Caller<'a>,
}

/// The fault of a reply that its caller had no memory for. The caller knows more about why.
pub(crate) fn no_memory(received: u64) -> CallFault {
    CallFault::new(FaultReason::ResponseTooLarge, "no memory is left for the reply").with_bytes(received)
}

/// The limits of one call.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// The longest wait for the answer, counted from the moment when the first byte of the request
    /// is written. Waiting in a queue or for a connection does not count.
    pub timeout: Duration,
    /// The end of everything, queueing and cold start included: the program's own deadline.
    pub deadline: Instant,
    /// The largest answer in bytes, counted on the wire and checked before anything is decoded; binary content, for
    /// which there is [`CallLimits::binary_bytes`], does not count.
    pub max_bytes: usize,
    /// The most binary content of an answer, in characters of base64.
    pub binary_bytes: usize,
}

impl CallLimits {
    /// Those of a call that begins now and stands alone: `timeout` is all the time it has.
    pub fn within(timeout: Duration, max_bytes: usize) -> CallLimits {
        CallLimits { timeout, deadline: time::now() + timeout, max_bytes, binary_bytes: 0 }
    }
}

/// One tool as its upstream describes it.
#[derive(Debug, Clone)]
pub struct ToolInfo {
    /// The tool's name: never empty, unique within the upstream.
    pub name: Box<str>,
    /// The whole tool object as the upstream sent it (name, description, schemas, annotations …). Untrusted text: scrub and
    /// bound it before showing it.
    pub json: Box<RawValue>,
}
