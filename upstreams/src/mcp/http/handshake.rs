//! The handshake with a server: its era, session and tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ptc_mcp::Era;
use ptc_mcp::LogLevel;
use ptc_mcp::RpcError;
use ptc_mcp::encode;

use super::super::protocol::{self, ServerHello};
use super::super::tools::{ToolPages, admit_all};
use super::mirror;
use super::old_stream::OldStream;
use super::post::{Endpoint, HttpReply, Outgoing, PostError};
use super::rpc_failure::RpcFailure;
use super::session::HttpSession;
use crate::config::Protocol;
use crate::upstream::lifecycle::StartedConnection;
use crate::upstream::{CallFault, FaultReason, ToolInfo};
use ptc_base::time;
use ptc_http::Limits;

/// The protocol that a server was found to speak, remembered over restarts.
#[derive(Debug, Default)]
pub(super) struct RememberedProtocol(AtomicU8);

/// The protocols of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerProtocols {
    Handshake,
    Modern,
    /// HTTP+SSE of 2024-11-05.
    OldStream,
}

impl RememberedProtocol {
    fn get(&self) -> Option<ServerProtocols> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some(ServerProtocols::Handshake),
            2 => Some(ServerProtocols::Modern),
            3 => Some(ServerProtocols::OldStream),
            _ => None,
        }
    }

    fn set(&self, spoken: Option<ServerProtocols>) {
        let number = match spoken {
            None => 0,
            Some(ServerProtocols::Handshake) => 1,
            Some(ServerProtocols::Modern) => 2,
            Some(ServerProtocols::OldStream) => 3,
        };
        self.0.store(number, Ordering::Relaxed);
    }
}

/// Greets the server and lists its tools.
pub(super) async fn start(
    endpoint: Arc<Endpoint>,
    remembered: Arc<RememberedProtocol>,
) -> Result<StartedConnection<HttpSession>, CallFault> {
    let (session, hello) = greet(&endpoint, &remembered).await?;
    remembered.set(Some(match (&session.old_stream, session.era) {
        (Some(_), _) => ServerProtocols::OldStream,
        (None, Era::Handshake) => ServerProtocols::Handshake,
        (None, Era::Modern) => ServerProtocols::Modern,
    }));
    match list_tools(&endpoint, &session).await {
        Ok(tools) => {
            session.set_tools(&tools);
            let ServerHello { version: protocol_version, introduction, .. } = hello;
            Ok(StartedConnection { connection: Arc::new(session), tools, protocol_version, introduction })
        }
        Err(fault) => {
            endpoint.delete(&session, &handshake_limits(&endpoint)).await;
            Err(fault)
        }
    }
}

/// How long an answer of the modern era is waited for, and one to a notification.
const SILENCE: Duration = Duration::from_secs(5);

async fn greet(
    endpoint: &Arc<Endpoint>,
    remembered: &RememberedProtocol,
) -> Result<(HttpSession, ServerHello), CallFault> {
    if endpoint.entry.old_stream {
        return initialize_on_stream(endpoint).await;
    }
    if remembered.get() == Some(ServerProtocols::OldStream) {
        match initialize_on_stream(endpoint).await {
            // It has changed since: look again.
            Err(fault) if fault.http_status.is_some_and(|status| (400..500).contains(&status)) => {
                remembered.set(None);
            }
            other => return other,
        }
    }
    match (endpoint.entry.protocol, remembered.get()) {
        (Protocol::Handshake, _) => initialize_or_stream(endpoint).await,
        (Protocol::Modern, _) => discover(endpoint, Duration::MAX).await.map_err(GreetingError::into_fault),
        (Protocol::Auto, Some(ServerProtocols::Handshake)) => match initialize(endpoint).await {
            Ok(agreed) => Ok(agreed),
            Err(GreetingError::OtherEra(_)) => {
                // It has changed since: look again.
                remembered.set(None);
                discover(endpoint, Duration::MAX).await.map_err(GreetingError::into_fault)
            }
            Err(GreetingError::Fault(fault)) => Err(fault),
        },
        (Protocol::Auto, _) => {
            // Part of the time, so that a server that keeps silent about methods it does not know can still be
            // greeted in its own way.
            match discover(endpoint, SILENCE.min(endpoint.entry.handshake_timeout / 2)).await {
                Ok(agreed) => Ok(agreed),
                Err(GreetingError::OtherEra(_)) => initialize_or_stream(endpoint).await,
                Err(GreetingError::Fault(fault)) => Err(fault),
            }
        }
    }
}

/// Why a greeting was not returned.
enum GreetingError {
    /// The server may speak the other era.
    OtherEra(CallFault),
    /// It would not speak the other one either.
    Fault(CallFault),
}

impl GreetingError {
    fn into_fault(self) -> CallFault {
        match self {
            Self::OtherEra(fault) | Self::Fault(fault) => fault,
        }
    }
}

