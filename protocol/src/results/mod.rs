//! Results that several methods write, and the members common to all results of an era.

mod meta;
pub(super) mod tasks;

use meta::{write_eval_id, write_name};
pub(crate) use meta::{write_server_meta, write_task_result};

use ptc_host::engine::EvalId;
use ptc_mcp::Era;
use ptc_mcp::json::{Object, Value, write_array, write_string};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::meta::{SERVER_INFO, SUBSCRIPTION_ID};

use crate::reply::{self, Answers};
use crate::service::Service;
use crate::tool::{Instead, ToolReply};
use crate::watches::{Notice, Subscription};

/// How long a client may keep a list, in milliseconds.
const TTL_MS: u32 = 60_000;

/// The whole response of a tool call.
pub(crate) fn tool_call(service: &Service, era: Era, id: &RequestId, tool_reply: &ToolReply) -> Vec<u8> {
    match tool_reply.instead.as_deref() {
        None | Some(Instead::Written(_)) => {}
        Some(Instead::Refused(error)) => return reply::error(Answers::Request(id), error),
        Some(Instead::Input { requests, state }) => {
            return input_required(service, id, requests, state, tool_reply.eval_id);
        }
        Some(Instead::Task(task)) => return tasks::created(service, id, task),
    }
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

/// The whole response of a call that needs input of its client first (2026-07-28).
fn input_required(
    service: &Service,
    id: &RequestId,
    requests: &str,
    state: &str,
    eval_id: Option<EvalId>,
) -> Vec<u8> {
    reply::result_of(requests.len() + state.len() + service.server_info.len(), id, |out| {
        out.extend_from_slice(b"{\"resultType\":\"input_required\",\"requestState\":");
        write_string(out, state);
        out.extend_from_slice(b",\"inputRequests\":");
        out.extend_from_slice(requests.as_bytes());
        write_server_meta(service, out, eval_id);
        out.push(b'}');
    })
}

/// The whole response of a request for a feature of the upstreams; `result` is a JSON object.
pub(crate) fn feature(service: &Service, era: Era, id: &RequestId, method: &str, result: &Value) -> Vec<u8> {
    reply::result(id, |out| {
        let members = result.to_string();
        out.extend_from_slice(members.strip_suffix('}').unwrap_or("{").as_bytes());
        if era == Era::Modern {
            if members.len() > 2 {
                out.push(b',');
            }
            out.extend_from_slice(b"\"resultType\":\"complete\"");
            if method.ends_with("/list") || method == "resources/read" {
                // Upstreams change their lists without notice.
                out.extend_from_slice(b",\"ttlMs\":0,\"cacheScope\":\"private\"");
            }
            write_server_meta(service, out, None);
        }
        out.push(b'}');
    })
}

/// The first message of a notification channel: the notifications that will come.
pub(crate) fn subscription_acknowledged(id: &RequestId, wanted: &Subscription, tasks: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    out.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\
          \"params\":{\"notifications\":",
    );
    let mut notifications = Object::new(&mut out);
    for (name, is_wanted) in [
        ("toolsListChanged", wanted.tools),
        ("resourcesListChanged", wanted.resources),
        ("promptsListChanged", wanted.prompts),
    ] {
        if is_wanted {
            notifications.boolean(name, true);
        }
    }
    if !wanted.uris.is_empty() {
        write_array(notifications.key("resourceSubscriptions"), &wanted.uris, |out, uri| {
            write_string(out, uri)
        });
    }
    if !tasks.is_empty() {
        notifications.strings("taskIds", tasks.iter().map(String::as_str));
    }
    notifications.end();
    out.extend_from_slice(b",\"_meta\":{");
    write_name(&mut out, SUBSCRIPTION_ID);
    out.extend_from_slice(id.json().as_bytes());
    out.extend_from_slice(b"}}}");
    out
}

/// The notification of a change: on a channel of the modern era, with the id of the request that opened it, or on a
/// pipe of the handshake era.
pub fn change(notice: &Notice, channel: Option<&RequestId>) -> Vec<u8> {
    let mut out = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/".to_vec();
    out.extend_from_slice(match notice {
        Notice::Updated(_) => b"resources/updated",
        Notice::Resources => b"resources/list_changed",
        Notice::Prompts => b"prompts/list_changed",
        Notice::Tools => b"tools/list_changed",
    });
    out.extend_from_slice(b"\",\"params\":");
    let mut params = Object::new(&mut out);
    if let Notice::Updated(uri) = notice {
        params.string("uri", uri);
    }
    if let Some(id) = channel {
        let out = params.key("_meta");
        out.push(b'{');
        write_name(out, SUBSCRIPTION_ID);
        out.extend_from_slice(id.json().as_bytes());
        out.push(b'}');
    }
    params.end();
    out.push(b'}');
    out
}

/// The last message of a notification channel: it has ended normally.
pub(crate) fn subscription_ended(service: &Service, id: &RequestId) -> Vec<u8> {
    reply::result(id, |out| {
        out.extend_from_slice(b"{\"resultType\":\"complete\",\"_meta\":{");
        write_name(out, SERVER_INFO);
        out.extend_from_slice(service.server_info.as_bytes());
        out.push(b',');
        write_name(out, SUBSCRIPTION_ID);
        out.extend_from_slice(id.json().as_bytes());
        out.extend_from_slice(b"}}");
    })
}

/// Writes `ttlMs` and `cacheScope`: a list depends on the caller and its client.
pub(crate) fn write_cache_hints(service: &Service, out: &mut Vec<u8>) {
    let ttl = if service.is_starting() { 0 } else { TTL_MS };
    out.extend_from_slice(format!(",\"ttlMs\":{ttl},\"cacheScope\":\"private\"").as_bytes());
}
