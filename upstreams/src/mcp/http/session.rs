//! The result of a handshake: the era, the revision, a session id.

use ptc_base::sync::Mutex;
use ptc_base::time;
use ptc_http::Limits;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use ptc_mcp::Era;
use tokio::sync::watch;

use super::super::protocol::ServerHello;
use super::mirror::Mirrors;
use super::old_stream::OldStream;
use super::session_loss::session_lost;
use crate::upstream::lifecycle::{ConnectionEnd, EndKind, TransportConnection};
use crate::upstream::{CallFault, ToolInfo};

/// How long the last words to a server may take.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// An agreement with a server. It is no connection: those belong to the client's pool.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(super) era: Era,
    /// The value of `mcp-protocol-version`; `None` before it is agreed upon.
    pub(super) version: Option<HeaderValue>,
    /// Whether the server announces changes of its lists.
    pub(super) announces: bool,
    /// Whether the server accepts a log level.
    pub(super) logs: bool,
    /// Whether the server lists its capabilities, without tools.
    pub(super) leaves_out_tools: bool,
    /// The stream that all is said on, if the server speaks HTTP+SSE of 2024-11-05.
    pub(super) old_stream: Option<Arc<OldStream>>,
    /// Whether a listener for them exists.
    pub(super) listening: AtomicBool,
    /// Lock for calls, if the server was found to serve one connection at a time.
    turns: OnceLock<tokio::sync::Mutex<()>>,
    /// Whether a request failed in a way that a server may have which forgot the session.
    doubtful: AtomicBool,
    next_id: AtomicU64,
    state: Mutex<SessionState>,
    over: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct SessionState {
    id: Option<HeaderValue>,
    /// Headers of its calls; `None` until they are asked for, and when the id has changed.
    headers: Option<Arc<HeaderMap>>,
    end: Option<ConnectionEnd>,
    mirrors: Arc<Mirrors>,
}

impl TransportConnection for HttpSession {
    fn ended(&self) -> Option<ConnectionEnd> {
        self.with(|state| state.end.clone())
    }

    fn abandon(&self) {
        self.end(ConnectionEnd { fault: crate::upstream::lifecycle::closed(), kind: EndKind::Clean });
    }
}

impl HttpSession {
    pub(super) fn new(era: Era, version: Option<&str>) -> Self {
        let version = version.and_then(|v| HeaderValue::from_str(v).ok());
        Self {
            era,
            version,
            announces: false,
            logs: false,
            leaves_out_tools: false,
            old_stream: None,
            listening: AtomicBool::new(false),
            turns: OnceLock::new(),
            doubtful: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            state: Mutex::default(),
            over: watch::Sender::new(false),
        }
    }

    /// A session over a stream of 2024-11-05. Messages on it arrive without a separate listener.
    pub(super) fn over_stream(stream: OldStream) -> Self {
        let session = Self::new(Era::Handshake, None);
        Self { old_stream: Some(Arc::new(stream)), listening: AtomicBool::new(true), ..session }
    }

    /// The same session once the server has said who it is.
    pub(super) fn agreed(self, hello: &ServerHello) -> Self {
        self.with(|state| state.headers = None);
        let version = HeaderValue::from_str(&hello.version).ok();
        let leaves_out_tools = hello.introduction.offers.leaves_out_tools();
        Self { version, announces: hello.announces, logs: hello.logs, leaves_out_tools, ..self }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The session id that the server gave last.
    pub(super) fn id(&self) -> Option<HeaderValue> {
        self.with(|state| state.id.clone())
    }

    /// Whether the server keeps something of us that it can forget.
    pub(super) fn is_held(&self) -> bool {
        self.old_stream.is_some() || self.id().is_some()
    }

    /// Notes a failure after which the server is asked whether it knows the session, before anything else is.
    pub(super) fn doubt(&self) {
        if self.old_stream.is_none() && self.id().is_some() {
            self.doubtful.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the server has to be checked; the caller that gets `true` does so.
    pub(super) fn take_doubt(&self) -> bool {
        self.doubtful.load(Ordering::Relaxed) && self.doubtful.swap(false, Ordering::Relaxed)
    }

    /// Notes that the server serves one connection at a time.
    pub(super) fn note_serves_one(&self) {
        self.turns.get_or_init(Default::default);
    }

    /// The lock for calls that have to be sequential.
    pub(super) fn turns(&self) -> Option<&tokio::sync::Mutex<()>> {
        self.turns.get()
    }

    /// Remembers the session id of an answer. Such ids are secrets of a kind: they are not logged.
    pub(super) fn note_id(&self, id: Option<&HeaderValue>) {
        if let Some(id) = id.filter(|_| self.era == Era::Handshake) {
            self.with(|state| {
                if state.id.as_ref() != Some(id) {
                    let mut id = id.clone();
                    id.set_sensitive(true);
                    state.id = Some(id);
                    state.headers = None;
                }
            });
        }
    }

    /// The headers that its calls have in common, which `make` computes from its id. They hold no credentials.
    pub(super) fn common_headers(
        &self,
        make: impl FnOnce(Option<&HeaderValue>) -> HeaderMap,
    ) -> Arc<HeaderMap> {
        self.with(|state| {
            let id = state.id.as_ref();
            state.headers.get_or_insert_with(|| Arc::new(make(id))).clone()
        })
    }

    /// Notes that the session is over. The first end counts.
    pub(super) fn end(&self, end: ConnectionEnd) {
        self.with(|state| {
            state.end.get_or_insert(end);
        });
        self.over.send_replace(true);
    }

    /// Resolves when the session is over.
    pub(super) async fn over(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Notes that the server has forgotten the session.
    pub(super) fn lost(&self) -> CallFault {
        let fault = session_lost();
        self.end(ConnectionEnd { fault: fault.clone(), kind: EndKind::SessionLost });
        fault
    }

    pub(super) fn set_tools(&self, tools: &Arc<[ToolInfo]>) {
        if self.era == Era::Modern {
            let mirrors = Arc::new(Mirrors::of(tools));
            self.with(|state| state.mirrors = mirrors);
        }
    }

    pub(super) fn mirrors(&self) -> Arc<Mirrors> {
        self.with(|state| state.mirrors.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut SessionState) -> T) -> T {
        change(&mut self.state.lock())
    }
}

/// Limits of the last words to a server.
pub(super) fn shutdown_limits() -> Limits {
    Limits {
        connect: SHUTDOWN_LIMIT,
        first_byte: None,
        total: SHUTDOWN_LIMIT,
        deadline: time::now() + SHUTDOWN_LIMIT,
        max_bytes: 64 * 1024,
        allowance: 0,
    }
}
