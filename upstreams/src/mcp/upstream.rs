//! The common part of the transports, which implements the [`Upstream`] trait: one connection, started on demand, calls in
//! slots, and the list of tools.

use crate::upstream::open_for::OpenFor;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::broadcast;

use super::inbound::Inbound;
use super::{content, result};
use crate::config::UpstreamConfig;
use crate::upstream::lifecycle::{Lifecycle, StartedConnection, TransportConnection};
use crate::upstream::one_run::{AdmittedCall, OneRun};
use crate::upstream::slots::Slots;
use crate::upstream::{
    Call, CallFault, CallReply, Caller, Health, Introduction, Query, SaidMessage, ToolInfo, Upstream,
    UpstreamEvent, Visits,
};
use ptc_base::pace::apart;
use ptc_base::time::Instant;

/// The transport-specific operations. Those that depend on the connection's life get its lifecycle.
pub(crate) trait Transport: Send + Sync + 'static {
    /// The result of a start.
    type Connection: TransportConnection;

    /// Its name, as the configuration file spells it.
    const NAME: &'static str;

    /// Starts a connection and lists its tools.
    fn start(
        &self,
        lifecycle: &Arc<Lifecycle<Self::Connection>>,
    ) -> impl Future<Output = Result<StartedConnection<Self::Connection>, CallFault>> + Send + 'static;

    /// Calls a tool over a connection.
    fn call(
        &self,
        lifecycle: &Arc<Lifecycle<Self::Connection>>,
        connection: &Arc<Self::Connection>,
        call: Call<'_>,
    ) -> impl Future<Output = Result<CallReply, CallFault>> + Send;

    /// Asks for something besides tools over a connection; yields the `result`.
    fn query(
        &self,
        lifecycle: &Arc<Lifecycle<Self::Connection>>,
        connection: &Arc<Self::Connection>,
        query: Query<'_>,
    ) -> impl Future<Output = Result<Bytes, CallFault>> + Send;

    /// Lists the tools afresh.
    fn list_tools(
        &self,
        connection: &Arc<Self::Connection>,
    ) -> impl Future<Output = Result<Arc<[ToolInfo]>, CallFault>> + Send;

    /// Its unsolicited messages.
    fn inbound(&self) -> &Inbound;

    /// Looks at the fault of a call before its program does.
    fn heed(&self, fault: CallFault) -> CallFault {
        fault
    }

    /// Changes of the tool list have a listener from now on.
    fn listen(&self, lifecycle: &Arc<Lifecycle<Self::Connection>>);

    /// Ends for good, with the connection that was live.
    fn shutdown(&self, connection: Option<Arc<Self::Connection>>) -> impl Future<Output = ()> + Send;
}

/// A tool server over a transport. Up to `max_concurrency` calls are in flight, further ones wait in order of arrival.
#[expect(private_bounds, reason = "transports are this crate's; others name the types that are made of them")]
pub struct McpUpstream<T: Transport> {
    name: Arc<str>,
    /// The transport as the entry spells it.
    kind: &'static str,
    pub(super) transport: T,
    slots: Slots,
    /// Where it serves one program at a time.
    one_run: Option<OneRun>,
    lifecycle: Arc<Lifecycle<T::Connection>>,
    /// Held while the tools are listed anew, so that one listing serves all who want to know.
    listing: tokio::sync::Mutex<()>,
}

#[expect(private_bounds, reason = "as above")]
impl<T: Transport> McpUpstream<T> {
    /// An upstream that is not started yet.
    pub(super) fn over(
        transport: T,
        config: &UpstreamConfig,
        lifecycle: Arc<Lifecycle<T::Connection>>,
    ) -> Self {
        Self {
            name: config.name.as_str().into(),
            kind: config.transport.as_str(),
            transport,
            slots: Slots::new(config.max_concurrency),
            one_run: config.serial.then(OneRun::default),
            lifecycle,
            listing: tokio::sync::Mutex::default(),
        }
    }

    /// Lists the tools afresh.
    async fn list_anew(&self) -> Result<Arc<[ToolInfo]>, CallFault> {
        let connection = self.connect(None).await?;
        // What is announced while it lists may not be in the list.
        let announced = self.lifecycle.announced();
        let tools = self.transport.list_tools(&connection).await?;
        self.lifecycle.set_tools(tools.clone(), announced);
        Ok(tools)
    }

