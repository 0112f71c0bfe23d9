//! A Streamable HTTP server behind the [`Upstream`] trait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::encode;
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::super::protocol;
use super::super::result;
use super::handshake::{self, Remembered};
use super::listen;
use super::post::{Answer, Endpoint, Failure, Outgoing};
use super::session::HttpSession;
use crate::config::{HttpConfig, UpstreamConfig};
use crate::credentials::CredentialStore;
use crate::http::{Client, HttpError, Limits, Target};
use crate::upstream::lifecycle::{End, EndKind, Lifecycle, closed};
use crate::upstream::slots::Slots;
use crate::upstream::{Call, CallFault, CallReply, Health, ToolInfo, Upstream, UpstreamEvent};

/// How long the farewell to a server may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// A tool server behind a Streamable HTTP endpoint.
///
/// Calls run on connections of the shared client's pool, on the runtime of whoever calls; starts run on the runtime
/// given at construction. Up to `max_concurrency` calls are in flight, further ones wait in the order of their coming.
pub struct HttpUpstream {
    name: Arc<str>,
    endpoint: Arc<Endpoint>,
    remembered: Arc<Remembered>,
    /// Whether anybody wants to hear of changes of the tool list.
    wanted: Arc<AtomicBool>,
    slots: Slots,
    lifecycle: Arc<Lifecycle<HttpSession>>,
    meta: Box<[u8]>,
}

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
        owner: Handle,
    ) -> Result<Self, HttpError> {
        let name: Arc<str> = config.name.as_str().into();
        let lifecycle = Arc::new(Lifecycle::new(owner, config.backoff));
        let announcer = Arc::downgrade(&lifecycle);
        let target = Target::new(&entry.url)?;
        client.make_room(&target, config.max_concurrency);
        let endpoint = Endpoint {
            name: name.clone(),
            target,
            entry: entry.clone(),
            client,
            store,
            tools_changed: Box::new(move || {
                if let Some(lifecycle) = announcer.upgrade() {
                    lifecycle.announce(UpstreamEvent::ToolsChanged);
                }
            }),
        };
        Ok(Self {
            name,
            endpoint: Arc::new(endpoint),
            remembered: Arc::default(),
            wanted: Arc::default(),
            slots: Slots::new(config.max_concurrency),
            lifecycle,
            meta: protocol::modern_meta().into(),
        })
    }

    async fn connect(&self, patience: Option<Duration>) -> Result<Arc<HttpSession>, CallFault> {
        if let Some(session) = self.lifecycle.current() {
            return Ok(session);
        }
        let (endpoint, remembered) = (self.endpoint.clone(), self.remembered.clone());
        let (lifecycle, wanted) = (self.lifecycle.clone(), self.wanted.clone());
        let start = || async move {
            let started = tokio::select! {
                started = handshake::start(endpoint.clone(), remembered) => started?,
                () = lifecycle.closing() => return Err(closed()),
            };
            if wanted.load(Ordering::Relaxed) {
                listen::spawn(&endpoint, &started.connection, &lifecycle);
            }
            Ok(started)
        };
        self.lifecycle.connect(patience, start).await
    }

    async fn call_now(&self, call: Call<'_>) -> Result<CallReply, CallFault> {
        let current = || self.lifecycle.current();
        let (session, _slot) =
            self.slots.enter(&call.limits, "mcp_http", current, |patience| self.connect(patience)).await?;
        match self.exchange(&session, &call).await? {
            Answer::Result(bytes) => result::read(bytes),
            Answer::Error(error, _)
                if error.code == RpcError::HEADER_MISMATCH && session.era == Era::Modern =>
            {
                // The tool's annotations have changed. The server has not run it, so it may be asked once more.
                let again = async {
                    self.relist(&session).await?;
                    self.exchange(&session, &call).await
                };
                match Box::pin(again).await? {
                    Answer::Result(bytes) => result::read(bytes),
                    Answer::Error(error, _) => Err(CallFault::upstream_error(error.message)),
                }
            }
            Answer::Error(error, status) => {
                let fault = CallFault::upstream_error(error.message);
                Err(if status.is_success() { fault } else { fault.with_status(status.as_u16()) })
            }
        }
    }

    async fn exchange(&self, session: &Arc<HttpSession>, call: &Call<'_>) -> Result<Answer, CallFault> {
        let entry = &self.endpoint.entry;
        let limits = Limits {
            connect: entry.connect_timeout,
            first_byte: entry.first_byte_timeout,
            total: call.limits.timeout.min(entry.request_timeout),
            deadline: call.limits.deadline,
            max_bytes: call.limits.max_bytes.min(entry.max_response_bytes),
        };
        let id = session.next_id();
        let modern = session.era == Era::Modern;
        let outgoing = Outgoing {
            id: Some(id),
            method: "tools/call",
            tool: Some(call.tool),
            mirrored: session.mirrors().headers(call.tool, call.arguments),
            body: encode::tools_call(id, call.tool, call.arguments, modern.then_some(&*self.meta)),
            arrivals: call.arrivals,
        };
        let mut in_flight = InFlight { upstream: self, session, id, answered: false };
        let answer = tokio::select! {
            biased;
            answer = self.endpoint.request(session, outgoing, &limits) => answer,
            () = self.lifecycle.closing() => Err(Failure::Fault(closed())),
        };
        in_flight.answered = !matches!(&answer, Err(Failure::Fault(f)) if f.http_status.is_none());
        answer.map_err(|failure| self.note_failure(session, failure))
    }

    /// A failure that ends the session ends it for everybody.
    fn note_failure(&self, session: &Arc<HttpSession>, failure: Failure) -> CallFault {
        let fault = match failure {
            Failure::SessionLost => session.lost(),
            failure @ Failure::Unauthorized => {
                let fault = failure.into_fault();
                session.end(End { fault: fault.clone(), kind: EndKind::Crash });
                fault
            }
            Failure::Fault(fault) => return fault,
        };
        self.lifecycle.note_end(session);
        fault
    }

    async fn relist(&self, session: &Arc<HttpSession>) -> Result<Arc<[ToolInfo]>, CallFault> {
        let tools = handshake::list_tools(&self.endpoint, session).await?;
        session.set_tools(&tools);
        self.lifecycle.set_tools(tools.clone());
        Ok(tools)
    }
}

