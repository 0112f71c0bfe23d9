//! An upstream's request to a model: `sampling/createMessage` (waiting.md 3.2).

use std::fmt;

use ptc_mcp::json::Value;
use ptc_mcp::text::clip;
use ptc_mcp::{RpcError, encode};
use serde_json::value::RawValue;

/// Largest `params` of a sampling request, in bytes as written, images included (waiting.md 3.2).
pub const MAX_SAMPLING_BYTES: usize = 1 << 20;
/// Most messages of one request, and blocks of one message.
const MAX_ITEMS: usize = 256;
/// Most stop sequences, and the longest of them in bytes.
const STOP_SEQUENCES: (usize, usize) = (16, 256);

/// A request of an upstream for a model's answer. Untrusted text: only the model gets it.
#[derive(Debug, Clone)]
pub struct SamplingRequest {
    /// The `params` of `sampling/createMessage`, as written.
    params: Box<RawValue>,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation; never empty.
    pub messages: Vec<SamplingMessage>,
    /// The longest answer, in tokens; at least 1.
    pub max_tokens: u32,
    /// The sampling temperature; not negative.
    pub temperature: Option<f64>,
    /// Texts before which the answer ends.
    pub stop_sequences: Vec<String>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingMessage {
    /// Whether the model said it, and not its user.
    pub by_assistant: bool,
    /// The content; never empty.
    pub content: Vec<SamplingContent>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SamplingContent {
    /// Text.
    Text(String),
    /// An image, only of the user.
    Image {
        /// Its bytes in Base64, unchecked.
        data: String,
        /// Its kind as the upstream declares it.
        mime_type: String,
    },
}

impl PartialEq for SamplingRequest {
    fn eq(&self, other: &Self) -> bool {
        self.params.get() == other.params.get()
    }
}

impl Eq for SamplingRequest {}

/// Why an upstream gets no answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingFault {
    /// The party at fault.
    pub kind: SamplingFaultKind,
    /// One sentence for the upstream's author. It holds no secret.
    pub message: String,
}

/// The party at fault when a model gives no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingFaultKind {
    /// The request.
    Request,
    /// Neither: the operator allows no more, or the answer is no longer needed.
    Refused,
    /// The model, or the way to it.
    Model,
}

impl SamplingFaultKind {
    /// The code of the JSON-RPC error.
    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Request => RpcError::INVALID_PARAMS,
            // What the specification of sampling has for requests that were rejected.
            Self::Refused => -1,
            Self::Model => RpcError::INTERNAL_ERROR,
        }
    }

    /// The word in the audit log and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "invalid",
            Self::Refused => "refused",
            Self::Model => "failed",
        }
    }
}

impl SamplingFault {
    /// The request is at fault.
    pub fn request(message: impl Into<String>) -> Self {
        Self { kind: SamplingFaultKind::Request, message: message.into() }
    }

    /// It may not be answered.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { kind: SamplingFaultKind::Refused, message: message.into() }
    }

    /// The model gave no answer.
    pub fn model(message: impl Into<String>) -> Self {
        Self { kind: SamplingFaultKind::Model, message: message.into() }
    }

    /// The call that the request belonged to is over.
    pub(crate) fn over() -> Self {
        Self::refused("the call that it belonged to is over")
    }
}

impl fmt::Display for SamplingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The model's text.
    pub text: String,
    /// Its name.
    pub model: String,
    /// Why it stopped, where that is known.
    pub stop: Option<SamplingStop>,
    /// Tokens of the prompt and of the answer, where they are reported.
    pub tokens: Option<(u64, u64)>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingStop {
    /// It was done.
    EndTurn,
    /// The answer reached its longest length.
    MaxTokens,
    /// A stop sequence came.
    StopSequence,
    /// It declined to answer.
    Refusal,
}

impl SamplingStop {
    /// The word of the protocol; its own where that has none.
    fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "endTurn",
            Self::MaxTokens => "maxTokens",
            Self::StopSequence => "stopSequence",
            Self::Refusal => "refusal",
        }
    }
}

