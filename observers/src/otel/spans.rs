//! Spans as OTLP has them, with the names and attributes of the semantic conventions for MCP and generative AI.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use ptc_host::time::{self, Instant};
use ptc_host::trace::{Span, SpanWork};
use ptc_mcp::RpcError;
use ptc_mcp::trace_context::{SpanId, TraceContext};
use ptc_protocol::observer::{CallEnd, CallOutcome, ObservedCall};

use super::attribute::shown;
use super::writer::{bytes, fixed32, fixed64, head, length, number, text, varint};

/// The method of a call.
const TOOLS_CALL: &str = "tools/call";
/// What generative AI calls the call of a tool.
const EXECUTE_TOOL: &str = "execute_tool";
/// The type of the error of a result that says that it is one.
const TOOL_ERROR: &str = "tool_error";
/// Bytes of a span, roughly.
const ROOM: usize = 512;

/// A span as a `Span` message, whose attributes are added one by one.
struct SpanText(Vec<u8>);

impl SpanText {
    /// A span that ends now.
    fn new(context: &TraceContext, parent: Option<SpanId>, started: Instant, kind: SpanKind) -> SpanText {
        let mut out = Vec::with_capacity(ROOM);
        let ended = now_nanos();
        let took = u64::try_from(time::since(started).as_nanos()).unwrap_or(u64::MAX);
        bytes(&mut out, 1, &context.trace_id.0);
        bytes(&mut out, 2, &context.span_id.0);
        if let Some(state) = &context.state {
            bytes(&mut out, 3, state.as_bytes());
        }
        if let Some(parent) = parent {
            bytes(&mut out, 4, &parent.0);
        }
        varint(&mut out, 6, kind as u64);
        fixed64(&mut out, 7, ended.saturating_sub(took));
        fixed64(&mut out, 8, ended);
        fixed32(&mut out, 16, u32::from(context.is_sampled));
        SpanText(out)
    }

