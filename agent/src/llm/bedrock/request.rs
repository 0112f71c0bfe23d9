//! The request body.

use super::super::image::lower;
use super::super::message::{instructions, schema_in_words, tells_error};
use super::super::{Image, LlmError, LlmErrorKind, LlmRequest, Message};
use super::concession::{ConcessionSet, NO_CACHE, NO_FORCED_TOOL, NO_STATUS, NO_TOOL_IMAGES};
use ptc_base::json::{Value as Json, json};

/// Longest id of a call, in characters.
const MAX_ID: usize = 64;

/// One way to ask: a request and the concessions that it makes.
pub(super) struct RequestVariant<'a> {
    request: &'a LlmRequest,
    made: ConcessionSet,
    caches: bool,
    /// The tool with which the model gives an answer that has a schema.
    answer_tool: Option<String>,
}

impl<'a> RequestVariant<'a> {
    pub(super) fn new(model: &str, request: &'a LlmRequest, made: ConcessionSet) -> RequestVariant<'a> {
        let forced = request.schema.is_some() && made & NO_FORCED_TOOL == 0;
        let answer_tool = forced.then(|| {
            let mut name = "answer".to_owned();
            while request.tools.iter().any(|tool| tool.name == name) {
                name.push('_');
            }
            name
        });
        // Others refuse the points outright, or in one place or the other.
        let caches = request.cache && made & NO_CACHE == 0 && model.contains("anthropic.claude");
        RequestVariant { request, made, caches, answer_tool }
    }

    /// The tool with which the model gives its final answer.
    pub(super) fn answer_tool(&self) -> Option<&str> {
        self.answer_tool.as_deref()
    }

    /// The body.
    ///
    /// # Errors
    /// A conversation without any text, or an image at an address: the protocol has no such request.
    pub(super) fn body(&self) -> Result<Json, LlmError> {
        let request = self.request;
        let lowered = if self.made & NO_TOOL_IMAGES == 0 { None } else { lower(&request.messages) };
        let mut turns = self.turns(lowered.as_deref().unwrap_or(&request.messages))?;
        let Some((_, last)) = turns.last_mut() else {
            return Err(LlmError::new(LlmErrorKind::InvalidRequest, "the conversation has no text"));
        };
        let point = || self.caches.then(|| json!({"cachePoint": {"type": "default"}}));
        last.extend(point());
        let messages: Json =
            turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        let mut body = json!({"messages": messages});
        let told = request.schema.as_ref().filter(|_| self.answer_tool.is_none()).map(schema_in_words);
        let mut system: Vec<Json> =
            instructions(request).chain(told.as_deref()).map(|text| json!({"text": text})).collect();
        if !system.is_empty() {
            system.extend(point());
            body["system"] = system.into();
        }
        if let Some(config) = self.tools(point()) {
            body["toolConfig"] = config;
        }
        let mut inference = json!({});
        if let Some(max) = request.max_tokens {
            inference["maxTokens"] = max.into();
        }
        if let Some(temperature) = request.temperature {
            inference["temperature"] = temperature.into();
        }
        if inference != json!({}) {
            body["inferenceConfig"] = inference;
        }
        Ok(body)
    }

    fn tools(&self, point: Option<Json>) -> Option<Json> {
        let request = self.request;
        let spec = |name: &str, description: &str, schema: &Json| {
            let mut spec = json!({"name": name, "inputSchema": {"json": schema}});
            if !description.trim().is_empty() {
                spec["description"] = description.into();
            }
            json!({"toolSpec": spec})
        };
        let mut tools: Vec<Json> =
            request.tools.iter().map(|tool| spec(&tool.name, &tool.description, &tool.parameters)).collect();
        if let (Some(name), Some(schema)) = (self.answer_tool(), &request.schema) {
            tools.push(spec(name, "Gives the final answer. Its arguments are the answer.", schema));
        }
        if tools.is_empty() {
            return None;
        }
        tools.extend(point);
        let mut config = json!({"tools": tools});
        match self.answer_tool() {
            None => {}
            Some(name) if request.tools.is_empty() => config["toolChoice"] = json!({"tool": {"name": name}}),
            // It may call the others first; text alone would be no answer.
            Some(_) => config["toolChoice"] = json!({"any": {}}),
        }
        Some(config)
    }

    /// The conversation in turns: both sides alternate, and all results of one turn are in one message.
    fn turns(&self, messages: &[Message]) -> Result<Vec<(&'static str, Vec<Json>)>, LlmError> {
        let mut turns: Vec<(&'static str, Vec<Json>)> = Vec::new();
        for message in messages {
            let (role, blocks) = match message {
                Message::System { .. } => continue,
                Message::User { content, images } => {
                    let mut blocks: Vec<Json> = images.iter().map(image_block).collect::<Result<_, _>>()?;
                    blocks.extend(text_block(content));
                    ("user", blocks)
                }
                Message::Assistant { content, tool_calls, provider_state, .. } => {
                    let thoughts =
                        provider_state.as_ref().and_then(|state| state.pointer("/bedrock/reasoning"));
                    let mut blocks = thoughts.and_then(Json::as_array).cloned().unwrap_or_default();
                    blocks.extend(text_block(content));
                    blocks.extend(tool_calls.iter().map(|call| {
                        let id = wire_id(&call.id);
                        json!({"toolUse": {"toolUseId": id, "name": call.name, "input": call.as_object()}})
                    }));
                    ("assistant", blocks)
                }
                Message::Tool { tool_call_id, content, images } => {
                    // A result without content is refused.
                    let text = if content.trim().is_empty() { "(nothing)" } else { content };
                    let mut blocks = vec![json!({"text": text})];
                    for image in images {
                        blocks.push(image_block(image)?);
                    }
                    let mut result = json!({"toolUseId": wire_id(tool_call_id), "content": blocks});
                    if tells_error(content) && self.made & NO_STATUS == 0 {
                        result["status"] = "error".into();
                    }
                    ("user", vec![json!({"toolResult": result})])
                }
            };
            match turns.last_mut() {
                _ if blocks.is_empty() => {}
                Some((last, before)) if *last == role => before.extend(blocks),
                _ => turns.push((role, blocks)),
            }
        }
        Ok(turns)
    }
}

/// A block of text; blank ones are refused by the provider.
fn text_block(text: &str) -> Option<Json> {
    (!text.trim().is_empty()).then(|| json!({"text": text}))
}

fn image_block(image: &Image) -> Result<Json, LlmError> {
    let block = |format: &str, source: Json| json!({"image": {"format": format, "source": source}});
    match image.parts() {
        Ok((media_type, data)) => {
            let format = media_type.strip_prefix("image/").unwrap_or(media_type);
            Ok(block(format, json!({"bytes": data})))
        }
        Err(url) if url.starts_with("s3://") => {
            let path = url.split('?').next().unwrap_or(url).to_lowercase();
            let format =
                ["jpeg", "gif", "webp"].into_iter().find(|format| path.ends_with(&format!(".{format}")));
            let format = format.or_else(|| path.ends_with(".jpg").then_some("jpeg")).unwrap_or("png");
            Ok(block(format, json!({"s3Location": {"uri": url}})))
        }
        Err(_) => Err(LlmError::new(
            LlmErrorKind::InvalidRequest,
            "Bedrock fetches no images from the web: give the image's bytes, or an s3:// address",
        )),
    }
}

/// An id in the characters and of the length that the provider takes: histories may come from elsewhere.
fn wire_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    // The ends of ids differ.
    clean[clean.len().saturating_sub(MAX_ID)..].to_owned()
}
