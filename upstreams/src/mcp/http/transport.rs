//! A Streamable HTTP endpoint as a transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::encode;
use tokio::runtime::Handle;

use super::super::inbound::Inbound;
use super::super::roots::ClientRoots;
use super::super::upstream::{McpUpstream, Transport};
use super::super::{protocol, result};
use super::handshake::{self, RememberedProtocol};
use super::listen;
use super::post::{Endpoint, HttpReply, Outgoing, PostError};
use super::session::{HttpSession, shutdown_limits};
use crate::config::{HttpConfig, UpstreamConfig};
use crate::sign_in::SignIn;
use crate::upstream::http_refusal::explain_start;
use crate::upstream::lifecycle::{ConnectionEnd, EndKind, Lifecycle, StartedConnection, closed};
use crate::upstream::request_token::heed;
use crate::upstream::{Call, CallFault, CallLimits, CallReply, FaultReason, Phase, Query, ToolInfo, Visits};
use ptc_base::time::{self, Instant};
use ptc_http::{Client, HttpError, Limits, Target};
use ptc_secret::credentials::CredentialStore;

/// How long a start waits for the stream on which the server may ask. One that is silent until it has something to say on it is
/// taken to have opened it.
const LISTEN_PATIENCE: Duration = Duration::from_millis(250);
/// How long a server is asked whether it knows the session.
const DOUBT_LIMIT: Duration = Duration::from_secs(2);

/// A tool server at a Streamable HTTP endpoint.
///
/// Calls run on connections of the shared client's pool, on the caller's runtime; starts run on the runtime given at
/// construction.
pub type HttpUpstream = McpUpstream<HttpTransport>;

/// How an endpoint is greeted, asked and left.
pub struct HttpTransport {
    endpoint: Arc<Endpoint>,
    remembered: Arc<RememberedProtocol>,
    /// Whether changes of the tool list have a listener.
    wanted: Arc<AtomicBool>,
}

/// The life of the session.
type SessionLifecycle = Arc<Lifecycle<HttpSession>>;

impl HttpUpstream {
    /// An upstream that is not started yet. `owner` is the runtime of its starts; it needs I/O and time enabled.
    ///
    /// # Errors
    /// The URL of the entry cannot be requested.
    pub fn new(
        config: &UpstreamConfig,
        entry: &HttpConfig,
        store: Arc<CredentialStore>,
        client: Client,
        roots: &ClientRoots,
        owner: Handle,
    ) -> Result<Self, HttpError> {
        Self::signed_in(config, entry, store, None, client, roots, owner)
    }

    /// As [`new`](Self::new), with the sign-in whose tokens all requests carry.
    pub fn signed_in(
        config: &UpstreamConfig,
        entry: &HttpConfig,
        store: Arc<CredentialStore>,
        sign_in: Option<Arc<SignIn>>,
        client: Client,
        roots: &ClientRoots,
        owner: Handle,
    ) -> Result<Self, HttpError> {
        let lifecycle = Arc::new(Lifecycle::new(owner, config.backoff));
        let announcer = Arc::downgrade(&lifecycle);
        let target = Target::new(&entry.url)?.via(entry.routing.route(&entry.url));
        client.make_room(&target, config.max_concurrency);
        let endpoint = Endpoint {
            name: config.name.as_str().into(),
            target,
            entry: entry.clone(),
            client,
            store,
            sign_in,
            inbound: Inbound::new(config, roots),
            announce: Box::new(move |event| {
                if let Some(lifecycle) = announcer.upgrade() {
                    lifecycle.announce(event);
                }
            }),
        };
        let transport = HttpTransport {
            endpoint: Arc::new(endpoint),
            remembered: Arc::default(),
            wanted: Arc::default(),
        };
        Ok(Self::over(transport, config, lifecycle))
    }

