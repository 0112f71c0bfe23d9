//! The server as seen from a transport: takes a message, gives the answer or the call to run.

use std::sync::Arc;

use ptc_mcp::Revision;
use ptc_mcp::json;

use super::call::Call;
use super::connection::Connection;
use super::drain::Drain;
use super::error::RpcError;
use super::message::{IdMember, META_CAPABILITIES, META_LOG_LEVEL, META_VERSION, Message, RequestId};
use super::methods;
use super::reply::{self, Answers};
use crate::concurrency_limiter::Gate;
use crate::identity;
use crate::insight::Insight;
use crate::protocol::tool::Registry;

/// Open `subscriptions/listen` channels of all clients together.
const MAX_LISTENERS: usize = 1024;
/// Severities of log messages, which a client may ask for. This server sends none.
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Which rules a message is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// The conversation began, or will begin, with `initialize`.
    Handshake,
    /// The message says for itself which revision it speaks.
    Modern,
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The JSON-RPC response.
    pub body: Vec<u8>,
    /// The HTTP status that goes with it; other transports ignore it.
    pub status: u16,
    /// Whether it says that the server is busy.
    pub busy: bool,
}

impl Reply {
    /// An answer under this status.
    pub fn under(status: u16, body: Vec<u8>) -> Self {
        Reply { body, status, busy: false }
    }

    /// An answer under status 200.
    pub fn ok(body: Vec<u8>) -> Self {
        Self::under(200, body)
    }
}

/// What became of a message.
pub enum Handled {
    /// Nothing is to be sent.
    Silent,
    /// The answer.
    Reply(Reply),
    /// A tool call to run.
    Call(Box<Call>),
    /// The client wants the conversation to end.
    Exit,
}

impl Handled {
    /// An error that answers `id`, under HTTP status 200.
    pub fn error(id: &RequestId, error: &RpcError) -> Handled {
        Handled::Reply(Reply::ok(reply::error(Answers::Request(id), error)))
    }
}

/// Everything needed to answer messages, shared by all conversations of a process.
pub struct Service {
    /// The tools.
    pub tools: Registry,
    /// The limit on calls in progress.
    pub gate: Arc<Gate>,
    /// The limit on open `subscriptions/listen` channels.
    pub listeners: Arc<Gate>,
    /// `serverInfo` as JSON.
    pub server_info: String,
    /// `instructions` for clients.
    pub instructions: String,
    /// `cacheScope` of lists: `private` where callers are told apart by tokens.
    pub cache_scope: &'static str,
    /// Sees every call, where somebody wants to know.
    pub insight: Option<Arc<Insight>>,
    draining: Drain,
}

impl Service {
    /// A server with these tools that runs at most `max_concurrent_calls` of their calls at a time.
    pub fn new(tools: Registry, max_concurrent_calls: usize) -> Self {
        Service {
            tools,
            gate: Gate::new(max_concurrent_calls),
            listeners: Gate::new(MAX_LISTENERS),
            server_info: identity::server_info_json(),
            instructions: String::new(),
            cache_scope: "public",
            insight: None,
            draining: Drain::default(),
        }
    }

    /// Refuses tool calls on all conversations from now on.
    pub fn drain(&self) {
        self.draining.begin();
    }

    /// Whether the whole server is draining.
    pub fn is_draining(&self) -> bool {
        self.draining.has_begun()
    }

    /// Completes once the whole server is draining.
    pub async fn drained(&self) {
        self.draining.begun().await;
    }

    /// The era of a message on a pipe.
    pub fn era_of(message: &Message<'_>) -> Era {
        if message.is_modern() { Era::Modern } else { Era::Handshake }
    }

    /// Answers one message.
    pub fn handle(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        message: &Message<'_>,
        era: Era,
    ) -> Handled {
        let revision = match era {
            Era::Modern => Some(Revision::V2026_07_28),
            Era::Handshake => connection.revision(),
        };
        let invalid = |id| {
            let body = reply::error(Answers::from_id(id, revision), &RpcError::invalid_request());
            Handled::Reply(Reply::under(400, body))
        };
        if message.method.is_none() && message.is_response {
            return Handled::Silent;
        }
        let id = match &message.id {
            IdMember::Invalid => return invalid(None),
            IdMember::Absent if !message.well_formed || message.method.is_none() => return invalid(None),
            IdMember::Absent => None,
            IdMember::Valid(id) => Some(id),
        };
        let Some(method) = message.method.as_ref().filter(|_| message.well_formed) else {
            return invalid(id);
        };
        let method = method.as_deref();
        match id {
            None => methods::notification(connection, method.unwrap_or_default(), message),
            Some(id) => match era {
                Era::Handshake => methods::handshake_request(self, connection, id, method, message),
                Era::Modern => match check_meta(id, message) {
                    Ok(()) => methods::modern_request(self, connection, id, method, message),
                    Err(reply) => Handled::Reply(reply),
                },
            },
        }
    }

    /// The answer to bytes that are no acceptable JSON.
    pub fn unparsable(&self, revision: Option<Revision>, malformed: json::Malformed) -> Vec<u8> {
        let error = match malformed {
            json::Malformed::TooDeep => {
                RpcError::new(RpcError::PARSE_ERROR, format!("Parse error: {malformed}"))
            }
            _ => RpcError::parse_error(),
        };
        reply::error(Answers::Unknown(revision), &error)
    }
}

/// What every modern request must carry in `_meta`.
fn check_meta(id: &RequestId, message: &Message<'_>) -> Result<(), Reply> {
    let refuse = |error| Err(Reply::under(400, reply::error(Answers::Request(id), &error)));
    let missing = |what: &str| RpcError::new(RpcError::INVALID_PARAMS, format!("Invalid params: {what}"));
    let Some(params) = message.params.object() else {
        return refuse(missing("params with _meta is required"));
    };
    if !params.has_meta {
        return refuse(missing("_meta is required"));
    }
    let Some(version) = params.meta.version.and_then(json::Raw::as_str) else {
        return refuse(missing(&format!("_meta[\"{META_VERSION}\"] must be a string")));
    };
    if !Revision::MODERN.iter().any(|revision| revision.name() == version) {
        return refuse(unsupported_version(&version));
    }
    if params.meta.capabilities.is_none_or(|raw| raw.kind() != json::Kind::Object) {
        return refuse(missing(&format!("_meta[\"{META_CAPABILITIES}\"] must be an object")));
    }
    let level = params.meta.log_level.map(json::Raw::as_str);
    if level.is_some_and(|level| !level.is_some_and(|level| LOG_LEVELS.contains(&&*level))) {
        return refuse(missing(&format!(
            "_meta[\"{META_LOG_LEVEL}\"] must be one of {}",
            LOG_LEVELS.join(", ")
        )));
    }
    Ok(())
}

/// The error for a modern request in a revision that is not spoken here.
pub fn unsupported_version(requested: &str) -> RpcError {
    let supported: Vec<_> = Revision::MODERN.iter().map(|revision| format!("\"{revision}\"")).collect();
    let mut data = format!("{{\"supported\":[{}],\"requested\":", supported.join(",")).into_bytes();
    json::write_string(&mut data, requested);
    data.push(b'}');
    RpcError {
        code: RpcError::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".into(),
        data: String::from_utf8(data).ok(),
    }
}
