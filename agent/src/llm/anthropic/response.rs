//! Parsing of non-streamed responses, and the parts shared with streams.

use super::super::endpoint::{Endpoint, kind_of_status};
use super::super::{LlmError, LlmErrorKind, LlmResponse, StopReason, ToolCall, Usage};
use ptc_base::json::Value as Json;

/// Blocks of one response: far more than a model sends.
pub(super) const MAX_BLOCKS: usize = 1024;

/// The error of a response with more blocks than that.
pub(super) fn too_many_blocks() -> LlmError {
    LlmError::new(LlmErrorKind::Malformed, format!("the answer has more than {MAX_BLOCKS} blocks"))
}

/// The response in an answer's body. `answer_tool` is the tool with which the model gives its final answer.
pub(super) fn read(
    json: &Json,
    answer_tool: Option<&str>,
    endpoint: &Endpoint,
) -> Result<LlmResponse, LlmError> {
    if json["type"] == "error" {
        let error = failure(json);
        return Err(LlmError { message: endpoint.scrub(&error.message), ..error });
    }
    let blocks = json.get("content").and_then(Json::as_array).ok_or_else(|| {
        let display = endpoint.scrub(&json.to_string());
        LlmError::new(LlmErrorKind::Malformed, format!("the answer is no message: {display}"))
    })?;
    if blocks.len() > MAX_BLOCKS {
        return Err(too_many_blocks());
    }
    let mut content = None;
    let mut tool_calls = Vec::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => {
                content.get_or_insert_with(String::new).push_str(block["text"].as_str().unwrap_or_default());
            }
            Some("tool_use") => tool_calls.push(ToolCall::from_text(
                block["id"].as_str().map(str::to_owned),
                block["name"].as_str().unwrap_or_default(),
                &block["input"].to_string(),
            )),
            // What it thinks is no part of the answer.
            _ => {}
        }
    }
    let stop = json["stop_reason"].as_str();
    if let (Some("max_tokens"), Some(last), Some(cut)) = (stop, blocks.last(), tool_calls.last_mut())
        && last["type"] == "tool_use"
    {
        // The provider closes the object that the model did not finish.
        cut.cut();
    }
    Ok(assemble(content, tool_calls, stop, usage(&json["usage"], None), answer_tool))
}

/// Assembles a response from the provider's content.
pub(super) fn assemble(
    content: Option<String>,
    mut tool_calls: Vec<ToolCall>,
    stop: Option<&str>,
    usage: Option<Usage>,
    answer_tool: Option<&str>,
) -> LlmResponse {
    let mut stop = match stop {
        Some("end_turn" | "stop_sequence") => StopReason::End,
        Some("tool_use") => StopReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
        Some("refusal") => StopReason::Refusal,
        _ => StopReason::Other,
    };
    let mut content = content;
    if let Some(at) = answer_tool.and_then(|name| tool_calls.iter().position(|call| call.name == name)) {
        let answer = tool_calls.remove(at);
        // Beside other calls it is early: their results come first.
        if tool_calls.is_empty() {
            content = Some(answer.arguments_text());
            if stop == StopReason::ToolCalls {
                stop = StopReason::End;
            }
        }
    }
    let mut response = LlmResponse { content, tool_calls, usage, stop, ..LlmResponse::default() };
    response.explain_cut_arguments();
    response
}

/// The usage in `json`, which in a stream comes in two parts: later numbers take the place of earlier ones.
pub(super) fn usage(json: &Json, earlier: Option<Usage>) -> Option<Usage> {
    if !json.is_object() {
        return earlier;
    }
    let before = earlier.unwrap_or_default();
    let count = |key: &str, before: u64| json.get(key).and_then(Json::as_u64).unwrap_or(before);
    let cache_creation = count("cache_creation_input_tokens", before.cache_creation);
    let cache_read = count("cache_read_input_tokens", before.cache_read);
    // The provider counts cached tokens apart.
    let cached = before.cache_creation.saturating_add(before.cache_read);
    let plain = count("input_tokens", before.input.saturating_sub(cached));
    Some(Usage {
        input: plain.saturating_add(cache_creation).saturating_add(cache_read),
        output: count("output_tokens", before.output),
        cache_creation,
        cache_read,
        total_cost: None,
    })
}

/// The error that stands in an answer of status 200 or in a stream.
pub(super) fn failure(json: &Json) -> LlmError {
    let error = &json["error"];
    let said = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    let status = match error["type"].as_str() {
        Some("rate_limit_error") => Some(429),
        Some("authentication_error") => Some(401),
        Some("permission_error") => Some(403),
        Some("invalid_request_error") => Some(400),
        Some("not_found_error") => Some(404),
        Some("request_too_large") => Some(413),
        Some("overloaded_error") => Some(529),
        Some("timeout_error") => Some(408),
        _ => None,
    };
    let kind = status.map_or(LlmErrorKind::Server, kind_of_status);
    let mut made = LlmError::new(kind, format!("the endpoint reports an error: {said}"));
    made.status = status;
    made
}
