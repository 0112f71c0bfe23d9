//! Members of many results.

use crate::service::Service;
use crate::tool::ToolReply;
use ptc_host::engine::EvalId;
use ptc_mcp::meta::SERVER_INFO;

/// Writes `_meta` of a modern result: the server's name, and the id of the evaluation.
pub(crate) fn write_server_meta(service: &Service, out: &mut Vec<u8>, eval_id: Option<EvalId>) {
    out.extend_from_slice(b",\"_meta\":{");
    write_name(out, SERVER_INFO);
    out.extend_from_slice(service.server_info.as_bytes());
    if let Some(eval_id) = eval_id {
        out.extend_from_slice(b",\"eval_id\":");
        write_eval_id(out, eval_id);
    }
    out.push(b'}');
}

/// Writes the result of a call into the task that it has become.
pub(crate) fn write_task_result(service: &Service, out: &mut Vec<u8>, tool_reply: &ToolReply) {
    out.push(b'{');
    tool_reply.write_members(out);
    out.extend_from_slice(b",\"resultType\":\"complete\"");
    write_server_meta(service, out, tool_reply.eval_id);
    out.push(b'}');
}

/// Writes the id of an evaluation as a JSON string.
pub(super) fn write_eval_id(out: &mut Vec<u8>, eval_id: EvalId) {
    // Neither its letters nor its digits need an escape.
    out.push(b'"');
    eval_id.write(out);
    out.push(b'"');
}

/// Writes the name of a member of `_meta`, and its colon.
pub(super) fn write_name(out: &mut Vec<u8>, name: &str) {
    // None of the names needs an escape.
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}