    /// Knows of the pages that another connection to the same server has people sent to.
    pub fn sharing(mut self, visits: Option<Arc<Visits>>) -> Self {
        let endpoint = Arc::get_mut(&mut self.transport.endpoint);
        let inbound = endpoint.and_then(|endpoint| Arc::get_mut(&mut endpoint.inbound));
        if let (Some(visits), Some(inbound)) = (visits, inbound) {
            inbound.share_visits(visits);
        }
        self
    }
}

impl Transport for HttpTransport {
    type Connection = HttpSession;

    const NAME: &'static str = "mcp_http";

    fn start(
        &self,
        lifecycle: &SessionLifecycle,
    ) -> impl Future<Output = Result<StartedConnection<HttpSession>, CallFault>> + Send + 'static {
        let (endpoint, remembered) = (self.endpoint.clone(), self.remembered.clone());
        let (lifecycle, wanted) = (lifecycle.clone(), self.wanted.clone());
        let owner = lifecycle.owner().clone();
        async move {
            let started = tokio::select! {
                started = handshake::start(endpoint.clone(), remembered) => {
                    started.map_err(|fault| explain_start(fault, &endpoint.entry.url, &endpoint.entry.auth))?
                }
                () = lifecycle.closing() => return Err(closed()),
            };
            if let Some(stream) = &started.connection.old_stream {
                owner.spawn(watch(stream.ended(), started.connection.clone(), lifecycle.clone()));
            }
            owner.spawn(settle(endpoint.clone(), started.connection.clone(), lifecycle.clone()));
            let may_ask = listen::may_ask(&endpoint, &started.connection);
            if may_ask || wanted.load(Ordering::Relaxed) {
                let heard = listen::spawn(&endpoint, &started.connection, &lifecycle);
                if may_ask {
                    // Most servers keep nothing of what they ask before anybody listens.
                    let _ = time::timeout(LISTEN_PATIENCE, heard).await;
                }
            }
            Ok(started)
        }
    }

    async fn call(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        call: Call<'_>,
    ) -> Result<CallReply, CallFault> {
        let asked = time::now();
        let (answer, anew);
        let mut session = session;
        match self.call_once(lifecycle, session, &call).await {
            Err(RequestError::Forgotten(fault)) => {
                let mut call = call;
                (anew, call.limits) = Box::pin(self.begin_anew(lifecycle, call.limits, asked, fault)).await?;
                lifecycle.check_list(call.judged_by)?;
                session = &anew;
                answer = self.call_once(lifecycle, session, &call).await?;
            }
            other => answer = other?,
        }
        match answer {
            HttpReply::Result(result) => result::read_apart(result, call.may_wrap).await,
            HttpReply::Error(failure) if session.era == Era::Modern && may_be_repeated(&failure.error) => {
                match Box::pin(self.call_once(lifecycle, session, &call)).await? {
                    HttpReply::Result(result) => result::read_apart(result, call.may_wrap).await,
                    HttpReply::Error(failure) => Err(failure.into_fault()),
                }
            }
            HttpReply::Error(failure)
                if failure.error.code == RpcError::HEADER_MISMATCH && session.era == Era::Modern =>
            {
                // The tool's annotations have changed. The server has not run it, so it may be asked once more.
                let again = async {
                    let announced = lifecycle.announced();
                    lifecycle.set_tools(self.list_tools(session).await?, announced);
                    lifecycle.check_list(call.judged_by)?;
                    self.call_once(lifecycle, session, &call).await
                };
                match Box::pin(again).await? {
                    HttpReply::Result(result) => result::read_apart(result, call.may_wrap).await,
                    HttpReply::Error(failure) => Err(failure.into_fault()),
                }
            }
            HttpReply::Error(failure) => Err(failure.into_fault()),
        }
    }

    async fn query(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        query: Query<'_>,
    ) -> Result<Bytes, CallFault> {
        let asked = time::now();
        let (answer, anew);
        let mut session = session;
        match self.query_once(lifecycle, session, &query).await {
            Err(RequestError::Forgotten(fault)) => {
                let mut query = query;
                (anew, query.limits) =
                    Box::pin(self.begin_anew(lifecycle, query.limits, asked, fault)).await?;
                session = &anew;
                answer = self.query_once(lifecycle, session, &query).await?;
            }
            other => answer = other?,
        }
        let answer = match answer {
            HttpReply::Error(failure) if session.era == Era::Modern && may_be_repeated(&failure.error) => {
                Box::pin(self.query_once(lifecycle, session, &query)).await?
            }
            answer => answer,
        };
        match answer {
            HttpReply::Result(result) => Ok(result.bytes),
            HttpReply::Error(failure) => Err(failure.into_fault()),
        }
    }

    async fn list_tools(&self, session: &Arc<HttpSession>) -> Result<Arc<[ToolInfo]>, CallFault> {
        let tools = handshake::list_tools(&self.endpoint, session).await?;
        session.set_tools(&tools);
        Ok(tools)
    }

    fn inbound(&self) -> &Inbound {
        &self.endpoint.inbound
    }

    fn heed(&self, fault: CallFault) -> CallFault {
        match &self.endpoint.sign_in {
            Some(sign_in) => heed(sign_in, fault),
            None => fault,
        }
    }

    /// From the first call on, a server that announces changes of its tool list is listened to, on a connection of
    /// its own.
    fn listen(&self, lifecycle: &SessionLifecycle) {
        self.wanted.store(true, Ordering::Relaxed);
        if let Some(session) = lifecycle.current() {
            drop(listen::spawn(&self.endpoint, &session, lifecycle));
        }
    }

    async fn shutdown(&self, session: Option<Arc<HttpSession>>) {
        if let Some(session) = session {
            self.endpoint.delete(&session, &shutdown_limits()).await;
            session.end(ConnectionEnd { fault: closed(), kind: EndKind::Clean });
        }
        self.endpoint.client.close_idle(&self.endpoint.target);
    }
}