/// Tries the modern era. A recognised modern error identifies a modern server; any other refusal, and silence, may come
/// from one that wants a handshake.
async fn discover(
    endpoint: &Endpoint,
    at_most: Duration,
) -> Result<(HttpSession, ServerHello), GreetingError> {
    let session = HttpSession::new(Era::Modern, Some(protocol::MODERN_VERSION));
    let mut limits = handshake_limits(endpoint);
    limits.total = limits.total.min(at_most);
    let params = protocol::params(Era::Modern, None);
    let failed = |text: &str| CallFault::unavailable(format!("server/discover failed: {text}"));
    match request(endpoint, &session, "server/discover", &params, &limits).await {
        Ok(HttpReply::Result(result)) => match protocol::read_discover(&result.bytes) {
            Some(hello) => Ok((session.agreed(&hello), hello)),
            None => Err(GreetingError::OtherEra(failed(&format!(
                "it offers no {}: {}",
                protocol::MODERN_VERSION,
                protocol::render(&result.bytes)
            )))),
        },
        Ok(HttpReply::Error(RpcFailure { error, .. })) if error.code == RpcError::UNSUPPORTED_VERSION => {
            let offered = protocol::supported_versions(error.data.as_deref());
            let fault = CallFault::unavailable(format!(
                "protocol version mismatch: server={} client={}",
                offered.join(","),
                protocol::MODERN_VERSION
            ));
            let handshake = offered.iter().any(|version| protocol::has_handshake(version));
            Err(if handshake { GreetingError::OtherEra(fault) } else { GreetingError::Fault(fault) })
        }
        Ok(HttpReply::Error(RpcFailure { error, .. }))
            if [RpcError::HEADER_MISMATCH, RpcError::MISSING_CAPABILITY].contains(&error.code) =>
        {
            Err(GreetingError::Fault(failed(&error.message)))
        }
        Ok(HttpReply::Error(RpcFailure { error, .. })) => {
            Err(GreetingError::OtherEra(failed(&error.message)))
        }
        Err(PostError::Fault(fault)) if may_want_handshake(&fault) => {
            Err(GreetingError::OtherEra(handshake_fault(fault, "server/discover", limits.total)))
        }
        Err(failure) => Err(GreetingError::Fault(failure.into_fault())),
    }
}

/// Whether a server that cannot be spoken to in the modern way may still have a handshake: it refused or broke on a
/// method that it does not know. If no server listens, or the credentials are refused, there is nothing to try.
fn may_want_handshake(fault: &CallFault) -> bool {
    match fault.http_status {
        Some(status) => matches!(status, 400 | 402..=428 | 430..=499 | 500 | 501),
        None => matches!(fault.reason, FaultReason::Timeout | FaultReason::UpstreamError),
    }
}

/// Greets with `initialize`, and if the server refuses the very `POST` as one before 2025-03-26 does, over its event stream.
async fn initialize_or_stream(endpoint: &Arc<Endpoint>) -> Result<(HttpSession, ServerHello), CallFault> {
    let fault = match initialize(endpoint).await {
        Ok(agreed) => return Ok(agreed),
        Err(GreetingError::OtherEra(fault)) => fault,
        Err(GreetingError::Fault(fault)) => return Err(fault),
    };
    let refused = fault
        .http_status
        .is_some_and(|status| (400..500).contains(&status) && !matches!(status, 401 | 403 | 407 | 429));
    if !refused {
        return Err(fault);
    }
    initialize_on_stream(endpoint).await.map_err(|on_stream| {
        let told = on_stream.message.lines().next().unwrap_or_default();
        fault.with_hint(&format!("It has no event stream of 2024-11-05 either: {told}"))
    })
}

/// Greets over the event stream of HTTP+SSE.
async fn initialize_on_stream(endpoint: &Arc<Endpoint>) -> Result<(HttpSession, ServerHello), CallFault> {
    let stream = OldStream::open(endpoint, &handshake_limits(endpoint)).await.map_err(|fault| {
        let fault = CallFault { message: format!("GET for the event stream: {}", fault.message), ..fault };
        if fault.reason == FaultReason::Timeout { CallFault::unavailable(fault.message) } else { fault }
    })?;
    initialize_over(endpoint, HttpSession::over_stream(stream)).await.map_err(GreetingError::into_fault)
}

async fn initialize(endpoint: &Endpoint) -> Result<(HttpSession, ServerHello), GreetingError> {
    initialize_over(endpoint, HttpSession::new(Era::Handshake, None)).await
}

