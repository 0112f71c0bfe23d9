//! The request body.

use super::super::{LlmRequest, Message, ToolCallMsg};
use super::concession::{
    Made, NEW_MAX_TOKENS, NO_FORMAT, NO_NULL_CONTENT, NO_SCHEMA, NO_STREAM_OPTIONS, VALID_ARGUMENTS,
};
use ptc_host::json::{Value as Json, json};

/// The body of a request, spelled so that it makes the concessions in `made`.
pub(super) fn body(model: &str, request: &LlmRequest, made: Made, stream: bool) -> Json {
    let mut body = json!({"model": model, "messages": messages(request, made)});
    if !request.tools.is_empty() {
        body["tools"] =
            request.tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        body["tool_choice"] = "auto".into();
    }
    if let Some(schema) = &request.schema
        && made & NO_FORMAT == 0
    {
        body["response_format"] = if made & NO_SCHEMA == 0 {
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}})
        } else {
            json!({"type": "json_object"})
        };
    }
    if let Some(max) = request.max_tokens {
        let name = if made & NEW_MAX_TOKENS == 0 { "max_tokens" } else { "max_completion_tokens" };
        body[name] = max.into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if stream {
        body["stream"] = true.into();
        if made & NO_STREAM_OPTIONS == 0 {
            body["stream_options"] = json!({"include_usage": true});
        }
    }
    body
}

fn messages(request: &LlmRequest, made: Made) -> Vec<Json> {
    let mut system = request.system.clone();
    if let Some(schema) = &request.schema
        && made & (NO_SCHEMA | NO_FORMAT) != 0
    {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system
            .push_str(&format!("Answer only with a JSON object that satisfies this JSON Schema:\n{schema}"));
    }
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend(request.messages.iter().map(|message| match message {
        Message::Assistant { content, tool_calls } if !tool_calls.is_empty() => {
            let content = match content.as_str() {
                "" if made & NO_NULL_CONTENT == 0 => Json::Null,
                text => text.into(),
            };
            let calls: Json = tool_calls.iter().map(|call| tool_call(call, made)).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        other => json!(other),
    }));
    messages
}

fn tool_call(call: &ToolCallMsg, made: Made) -> Json {
    let valid = made & VALID_ARGUMENTS == 0 || call.object().is_some();
    let arguments = if valid { call.arguments.clone() } else { call.as_object().to_string() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}