impl HttpTransport {
    async fn call_once(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        call: &Call<'_>,
    ) -> Result<HttpReply, RequestError> {
        let id = session.next_id();
        let entered = self.endpoint.inbound.enter(call.caller, call.tool);
        let meta = entered.meta(call.caller, session.era);
        let outgoing = Outgoing {
            id: Some(id),
            method: "tools/call",
            subject: Some(call.tool),
            mirrored: session.mirrors().headers(call.tool, call.arguments),
            body: encode::tools_call(id, call.tool, call.arguments, call.again, meta.as_deref()),
            arrivals: call.arrivals,
            caller: Some(call.caller),
        };
        self.exchange(lifecycle, session, outgoing, call.limits).await
    }

    async fn query_once(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        query: &Query<'_>,
    ) -> Result<HttpReply, RequestError> {
        let id = session.next_id();
        let outgoing = Outgoing {
            id: Some(id),
            method: query.method,
            subject: query.subject,
            mirrored: Vec::new(),
            body: encode::request(
                id,
                query.method,
                &protocol::params_with(session.era, query.method, query.params, query.caller.trace),
            ),
            arrivals: query.arrivals,
            caller: Some(query.caller),
        };
        let _entered = self.endpoint.inbound.enter(query.caller, query.method);
        self.exchange(lifecycle, session, outgoing, query.limits).await
    }

    /// A new session for a request that was refused because the server has forgotten its session, and the rest of the request's
    /// limits. The start takes none of its own time, as that of a first call takes none.
    async fn begin_anew(
        &self,
        lifecycle: &SessionLifecycle,
        limits: CallLimits,
        asked: Instant,
        forgotten: CallFault,
    ) -> Result<(Arc<HttpSession>, CallLimits), CallFault> {
        let timeout = limits.timeout.saturating_sub(time::since(asked));
        let anew = async {
            // A server that forgot twice in a short time is left alone for a moment, which the request can wait for.
            if let Phase::Recovery(left) = lifecycle.health().phase {
                time::sleep(left).await;
            }
            lifecycle.connect(Some(limits.timeout), || self.start(lifecycle)).await
        };
        let session = time::timeout_at(limits.deadline, anew).await.unwrap_or(Err(forgotten))?;
        Ok((session, CallLimits { timeout, ..limits }))
    }

