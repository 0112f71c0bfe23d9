//! The trial of one tool on the console. It is a call of `lisp_eval` by the person who tries, whose program calls the tool: with
//! that person's grant, quotas, sign-ins and approvals, and in the audit log like any other.

use std::sync::Arc;

use http::StatusCode;
use ptc_mcp::Era;
use ptc_mcp::json::{Raw, Scanner, json, object_text};
use ptc_mcp::message::strict::{self, Incoming};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::{self, HttpResponse, data};
use super::auth::HttpCaller;
use super::body::ReceivedBody;
use super::endpoint::{Endpoint, RequestFacts};
use super::post::finish;
use ptc_protocol::{CallResponse, HandlerOutcome, MessageContext};

/// Longest arguments, in bytes.
const MAX_ARGUMENTS: usize = 64 << 10;

/// The JSON-RPC id of all trials: requests of the modern era are independent of each other.
const REQUEST_ID: &str = "console-trial";

/// The body of a trial.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrialBody<'s> {
    upstream: String,
    tool: String,
    /// An object; none if it is missing.
    #[serde(borrow)]
    arguments: Option<&'s RawValue>,
    /// True if the person knows that the tool may change something.
    #[serde(default)]
    confirmed: bool,
}

/// Tries a tool for an admitted caller.
#[expect(clippy::disallowed_methods, reason = "entry point: answer()")]
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    caller: &HttpCaller,
    received: ReceivedBody,
    seen: &RequestFacts,
) -> HttpResponse {
    let call = match message(endpoint, caller, received.bytes()) {
        Ok(message) => message,
        Err(refusal) => return *refusal,
    };
    drop(received);
    let Ok(Incoming::Single(message)) = strict::read(call.as_bytes()) else {
        return wrong(StatusCode::BAD_REQUEST, "the arguments are no JSON that a call can have".to_owned());
    };
    let origin = endpoint.service.observers.is_some().then(|| seen.request_id.to_str().unwrap_or_default());
    let from =
        MessageContext { origin, ..MessageContext::new(&endpoint.modern, Era::Modern, &caller.principal) };
    let reply = match endpoint.service.handle(from, &message) {
        HandlerOutcome::Reply(reply) => reply.body,
        HandlerOutcome::Call(call) => {
            match Box::pin(finish(endpoint, call.without_notifications(), |_| {})).await {
                CallResponse::Reply(body) | CallResponse::Cancelled(_, body) => body,
            }
        }
        HandlerOutcome::Silent | HandlerOutcome::Exit => {
            return wrong(StatusCode::BAD_REQUEST, "nothing was called".to_owned());
        }
    };
    data(told(&reply))
}

/// The MCP message of a trial.
#[expect(clippy::disallowed_methods, reason = "entry point: message()")]
fn message(endpoint: &Endpoint, caller: &HttpCaller, body: &[u8]) -> Result<String, Box<HttpResponse>> {
    let refused = |status, why| Box::new(wrong(status, why));
    let trial: TrialBody<'_> = serde_json::from_slice(body).map_err(|error| {
        let form = r#"{"upstream":"…","tool":"…","arguments":{…},"confirmed":true}"#;
        refused(StatusCode::BAD_REQUEST, format!("the body must be {form}: {error}"))
    })?;
    let arguments = trial.arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err(refused(StatusCode::BAD_REQUEST, "`arguments` must be an object".to_owned()));
    }
    if arguments.len() > MAX_ARGUMENTS {
        let why = format!("`arguments` has {} bytes, and at most {MAX_ARGUMENTS} are taken", arguments.len());
        return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, why));
    }
    let viewer = endpoint.service.present(&caller.principal);
    let Some(only_reads) = endpoint.telemetry.console_tool_only_reads(&viewer, &trial.upstream, &trial.tool)
    else {
        endpoint.telemetry.console_tool_not_found(&viewer, &trial.upstream, &trial.tool);
        return Err(refused(StatusCode::NOT_FOUND, "tool not found".to_owned()));
    };
    if !only_reads && !trial.confirmed {
        let why = "this tool does not say that it only reads: send `confirmed` to call it";
        let body = json!({"error": why, "needs_confirmation": true}).to_string();
        return Err(Box::new(answer::json(StatusCode::CONFLICT, body)));
    }
    let (upstream, tool) = (literal(&trial.upstream), literal(&trial.tool));
    let program = format!(
        "(let [answer (tool/call {{:server {upstream} :tool {tool} :args data/arguments}})]\n  \
         (if (:ok answer) (:value answer) (fail (str (name (:reason answer)) \": \" (:message answer)))))"
    );
    let given = object_text(|given| {
        given.string("program", &program);
        given.raw("context", &format!("{{\"arguments\":{arguments}}}"));
    });
    let params = object_text(|params| {
        params.string("name", "lisp_eval");
        params.raw("arguments", &given);
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        params.raw("_meta", &meta.to_string());
    });
    Ok(object_text(|message| {
        message.string("jsonrpc", "2.0");
        message.string("id", REQUEST_ID);
        message.string("method", "tools/call");
        message.raw("params", &params);
    }))
}

/// A string of the language.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What became of it: `is_error`, and the text for people.
fn told(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply);
    let member = |of: Option<Raw<'_>>, name: &str| -> Option<String> {
        let (_, value) = of?.members()?.find(|(key, _)| key == name)?;
        Some(value.text().to_owned())
    };
    let whole = Raw::parse(&text).ok();
    let result = member(whole, "result");
    let error = member(whole, "error");
    let result = result.as_deref().and_then(|text| Raw::parse(text).ok());
    let error = error.as_deref().and_then(|text| Raw::parse(text).ok());
    let is_error = error.is_some() || member(result, "isError").as_deref() == Some("true");
    let content = member(result, "content");
    let text_of_first = || -> Option<String> {
        let mut blocks = Scanner::new(content.as_deref()?);
        blocks.enter_array().ok()?;
        let has_one = blocks.next_element(&mut true).ok()?;
        member(Some(blocks.value().ok().filter(|_| has_one)?), "text")
    };
    let said = member(error, "message").or_else(text_of_first);
    object_text(|object| {
        object.boolean("is_error", is_error);
        object.raw("text", said.as_deref().unwrap_or("\"\""));
    })
}

fn wrong(status: StatusCode, why: String) -> HttpResponse {
    answer::json(status, json!({"error": why}).to_string())
}
