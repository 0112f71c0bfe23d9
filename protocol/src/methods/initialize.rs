//! `initialize`: the handshake of the revisions up to 2025-11-25.

use std::sync::Arc;

use ptc_mcp::Revision;
use ptc_mcp::json::{Raw, write_string};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::info;

use super::roots;
use crate::client::ClientFacts;
use crate::handler_outcome::HandlerOutcome;
use crate::reply;
use crate::service::{MessageContext, Service};

/// The revision that is negotiated with a client that sent these `params`.
pub fn negotiate(params: &ParamsMember<'_>) -> Revision {
    let asked = params.object().and_then(|params| params.protocol_version).and_then(Raw::as_str);
    Revision::negotiate(asked.as_deref())
}

/// Sets the revision and introduces the server. It may be repeated.
pub fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    let (connection, revision) = (from.connection, negotiate(params));
    connection.set_revision(revision);
    let client = ClientFacts::of(params, revision);
    connection.set_client(client.known);
    connection.set_elicitation(client.elicitation);
    roots::note_capability(service, connection, params);
    info!(event = "initialize", rpc_id = %id, protocol_version = revision.name());
    HandlerOutcome::answered(reply::result(id, |out| {
        out.extend_from_slice(b"{\"protocolVersion\":\"");
        out.extend_from_slice(revision.name().as_bytes());
        out.extend_from_slice(b"\",\"serverInfo\":");
        out.extend_from_slice(service.server_info.as_bytes());
        // HTTP has no channel for these notifications in these revisions.
        let changes = service.tools_may_change() && connection.is_pipe();
        out.extend_from_slice(
            format!(",\"capabilities\":{{\"tools\":{{\"listChanged\":{changes}}}").as_bytes(),
        );
        // A level needs a conversation that lasts.
        if service.upstreams_say.is_some() && connection.lasts() {
            out.extend_from_slice(b",\"logging\":{}");
        }
        out.extend(
            service
                .exposed
                .iter()
                .flat_map(|exposed| exposed.capabilities(connection.is_pipe()).into_bytes()),
        );
        out.push(b'}');
        let instructions = service.instructions_for(from);
        if !instructions.is_empty() {
            out.extend_from_slice(b",\"instructions\":");
            write_string(out, &instructions);
        }
        out.push(b'}');
    }))
}
