//! `tools/call`

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use tracing::{info, warn};

use super::discover::{write_eval_id, write_server_meta};
use crate::concurrency_limiter::Full;
use crate::insight::{Insight, Observation};
use crate::protocol::call::{Call, Work};
use crate::protocol::connection::{Connection, Refused};
use crate::protocol::error::RpcError;
use crate::protocol::message::{ParamsMember, RequestId};
use crate::protocol::progress::Progress;
use crate::protocol::reply;
use crate::protocol::service::{Era, Handled, Reply, Service};
use crate::protocol::tool::{CallContext, Prepared, ToolReply, short_name};
use ptc_host::engine::EvalId;

/// Answers a call, or makes it ready to run.
///
/// The order is fixed: parameters, draining, name, arguments, duplicate id, the conversation's own limit, the gate. So
/// a malformed call never takes a permit.
pub fn answer(
    service: &Arc<Service>,
    connection: &Arc<Connection>,
    era: Era,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> Handled {
    let Some(params) = params.object() else {
        return Handled::error(id, &RpcError::invalid_params());
    };
    let name = params.name.and_then(Raw::as_str).unwrap_or(Cow::Borrowed(""));
    let now = |reply: &ToolReply| Handled::Reply(Reply::ok(write_reply(service, era, id, reply)));
    info!(event = "tools_call_start", request_id = %id, tool = shown(&name));
    if service.is_draining() || connection.is_draining() {
        info!(event = "tools_call_rejected_shutting_down", request_id = %id);
        return now(&ToolReply::shutting_down());
    }
    let progress = Progress::asked_for(params);
    let mut context = context(connection, era, id);
    context.progress = progress.as_ref().map(|(_, calls)| calls.clone());
    let Some((tool_name, tool)) = service.tools.find(&name) else {
        if let Some((known, refusal)) = service.tools.refusal(&name) {
            let mut reply = refusal.clone();
            if let Some(insight) = &service.insight {
                insight.begin(&context, known, params.arguments).answered(&mut reply);
            }
            return now(&reply);
        }
        if let Some(insight) = &service.insight {
            insight.unknown_tool(&context, &name);
        }
        return match era {
            Era::Handshake => now(&ToolReply::unknown_tool(&name)),
            Era::Modern => Handled::error(
                id,
                &RpcError::new(RpcError::INVALID_PARAMS, format!("Unknown tool: {}", short_name(&name))),
            ),
        };
    };
    let observe = |insight: &Arc<Insight>| insight.begin(&context, tool_name, params.arguments);
    let mut observation = service.insight.as_ref().filter(|_| tool.is_observed()).map(observe);
    let (work, gated) = match tool.prepare(params.arguments, &context) {
        Prepared::Done(mut reply) => {
            if let Some(observation) = observation {
                observation.answered(&mut reply);
            }
            info!(event = "tools_call_stop", request_id = %id, tool = &*name, is_error = reply.is_error);
            return now(&reply);
        }
        Prepared::Gated(work) => (work, true),
        Prepared::Free(work) => (work, false),
    };
    let busy = |full, observation: Option<Observation>| {
        info!(event = "tools_call_stop", request_id = %id, tool = &*name, is_error = true, reason = "busy");
        let mut reply = tool.busy(full);
        if let Some(observation) = observation {
            observation.answered(&mut reply);
        }
        let body = write_reply(service, era, id, &reply);
        Handled::Reply(Reply { busy: true, ..Reply::ok(body) })
    };
    let (ticket, cancelled) = match connection.enter(id) {
        Ok(entered) => entered,
        Err(Refused::Full(limit)) => return busy(Full::Calls(limit), observation),
        Err(Refused::Duplicate) => {
            warn!(event = "duplicate_request_id", request_id = %id);
            if let Some(observation) = observation {
                observation.discard();
            }
            return Handled::error(id, &RpcError::duplicate_id(id));
        }
    };
    let permit = match gated.then(|| service.gate.try_enter()).transpose() {
        Ok(permit) => permit,
        Err(full) => return busy(full, observation),
    };
    if let Some(observation) = &mut observation {
        observation.runs();
    }
    Handled::Call(Box::new(Call {
        service: service.clone(),
        id: id.clone(),
        era,
        work: Work::Tool { name: tool_name, eval_id: context.eval_id, running: work },
        started: Instant::now(),
        cancelled,
        progress: progress.map(|(progress, _)| progress),
        ticket,
        permit,
        observation,
    }))
}

/// The whole response of a call.
pub fn write_reply(service: &Service, era: Era, id: &RequestId, tool_reply: &ToolReply) -> Vec<u8> {
    let room = service.server_info.len() + tool_reply.len_hint();
    reply::result_of(room, id, |out| {
        out.push(b'{');
        tool_reply.write_members(out);
        let eval_id = tool_reply.eval_id;
        match (era, eval_id) {
            (Era::Modern, _) => {
                out.extend_from_slice(b",\"resultType\":\"complete\"");
                write_server_meta(service, out, eval_id);
            }
            (Era::Handshake, Some(eval_id)) => {
                out.extend_from_slice(b",\"_meta\":{\"eval_id\":");
                write_eval_id(out, eval_id);
                out.push(b'}');
            }
            (Era::Handshake, None) => {}
        }
        out.push(b'}');
    })
}

fn context(connection: &Connection, era: Era, id: &RequestId) -> CallContext {
    CallContext {
        owner: connection.owner().clone(),
        eval_id: EvalId::new(),
        progress: None,
        request_id: id.clone(),
        revision: match era {
            Era::Modern => Revision::V2026_07_28,
            Era::Handshake => connection.revision().unwrap_or(Revision::LATEST_HANDSHAKE),
        },
    }
}

/// A tool name as logs show it: bounded.
fn shown(name: &str) -> String {
    name.chars().take(128).collect()
}
