//! Parsing of responses: whole ones, and the parts shared with streams.

use super::super::endpoint::{Endpoint, kind_of_status, retry_delay};
use super::super::{Image, LlmError, LlmErrorKind, LlmResponse, StopReason, ToolCall, Usage};
use super::state::{CallState, MessageState};
use ptc_base::json::Value as Json;

/// Tool calls of one response: far more than a run would answer.
const MAX_CALLS: usize = 1024;

/// The response in an answer's body.
pub(super) fn read(json: &Json, endpoint: &Endpoint) -> Result<LlmResponse, LlmError> {
    let mut answer = AnswerBuilder::default();
    let read = answer.add(json, &mut |_| {}).and_then(|()| answer.finish());
    read.map_err(|error| {
        let shown = if error.kind == LlmErrorKind::Malformed { format!(": {json}") } else { String::new() };
        LlmError { message: endpoint.scrub(&format!("{}{shown}", error.message)), ..error }
    })
}

/// The answer, received in pieces or at once.
#[derive(Default)]
pub(super) struct AnswerBuilder {
    content: Option<String>,
    calls: Vec<ToolCall>,
    images: Vec<Image>,
    state: MessageState,
    finish: Option<String>,
    /// The provider's sentence on why it stopped.
    said: Option<String>,
    usage: Option<Usage>,
    /// Whether anything was an answer.
    begun: bool,
}

/// One piece of an answer.
pub(super) enum AnswerPiece<'a> {
    Text(&'a str),
    Thought(&'a str),
    Call(usize, &'a ToolCall),
}

impl AnswerBuilder {
    /// Adds a chunk and reports its pieces to `note`.
    ///
    /// # Errors
    /// An error in it, or a prompt that was blocked.
    pub(super) fn add(&mut self, json: &Json, note: &mut dyn FnMut(AnswerPiece<'_>)) -> Result<(), LlmError> {
        if let Some(error) = failure(json) {
            return Err(error);
        }
        if let Some(usage) = usage(json) {
            self.usage = Some(usage);
        }
        if let Some(reason) = json.pointer("/promptFeedback/blockReason").and_then(Json::as_str) {
            let why = json.pointer("/promptFeedback/blockReasonMessage").and_then(Json::as_str);
            let text = format!("the prompt was blocked: {reason}{}", because(why));
            return Err(LlmError::new(LlmErrorKind::InvalidRequest, text));
        }
        let Some(candidate) = json.pointer("/candidates/0").filter(|candidate| candidate.is_object()) else {
            return Ok(());
        };
        self.begun = true;
        for part in candidate.pointer("/content/parts").and_then(Json::as_array).into_iter().flatten() {
            self.part(part, note)?;
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
            self.said = candidate["finishMessage"].as_str().map(str::to_owned);
        }
        Ok(())
    }

    /// Whether the model has stopped.
    pub(super) fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn part(&mut self, part: &Json, note: &mut dyn FnMut(AnswerPiece<'_>)) -> Result<(), LlmError> {
        let signature = part["thoughtSignature"].as_str().map(str::to_owned);
        let text = part["text"].as_str();
        if part["thought"] == Json::Bool(true) {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                note(AnswerPiece::Thought(text));
            }
        } else if let Some(text) = text {
            self.content.get_or_insert_default().push_str(text);
            if !text.is_empty() {
                note(AnswerPiece::Text(text));
            }
            self.state.text = signature.or(self.state.text.take());
        } else if let Some(call) = part.get("functionCall") {
            if self.calls.len() == MAX_CALLS {
                let text = format!("the answer has more than {MAX_CALLS} tool calls");
                return Err(LlmError::new(LlmErrorKind::Malformed, text));
            }
            let id = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
            let arguments = call.get("args").map(Json::to_string).unwrap_or_default();
            let name = call["name"].as_str().unwrap_or_default();
            let call = ToolCall::from_text(id.clone(), name, &arguments);
            note(AnswerPiece::Call(self.calls.len(), &call));
            self.calls.push(call);
            self.state.calls.push(CallState { id, signature });
        } else if let Some(data) = part.get("inlineData") {
            let is_image = data["mimeType"].as_str().is_some_and(|kind| kind.starts_with("image/"));
            let image = data["data"].as_str().filter(|_| is_image).and_then(Image::made);
            if let Some(image) = image {
                self.images.push(image);
                self.state.images.push(signature);
            }
        }
        Ok(())
    }

    /// The response.
    ///
    /// # Errors
    /// No candidate, or one that was withheld.
    pub(super) fn finish(self) -> Result<LlmResponse, LlmError> {
        if !self.begun {
            return Err(LlmError::new(LlmErrorKind::Malformed, "the answer has no candidates"));
        }
        let reason = self.finish.as_deref().unwrap_or_default();
        let stop = match reason {
            _ if !self.calls.is_empty() && reason != "MAX_TOKENS" => StopReason::ToolCalls,
            "STOP" => StopReason::End,
            "MAX_TOKENS" => StopReason::Length,
            _ if is_refusal(reason) => StopReason::Refusal,
            _ => StopReason::Other,
        };
        let content = self.content.filter(|text| !text.is_empty());
        if stop == StopReason::Refusal && content.is_none() && self.images.is_empty() {
            let text = format!("the answer was withheld: {reason}{}", because(self.said.as_deref()));
            return Err(LlmError::new(LlmErrorKind::InvalidRequest, text));
        }
        Ok(LlmResponse {
            content,
            provider_state: self.state.keep(),
            tool_calls: self.calls,
            usage: self.usage,
            stop,
            images: self.images,
        })
    }
}

fn because(why: Option<&str>) -> String {
    why.filter(|why| !why.is_empty()).map(|why| format!(" ({why})")).unwrap_or_default()
}

/// Whether a reason to stop means that the answer is not to be seen.
fn is_refusal(reason: &str) -> bool {
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"].contains(&reason)
        || (reason.starts_with("IMAGE_") && reason != "IMAGE_OTHER")
}

/// The usage, which a stream repeats with each chunk.
fn usage(json: &Json) -> Option<Usage> {
    let usage = json.get("usageMetadata").filter(|usage| usage.is_object())?;
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).unwrap_or(0);
    Some(Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cache_creation: 0,
        cache_read: count("cachedContentTokenCount"),
        total_cost: None,
    })
}

/// The error that stands in an answer of status 200 or in a stream.
fn failure(json: &Json) -> Option<LlmError> {
    let json = json.get(0).unwrap_or(json);
    let error = json.get("error").filter(|error| !error.is_null())?;
    let said = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..600).contains(status));
    let kind = status.map_or(LlmErrorKind::Server, kind_of_status);
    let mut made = LlmError::new(kind, format!("the endpoint reports an error: {said}"));
    made.status = status;
    made.retry_after = retry_delay(json);
    Some(made)
}
