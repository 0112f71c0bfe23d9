//! Parsing of responses.

use super::super::endpoint::Endpoint;
use super::super::{Image, LlmError, LlmErrorKind, LlmResponse, StopReason, ToolCall, Usage};
use ptc_base::json::{Value as Json, json};

/// Tool calls of one response: far more than a run would answer.
const MAX_CALLS: usize = 1024;

/// The response in an answer's body. `answer_tool` is the tool with which the model gives its final answer.
pub(super) fn read(
    json: &Json,
    answer_tool: Option<&str>,
    endpoint: &Endpoint,
) -> Result<LlmResponse, LlmError> {
    let malformed = |what: &str| {
        let display = endpoint.scrub(&json.to_string());
        LlmError::new(LlmErrorKind::Malformed, format!("the answer {what}: {display}"))
    };
    let blocks = json.pointer("/output/message/content").and_then(Json::as_array);
    let blocks = blocks.ok_or_else(|| malformed("is no message"))?;
    let mut response = LlmResponse::default();
    // Signed thinking goes back as it came.
    let mut signed: Vec<Json> = Vec::new();
    for block in blocks {
        if let Some(text) = block["text"].as_str() {
            response.content.get_or_insert_default().push_str(text);
        } else if let Some(call) = block.get("toolUse") {
            if response.tool_calls.len() == MAX_CALLS {
                return Err(malformed(&format!("has more than {MAX_CALLS} tool calls")));
            }
            response.tool_calls.push(ToolCall::from_text(
                call["toolUseId"].as_str().map(str::to_owned),
                call["name"].as_str().unwrap_or_default(),
                &call["input"].to_string(),
            ));
        } else if let Some(data) = block.pointer("/image/source/bytes").and_then(Json::as_str) {
            response.images.extend(Image::made(data));
        } else if block.pointer("/reasoningContent/reasoningText/signature").is_some() {
            signed.push(block.clone());
        }
    }
    if !signed.is_empty() {
        response.provider_state = Some(json!({"bedrock": {"reasoning": signed}}));
    }
    response.usage = usage(json);
    response.stop = match json["stopReason"].as_str() {
        Some("end_turn" | "stop_sequence") => StopReason::End,
        Some("tool_use") => StopReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
        Some("guardrail_intervened" | "content_filtered") => StopReason::Refusal,
        _ => StopReason::Other,
    };
    let cut =
        json["stopReason"] == "max_tokens" && blocks.last().is_some_and(|last| last.get("toolUse").is_some());
    response.tool_calls.last_mut().filter(|_| cut).into_iter().for_each(ToolCall::cut);
    take_answer(&mut response, answer_tool);
    response.explain_cut_arguments();
    Ok(response)
}

/// Makes the arguments of the answer's tool the content. Beside other calls it is early: their results come first.
fn take_answer(response: &mut LlmResponse, answer_tool: Option<&str>) {
    let calls = &mut response.tool_calls;
    let Some(at) = answer_tool.and_then(|name| calls.iter().position(|call| call.name == name)) else {
        return;
    };
    let answer = calls.remove(at);
    if calls.is_empty() {
        response.content = Some(answer.arguments_text());
        if response.stop == StopReason::ToolCalls {
            response.stop = StopReason::End;
        }
    }
}

/// The cost that an answer reports. Cached tokens are counted apart there.
fn usage(json: &Json) -> Option<Usage> {
    let usage = json.get("usage").filter(|usage| usage.is_object())?;
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).unwrap_or(0);
    let (cache_creation, cache_read) = (count("cacheWriteInputTokens"), count("cacheReadInputTokens"));
    Some(Usage {
        input: count("inputTokens").saturating_add(cache_creation).saturating_add(cache_read),
        output: count("outputTokens"),
        cache_creation,
        cache_read,
        total_cost: None,
    })
}