/// A request in flight. In the handshake era a server does not take our hanging up for a cancellation, so that one
/// that is given up is cancelled by a message.
struct InFlight<'a> {
    upstream: &'a HttpUpstream,
    session: &'a Arc<HttpSession>,
    id: u64,
    answered: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.answered || self.session.era == Era::Modern {
            return;
        }
        let (endpoint, session) = (self.upstream.endpoint.clone(), self.session.clone());
        let params = format!("{{\"requestId\":{},\"reason\":\"no longer wanted\"}}", self.id);
        let note = encode::notification("notifications/cancelled", params.as_bytes());
        let lifecycle = self.upstream.lifecycle.clone();
        self.upstream.lifecycle.owner().spawn(async move {
            let limits = farewell_limits();
            let _ = endpoint.notify(&session, "notifications/cancelled", note, &limits).await;
            if lifecycle.is_closed() {
                endpoint.client.close_idle(&endpoint.target);
            }
        });
    }
}

pub(super) fn farewell_limits() -> Limits {
    Limits {
        connect: FAREWELL,
        first_byte: None,
        total: FAREWELL,
        deadline: Instant::now() + FAREWELL,
        max_bytes: 64 * 1024,
    }
}

impl Upstream for HttpUpstream {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        "mcp_http"
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        self.connect(None).map(|connected| connected.map(drop)).boxed()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async {
            self.connect(None).await?;
            Ok(self.lifecycle.tools().unwrap_or_default())
        }
        .boxed()
    }

    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async {
            let session = self.connect(None).await?;
            self.relist(&session).await
        }
        .boxed()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        self.call_now(call).boxed()
    }

    fn health(&self) -> Health {
        Health { in_flight: self.slots.in_flight(), ..self.lifecycle.health() }
    }

    /// From the first call on, a server that announces changes of its tool list is listened to, on a connection of
    /// its own.
    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.wanted.store(true, Ordering::Relaxed);
        if let Some(session) = self.lifecycle.current() {
            listen::spawn(&self.endpoint, &session, &self.lifecycle);
        }
        self.lifecycle.events()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.slots.close();
            if let Some(session) = self.lifecycle.close().await {
                self.endpoint.delete(&session, &farewell_limits()).await;
                session.end(End { fault: closed(), kind: EndKind::Clean });
            }
            self.endpoint.client.close_idle(&self.endpoint.target);
        }
        .boxed()
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.lifecycle.abandon();
    }
}
