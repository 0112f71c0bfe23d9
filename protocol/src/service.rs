//! State shared by all conversations of a process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::mcp::ClientRoots;
use ptc_host::policy::{Authority, Caller, CurrentPolicy};
use ptc_host::sync::RwLock;
use ptc_host::trace::Trace;
use ptc_mcp::Era;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::json::{self, Raw};
use ptc_mcp::message::strict::StrictMessage;
use ptc_mcp::trace_context::TraceContext;
use tokio::sync::watch;

use super::client::KnownClient;
use super::connection::Connection;
use super::drain::Drain;
use super::exposed_features::ExposedFeatures;
use super::listeners::{ListenerLimits, Listeners};
use super::log_budget::LogBudget;
use super::observer::{Observers, Tracer};
use super::reply::{self, Answers};
use super::tasks::TaskDesk;
use super::tool::Registry;
use crate::concurrency_limiter::{CallLimits, ConcurrencyLimiter};
use crate::identity;
use crate::principal::{Owner, Principal};
use crate::request_state::RequestStates;

/// The context of a message besides its text.
#[derive(Clone, Copy)]
pub struct MessageContext<'a> {
    /// The conversation it belongs to.
    pub connection: &'a Arc<Connection>,
    /// The protocol rules that apply to it.
    pub era: Era,
    /// The id of the transport's own request, if the transport has requests and an observer may ask for it.
    pub origin: Option<&'a str>,
    /// The trace that the transport's request names.
    pub trace: Option<&'a TraceContext>,
    /// Gets the trace of the message, if it has one.
    pub traced: Option<&'a OnceLock<Arc<Trace>>>,
    /// Its caller, with the authority that it brings: messages of one conversation may be of several callers.
    pub caller: &'a Principal,
}

impl<'a> MessageContext<'a> {
    /// A message of this conversation that came without a request of the transport.
    pub fn new(connection: &'a Arc<Connection>, era: Era, caller: &'a Principal) -> Self {
        MessageContext { connection, era, origin: None, trace: None, traced: None, caller }
    }

    /// On whose behalf it is answered, with what it may do now.
    pub(crate) fn owner(&self, service: &Service) -> Owner {
        let http_session = self.connection.http_session().cloned();
        Owner { principal: service.present(self.caller), http_session }
    }

    /// The protocol revision of the message.
    pub(crate) fn revision(&self) -> Revision {
        match self.era {
            Era::Modern => Revision::V2026_07_28,
            Era::Handshake => self.connection.revision().unwrap_or(Revision::LATEST_HANDSHAKE),
        }
    }

    /// The client, if it is a known one. `info` is the `clientInfo` of the message, which names it in the modern era.
    pub(crate) fn client(&self, info: Option<Raw<'_>>) -> Option<KnownClient> {
        match self.era {
            Era::Modern => KnownClient::of(info),
            Era::Handshake => self.connection.client(),
        }
    }
}

/// How clients are asked the questions of programs.
#[derive(Debug, Clone)]
pub struct AskingSettings {
    /// Seals and opens the states that clients of the modern era return.
    pub states: RequestStates,
    /// How long a call waits for the reply of a client of the handshake era (`--question-open-ms`).
    pub open: Duration,
    /// How long a call that resumes a program waits for its client's user to finish on a page (`--page-wait-ms`).
    pub page: Duration,
}

/// Why clients of the handshake era need an HTTP session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionNeed {
    /// It has state of its own: PTC-Lisp sessions.
    State,
    /// It only identifies the client, whose limits determine how results and descriptions are cut.
    Habits,
    /// Nothing.
    None,
}

/// Makes the `instructions` of a caller.
pub type Introduces = Box<dyn Fn(&Arc<Authority>) -> String + Send + Sync>;

/// Everything needed to answer messages, shared by all conversations of a process.
pub struct Service {
    /// The tools.
    pub tools: Registry,
    /// Makes the messages of prompts of extensions.
    pub prompts: Registry,
    /// The limit on calls in progress.
    pub limiter: Arc<ConcurrencyLimiter>,
    /// The open `subscriptions/listen` channels.
    pub listeners: Arc<Listeners>,
    /// `serverInfo` as JSON.
    pub server_info: String,
    /// `instructions` for clients.
    instructions: RwLock<String>,
    /// Makes those of a caller, whom the policy may not show all upstreams.
    pub introduces: Option<Introduces>,
    /// The features of the upstreams that clients may use besides tools, if any.
    pub exposed: Option<Arc<ExposedFeatures>>,
    /// Removes secrets from upstreams' messages; `None` without upstreams.
    pub upstreams_say: Option<Redactor>,
    /// Why HTTP sessions are needed.
    pub session_need: SessionNeed,
    /// Receives the roots of a client, if an upstream needs them.
    pub client_roots: Option<ClientRoots>,
    /// How clients are asked; `None` if questions are off.
    pub asking: Option<AskingSettings>,
    /// Serves the tasks that calls become; `None` if tasks are off.
    pub tasks: Option<Arc<dyn TaskDesk>>,
    /// What callers may do; `None` if everybody may do everything.
    pub policy: Option<Arc<CurrentPolicy>>,
    /// The profile that the client of a pipe sees; the server has it.
    pub profile: Option<Arc<str>>,
    /// Begins the traces of calls that are exported, if any are.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// The observers of every call, if there are any.
    pub observers: Option<Arc<Observers>>,
    /// The budget of log lines about refused requests.
    pub refusals: LogBudget,
    draining: Drain,
    /// True while upstreams are being started, so that the list of tools may change once.
    starting: AtomicBool,
    /// True once the list of tools may be sent: while upstreams start, the first one waits a moment for them.
    lists_tools: watch::Sender<bool>,
    /// True if the list of tools follows the upstreams' lists.
    changing: AtomicBool,
}

