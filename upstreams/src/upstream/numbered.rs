//! Connections of tests.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::broadcast;

use super::open_for::OpenFor;
use super::{Call, CallFault, CallReply, Health, Phase, Query, ToolInfo, Upstream, UpstreamEvent};

/// A connection that answers each query with its number, and has as many calls in flight, and one that waits.
pub(super) struct Numbered {
    number: usize,
    open_for: Arc<OpenFor>,
    events: broadcast::Sender<UpstreamEvent>,
}

impl Numbered {
    pub(super) fn new(number: usize, open_for: Arc<OpenFor>) -> Numbered {
        Numbered { number, open_for, events: broadcast::Sender::new(1) }
    }
}

impl Upstream for Numbered {
    fn name(&self) -> &str {
        "u"
    }
    fn transport(&self) -> &'static str {
        "mcp_stdio"
    }
    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        async { Ok(()) }.boxed()
    }
    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async { Ok(Arc::from([])) }.boxed()
    }
    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.list_tools()
    }
    fn call<'a>(&'a self, _: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        async { Err(CallFault::upstream_error("no tools")) }.boxed()
    }
    fn query<'a>(&'a self, _: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        async { Ok(self.number.to_string().into()) }.boxed()
    }
    fn health(&self) -> Health {
        Health {
            phase: Phase::Started,
            protocol_version: None,
            tools: 0,
            in_flight: self.number,
            waiting: 1,
            starts: 1,
            last_fault: None,
        }
    }
    fn open_for(&self) -> Option<&Arc<OpenFor>> {
        Some(&self.open_for)
    }
    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.events.subscribe()
    }
    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
