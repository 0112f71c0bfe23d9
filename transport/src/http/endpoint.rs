//! What the requests of a listener share, and what is known of one of them.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use ptc_host::engine::Engine;
use ptc_host::time::Instant;
use ptc_host::trace::Trace;
use ptc_mcp::RpcError;
use tokio::sync::Notify;

use super::auth::{Authenticator, Challenges, HttpCaller};
use super::body::{Bodies, BodyReservation};
use super::connection_registry::{Busy, ConnectionRegistry};
use super::counts::Counts;
use super::headers::Headers;
use super::limiter::Limiter;
use super::origin::OriginRule;
use super::protected_resource::ProtectedResource;
use super::sessions::{NewSessionError, Session, Sessions};
use super::sign_in::SignInPage;
use crate::readiness::Readiness;
use crate::sharded_counter::ShardedCounter;
use ptc_observers::Telemetry;
use ptc_protocol::operator::OperatorUse;
use ptc_protocol::principal::Principal;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::PublicUrl;
use ptc_protocol::{Connection, Drain, Service, SessionNeed};

/// The shared state of all connections of a listener.
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    /// The conversation of all modern requests, which are independent of each other: it has no state.
    pub(super) modern: Arc<Connection>,
    /// The engine whose threads serve the connections.
    pub(super) engine: Engine,
    /// The telemetry for operators.
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) path: String,
    /// The profiles, each of which has a path below that of MCP.
    pub(super) profiles: Vec<Arc<str>>,
    pub(super) instance: String,
    pub(super) loopback_bind: bool,
    pub(super) authenticator: Authenticator,
    /// How requests that are not authenticated are answered.
    pub(super) challenges: Challenges,
    /// The metadata for OAuth clients, if access tokens are accepted.
    pub(super) protected_resource: Option<ProtectedResource>,
    pub(super) origins: OriginRule,
    pub(super) limiter: Option<Limiter>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) connections: Arc<ConnectionRegistry>,
    pub(super) bodies: Arc<Bodies>,
    /// Longest wait for the answer of a call.
    pub(super) call_budget: Duration,
    pub(super) active: Active,
    /// Set when calls that still run must end.
    pub(super) ending: Drain,
    pub(super) counts: Counts,
    /// True if the console is served.
    pub(super) console: bool,
    /// The public URL of this endpoint, if the operator has set one.
    pub(super) public_url: Option<PublicUrl>,
    /// The page where callers sign in to upstreams, if there is one.
    pub(super) sign_in: Option<Arc<SignInPage>>,
    /// When it was bound.
    pub(super) started: Instant,
    /// The path of metrics, if they are served.
    pub(super) metrics_path: Option<String>,
}

/// What a path of MCP shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Served<'e> {
    /// All upstreams that its caller may see.
    Whole,
    /// The part of them that a profile names.
    Profile(&'e Arc<str>),
}

/// Counts requests in progress.
#[derive(Debug, Default)]
pub(super) struct Active {
    count: ShardedCounter,
    /// True if a task waits until there are none.
    awaited: AtomicBool,
    ended: Notify,
}

impl Active {
    pub(super) fn begin(&self) {
        self.count.add(1);
    }

    pub(super) fn end(&self) {
        self.count.add(-1);
        if self.awaited.load(Ordering::SeqCst) {
            self.ended.notify_waiters();
        }
    }

    /// The number of requests in progress.
    pub(super) fn count(&self) -> u64 {
        self.count.count()
    }

