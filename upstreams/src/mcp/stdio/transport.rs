//! A child's pipes as a transport.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_mcp::encode;
use ptc_mcp::{Era, RpcError};
use tokio::runtime::Handle;

use super::super::inbound::Inbound;
use super::super::roots::ClientRoots;
use super::super::upstream::{McpUpstream, Transport};
use super::super::{protocol, result};
use super::connection::{PipeReply, SHUTDOWN_GRACE, StdioConnection};
use super::handshake;
use crate::config::{StdioConfig, UpstreamConfig};
use crate::upstream::lifecycle::{Lifecycle, StartedConnection};
use crate::upstream::{
    Call, CallFault, CallLimits, CallReply, Query, Stopwatch, ToolInfo, Visits, no_memory,
};
use ptc_base::memory::MemoryBudget;

/// A tool server that is our child process. Any number of calls is in flight on its one pipe. Its tasks run on the
/// runtime given at construction, calls may come from anywhere.
pub type StdioUpstream = McpUpstream<StdioTransport>;

/// How a child is started, spoken to and ended.
pub struct StdioTransport {
    name: Arc<str>,
    entry: Arc<StdioConfig>,
    inbound: Arc<Inbound>,
    memory: Option<MemoryBudget>,
}

impl StdioUpstream {
    /// An upstream that is not started yet. `owner` is the runtime of its tasks; it needs I/O and time enabled.
    #[must_use]
    pub fn new(config: &UpstreamConfig, entry: &StdioConfig, roots: &ClientRoots, owner: Handle) -> Self {
        let transport = StdioTransport {
            name: config.name.as_str().into(),
            entry: Arc::new(entry.clone()),
            inbound: Inbound::new(config, roots),
            memory: None,
        };
        Self::over(transport, config, Arc::new(Lifecycle::new(owner, config.backoff)))
    }

    /// Knows of the pages that another connection to the same server has people sent to.
    pub fn sharing(mut self, visits: Option<Arc<Visits>>) -> Self {
        if let (Some(visits), Some(inbound)) = (visits, Arc::get_mut(&mut self.transport.inbound)) {
            inbound.share_visits(visits);
        }
        self
    }

    /// Counts lines on their way in the memory of the process; a line without room is dropped, and fails the call that it
    /// answers.
    #[must_use]
    pub fn within(mut self, memory: Option<MemoryBudget>) -> Self {
        self.transport.memory = memory;
        self
    }
}

impl Transport for StdioTransport {
    type Connection = StdioConnection;

    const NAME: &'static str = "mcp_stdio";

    fn start(
        &self,
        lifecycle: &Arc<Lifecycle<StdioConnection>>,
    ) -> impl Future<Output = Result<StartedConnection<StdioConnection>, CallFault>> + Send + 'static {
        handshake::start(
            self.inbound.clone(),
            self.name.clone(),
            self.entry.clone(),
            lifecycle.clone(),
            self.memory.clone(),
        )
    }

    async fn call(
        &self,
        _: &Arc<Lifecycle<StdioConnection>>,
        connection: &Arc<StdioConnection>,
        call: Call<'_>,
    ) -> Result<CallReply, CallFault> {
        let mut limits = call.limits;
        limits.timeout = limits.timeout.min(self.entry.request_timeout.unwrap_or(Duration::MAX));
        let entered = self.inbound.enter(call.caller, call.tool);
        let meta = entered.meta(call.caller, connection.era());
        let encode = |id| encode::tools_call(id, call.tool, call.arguments, call.again, meta.as_deref());
        let stopwatch = call.caller.asking.map(|asking| &asking.stopwatch);
        match request(connection, encode, limits, stopwatch).await? {
            // A line is read whole, within the cap of the pipe, before it is known whose it is.
            PipeReply::Result(result)
                if call.arrivals.is_some_and(|arrivals| !arrivals.arrived(result.bytes.len())) =>
            {
                Err(no_memory(result.bytes.len() as u64))
            }
            PipeReply::Result(result) => result::read_apart(result, call.may_wrap).await,
            PipeReply::Error(error) => {
                Err(protocol::rpc_fault(RpcError::of_bytes(&error), error.len() as u64))
            }
        }
    }

    async fn query(
        &self,
        _: &Arc<Lifecycle<StdioConnection>>,
        connection: &Arc<StdioConnection>,
        query: Query<'_>,
    ) -> Result<Bytes, CallFault> {
        let mut limits = query.limits;
        limits.timeout = limits.timeout.min(self.entry.request_timeout.unwrap_or(Duration::MAX));
        let params = protocol::params_with(connection.era(), query.method, query.params, query.caller.trace);
        let _entered = self.inbound.enter(query.caller, query.method);
        match request(connection, |id| encode::request(id, query.method, &params), limits, None).await? {
            PipeReply::Result(result)
                if query.arrivals.is_some_and(|arrivals| !arrivals.arrived(result.bytes.len())) =>
            {
                Err(no_memory(result.bytes.len() as u64))
            }
            PipeReply::Result(result) => Ok(result.bytes),
            PipeReply::Error(error) => {
                Err(protocol::rpc_fault(RpcError::of_bytes(&error), error.len() as u64))
            }
        }
    }

    async fn list_tools(&self, connection: &Arc<StdioConnection>) -> Result<Arc<[ToolInfo]>, CallFault> {
        handshake::list_tools(connection, &self.entry).await
    }

    fn inbound(&self) -> &Inbound {
        &self.inbound
    }

    /// A child reports changes on its one pipe, with or without a request.
    fn listen(&self, _: &Arc<Lifecycle<StdioConnection>>) {}

    async fn shutdown(&self, connection: Option<Arc<StdioConnection>>) {
        if let Some(connection) = connection {
            connection.stop(SHUTDOWN_GRACE);
            connection.gone().await;
        }
    }
}

/// A request of a program and its answer. One that is refused for a revision that the child offers all the same has not
/// been run, and is sent once more.
async fn request(
    connection: &StdioConnection,
    encode: impl Fn(u64) -> Vec<u8>,
    limits: CallLimits,
    stopwatch: Option<&Stopwatch>,
) -> Result<PipeReply, CallFault> {
    match connection.request(&encode, &limits, true, stopwatch).await? {
        PipeReply::Error(error)
            if connection.era() == Era::Modern
                && protocol::offers_it_all_the_same(
                    &RpcError::of_bytes(&error),
                    protocol::own_revision(Era::Modern),
                ) =>
        {
            connection.request(encode, &limits, true, stopwatch).await
        }
        answer => Ok(answer),
    }
}
