//! The request body.

use super::super::message::{instructions, tells_error};
use super::super::{Image, LlmError, LlmErrorKind, LlmRequest, Message};
use ptc_base::json::{Value as Json, json};

/// The longest answer, where the request does not say: the protocol demands a number.
const MAX_TOKENS: u32 = 4096;

/// The name of the tool with which the model gives an answer that has a schema; no tool of the request has it.
pub(super) fn answer_tool(request: &LlmRequest) -> String {
    let mut name = "answer".to_owned();
    while request.tools.iter().any(|tool| tool.name == name) {
        name.push('_');
    }
    name
}

/// The body of a request.
///
/// # Errors
/// A conversation without any text: the protocol has no such request.
pub(super) fn body(
    model: &str,
    request: &LlmRequest,
    answer_tool: Option<&str>,
    stream: bool,
) -> Result<Json, LlmError> {
    let mut turns = turns(&request.messages);
    if turns.is_empty() {
        return Err(LlmError::new(LlmErrorKind::InvalidRequest, "the conversation has no text"));
    }
    let mut tools: Vec<Json> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        })
        .collect();
    if let (Some(name), Some(schema)) = (answer_tool, &request.schema) {
        let description = "Gives the final answer. Its arguments are the answer.";
        tools.push(json!({"name": name, "description": description, "input_schema": schema}));
    }
    let mut system: Vec<Json> = instructions(request).filter_map(text_block).collect();
    if request.cache {
        let last_block = turns.last_mut().and_then(|turn| turn.blocks.last_mut());
        for marked in [system.last_mut(), tools.last_mut(), last_block].into_iter().flatten() {
            marked["cache_control"] = json!({"type": "ephemeral"});
        }
    }
    let max_tokens = request.max_tokens.unwrap_or(MAX_TOKENS);
    let messages: Json =
        turns.into_iter().map(|turn| json!({"role": turn.role, "content": turn.blocks})).collect();
    let mut body = json!({"model": model, "max_tokens": max_tokens, "messages": messages});
    if !system.is_empty() {
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
        body["tool_choice"] = match answer_tool {
            None => json!({"type": "auto"}),
            Some(name) if request.tools.is_empty() => json!({"type": "tool", "name": name}),
            // It may call the others first; text alone would be no answer.
            Some(_) => json!({"type": "any"}),
        };
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if stream {
        body["stream"] = true.into();
    }
    Ok(body)
}

/// Consecutive messages of one side.
struct Turn {
    role: &'static str,
    blocks: Vec<Json>,
}

/// The conversation in turns: both sides alternate, and all tool results of one turn are in one message.
fn turns(messages: &[Message]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages {
        let (role, blocks): (_, Vec<Json>) = match message {
            Message::System { .. } => continue,
            Message::User { content, images } => {
                ("user", images.iter().map(image_block).chain(text_block(content)).collect())
            }
            Message::Assistant { content, tool_calls, .. } => {
                let calls = tool_calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": wire_id(&call.id), "name": call.name, "input": call.as_object()})
                });
                ("assistant", text_block(content).into_iter().chain(calls).collect())
            }
            Message::Tool { tool_call_id, content, images } => {
                let mut result =
                    json!({"type": "tool_result", "tool_use_id": wire_id(tool_call_id), "content": content});
                if !images.is_empty() {
                    let text = text_block(content).into_iter();
                    result["content"] = text.chain(images.iter().map(image_block)).collect();
                }
                if tells_error(content) {
                    result["is_error"] = true.into();
                }
                ("user", vec![result])
            }
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, blocks }),
        }
    }
    turns
}

/// A block of text; blank ones are refused by the provider.
fn text_block(text: &str) -> Option<Json> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn image_block(image: &Image) -> Json {
    let source = match image.parts() {
        Ok((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
        Err(url) => json!({"type": "url", "url": url}),
    };
    json!({"type": "image", "source": source})
}

/// An id in the characters that the provider takes: histories may come from elsewhere.
fn wire_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
