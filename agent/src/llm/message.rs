//! Provider-neutral requests and responses.

use super::Image;
use crate::signature::beyond_floats;
use crate::tool::JsonMap;
use ptc_base::json::Value as Json;
use ptc_base::time::Instant;
use serde::{Deserialize, Serialize};

/// One request to a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmRequest {
    /// The system prompt.
    pub system: String,
    /// The conversation. System messages in it follow the system prompt.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDef>,
    /// The JSON Schema of the answer, its root an object, for providers that can enforce one. The response's `content`
    /// is then the answer's JSON text, which must still be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
    /// The turn of the run, from 1.
    pub turn: u32,
    /// Whether the provider should cache the prompt.
    pub cache: bool,
    /// Another model than the client's own, under the same endpoint and key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// When the caller stops waiting for the answer; a client's own time limits apply as well.
    #[serde(skip)]
    pub deadline: Option<Instant>,
}

/// A tool's definition for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDef {
    /// Letters, digits and `_`.
    pub name: String,
    /// Its effect, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Json,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Instructions.
    System {
        /// The text.
        content: String,
    },
    /// A message of the user, or of the loop in the user's place.
    User {
        /// The text.
        content: String,
        /// Images that the user shows, before the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A message of the model.
    Assistant {
        /// The text, which may be empty beside tool calls.
        content: String,
        /// The tools it called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCallMsg>,
        /// The images it made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// State that its client wants back with the message ([`LlmResponse::provider_state`]).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_state: Option<Json>,
    },
    /// The result of one tool call.
    Tool {
        /// Which call.
        tool_call_id: String,
        /// The result, as text.
        content: String,
        /// The images of the result; the text names them by their numbers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
}

impl Message {
    /// Instructions.
    pub fn system(content: impl Into<String>) -> Message {
        Message::System { content: content.into() }
    }

    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Message {
        Message::User { content: content.into(), images: Vec::new() }
    }

    /// A message of the model, without calls.
    pub fn assistant(content: impl Into<String>) -> Message {
        Message::calls(content, Vec::new())
    }

    /// A message of the model with calls.
    pub fn calls(content: impl Into<String>, tool_calls: Vec<ToolCallMsg>) -> Message {
        Message::Assistant { content: content.into(), tool_calls, images: Vec::new(), provider_state: None }
    }

    /// The result of a call.
    pub fn tool(tool_call_id: impl Into<String>, content: impl Into<String>) -> Message {
        Message::Tool { tool_call_id: tool_call_id.into(), content: content.into(), images: Vec::new() }
    }

    /// Its images.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        match self {
            Message::System { .. } => &[],
            Message::User { images, .. }
            | Message::Assistant { images, .. }
            | Message::Tool { images, .. } => images,
        }
    }
}

/// A tool call as the history keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallMsg {
    /// Unique in the response.
    pub id: String,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
}

impl ToolCallMsg {
    /// The arguments, if they are a JSON object.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: ToolCallMsg.object")]
    pub fn object(&self) -> Option<JsonMap> {
        if self.arguments.trim().is_empty() {
            return Some(JsonMap::new());
        }
        serde_json::from_str(&self.arguments).ok()
    }

    /// The arguments as an object in any case, for providers that accept nothing else: anything but an object is put into one,
    /// as text under `invalid_json`.
    #[must_use]
    pub fn as_object(&self) -> Json {
        match self.object() {
            Some(arguments) => Json::Object(arguments),
            None => ptc_base::json::json!({"invalid_json": self.arguments}),
        }
    }
}

/// A tool call, as a provider sends it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, if it gave one.
    pub id: Option<String>,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments; empty if they are no object.
    pub args: JsonMap,
    /// The text of the arguments, if it is not a JSON object, and the fault in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_error: Option<ArgsError>,
}

/// Arguments that are not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgsError {
    /// The text that the model wrote.
    pub text: String,
    /// The fault.
    pub detail: String,
}

impl ArgsError {
    /// The arguments of a call within which the answer was cut.
    pub(super) fn cut(text: String) -> ArgsError {
        ArgsError { text, detail: "they are not complete".into() }
    }
}

