//! Starting a connection: the child, the era, the tools.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::encode;

use super::super::inbound::Inbound;
use super::super::protocol::{self, ServerHello};
use super::super::tools::{ToolPages, admit_all};
use super::connection::{PipeReply, StdioConnection};
use super::tasks;
use crate::child::{ChildProcess, ChildSpec};
use crate::config::{Protocol, StdioConfig};
use crate::upstream::lifecycle::{Lifecycle, StartedConnection, TransportConnection as _, closed};
use crate::upstream::{CallFault, CallLimits, ToolInfo};
use ptc_base::memory::MemoryBudget;

/// The time that a child whose start failed gets for each step of its shutdown.
const FAILED_START_GRACE: Duration = Duration::from_millis(500);

/// Errors by which a server says that it knows no `initialize`, or not without `_meta`: invalid requests and params, unknown
/// methods, and those of the modern era.
const NO_HANDSHAKE: [i64; 6] = [
    RpcError::METHOD_NOT_FOUND,
    RpcError::INVALID_REQUEST,
    RpcError::INVALID_PARAMS,
    RpcError::HEADER_MISMATCH,
    RpcError::MISSING_CAPABILITY,
    RpcError::UNSUPPORTED_VERSION,
];

/// Starts a child and brings its connection to where tools can be called. On failure the child is gone.
pub(super) async fn start(
    inbound: Arc<Inbound>,
    name: Arc<str>,
    entry: Arc<StdioConfig>,
    lifecycle: Arc<Lifecycle<StdioConnection>>,
    memory: Option<MemoryBudget>,
) -> Result<StartedConnection<StdioConnection>, CallFault> {
    let mut child =
        ChildProcess::spawn(&ChildSpec::from(&*entry)).map_err(|e| CallFault::unavailable(e.to_string()))?;
    let pipes = child.pipes.take().ok_or_else(|| CallFault::unavailable("the child has no pipes"))?;
    let connection = Arc::new(StdioConnection::new(name, inbound, pipes.stdin, entry.max_response_bytes));
    tasks::spawn(&connection, &lifecycle, child, pipes.stdout, pipes.stderr, memory);
    let mut unused = UnusedConnection(Some(connection.clone()));
    let result = tokio::select! {
        result = greet(&connection, &entry) => result,
        () = lifecycle.closing() => Err(closed()),
    };
    match result {
        Ok((hello, tools)) => {
            unused.0 = None;
            settle(&connection, &lifecycle, &hello);
            let ServerHello { version: protocol_version, introduction, .. } = hello;
            Ok(StartedConnection { connection, tools, protocol_version, introduction })
        }
        Err(fault) => {
            let died = fault.message.starts_with("mcp_stdio process");
            drop(unused);
            connection.gone().await;
            Err(if died { fault } else { fault.with_hint(&connection.stderr_hint()) })
        }
    }
}

/// Sends a greeted child its settings without waiting for an answer: the wanted announcements, and later changes of roots.
fn settle(connection: &Arc<StdioConnection>, lifecycle: &Lifecycle<StdioConnection>, hello: &ServerHello) {
    let inbound = &connection.inbound;
    if connection.era() == Era::Modern {
        if hello.announces {
            connection.request_unanswered("subscriptions/listen", &protocol::listen_params());
        }
        return;
    }
    if let Some(level) = inbound.log_level.filter(|_| hello.logs) {
        connection.request_unanswered("logging/setLevel", &protocol::set_level_params(level));
    }
    if !inbound.roots.may_change() {
        return;
    }
    let weak = Arc::downgrade(connection);
    let mut changed = Box::pin(inbound.roots.changed());
    let mut gone = connection.gone.subscribe();
    lifecycle.owner().spawn(async move {
        loop {
            tokio::select! {
                () = &mut changed => {}
                _ = gone.wait_for(|gone| *gone) => return,
            }
            let Some(connection) = weak.upgrade().filter(|connection| connection.ended().is_none()) else {
                return;
            };
            // Before it is told: what changes from now on is told again.
            changed = Box::pin(connection.inbound.roots.changed());
            connection.control(encode::notification("notifications/roots/list_changed", b"{}"));
        }
    });
}

/// A connection that did not come to be used is ended, also when its start is dropped half-way.
struct UnusedConnection(Option<Arc<StdioConnection>>);

impl Drop for UnusedConnection {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.stop(FAILED_START_GRACE);
        }
    }
}

