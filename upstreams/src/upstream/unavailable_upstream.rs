//! An upstream that this process cannot reach, since a credential or a variable that its entry names is not set.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use tokio::sync::broadcast;

use super::{Call, CallFault, CallReply, Health, Phase, ToolInfo, Upstream, UpstreamEvent};
use crate::config::UpstreamConfig;

/// Answers every request with the sentence that names the unset value (ruling 121).
pub struct UnsetUpstream {
    name: String,
    transport: &'static str,
    fault: CallFault,
    /// Nothing ever happens to it.
    events: broadcast::Sender<UpstreamEvent>,
}

impl UnsetUpstream {
    /// The upstream of an entry that lacks a variable or a file: `why` says which.
    pub fn new(upstream: &UpstreamConfig, why: &str) -> Self {
        Self {
            name: upstream.name.clone(),
            transport: upstream.transport.as_str(),
            fault: CallFault::unavailable(why),
            events: broadcast::Sender::new(1),
        }
    }

    fn refusal<'a, T: Send + 'a>(&'a self) -> BoxFuture<'a, Result<T, CallFault>> {
        ready(Err(self.fault.clone())).boxed()
    }
}

impl Upstream for UnsetUpstream {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        self.transport
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        self.refusal()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.refusal()
    }

    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.refusal()
    }

    fn call<'a>(&'a self, _call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        self.refusal()
    }

    fn query<'a>(&'a self, _query: super::Query<'a>) -> BoxFuture<'a, Result<bytes::Bytes, CallFault>> {
        self.refusal()
    }

    fn health(&self) -> Health {
        Health {
            phase: Phase::Stopped,
            protocol_version: None,
            tools: 0,
            in_flight: 0,
            waiting: 0,
            starts: 0,
            last_fault: Some(self.fault.clone()),
        }
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.events.subscribe()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}