impl Sampled {
    /// The result of `sampling/createMessage`: the text of a JSON object.
    pub fn result(&self) -> String {
        let mut out = br#"{"role":"assistant","content":{"type":"text","text":"#.to_vec();
        encode::push_string(&mut out, &self.text);
        out.extend_from_slice(br#"},"model":"#);
        encode::push_string(&mut out, &self.model);
        if let Some(stop) = self.stop {
            out.extend_from_slice(br#","stopReason":"#);
            encode::push_string(&mut out, stop.as_str());
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}

impl SamplingRequest {
    /// Reads the `params` of `sampling/createMessage`. Preferences, metadata and requests for context are ignored: the
    /// operator's model answers, and it sees the request alone.
    ///
    /// # Errors
    /// They say nothing that a model can be asked.
    #[expect(clippy::disallowed_methods, reason = "entry point: SamplingRequest.read")]
    pub fn read(params: &str) -> Result<Self, SamplingFault> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct SamplingParams<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
            max_tokens: Value,
            #[serde(default)]
            system_prompt: Option<String>,
            #[serde(default)]
            temperature: Option<f64>,
            #[serde(default)]
            stop_sequences: Option<Vec<String>>,
            #[serde(borrow, default)]
            tools: Option<&'a RawValue>,
            #[serde(borrow, default)]
            tool_choice: Option<&'a RawValue>,
        }
        if params.len() > MAX_SAMPLING_BYTES {
            let bytes = params.len();
            return Err(SamplingFault::request(format!(
                "its params have {bytes} bytes, more than {MAX_SAMPLING_BYTES}"
            )));
        }
        let malformed = |error: serde_json::Error| malformed("its params are", &error);
        let raw = RawValue::from_string(params.to_owned()).map_err(malformed)?;
        let read: SamplingParams<'_> = serde_json::from_str(params).map_err(malformed)?;
        if read.tools.is_some() || read.tool_choice.is_some() {
            return Err(SamplingFault::request("tools and toolChoice were not offered"));
        }
        let max_tokens = positive(&read.max_tokens)
            .ok_or_else(|| SamplingFault::request("its maxTokens must be a positive integer"))?;
        if read.temperature.is_some_and(|temperature| temperature < 0.0) {
            return Err(SamplingFault::request("its temperature must not be negative"));
        }
        let stop_sequences = read.stop_sequences.unwrap_or_default();
        let (most, longest) = STOP_SEQUENCES;
        if stop_sequences.len() > most
            || stop_sequences.iter().any(|stop| stop.is_empty() || stop.len() > longest)
        {
            return Err(SamplingFault::request(format!(
                "its stopSequences may be at most {most} texts of 1 to {longest} bytes"
            )));
        }
        if read.messages.is_empty() || read.messages.len() > MAX_ITEMS {
            let count = read.messages.len();
            return Err(SamplingFault::request(format!(
                "it has {count} messages; 1 to {MAX_ITEMS} are usable"
            )));
        }
        let messages = read.messages.iter().enumerate().map(|(at, message)| {
            SamplingMessage::read(message.get())
                .map_err(|why| SamplingFault::request(format!("messages[{at}]: {why}")))
        });
        Ok(Self {
            params: raw,
            system: read.system_prompt.filter(|system| !system.is_empty()),
            messages: messages.collect::<Result<_, _>>()?,
            max_tokens,
            temperature: read.temperature,
            stop_sequences,
        })
    }

    /// The `params` that it was read from, as written.
    pub fn params(&self) -> &str {
        self.params.get()
    }

    /// All of its texts, mutable.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let parts = self.messages.iter_mut().flat_map(|message| &mut message.content);
        let texts = parts.filter_map(|part| match part {
            SamplingContent::Text(text) => Some(text),
            SamplingContent::Image { .. } => None,
        });
        self.system.iter_mut().chain(texts)
    }
}

impl SamplingMessage {
    #[expect(clippy::disallowed_methods, reason = "entry point: SamplingMessage.read")]
    fn read(message: &str) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        struct MessageMembers<'a> {
            role: String,
            #[serde(borrow)]
            content: &'a RawValue,
        }
        let malformed = |error: serde_json::Error| malformed("it is", &error).message;
        let MessageMembers { role, content } = serde_json::from_str(message).map_err(malformed)?;
        let by_assistant = match role.as_str() {
            "user" => false,
            "assistant" => true,
            other => return Err(format!("the role {} is neither user nor assistant", clip(other, 40))),
        };
        let blocks: Vec<&RawValue> = match content.get().starts_with('[') {
            true => serde_json::from_str(content.get()).map_err(malformed)?,
            false => vec![content],
        };
        if blocks.is_empty() || blocks.len() > MAX_ITEMS {
            return Err(format!("it has {} blocks; 1 to {MAX_ITEMS} are usable", blocks.len()));
        }
        let content = blocks.into_iter().map(|block| SamplingContent::read(block.get(), by_assistant));
        Ok(Self { by_assistant, content: content.collect::<Result<_, _>>()? })
    }
}