impl Service {
    /// A server with these tools that runs at most as many of their calls at a time as `calls` says.
    pub fn new(tools: Registry, calls: CallLimits) -> Self {
        Service {
            tools,
            prompts: Registry::new(Vec::new()),
            limiter: ConcurrencyLimiter::new(calls),
            listeners: Listeners::new(ListenerLimits::default()),
            server_info: identity::server_info_json(),
            instructions: RwLock::default(),
            introduces: None,
            exposed: None,
            upstreams_say: None,
            session_need: SessionNeed::None,
            client_roots: None,
            asking: None,
            tasks: None,
            policy: None,
            profile: None,
            tracer: None,
            observers: None,
            refusals: LogBudget::default(),
            draining: Drain::default(),
            starting: AtomicBool::new(false),
            lists_tools: watch::Sender::new(true),
            changing: AtomicBool::new(false),
        }
    }

    /// A caller with what it may do now.
    pub fn present(&self, caller: &Principal) -> Principal {
        let Some(policy) = &self.policy else { return caller.clone() };
        let authority = match caller.authority() {
            Some(known) => policy.renewed(known),
            None => policy.of_name(caller.shared_name()),
        };
        caller.clone().with_authority(Some(authority))
    }

    /// As [`present`](Self::present), of one that uses the address of a profile.
    pub fn present_at(&self, caller: &Principal, profile: &Arc<str>) -> Principal {
        let Some(policy) = &self.policy else { return caller.clone() };
        let facts = match caller.authority() {
            Some(known) if policy.is_current(known) => known.caller.clone(),
            Some(known) => known.caller.clone().recalled(),
            None => Caller::forgotten(caller.shared_name()),
        };
        let authority = policy.authority(Caller { profile: Some(profile.clone()), ..facts });
        caller.clone().with_authority(Some(authority))
    }

    /// The client of a pipe.
    pub fn process(&self) -> Principal {
        let process = Principal::process();
        match &self.profile {
            Some(profile) => self.present_at(&process, profile),
            None => self.present(&process),
        }
    }

    /// Sets the `instructions` of conversations that begin later.
    pub fn set_instructions(&self, instructions: String) {
        *self.instructions.write() = instructions;
    }

    /// `instructions` for the caller of a message.
    pub(crate) fn instructions_for(&self, from: MessageContext<'_>) -> String {
        match (&self.introduces, from.owner(self).principal.authority()) {
            (Some(introduces), Some(authority)) => introduces(authority),
            _ => self.instructions.read().clone(),
        }
    }

    /// Notes that upstreams are being started. The list of tools is sent when they have started, or when
    /// [`tell_first_list`](Self::tell_first_list) is called.
    pub fn begin_starting(&self) {
        self.starting.store(true, Ordering::Relaxed);
        self.lists_tools.send_replace(false);
    }

    /// Lets the list of tools be sent with the upstreams known by now.
    pub fn tell_first_list(&self) {
        self.lists_tools.send_replace(true);
    }

    /// Notes that all upstreams have started. The list of tools is made again. If it has not been sent yet, no change
    /// is announced.
    pub fn end_starting(&self) {
        self.starting.store(false, Ordering::Relaxed);
        match *self.lists_tools.borrow() {
            true => self.tools.refresh(),
            false => self.tools.refresh_untold(),
        }
        self.tell_first_list();
    }

    /// True if the list of tools may be sent.
    pub(crate) fn lists_tools(&self) -> bool {
        *self.lists_tools.borrow()
    }

    /// Completes once the list of tools may be sent.
    pub async fn until_tools_are_listed(&self) {
        // The sender lives as long as `self`.
        let _ = self.lists_tools.subscribe().wait_for(|told| *told).await;
    }

    /// Notes that the list of tools may change for as long as the server runs: with the upstreams' lists, or by a reload.
    pub fn begin_following(&self) {
        self.changing.store(true, Ordering::Relaxed);
    }

    /// True if the list of tools may still change.
    pub(crate) fn tools_may_change(&self) -> bool {
        self.is_starting() || self.changing.load(Ordering::Relaxed)
    }

    /// Makes the list of tools again: its facts about upstreams may have changed.
    pub fn refresh_tools(&self) {
        self.tools.refresh();
    }

    /// True while upstreams are being started.
    pub fn is_starting(&self) -> bool {
        self.starting.load(Ordering::Relaxed)
    }

    /// Refuses tool calls on all conversations from now on.
    pub fn drain(&self) {
        self.draining.begin();
    }

    /// True if the whole server is draining.
    pub fn is_draining(&self) -> bool {
        self.draining.has_begun()
    }

    /// How long the whole server has been draining.
    pub fn draining_for(&self) -> std::time::Duration {
        self.draining.elapsed()
    }

    /// Completes once the whole server is draining.
    pub(crate) async fn drained(&self) {
        self.draining.begun().await;
    }

    /// The era of a message on a pipe. The negotiated revision counts, whatever the message says; so does
    /// `initialize` itself (decision 165).
    pub fn era_of(connection: &Connection, message: &StrictMessage<'_>) -> Era {
        let is_settled = connection.revision().is_some() || message.negotiates();
        if message.is_modern() && !is_settled { Era::Modern } else { Era::Handshake }
    }

    /// The answer to bytes that are not acceptable JSON.
    pub fn unparsable(&self, revision: Option<Revision>, malformed: json::JsonError) -> Vec<u8> {
        let error = match malformed {
            json::JsonError::TooDeep => {
                RpcError::new(RpcError::PARSE_ERROR, format!("Parse error: {malformed}"))
            }
            _ => RpcError::parse_error(),
        };
        reply::error(Answers::Unknown(revision), &error)
    }
}