    /// One request and its answer, within the limits of the call and of the entry.
    async fn exchange(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        outgoing: Outgoing<'_>,
        limits: CallLimits,
    ) -> Result<HttpReply, RequestError> {
        let entry = &self.endpoint.entry;
        let limits = Limits {
            connect: entry.connect_timeout,
            first_byte: entry.first_byte_timeout,
            total: limits.timeout.min(entry.request_timeout),
            deadline: limits.deadline,
            max_bytes: limits.max_bytes.min(entry.max_response_bytes),
            allowance: limits.binary_bytes,
        };
        // Waiting for others is none of the call's own time.
        let late = || CallFault::timeout("mcp_http call timed out before it could be sent").never_sent();
        let _turn = match session.turns() {
            Some(turns) => Some(time::timeout_at(limits.deadline, turns.lock()).await.map_err(|_| late())?),
            None => None,
        };
        if session.take_doubt() {
            Box::pin(self.make_sure(lifecycle, session, &limits)).await?;
        }
        let id = outgoing.id.unwrap_or_default();
        let mut in_flight = InFlight { endpoint: &self.endpoint, lifecycle, session, id, answered: false };
        let answer = tokio::select! {
            biased;
            answer = self.endpoint.request(session, outgoing, &limits) => answer,
            () = lifecycle.closing() => Err(PostError::Fault(closed())),
        };
        in_flight.answered =
            !matches!(&answer, Err(PostError::Fault(f)) if f.http_status.is_none() && !f.uncounted);
        answer.map_err(|failure| note_failure(lifecycle, session, failure))
    }
}