    /// Its name: a method, and what it is about.
    fn name(&mut self, method: &str, target: Option<&str>) {
        let target = target.map_or("", |target| target);
        let space = usize::from(!target.is_empty());
        head(&mut self.0, 5, method.len() + space + target.len());
        self.0.extend_from_slice(method.as_bytes());
        self.0.extend_from_slice(&b" "[..space]);
        self.0.extend_from_slice(target.as_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        text(&mut self.0, key, value);
    }

    /// The attributes of a request of a client.
    fn of_request(&mut self, id: &str, revision: &str, http_request: Option<&str>) {
        self.text("jsonrpc.request.id", &shown(id));
        self.text("mcp.protocol.version", revision);
        self.text("network.transport", if http_request.is_some() { "tcp" } else { "pipe" });
        if let Some(request) = http_request {
            self.text("ptc.request_id", &shown(request));
        }
    }

    /// The attributes of the call of a tool.
    fn tool(&mut self, tool: &str) {
        self.text("gen_ai.operation.name", EXECUTE_TOOL);
        self.text("gen_ai.tool.name", tool);
    }

    /// The whole span, with its outcome.
    fn ended(mut self, error: Option<&str>) -> Vec<u8> {
        if let Some(error) = error {
            self.text("error.type", &shown(error));
            let code = StatusCode::Error as u64;
            // A `Status` of nothing but its code, which is below 128.
            head(&mut self.0, 15, 2);
            varint(&mut self.0, 3, code);
        }
        self.0
    }
}

/// A span of a part of a call that ends now.
pub(super) fn of_part(span: &Span<'_>) -> Vec<u8> {
    let of = |kind| SpanText::new(span.context, span.parent, span.started, kind);
    match span.work {
        SpanWork::Request { method, prompt, request_id, revision, http_request, owner, error } => {
            let mut text = of(SpanKind::Server);
            let prompt = prompt.map(shown);
            text.name(method, prompt.as_deref());
            text.text("mcp.method.name", method);
            text.of_request(request_id, revision, http_request);
            text.text("ptc.owner", owner);
            if let Some(prompt) = &prompt {
                text.text("gen_ai.prompt.name", prompt);
            }
            text.ended(error)
        }
        SpanWork::Compile { failure } => {
            let mut text = of(SpanKind::Internal);
            text.name("compile", None);
            text.ended(failure)
        }
        SpanWork::Run { failure } => {
            let mut text = of(SpanKind::Internal);
            text.name("run", None);
            text.ended(failure)
        }
        SpanWork::Call { upstream, transport, method, tool, fault, rpc_code, http_status } => {
            let mut text = of(SpanKind::Client);
            let is_mcp = transport.starts_with("mcp_");
            let tool = tool.map(shown);
            let named = if is_mcp || tool.is_none() { method } else { EXECUTE_TOOL };
            text.name(named, tool.as_deref());
            text.text("ptc.upstream", &shown(upstream));
            if is_mcp {
                text.text("mcp.method.name", method);
            }
            text.text("network.transport", if transport == "mcp_stdio" { "pipe" } else { "tcp" });
            if let Some(tool) = &tool {
                text.tool(tool);
            }
            if let Some(status) = http_status {
                number(&mut text.0, "http.response.status_code", status.into());
            }
            match rpc_code {
                Some(code) => text.ended(Some(&code.to_string())),
                None => text.ended(fault),
            }
        }
    }
}

/// The span of a call that has ended; `None` if its trace is not recorded, or the call is not.
pub(super) fn of_call(call: &ObservedCall, end: &CallEnd) -> Option<Vec<u8>> {
    let error = match &end.outcome {
        CallOutcome::Answered(answer) if !answer.is_error => None,
        CallOutcome::Answered(answer) => Some(CallError::Tool(answer.reason.as_deref())),
        CallOutcome::Crashed(_) => Some(CallError::JsonRpc(RpcError::INTERNAL_ERROR)),
        CallOutcome::Cancelled => Some(CallError::Cancelled),
        CallOutcome::Discarded => return None,
    };
    request(call, Some(&call.tool), error)
}

/// The span of a call of a tool that does not exist. It has no name: there may be any number of them.
pub(super) fn of_unknown_tool(call: &ObservedCall) -> Option<Vec<u8>> {
    let error = match call.revision.is_modern() {
        true => CallError::JsonRpc(RpcError::INVALID_PARAMS),
        false => CallError::Tool(Some("unknown_tool")),
    };
    request(call, None, Some(error))
}

/// How a call has failed.
enum CallError<'a> {
    /// By a result that says so, for this reason.
    Tool(Option<&'a str>),
    /// By a JSON-RPC error of this code.
    JsonRpc(i64),
    Cancelled,
}

fn request(call: &ObservedCall, tool: Option<&str>, error: Option<CallError<'_>>) -> Option<Vec<u8>> {
    let trace = call.trace.as_deref().filter(|trace| trace.is_recorded())?;
    let mut text = SpanText::new(&trace.context, trace.parent(), call.started, SpanKind::Server);
    let mut printed = String::new();
    // Writing to memory does not fail.
    let _ = write!(printed, "{}", call.request_id);
    text.name(TOOLS_CALL, tool);
    text.text("mcp.method.name", TOOLS_CALL);
    let http_request = call.origin.as_ref().map(|origin| &*origin.request_id);
    text.of_request(&printed, call.revision.name(), http_request);
    printed.clear();
    let _ = write!(printed, "{}", call.eval_id);
    text.text("ptc.eval_id", &printed);
    text.text("ptc.owner", call.owner.principal.hash());
    if let Some(tool) = tool {
        text.tool(tool);
    }
    if let Some(CallError::Tool(Some(reason))) = error {
        text.text("ptc.reason", &shown(reason));
    }
    Some(match error {
        None => text.ended(None),
        Some(CallError::Tool(_)) => text.ended(Some(TOOL_ERROR)),
        Some(CallError::JsonRpc(code)) => text.ended(Some(&code.to_string())),
        Some(CallError::Cancelled) => text.ended(Some("cancelled")),
    })
}

/// An `ExportTraceServiceRequest` of these spans. `resource` and `scope` are messages.
pub(super) fn export_request(resource: &[u8], scope: &[u8], spans: &[Vec<u8>]) -> Vec<u8> {
    let of_scope = length(scope.len()) + spans.iter().map(|span| length(span.len())).sum::<usize>();
    let of_resource = length(resource.len()) + length(of_scope);
    let mut out = Vec::with_capacity(length(of_resource));
    head(&mut out, 1, of_resource);
    bytes(&mut out, 1, resource);
    head(&mut out, 2, of_scope);
    bytes(&mut out, 1, scope);
    spans.iter().for_each(|span| bytes(&mut out, 2, span));
    out
}

/// Nanoseconds since 1970.
pub(super) fn now_nanos() -> u64 {
    let since = time::time_of_day().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
