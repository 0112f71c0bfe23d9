//! `_meta` of modern requests: each request repeats the facts that a handshake negotiates once.

use ptc_mcp::LogLevel;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::json;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::strict::StrictMessage;
use ptc_mcp::meta::{CLIENT_CAPABILITIES, LOG_LEVEL, PROTOCOL_VERSION};

use crate::handler_outcome::{Disposition, HandlerOutcome};
use crate::reply::{self, Answers};

/// Checks the mandatory members of `_meta` in every modern request.
pub(super) fn check_meta(id: &RequestId, message: &StrictMessage<'_>) -> Result<(), HandlerOutcome> {
    let refuse =
        |error| Err(HandlerOutcome::reply(Disposition::Invalid, reply::error(Answers::Request(id), &error)));
    let missing = |what: &str| RpcError::new(RpcError::INVALID_PARAMS, format!("Invalid params: {what}"));
    let Some(params) = message.params.object() else {
        return refuse(missing("params with _meta is required"));
    };
    if !params.has_meta {
        return refuse(missing("_meta is required"));
    }
    let Some(version) = params.meta.version.and_then(json::Raw::as_str) else {
        return refuse(missing(&format!("_meta[\"{PROTOCOL_VERSION}\"] must be a string")));
    };
    if !Revision::MODERN.iter().any(|revision| revision.name() == version) {
        return refuse(unsupported_version(&version));
    }
    if params.meta.capabilities.is_none_or(|raw| raw.kind() != json::Kind::Object) {
        return refuse(missing(&format!("_meta[\"{CLIENT_CAPABILITIES}\"] must be an object")));
    }
    let level = params.meta.log_level.map(json::Raw::as_str);
    if level.is_some_and(|level| level.is_none_or(|level| LogLevel::from_name(&level).is_none())) {
        return refuse(missing(&format!("_meta[\"{LOG_LEVEL}\"] must be one of {}", LogLevel::names())));
    }
    Ok(())
}

/// The error for a modern request in an unsupported revision.
fn unsupported_version(requested: &str) -> RpcError {
    let supported: Vec<_> = Revision::MODERN.iter().map(|revision| format!("\"{revision}\"")).collect();
    let mut data = format!("{{\"supported\":[{}],\"requested\":", supported.join(",")).into_bytes();
    json::write_string(&mut data, requested);
    data.push(b'}');
    RpcError {
        code: RpcError::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".into(),
        data: String::from_utf8(data).ok().map(Into::into),
    }
}