impl HttpTransport {
    /// Asks a server that failed whether it still knows the session: one that has forgotten it may say nothing else than
    /// 500 for ever. The request that waits for this has not been sent.
    async fn make_sure(
        &self,
        lifecycle: &SessionLifecycle,
        session: &Arc<HttpSession>,
        limits: &Limits,
    ) -> Result<(), RequestError> {
        let id = session.next_id();
        let outgoing = Outgoing::plain(Some(id), "ping", encode::request(id, "ping", b"{}"));
        let limits = Limits { total: limits.total.min(DOUBT_LIMIT), ..*limits };
        let failure = match self.endpoint.request(session, outgoing, &limits).await {
            // Whatever it says, it says it to this session.
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        match failure {
            PostError::SessionLost | PostError::SessionLostHalfway => {}
            PostError::Fault(fault) if fault.sent && tells_of_session(&fault) => {}
            // It cannot be asked now, and what comes of the request will be told.
            PostError::Unauthorized(_) | PostError::Fault(_) => {
                session.doubt();
                return Ok(());
            }
        }
        Err(note_failure(lifecycle, session, PostError::SessionLost))
    }
}

/// Whether a fault may be all that a server has to say that forgot the session.
fn tells_of_session(fault: &CallFault) -> bool {
    match fault.http_status {
        Some(429) => false,
        Some(_) => true,
        None => fault.reason == FaultReason::UpstreamUnavailable,
    }
}

/// Ends the session when its stream of 2024-11-05 does, and the stream when the session does: its last handle is dropped here.
async fn watch(
    ended: impl Future<Output = ConnectionEnd>,
    session: Arc<HttpSession>,
    lifecycle: SessionLifecycle,
) {
    tokio::select! {
        end = ended => {
            session.end(end);
            lifecycle.note_end(&session);
        }
        () = session.over() => {}
        () = lifecycle.closing() => {}
    }
}

/// Sends a greeted server its settings for as long as its session lives: the wanted announcements, and changes of roots.
async fn settle(endpoint: Arc<Endpoint>, session: Arc<HttpSession>, lifecycle: SessionLifecycle) {
    let inbound = &endpoint.inbound;
    if session.era == Era::Modern {
        return;
    }
    if let Some(level) = inbound.log_level.filter(|_| session.logs)
        && let Err(fault) = handshake::set_level(&endpoint, &session, level).await
    {
        tracing::warn!(upstream = &*endpoint.name, error = %fault.message, "upstream_set_level_failed");
    }
    if !inbound.roots.may_change() {
        return;
    }
    let tell = async {
        let mut changed = Box::pin(inbound.roots.changed());
        loop {
            changed.await;
            // Before it is told: what changes from now on is told again.
            changed = Box::pin(inbound.roots.changed());
            let note = encode::notification("notifications/roots/list_changed", b"{}");
            let limits = shutdown_limits();
            let _ = endpoint.notify(&session, "notifications/roots/list_changed", note, &limits).await;
        }
    };
    tokio::select! {
        () = tell => {}
        () = session.over() => {}
        () = lifecycle.closing() => {}
    }
}

/// A failure that ends the session ends it for everybody.
fn note_failure(
    lifecycle: &SessionLifecycle,
    session: &Arc<HttpSession>,
    failure: PostError,
) -> RequestError {
    let unanswered = match failure {
        PostError::SessionLost => RequestError::Forgotten(session.lost()),
        PostError::SessionLostHalfway => RequestError::Fault(
            session
                .lost()
                .with_hint("The server forgot the session while it answered: the call may have run."),
        ),
        PostError::Unauthorized(fault) => {
            session.end(ConnectionEnd { fault: fault.clone(), kind: EndKind::Crash });
            RequestError::Fault(fault)
        }
        PostError::Fault(fault) => {
            if fault.reason == FaultReason::UpstreamUnavailable {
                session.doubt();
            }
            return RequestError::Fault(fault);
        }
    };
    lifecycle.note_end(session);
    unanswered
}

/// Why a request has no answer.
enum RequestError {
    /// The server has forgotten its session and has not run it.
    Forgotten(CallFault),
    /// Everything else.
    Fault(CallFault),
}

impl From<CallFault> for RequestError {
    fn from(fault: CallFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<RequestError> for CallFault {
    fn from(unanswered: RequestError) -> Self {
        match unanswered {
            RequestError::Forgotten(fault) => {
                fault.with_hint("The server forgot two sessions, one after the other: the call has not run.")
            }
            RequestError::Fault(fault) => fault,
        }
    }
}

/// Whether a request that met this error has not been run and may go out as it was.
fn may_be_repeated(error: &RpcError) -> bool {
    protocol::offers_it_all_the_same(error, protocol::own_revision(Era::Modern))
}

/// A request in flight. In the handshake era a server does not take our hanging up for a cancellation, so that one
/// that is given up is cancelled by a message.
struct InFlight<'a> {
    endpoint: &'a Arc<Endpoint>,
    lifecycle: &'a SessionLifecycle,
    session: &'a Arc<HttpSession>,
    id: u64,
    answered: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.answered || self.session.era == Era::Modern {
            return;
        }
        let (endpoint, session) = (self.endpoint.clone(), self.session.clone());
        let params = format!("{{\"requestId\":{},\"reason\":\"no longer wanted\"}}", self.id);
        let note = encode::notification("notifications/cancelled", params.as_bytes());
        let lifecycle = self.lifecycle.clone();
        self.lifecycle.owner().spawn(async move {
            let limits = shutdown_limits();
            let _ = endpoint.notify(&session, "notifications/cancelled", note, &limits).await;
            if lifecycle.is_closed() {
                endpoint.client.close_idle(&endpoint.target);
            }
        });
    }
}