    async fn connect(&self, patience: Option<Duration>) -> Result<Arc<T::Connection>, CallFault> {
        if let Some(connection) = self.lifecycle.current() {
            return Ok(connection);
        }
        self.lifecycle.connect(patience, || self.transport.start(&self.lifecycle)).await
    }

    /// Waits until no other program has the upstream, where it serves one at a time.
    async fn alone(
        &self,
        caller: Caller<'_>,
        deadline: Instant,
    ) -> Result<Option<AdmittedCall<'_>>, CallFault> {
        let Some(one_run) = &self.one_run else { return Ok(None) };
        let run = caller.asking.map(|asking| asking.run);
        Box::pin(one_run.enter(run, deadline, T::NAME)).await.map(Some)
    }

    async fn call_now(&self, call: Call<'_>) -> Result<CallReply, CallFault> {
        let _alone = self.alone(call.caller, call.limits.deadline).await?;
        let current = || self.lifecycle.current_of(call.judged_by);
        let connect = async |patience| {
            let connection = self.connect(patience).await?;
            self.lifecycle.check_list(call.judged_by)?;
            Ok(connection)
        };
        let (connection, slot) =
            self.slots.enter(&call.limits, call.caller.asking, T::NAME, current, connect).await?;
        let reply = self.transport.call(&self.lifecycle, &connection, call).await;
        slot.note(&reply);
        let reply = reply?;
        let (limits, length) = (call.limits, reply.envelope.len());
        // Only what is longer than its text may be is looked into.
        let looked_into = if length > limits.max_bytes { length } else { 0 };
        apart(looked_into, move || content::check_size(&reply.envelope, &limits, T::NAME).map(|()| reply))
            .await
    }

    async fn query_now(&self, query: Query<'_>) -> Result<Bytes, CallFault> {
        let _alone = self.alone(query.caller, query.limits.deadline).await?;
        let current = || self.lifecycle.current();
        let (connection, slot) = self
            .slots
            .enter(&query.limits, None, T::NAME, current, |patience| self.connect(patience))
            .await?;
        let answer = self.transport.query(&self.lifecycle, &connection, query).await;
        slot.note(&answer);
        let answer = answer?;
        let (limits, method) = (query.limits, query.method.to_owned());
        apart(answer.len(), move || {
            content::check_size(&answer, &limits, T::NAME)?;
            result::check_complete(&answer, &method).map(|()| answer)
        })
        .await
    }
}

impl<T: Transport> Upstream for McpUpstream<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        self.kind
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        self.connect(None).map(|connected| connected.map(drop)).boxed()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async {
            self.connect(None).await?;
            if self.lifecycle.tools_are_stale() {
                let _alone = self.listing.lock().await;
                if self.lifecycle.tools_are_stale() {
                    return self.list_anew().await;
                }
            }
            Ok(self.lifecycle.tools().unwrap_or_default())
        }
        .boxed()
    }

    fn introduction(&self) -> Introduction {
        self.lifecycle.introduction()
    }

    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async {
            let _alone = self.listing.lock().await;
            self.list_anew().await
        }
        .boxed()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        // Made where it stays: it has several kilobytes.
        async move { self.call_now(call).await.map_err(|fault| self.transport.heed(fault)) }.boxed()
    }

    fn query<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        self.query_now(query).boxed()
    }

    fn health(&self) -> Health {
        self.slots.health(self.lifecycle.health())
    }

    fn messages(&self, principal: Option<&str>) -> Vec<SaidMessage> {
        self.transport.inbound().messages(principal)
    }

    fn visits(&self, _: Option<&str>) -> Option<Arc<Visits>> {
        Some(self.transport.inbound().visits().clone())
    }

    #[expect(private_interfaces, reason = "as in the trait")]
    fn open_for(&self) -> Option<&Arc<OpenFor>> {
        Some(self.transport.inbound().open_for())
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.transport.listen(&self.lifecycle);
        self.lifecycle.events()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.slots.close();
            let connection = self.lifecycle.close().await;
            self.transport.shutdown(connection).await;
        }
        .boxed()
    }
}

impl<T: Transport> Drop for McpUpstream<T> {
    fn drop(&mut self) {
        self.lifecycle.abandon();
    }
}