impl SamplingContent {
    #[expect(clippy::disallowed_methods, reason = "entry point: SamplingContent.read")]
    fn read(block: &str, by_assistant: bool) -> Result<Self, String> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Block {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            data: Option<String>,
            #[serde(default)]
            mime_type: Option<String>,
        }
        let Block { kind, text, data, mime_type } =
            serde_json::from_str(block).map_err(|error| malformed("its content is", &error).message)?;
        match (kind.as_str(), text, data, mime_type) {
            ("text", Some(text), ..) => Ok(Self::Text(text)),
            ("text", None, ..) => Err("its content has no text".to_owned()),
            ("image", ..) if by_assistant => Err("images of the assistant are not supported".to_owned()),
            ("image", _, Some(data), Some(mime_type)) => Ok(Self::Image { data, mime_type }),
            ("image", ..) => Err("its image needs data and mimeType".to_owned()),
            ("audio", ..) => Err("audio is not supported".to_owned()),
            ("tool_use" | "tool_result", ..) => Err(format!("{kind} was not offered")),
            (other, ..) => Err(format!("content of the type {} is not supported", clip(other, 40))),
        }
    }
}

/// A number that is a positive integer, however it is written; one beyond `u32` is as good as the largest of these.
fn positive(number: &Value) -> Option<u32> {
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 1.0)?;
    // Casts of floats saturate.
    Some(float as u32)
}