async fn initialize_over(
    endpoint: &Endpoint,
    session: HttpSession,
) -> Result<(HttpSession, ServerHello), GreetingError> {
    let limits = handshake_limits(endpoint);
    let params = protocol::initialize_params(&endpoint.inbound.capabilities());
    let result = match request(endpoint, &session, "initialize", &params, &limits).await {
        Ok(HttpReply::Result(result)) => result.bytes,
        Ok(HttpReply::Error(RpcFailure { error, status, .. })) => {
            let fault = CallFault::unavailable(format!("initialize failed: {}", error.message));
            let fault = if status.is_success() { fault } else { fault.with_status(status.as_u16()) };
            return Err(GreetingError::OtherEra(fault));
        }
        Err(PostError::Fault(fault)) => {
            let other = fault.http_status.is_some_and(|status| (400..500).contains(&status) && status != 429);
            let fault = handshake_fault(fault, "initialize", limits.total);
            return Err(if other { GreetingError::OtherEra(fault) } else { GreetingError::Fault(fault) });
        }
        Err(failure) => return Err(GreetingError::Fault(failure.into_fault())),
    };
    let hello = protocol::read_initialize(&result, false)
        .map_err(|text| GreetingError::Fault(CallFault::unavailable(text)))?;
    let session = session.agreed(&hello);
    let note = encode::notification("notifications/initialized", b"{}");
    let brief = Limits { total: limits.total.min(SILENCE), ..limits };
    let told = match endpoint.notify(&session, "notifications/initialized", note, &brief).await {
        Ok(status) if status.is_success() => return Ok((session, hello)),
        Ok(http::StatusCode::UNAUTHORIZED) => {
            return Err(GreetingError::Fault(endpoint.unauthorized(None).into_fault()));
        }
        Ok(status) => format!("http {}", status.as_u16()),
        Err(PostError::Unauthorized(fault)) => return Err(GreetingError::Fault(fault)),
        Err(failure) => failure.into_fault().message,
    };
    // Nothing depends on the answer to a notification: what the server makes of it shows in what it answers next.
    tracing::warn!(
        upstream = &*endpoint.name,
        error = %told,
        "upstream_notification_refused: notifications/initialized"
    );
    Ok((session, hello))
}

/// Lists the tools within the handshake's time and size.
pub(super) async fn list_tools(
    endpoint: &Endpoint,
    session: &HttpSession,
) -> Result<Arc<[ToolInfo]>, CallFault> {
    let admits = if session.era == Era::Modern { mirror::admit } else { admit_all };
    let limits = handshake_limits(endpoint);
    let mut pages = ToolPages::new(&endpoint.name, endpoint.entry.max_response_bytes, admits);
    let mut cursor = None;
    loop {
        let params = protocol::params(session.era, cursor.as_deref());
        let limits = Limits { deadline: time::now() + limits.total + limits.connect, ..limits };
        let result = match request(endpoint, session, "tools/list", &params, &limits).await {
            Ok(HttpReply::Result(result)) => result.bytes,
            Ok(HttpReply::Error(failure)) => return pages.refused(failure.error, session.leaves_out_tools),
            Err(failure) => return Err(handshake_fault(failure.into_fault(), "tools/list", limits.total)),
        };
        (pages, cursor) = pages.add_apart(result).await?;
        if cursor.is_none() {
            return Ok(pages.finish());
        }
    }
}

/// Says which log messages are wanted.
pub(super) async fn set_level(
    endpoint: &Endpoint,
    session: &HttpSession,
    level: LogLevel,
) -> Result<(), CallFault> {
    let (params, limits) = (protocol::set_level_params(level), handshake_limits(endpoint));
    match request(endpoint, session, "logging/setLevel", &params, &limits).await {
        Ok(HttpReply::Result(_)) => Ok(()),
        Ok(HttpReply::Error(failure)) => Err(failure.into_fault()),
        Err(failure) => Err(failure.into_fault()),
    }
}

async fn request(
    endpoint: &Endpoint,
    session: &HttpSession,
    method: &str,
    params: &[u8],
    limits: &Limits,
) -> Result<HttpReply, PostError> {
    let ask = || {
        let id = session.next_id();
        let body = encode::request(id, method, params);
        endpoint.request(session, Outgoing::plain(Some(id), method, body), limits)
    };
    match ask().await {
        Ok(HttpReply::Error(failure))
            if protocol::offers_it_all_the_same(&failure.error, protocol::own_revision(session.era)) =>
        {
            ask().await
        }
        answer => answer,
    }
}

fn handshake_limits(endpoint: &Endpoint) -> Limits {
    let entry = &endpoint.entry;
    let connect = entry.connect_timeout.min(entry.handshake_timeout);
    Limits {
        connect,
        first_byte: None,
        total: entry.handshake_timeout,
        deadline: time::now() + connect + entry.handshake_timeout,
        max_bytes: entry.max_response_bytes,
        allowance: 0,
    }
}

/// A handshake that took too long is an upstream that could not be started.
fn handshake_fault(fault: CallFault, method: &str, limit: Duration) -> CallFault {
    if fault.reason == FaultReason::Timeout {
        let text =
            format!("{method} was not answered within {} ms (handshake_timeout_ms)", limit.as_millis());
        return CallFault::unavailable(text);
    }
    fault
}
