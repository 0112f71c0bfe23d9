//! A stdio server behind the [`Upstream`] trait.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_mcp::RpcError;
use ptc_mcp::encode;
use tokio::runtime::Handle;
use tokio::sync::broadcast;

use super::super::{protocol, result};
use super::connection::{Answer, SHUTDOWN_GRACE, StdioConnection};
use super::handshake;
use crate::config::{StdioConfig, UpstreamConfig};
use crate::memory::MemoryBudget;
use crate::upstream::lifecycle::Lifecycle;
use crate::upstream::slots::Slots;
use crate::upstream::{Call, CallFault, CallReply, Health, ToolInfo, Upstream, UpstreamEvent, no_memory};

/// A tool server that is our child process.
///
/// Any number of calls is in flight on its one pipe, up to `max_concurrency`; further ones wait in the order of their
/// coming. Its tasks run on the runtime given at construction, calls may come from anywhere.
pub struct StdioUpstream {
    name: Arc<str>,
    entry: Arc<StdioConfig>,
    slots: Slots,
    lifecycle: Arc<Lifecycle<StdioConnection>>,
    meta: Box<[u8]>,
    memory: Option<MemoryBudget>,
}

impl StdioUpstream {
    /// An upstream that is not started yet. `owner` is the runtime of its tasks; it needs I/O and time enabled.
    #[must_use]
    pub fn new(config: &UpstreamConfig, entry: &StdioConfig, owner: Handle) -> Self {
        Self {
            name: config.name.as_str().into(),
            entry: Arc::new(entry.clone()),
            slots: Slots::new(config.max_concurrency),
            lifecycle: Arc::new(Lifecycle::new(owner, config.backoff)),
            meta: protocol::modern_meta().into(),
            memory: None,
        }
    }

    /// Counts lines on their way in what the process may take; one that there is no room for is dropped, and fails the
    /// call that it answers.
    #[must_use]
    pub fn within(mut self, memory: Option<MemoryBudget>) -> Self {
        self.memory = memory;
        self
    }

    async fn connect(&self, patience: Option<Duration>) -> Result<Arc<StdioConnection>, CallFault> {
        if let Some(connection) = self.lifecycle.current() {
            return Ok(connection);
        }
        let (name, entry, lifecycle) = (self.name.clone(), self.entry.clone(), self.lifecycle.clone());
        let memory = self.memory.clone();
        self.lifecycle.connect(patience, || handshake::start(name, entry, lifecycle, memory)).await
    }

    async fn call_now(&self, call: Call<'_>) -> Result<CallReply, CallFault> {
        let mut limits = call.limits;
        limits.timeout = limits.timeout.min(self.entry.request_timeout.unwrap_or(Duration::MAX));
        let current = || self.lifecycle.current();
        let (connection, _slot) =
            self.slots.enter(&limits, "mcp_stdio", current, |patience| self.connect(patience)).await?;
        let meta = connection.modern.load(Ordering::Relaxed).then_some(&*self.meta);
        let encode = |id| encode::tools_call(id, call.tool, call.arguments, meta);
        match connection.request(encode, &limits, true).await? {
            // A line is read whole, within the cap of the pipe, before it is known whose it is.
            Answer::Result(bytes) if call.arrivals.is_some_and(|arrivals| !arrivals.arrived(bytes.len())) => {
                Err(no_memory(bytes.len() as u64))
            }
            Answer::Result(bytes) => result::read(bytes),
            Answer::Error(error) => {
                Err(CallFault::upstream_error(RpcError::of_bytes(&error).message)
                    .with_bytes(error.len() as u64))
            }
        }
    }
}

impl Upstream for StdioUpstream {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        "mcp_stdio"
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
            let connection = self.connect(None).await?;
            let tools = handshake::list_tools(&connection, &self.entry).await?;
            self.lifecycle.set_tools(tools.clone());
            Ok(tools)
        }
        .boxed()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        self.call_now(call).boxed()
    }

    fn health(&self) -> Health {
        Health { in_flight: self.slots.in_flight(), ..self.lifecycle.health() }
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.lifecycle.events()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.slots.close();
            if let Some(connection) = self.lifecycle.close().await {
                connection.stop(SHUTDOWN_GRACE);
                connection.gone().await;
            }
        }
        .boxed()
    }
}

impl Drop for StdioUpstream {
    fn drop(&mut self) {
        self.lifecycle.abandon();
    }
}
