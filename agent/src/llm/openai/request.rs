//! The request body.

use super::super::image::lower;
use super::super::message::schema_in_words;
use super::super::{Image, LlmRequest, Message, ToolCallMsg};
use super::concession::{
    ConcessionSet, NEW_MAX_TOKENS, NO_FORMAT, NO_MADE_IMAGES, NO_NULL_CONTENT, NO_SCHEMA, NO_STREAM_OPTIONS,
    NO_TOOL_IMAGES, VALID_ARGUMENTS,
};
use super::strict::strict;
use ptc_base::json::{Value as Json, json};

/// The body of a request, spelled so that it makes the concessions in `made`.
pub(super) fn body(model: &str, request: &LlmRequest, made: ConcessionSet, stream: bool) -> Json {
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
            let strict = strict(schema);
            let (schema, strict) = (strict.as_ref().unwrap_or(schema), strict.is_some());
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": strict}})
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

fn messages(request: &LlmRequest, made: ConcessionSet) -> Vec<Json> {
    let mut system = request.system.clone();
    if let Some(schema) = &request.schema
        && made & (NO_SCHEMA | NO_FORMAT) != 0
    {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&schema_in_words(schema));
    }
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    let lowered = if made & NO_TOOL_IMAGES == 0 { None } else { lower(&request.messages) };
    let given = lowered.as_deref().unwrap_or(&request.messages);
    // Images of the results so far: a tool message has no place for them, and nothing may stand between results.
    let mut shown: Vec<&Image> = Vec::new();
    for message in given {
        if !matches!(message, Message::Tool { .. }) {
            messages.extend(images_of_tools(&mut shown));
        }
        messages.push(match message {
            Message::System { content } => json!({"role": "system", "content": content}),
            Message::User { content, images } if images.is_empty() => {
                json!({"role": "user", "content": content})
            }
            Message::User { content, images } => {
                let text = (!content.is_empty()).then(|| json!({"type": "text", "text": content}));
                let parts: Json = images.iter().map(image_part).chain(text).collect();
                json!({"role": "user", "content": parts})
            }
            Message::Assistant { content, tool_calls, images, .. } => {
                assistant(content, tool_calls, images, made)
            }
            Message::Tool { tool_call_id, content, images } => {
                shown.extend(images);
                json!({"role": "tool", "tool_call_id": tool_call_id, "content": content})
            }
        });
    }
    messages.extend(images_of_tools(&mut shown));
    messages
}

fn assistant(content: &str, tool_calls: &[ToolCallMsg], images: &[Image], made: ConcessionSet) -> Json {
    let mut message = json!({"role": "assistant", "content": content});
    if !tool_calls.is_empty() {
        if content.is_empty() && made & NO_NULL_CONTENT == 0 {
            message["content"] = Json::Null;
        }
        message["tool_calls"] = tool_calls.iter().map(|call| tool_call(call, made)).collect();
    }
    if !images.is_empty() && made & NO_MADE_IMAGES == 0 {
        message["images"] = images.iter().map(image_part).collect();
    }
    message
}

fn image_part(image: &Image) -> Json {
    json!({"type": "image_url", "image_url": {"url": image.data_url()}})
}

/// The message that shows the images of the tool results before it.
fn images_of_tools(shown: &mut Vec<&Image>) -> Option<Json> {
    if shown.is_empty() {
        return None;
    }
    let text = json!({"type": "text", "text": "The images of the tool results above, in their order:"});
    let parts: Json = std::iter::once(text).chain(shown.drain(..).map(image_part)).collect();
    Some(json!({"role": "user", "content": parts}))
}

fn tool_call(call: &ToolCallMsg, made: ConcessionSet) -> Json {
    let valid = made & VALID_ARGUMENTS == 0 || call.object().is_some();
    let arguments = if valid { call.arguments.clone() } else { call.as_object().to_string() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}