fn malformed(what: &str, error: &serde_json::Error) -> SamplingFault {
    SamplingFault::request(format!("{what} malformed: {}", clip(&error.to_string(), 200)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    fn read(params: Value) -> Result<SamplingRequest, SamplingFault> {
        SamplingRequest::read(&params.to_string())
    }

    fn why(params: Value) -> String {
        let fault = read(params).unwrap_err();
        assert_eq!(fault.kind.code(), -32602, "{fault}");
        fault.message
    }

    fn said(content: Value) -> Value {
        json!({"messages": [{"role": "user", "content": content}], "maxTokens": 5})
    }

    #[test]
    fn a_request_is_read_whole() {
        let params = json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Which?", "annotations": {"priority": 1}}},
                {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
            ],
            "maxTokens": 100, "systemPrompt": "Be brief.", "temperature": 0.5, "stopSequences": ["\n\n"],
            "modelPreferences": {"hints": [{"name": "x"}]}, "includeContext": "allServers", "metadata": {"a": 1}, "task": {"ttl": 1},
        });
        let request = read(params.clone()).unwrap();
        assert_eq!(request.params(), params.to_string());
        assert_eq!((request.max_tokens, request.temperature), (100, Some(0.5)));
        assert_eq!(request.system.as_deref(), Some("Be brief."));
        assert_eq!(request.stop_sequences, ["\n\n"]);
        let by: Vec<bool> = request.messages.iter().map(|message| message.by_assistant).collect();
        assert_eq!(by, [false, true, false]);
        assert_eq!(request.messages[1].content.len(), 2);
        let image = SamplingContent::Image { data: "AA==".into(), mime_type: "image/png".into() };
        assert_eq!(request.messages[2].content, [image]);
    }

    #[test]
    fn a_wish_for_many_tokens_is_a_number_and_nothing_else_is() {
        let of = |tokens: Value| {
            read(
                json!({"messages": said(json!({"type": "text", "text": "x"}))["messages"], "maxTokens": tokens}),
            )
        };
        for (wished, taken) in [
            (json!(1), 1),
            (json!(1_000_000_000), 1_000_000_000),
            (json!(1e9), 1_000_000_000),
            (json!(1e300), u32::MAX),
        ] {
            assert_eq!(of(wished.clone()).unwrap().max_tokens, taken, "{wished}");
        }
        for wrong in [json!(0), json!(-5), json!(1.5), json!("100"), json!(null), json!([1])] {
            assert_eq!(
                of(wrong.clone()).unwrap_err().message,
                "its maxTokens must be a positive integer",
                "{wrong}"
            );
        }
        assert!(
            why(json!({"messages": []})).starts_with("its params are malformed: missing field `maxTokens`")
        );
    }

    #[test]
    fn what_no_model_is_asked_says_why() {
        for (content, told) in [
            (
                json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
                "messages[0]: audio is not supported",
            ),
            (
                json!({"type": "tool_use", "id": "1", "name": "t", "input": {}}),
                "messages[0]: tool_use was not offered",
            ),
            (
                json!([{"type": "text", "text": "a"}, {"type": "tool_result", "toolUseId": "1", "content": []}]),
                "messages[0]: tool_result was not offered",
            ),
            (json!({"type": "hologram"}), "messages[0]: content of the type hologram is not supported"),
            (json!({"type": "text"}), "messages[0]: its content has no text"),
            (json!({"type": "image", "data": "AA=="}), "messages[0]: its image needs data and mimeType"),
            (json!([]), "messages[0]: it has 0 blocks; 1 to 256 are usable"),
        ] {
            assert_eq!(why(said(content)), told);
        }
        assert!(why(said(json!("text"))).starts_with("messages[0]: its content is malformed: "));
        assert!(why(said(json!([[[["deep"]]]]))).starts_with("messages[0]: its content is malformed: "));
        let with = |key: &str, value: Value| {
            let mut params = said(json!({"type": "text", "text": "x"}));
            params[key] = value;
            params
        };
        for key in ["tools", "toolChoice"] {
            assert_eq!(why(with(key, json!([]))), "tools and toolChoice were not offered");
            assert!(read(with(key, Value::Null)).is_ok());
        }
        assert_eq!(why(with("temperature", json!(-1))), "its temperature must not be negative");
        assert!(why(with("temperature", json!("hot"))).starts_with("its params are malformed"));
        for wrong in [json!([""]), json!(vec!["x"; 17]), json!(["x".repeat(257)])] {
            assert_eq!(
                why(with("stopSequences", wrong)),
                "its stopSequences may be at most 16 texts of 1 to 256 bytes"
            );
        }
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let shown = json!([{"role": "assistant", "content": image}]);
        assert_eq!(why(with("messages", shown)), "messages[0]: images of the assistant are not supported");
        let text = json!({"type": "text", "text": "x"});
        let system = json!([{"role": "user", "content": text}, {"role": "system", "content": text}]);
        assert_eq!(
            why(with("messages", system)),
            "messages[1]: the role system is neither user nor assistant"
        );
        assert_eq!(why(with("messages", json!([]))), "it has 0 messages; 1 to 256 are usable");
        let many = vec![json!({"role": "user", "content": text}); 257];
        assert_eq!(why(with("messages", json!(many))), "it has 257 messages; 1 to 256 are usable");
        let huge = said(json!({"type": "text", "text": "x".repeat(MAX_SAMPLING_BYTES)}));
        assert!(why(huge).contains("more than 1048576"));
        for malformed in ["", "[]", "7", "{", "{}"] {
            assert!(
                SamplingRequest::read(malformed).unwrap_err().message.starts_with("its params are malformed"),
                "{malformed}"
            );
        }
        let deep = format!(r#"{{"messages":{}1{},"maxTokens":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(SamplingRequest::read(&deep).is_err());
    }

    #[test]
    fn an_answer_is_what_the_protocol_calls_a_result() {
        let sampled = Sampled {
            text: "a\"b\n".into(),
            model: "m".into(),
            stop: Some(SamplingStop::MaxTokens),
            tokens: None,
        };
        assert_eq!(
            sampled.result(),
            r#"{"role":"assistant","content":{"type":"text","text":"a\"b\n"},"model":"m","stopReason":"maxTokens"}"#
        );
        let plain = Sampled { stop: None, ..sampled };
        assert!(plain.result().ends_with(r#""model":"m"}"#));
    }
}