    /// Completes when no request is in progress.
    pub(super) async fn none(&self) {
        // From now on every end notifies the waiter. A request that ended without seeing the flag is part of the sum.
        self.awaited.store(true, Ordering::SeqCst);
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// The facts of a request for its log line and its connection.
#[derive(Debug)]
pub(super) struct RequestFacts {
    /// The request's own id.
    pub(super) request_id: HeaderValue,
    pub(super) principal: Option<Principal>,
    pub(super) session: Option<Arc<Session>>,
    /// The trace of its first message, if that has one.
    pub(super) trace: OnceLock<Arc<Trace>>,
    /// Keeps the connection busy until the answer is known; after that the client must act. An answer that continues
    /// after its head takes it over.
    pub(super) busy: Option<Busy>,
    /// The account of the request's body, once that has been read.
    pub(super) held: Option<BodyReservation>,
}

impl RequestFacts {
    /// Moves the facts out for another task; the rest still names the request.
    pub(super) fn take(&mut self) -> RequestFacts {
        let (request_id, principal) = (self.request_id.clone(), self.principal.clone());
        let rest = RequestFacts {
            request_id,
            principal,
            session: None,
            trace: OnceLock::new(),
            busy: None,
            held: None,
        };
        std::mem::replace(self, rest)
    }
}

/// Why a request has no session.
#[derive(Debug)]
pub(super) enum SessionIdError {
    /// It names no session.
    Missing,
    /// It names a session that is closed, unknown or of another principal.
    Unknown,
    /// It names a session that could be resumed here if there were room.
    Refused(NewSessionError),
}

impl Endpoint {
    /// What of MCP is at this path, with or without a trailing slash; `None` at any other.
    pub(super) fn served(&self, path: &str) -> Option<Served<'_>> {
        let without_slash = |path: &'_ str| path.len() - usize::from(path.ends_with('/'));
        let path = &path[..without_slash(path)];
        let name = path.strip_prefix(&self.path[..without_slash(&self.path)])?;
        if name.is_empty() {
            return Some(Served::Whole);
        }
        let name = name.strip_prefix('/')?;
        let profile = self.profiles.iter().find(|profile| ***profile == *name)?;
        Some(Served::Profile(profile))
    }

    /// The readiness of the server. The usual answer takes no lock.
    pub(super) fn readiness(&self) -> Readiness {
        match self.service.is_draining() {
            true => Readiness::Draining,
            false if self.service.is_starting() => Readiness::Starting,
            false if self.telemetry.sources.state.as_ref().is_some_and(ServerState::is_lost) => {
                Readiness::StateUnavailable
            }
            false if self.telemetry.is_audit_lost() => Readiness::AuditUnavailable,
            false if self.sessions.is_saturated() => Readiness::Saturated,
            false => Readiness::Ready,
        }
    }

    /// Records what an operator sees beyond what is its own.
    pub(super) fn record_operator(&self, caller: &HttpCaller, seen: OperatorUse) {
        if let Some(audit) = &self.telemetry.audit
            && caller.is_operator(&self.service)
        {
            audit.operator(caller.principal.name(), seen, None);
        }
    }

    /// The session that `MCP-Session-Id` names: 400 without one.
    pub(super) fn named_session(
        &self,
        headers: &Headers<'_>,
        principal: &Principal,
    ) -> Result<Arc<Session>, SessionIdError> {
        let id = headers.session_id.first().filter(|id| !id.is_empty()).ok_or(SessionIdError::Missing)?;
        let id = id.to_str().map_err(|_| SessionIdError::Unknown)?;
        let session = match self.service.session_need {
            // Without a secret, ids are known to one process, and so is the state of their sessions.
            SessionNeed::State if !self.sessions.seals() => self.sessions.get(id, principal),
            SessionNeed::State | SessionNeed::Habits | SessionNeed::None => {
                self.sessions.get_or_adopt(id, principal).map_err(SessionIdError::Refused)?
            }
        };
        session.ok_or(SessionIdError::Unknown)
    }

    /// The status and sentence for a session that cannot begin. Counts the refusal.
    pub(super) fn no_session(&self, refusal: NewSessionError) -> (StatusCode, RpcError) {
        let (status, limit, text) = match refusal {
            NewSessionError::OwnerLimit(limit) => (
                StatusCode::TOO_MANY_REQUESTS,
                "max_sessions_per_owner",
                format!(
                    "session owner limit exceeded: all {limit} sessions of this caller are in use \
                     (--http-max-sessions-per-owner)"
                ),
            ),
            NewSessionError::Saturated(limit) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "max_sessions",
                format!("server saturated: all {limit} sessions are in use (--http-max-sessions)"),
            ),
            NewSessionError::NoEntropy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "max_sessions",
                "server saturated: the system gives no random bytes".to_owned(),
            ),
        };
        self.counts.limit_rejected(&self.instance, limit);
        (status, RpcError::new(RpcError::REFUSED, text))
    }
}