impl ToolCall {
    /// A call whose arguments are the text of a JSON object; no text counts as no arguments.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: ToolCall.from_text")]
    pub fn from_text(id: Option<String>, name: impl Into<String>, arguments: &str) -> ToolCall {
        let text = if arguments.trim().is_empty() { "{}" } else { arguments };
        let (args, detail) = match ptc_base::json::from_str(text) {
            Ok(Json::Object(args)) => match args.values().find_map(beyond_floats) {
                None => (args, None),
                Some(number) => {
                    let number = ptc_base::text::with_dots(number.as_str(), 40);
                    (JsonMap::new(), Some(format!("the number {number} is beyond the largest float")))
                }
            },
            Ok(_) => (JsonMap::new(), Some("the arguments are not a JSON object".to_owned())),
            Err(error) => (JsonMap::new(), Some(error.to_string())),
        };
        let args_error = detail.map(|detail| ArgsError { text: arguments.to_owned(), detail });
        ToolCall { id, name: name.into(), args, args_error }
    }

    /// Marks arguments within which the answer was cut, where the provider closes the object that the model did not finish.
    pub(super) fn cut(&mut self) {
        self.args_error = Some(ArgsError::cut(self.arguments_text()));
        self.args = JsonMap::new();
    }

    /// The arguments as text, for the history.
    #[must_use]
    pub(crate) fn arguments_text(&self) -> String {
        match &self.args_error {
            Some(error) => error.text.clone(),
            None => Json::Object(self.args.clone()).to_string(),
        }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done.
    #[default]
    End,
    /// It wants tools to be called.
    ToolCalls,
    /// The answer reached its length limit and is cut off.
    Length,
    /// The model, or a filter behind it, declined to answer.
    Refusal,
    /// Anything else.
    Other,
}

/// One response of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmResponse {
    /// The text, if there is one.
    pub content: Option<String>,
    /// The tools it calls, in its order. Ids may be missing or repeated, as the provider gave them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Its cost, if the provider reports it.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: StopReason,
    /// The images it made, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// State that its client wants back with this message in the next request, such as the signatures of a model's thinking.
    /// Only the client reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Json>,
}

impl LlmResponse {
    /// A response of text.
    pub fn text(text: impl Into<String>) -> LlmResponse {
        LlmResponse { content: Some(text.into()), ..LlmResponse::default() }
    }

    /// Says of arguments that are broken off that the answer was: the model should then ask for less, not for other quotes.
    pub(super) fn explain_cut_arguments(&mut self) {
        if self.stop != StopReason::Length {
            return;
        }
        // An answer that was cut before the first of the arguments has none, and none would be taken for all.
        if let Some(last) = self.tool_calls.last_mut().filter(|call| call.args.is_empty()) {
            last.args_error.get_or_insert_with(|| ArgsError::cut(String::new()));
        }
        for wrong in self.tool_calls.iter_mut().filter_map(|call| call.args_error.as_mut()) {
            wrong.detail.push_str(" (the answer was cut at its longest length)");
        }
    }

    /// A response of tool calls.
    #[must_use]
    pub fn calls(tool_calls: Vec<ToolCall>) -> LlmResponse {
        LlmResponse { tool_calls, stop: StopReason::ToolCalls, ..LlmResponse::default() }
    }
}

/// The usage of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, those included that the provider's cache took or gave, whichever provider it is.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Of the prompt's tokens, those written to the provider's prompt cache.
    pub cache_creation: u64,
    /// Of the prompt's tokens, those read from it.
    pub cache_read: u64,
    /// The provider's charge in US dollars, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost: Option<f64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_creation = self.cache_creation.saturating_add(other.cache_creation);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.total_cost = match (self.total_cost, other.total_cost) {
            (Some(mine), Some(more)) => Some(mine + more),
            (mine, more) => mine.or(more),
        };
    }
}

/// Whether a tool message is one of the loop's error payloads: a status of `error`, or a text under `error`.
#[expect(clippy::disallowed_methods, reason = "entry point: tells_error()")]
pub(super) fn tells_error(content: &str) -> bool {
    let Ok(Json::Object(object)) = serde_json::from_str(content) else { return false };
    object.get("status").is_some_and(|status| status == "error")
        || (!object.contains_key("status") && object.get("error").is_some_and(Json::is_string))
}

/// The sentence that asks for an answer of a schema, where a provider cannot be held to it.
pub(super) fn schema_in_words(schema: &Json) -> String {
    format!("Answer only with a JSON object that satisfies this JSON Schema:\n{schema}")
}

/// The system prompt and the conversation's system messages, for protocols that have one place for both.
pub(super) fn instructions(request: &LlmRequest) -> impl Iterator<Item = &str> {
    let inside = request.messages.iter().filter_map(|message| match message {
        Message::System { content } => Some(content.as_str()),
        _ => None,
    });
    std::iter::once(request.system.as_str()).chain(inside).filter(|text| !text.trim().is_empty())
}
