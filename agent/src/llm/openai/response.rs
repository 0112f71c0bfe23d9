//! Parsing of non-streamed responses, and the parts shared with streams.

use super::super::endpoint::{Endpoint, kind_of_status};
use super::super::{
    Image, LlmError, LlmErrorKind, LlmResponse, MAX_CALLS, StopReason, ToolCall, Usage, too_many_calls,
};
use ptc_base::json::Value as Json;

/// The response in an answer's body.
pub(super) fn read(json: &Json, endpoint: &Endpoint) -> Result<LlmResponse, LlmError> {
    if let Some(error) = failure(json) {
        return Err(LlmError { message: endpoint.scrub(&error.message), ..error });
    }
    let malformed = |what: &str| {
        let display = endpoint.scrub(&json.to_string());
        LlmError::new(LlmErrorKind::Malformed, format!("the answer {what}: {display}"))
    };
    let choices = json.get("choices").and_then(Json::as_array);
    let choices = choices.ok_or_else(|| malformed("is no chat completion"))?;
    let choice = choices.first().ok_or_else(|| malformed("has no choices"))?;
    let message = choice.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| malformed("has a choice without a message"))?;
    let calls = message.get("tool_calls").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    if calls.len() > MAX_CALLS {
        return Err(too_many_calls());
    }
    let tool_calls = calls
        .iter()
        .map(|call| {
            let function = &call["function"];
            let arguments = arguments(&function["arguments"]);
            let name = function["name"].as_str().unwrap_or_default();
            ToolCall::from_text(call["id"].as_str().map(str::to_owned), name, &arguments)
        })
        .collect();
    let refusal = message.get("refusal").and_then(Json::as_str);
    let mut response = assemble(
        text(&message["content"]),
        refusal.map(str::to_owned),
        tool_calls,
        choice["finish_reason"].as_str(),
        usage(json),
    );
    response.images = images(message);
    Ok(response)
}

/// Assembles a response from the provider's content.
pub(super) fn assemble(
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Vec<ToolCall>,
    finish: Option<&str>,
    usage: Option<Usage>,
) -> LlmResponse {
    let stop = match finish {
        _ if content.is_none() && refusal.is_some() => StopReason::Refusal,
        // Several servers say `stop` beside tool calls.
        Some("stop") if !tool_calls.is_empty() => StopReason::ToolCalls,
        Some("stop") => StopReason::End,
        Some("tool_calls" | "function_call") => StopReason::ToolCalls,
        Some("length") => StopReason::Length,
        Some("content_filter") => StopReason::Refusal,
        _ => StopReason::Other,
    };
    let content = content.or(refusal);
    let mut response = LlmResponse { content, tool_calls, usage, stop, ..LlmResponse::default() };
    response.explain_cut_arguments();
    response
}

/// Text that comes as a string or as a list of parts.
pub(super) fn text(content: &Json) -> Option<String> {
    match content {
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => Some(
            parts.iter().filter_map(|part| part.get("text").unwrap_or(part).as_str()).collect::<String>(),
        ),
        _ => None,
    }
}

/// The images of a message, or of a piece of one: gateways list them beside the content or among its parts.
pub(super) fn images(message: &Json) -> Vec<Image> {
    let listed = message["images"].as_array().into_iter().flatten();
    let parts = message["content"].as_array().into_iter().flatten();
    let address = |part: &Json| {
        let url = &part["image_url"];
        url["url"].as_str().or(url.as_str()).map(str::to_owned)
    };
    listed.chain(parts).filter_map(address).filter_map(|url| Image::made_at(&url)).collect()
}

/// The text of a call's arguments. Some servers send the object itself.
pub(super) fn arguments(given: &Json) -> String {
    match given {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// The cost that an answer reports.
pub(super) fn usage(json: &Json) -> Option<Usage> {
    let usage = json.get("usage").filter(|usage| usage.is_object())?;
    let count = |path: &str| usage.pointer(path).and_then(Json::as_u64).unwrap_or(0);
    Some(Usage {
        input: count("/prompt_tokens"),
        output: count("/completion_tokens"),
        cache_creation: count("/prompt_tokens_details/cache_write_tokens"),
        cache_read: count("/prompt_tokens_details/cached_tokens"),
        total_cost: usage.get("cost").and_then(Json::as_f64),
    })
}

/// The error that stands in an answer of status 200, as gateways send it.
pub(super) fn failure(json: &Json) -> Option<LlmError> {
    let error = json.get("error").filter(|error| !error.is_null())?;
    let said = error.get("message").unwrap_or(error);
    let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    let code = error.get("code");
    let status = code.and_then(|code| match code {
        Json::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|code| u16::try_from(code).ok()),
    });
    let word = |text: &str| {
        [error.get("type"), code]
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .any(|word| word.contains(text))
    };
    let kind = match status.filter(|status| (400..600).contains(status)) {
        Some(status) => kind_of_status(status),
        None if word("rate_limit") => LlmErrorKind::RateLimit,
        None if word("invalid") => LlmErrorKind::InvalidRequest,
        None => LlmErrorKind::Server,
    };
    let mut error = LlmError::new(kind, format!("the endpoint reports an error: {said}"));
    error.status = status;
    Some(error)
}
