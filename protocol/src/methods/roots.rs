//! `roots/list`, sent to a client on a pipe if an upstream needs the client's roots.

use ptc_mcp::json::{Raw, Value, json};
use ptc_mcp::message::id::IdMember;
use ptc_mcp::message::params::ParamsMember;
use ptc_mcp::message::strict::StrictMessage;
use tracing::debug;

use crate::connection::Connection;
use crate::handler_outcome::{Disposition, HandlerOutcome};
use crate::reply;
use crate::service::Service;

/// The id of the request: there is only one such request, and a later answer replaces an earlier one.
const ID: &str = "ptc-roots";
/// The limits on roots that are accepted: their number, and their bytes.
const MAX_ROOTS: usize = 100;
const MAX_BYTES: usize = 64 * 1024;

/// Notes at `initialize` whether the client can be asked.
pub(super) fn note_capability(service: &Service, connection: &Connection, params: &ParamsMember<'_>) {
    let Some(roots) = &service.client_roots else { return };
    let capabilities = params.object().and_then(|params| params.capabilities).and_then(Raw::members);
    let has_roots = capabilities.into_iter().flatten().any(|(name, _)| name == "roots");
    connection.set_has_roots(has_roots && connection.is_pipe());
    if !has_roots || !connection.is_pipe() {
        roots.set("[]");
    }
}

/// Asks the client, if it can be asked and an upstream needs the roots.
pub(super) fn ask(service: &Service, connection: &Connection) -> HandlerOutcome {
    if service.client_roots.is_some() && connection.has_roots() {
        return HandlerOutcome::reply(Disposition::Answered, reply::request(ID, "roots/list"));
    }
    HandlerOutcome::Silent
}

/// Accepts the client's answer. An answer of another form counts as no roots.
#[expect(clippy::disallowed_methods, reason = "entry point: take()")]
pub(super) fn take(service: &Service, connection: &Connection, message: &StrictMessage<'_>) {
    let Some(roots) = service.client_roots.as_ref().filter(|_| connection.has_roots()) else { return };
    if !matches!(&message.id, IdMember::Valid(id) if id.json() == format!("\"{ID}\"")) {
        return;
    }
    let result: Value =
        message.result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default();
    let listed: Vec<Value> =
        result["roots"].as_array().into_iter().flatten().filter_map(root).take(MAX_ROOTS).collect();
    let text = Value::Array(listed).to_string();
    debug!(event = "client_roots", bytes = text.len());
    roots.set(if text.len() > MAX_BYTES { "[]" } else { &text });
}

/// A root with the members of the protocol only; other members that the client sent are dropped.
fn root(root: &Value) -> Option<Value> {
    let uri = root["uri"].as_str().filter(|uri| uri.starts_with("file://"))?;
    Some(match root["name"].as_str() {
        Some(name) => json!({"uri": uri, "name": name}),
        None => json!({"uri": uri}),
    })
}