/// Finds the era and lists the tools.
async fn greet(
    connection: &StdioConnection,
    entry: &StdioConfig,
) -> Result<(ServerHello, Arc<[ToolInfo]>), CallFault> {
    let hello = match entry.protocol {
        Protocol::Modern => discover(connection, entry).await?,
        Protocol::Handshake => initialize(connection, entry).await?.map_err(refused)?,
        Protocol::Auto => match initialize(connection, entry).await? {
            Ok(hello) => hello,
            Err(error) if NO_HANDSHAKE.contains(&error.code) => {
                discover(connection, entry).await.map_err(|_| refused(error))?
            }
            Err(error) => return Err(refused(error)),
        },
    };
    let leaves_out_tools = hello.introduction.offers.leaves_out_tools();
    connection.leaves_out_tools.store(leaves_out_tools, Ordering::Relaxed);
    let tools = list_tools(connection, entry).await?;
    Ok((hello, tools))
}

fn refused(error: RpcError) -> CallFault {
    CallFault::unavailable(format!("initialize failed: {}", error.message))
}

async fn initialize(
    connection: &StdioConnection,
    entry: &StdioConfig,
) -> Result<Result<ServerHello, RpcError>, CallFault> {
    let params = protocol::initialize_params(&connection.inbound.capabilities());
    // A client must not cancel `initialize`.
    let answer = request(connection, entry, "initialize", &params, false).await?;
    match answer {
        Ok(result) => {
            let hello = protocol::read_initialize(&result, true).map_err(CallFault::unavailable)?;
            connection.control(encode::notification("notifications/initialized", b"{}"));
            Ok(Ok(hello))
        }
        Err(error) => Ok(Err(error)),
    }
}

async fn discover(connection: &StdioConnection, entry: &StdioConfig) -> Result<ServerHello, CallFault> {
    let params = protocol::params(Era::Modern, None);
    let result = request(connection, entry, "server/discover", &params, true)
        .await?
        .map_err(|error| CallFault::unavailable(format!("server/discover failed: {}", error.message)))?;
    let hello = protocol::read_discover(&result).ok_or_else(|| {
        CallFault::unavailable(format!(
            "protocol version mismatch: server/discover offers no {}: {}",
            protocol::MODERN_VERSION,
            protocol::render(&result)
        ))
    })?;
    connection.modern.store(true, Ordering::Relaxed);
    Ok(hello)
}

/// Lists the tools of a greeted connection.
pub(super) async fn list_tools(
    connection: &StdioConnection,
    entry: &StdioConfig,
) -> Result<Arc<[ToolInfo]>, CallFault> {
    let era = connection.era();
    let mut pages = ToolPages::new(&connection.name, entry.max_response_bytes, admit_all);
    let mut cursor = None;
    loop {
        let params = protocol::params(era, cursor.as_deref());
        let result = match request(connection, entry, "tools/list", &params, true).await? {
            Ok(result) => result,
            Err(error) => return pages.refused(error, connection.leaves_out_tools.load(Ordering::Relaxed)),
        };
        (pages, cursor) = pages.add_apart(result).await?;
        if cursor.is_none() {
            return Ok(pages.finish());
        }
    }
}

/// One request of the handshake, within the handshake's own time and size.
async fn request(
    connection: &StdioConnection,
    entry: &StdioConfig,
    method: &str,
    params: &[u8],
    cancellable: bool,
) -> Result<Result<Bytes, RpcError>, CallFault> {
    let limits = CallLimits::within(entry.handshake_timeout, entry.max_response_bytes);
    let ask = || connection.request(|id| encode::request(id, method, params), &limits, cancellable, None);
    let revision = match method {
        "initialize" => protocol::own_revision(Era::Handshake),
        _ => protocol::own_revision(Era::Modern),
    };
    let answer = match ask().await {
        Ok(PipeReply::Error(error))
            if protocol::offers_it_all_the_same(&RpcError::of_bytes(&error), revision) =>
        {
            ask().await
        }
        answer => answer,
    };
    match answer {
        Ok(PipeReply::Result(result)) => Ok(Ok(result.bytes)),
        Ok(PipeReply::Error(error)) => Ok(Err(RpcError::of_bytes(&error))),
        Err(fault) if fault.reason == crate::upstream::FaultReason::Timeout => {
            let after = entry.handshake_timeout.as_millis();
            let text = format!("{method} was not answered within {after} ms (handshake_timeout_ms)");
            // What stands beneath the fixed line of a call's timeout is as true of this.
            let hint = fault.message.split_once('\n').map_or("", |(_, hint)| hint);
            Err(CallFault::unavailable(text).with_hint(hint))
        }
        Err(fault) => Err(fault),
    }
}
