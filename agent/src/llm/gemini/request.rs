//! The request body.

use super::super::message::{instructions, schema_in_words, tells_error};
use super::super::{Image, LlmError, LlmErrorKind, LlmRequest, Message, ToolCallMsg};
use super::state::{MessageState, PriorCall, wire_id};
use ptc_base::json::{Value as Json, json};

/// Stands for the signature of a call that no model of this family made; from its third generation on they insist on one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The body of a request. `enforced` says whether the provider is to hold the answer to the schema.
///
/// # Errors
/// A conversation without any text: the protocol has no such request.
pub(super) fn body(model: &str, request: &LlmRequest, enforced: bool) -> Result<Json, LlmError> {
    let contents = contents(model, &request.messages);
    if contents.is_empty() {
        return Err(LlmError::new(LlmErrorKind::InvalidRequest, "the conversation has no text"));
    }
    let mut body = json!({"contents": contents});
    let mut config = json!({});
    // Beside tools most models take no schema.
    let enforced = enforced && request.tools.is_empty();
    let told = request.schema.as_ref().filter(|_| !enforced).map(schema_in_words);
    let system: Json =
        instructions(request).chain(told.as_deref()).map(|text| json!({"text": text})).collect();
    if system != json!([]) {
        body["systemInstruction"] = json!({"parts": system});
    }
    if !request.tools.is_empty() {
        let declared: Json = request
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters})
            })
            .collect();
        body["tools"] = json!([{"functionDeclarations": declared}]);
    }
    if let Some(schema) = &request.schema
        && request.tools.is_empty()
    {
        config["responseMimeType"] = "application/json".into();
        if enforced {
            config["responseJsonSchema"] = schema.clone();
        }
    }
    if let Some(max) = request.max_tokens {
        config["maxOutputTokens"] = max.into();
    }
    if let Some(temperature) = request.temperature {
        config["temperature"] = temperature.into();
    }
    if config != json!({}) {
        body["generationConfig"] = config;
    }
    Ok(body)
}

/// The conversation in turns: both sides alternate, and all results of one turn are in one content.
fn contents(model: &str, messages: &[Message]) -> Vec<Json> {
    let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
    // The calls of the last turn of the model.
    let mut known: Vec<PriorCall<'_>> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::System { .. } => continue,
            Message::User { content, images } => {
                ("user", images.iter().map(image_part).chain(text_part(content, None)).collect())
            }
            Message::Assistant { content, tool_calls, images, provider_state } => {
                let state = MessageState::of(provider_state.as_ref());
                known = tool_calls
                    .iter()
                    .enumerate()
                    .map(|(at, call)| PriorCall { call, id: wire_id(state.as_ref(), at).map(str::to_owned) })
                    .collect();
                ("model", said(model, content, images, tool_calls, state.as_ref()))
            }
            Message::Tool { tool_call_id, content, images } => {
                let call = known.iter().find(|known| known.call.id == *tool_call_id);
                let result = result_part(call, content);
                ("user", std::iter::once(result).chain(images.iter().map(image_part)).collect::<Vec<_>>())
            }
        };
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, before)) if *last == role => before.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

/// The parts of a model's message.
fn said(
    model: &str,
    content: &str,
    images: &[Image],
    calls: &[ToolCallMsg],
    state: Option<&MessageState>,
) -> Vec<Json> {
    let mut parts: Vec<Json> =
        text_part(content, state.and_then(|state| state.text.as_deref())).into_iter().collect();
    for (at, image) in images.iter().enumerate() {
        let mut part = image_part(image);
        let signature = state.and_then(|state| state.images.get(at)?.as_deref());
        sign(&mut part, signature);
        parts.push(part);
    }
    for (at, call) in calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": call.name, "args": call.as_object()}});
        if let Some(id) = wire_id(state, at) {
            part["functionCall"]["id"] = id.into();
        }
        let own = state.and_then(|state| state.calls.get(at)?.signature.as_deref());
        let foreign = (at == 0 && state.is_none() && insists(model)).then_some(NO_SIGNATURE);
        sign(&mut part, own.or(foreign));
        parts.push(part);
    }
    parts
}

fn sign(part: &mut Json, signature: Option<&str>) {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature.into();
    }
}

/// Whether a model refuses calls without a signature: `gemini-3` and later.
fn insists(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let generation = name.strip_prefix("gemini-").and_then(|rest| rest.split(['.', '-']).next());
    generation.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 3)
}

/// A part of text; blank ones are left out.
fn text_part(text: &str, signature: Option<&str>) -> Option<Json> {
    // A signature may come with nothing to sign.
    if text.trim().is_empty() && signature.is_none() {
        return None;
    }
    let mut part = json!({"text": text});
    sign(&mut part, signature);
    Some(part)
}

fn image_part(image: &Image) -> Json {
    match image.parts() {
        Ok((media_type, data)) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
        Err(url) => json!({"fileData": {"fileUri": url}}),
    }
}

/// The result of a call: an object with `output` or `error`.
#[expect(clippy::disallowed_methods, reason = "entry point: result_part()")]
fn result_part(known: Option<&PriorCall<'_>>, content: &str) -> Json {
    let value = serde_json::from_str::<Json>(content).unwrap_or_else(|_| content.into());
    let key = if tells_error(content) { "error" } else { "output" };
    let name = known.map_or("unknown", |known| &known.call.name);
    let mut response = json!({"name": name, "response": {key: value}});
    if let Some(id) = known.and_then(|known| known.id.as_deref()) {
        response["id"] = id.into();
    }
    json!({"functionResponse": response})
}
