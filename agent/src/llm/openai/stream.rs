//! Parsing of responses streamed in chunks.

use super::super::endpoint::{EventStream, Flow};
use super::super::{
    EventSink, Image, LlmError, LlmErrorKind, LlmEvent, LlmResponse, MAX_CALLS, ToolCall, Usage, emit,
    too_many_calls,
};
use super::response::{arguments, assemble, failure, images, text, usage};
use ptc_base::json::Value as Json;

/// Joins chunks.
pub(super) struct ChunkJoiner {
    sink: EventSink,
    content: Option<String>,
    refusal: Option<String>,
    calls: Vec<Partial>,
    finish: Option<String>,
    usage: Option<Usage>,
    images: Vec<Image>,
    has_choice: bool,
}

/// A call of which not all has come.
struct Partial {
    /// The endpoint's own number of it.
    number: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl ChunkJoiner {
    pub(super) fn new(sink: EventSink) -> ChunkJoiner {
        ChunkJoiner {
            sink,
            content: None,
            refusal: None,
            calls: Vec::new(),
            finish: None,
            usage: None,
            images: Vec::new(),
            has_choice: false,
        }
    }

    /// The response, once the stream has ended.
    pub(super) fn finish(self) -> Result<LlmResponse, LlmError> {
        if !self.has_choice {
            return Err(LlmError::new(LlmErrorKind::Malformed, "the answer has no choices"));
        }
        let calls =
            self.calls.into_iter().map(|call| ToolCall::from_text(call.id, call.name, &call.arguments));
        let (content, finish) = (self.content, self.finish.as_deref());
        let mut response = assemble(content, self.refusal, calls.collect(), finish, self.usage);
        response.images = self.images;
        Ok(response)
    }

    fn fragment(&mut self, fragment: &Json) -> Result<(), LlmError> {
        let number = fragment.get("index").and_then(Json::as_u64);
        let id = fragment["id"].as_str().filter(|id| !id.is_empty());
        let function = &fragment["function"];
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let at = self.place(number, id, name);
        let index = match at {
            Some(index) => index,
            None if self.calls.len() == MAX_CALLS => return Err(too_many_calls()),
            None => {
                self.calls.push(Partial { number, id: None, name: String::new(), arguments: String::new() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[index];
        if let Some(id) = id {
            call.id.get_or_insert_with(|| id.to_owned());
        }
        if let Some(name) = name
            && call.name.is_empty()
        {
            call.name = name.to_owned();
            emit(&self.sink, LlmEvent::ToolCall { index, name });
        }
        let text = arguments(&function["arguments"]);
        if !text.is_empty() {
            call.arguments.push_str(&text);
            emit(&self.sink, LlmEvent::Arguments { index, text: &text });
        }
        Ok(())
    }

    /// The call that a fragment continues; `None` if it begins one. The number decides, but some endpoints give every call
    /// the same one, or none: a new id beside a name then begins a call.
    fn place(&self, number: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let found = match number {
            Some(_) => self.calls.iter().rposition(|call| call.number == number),
            None => self.calls.len().checked_sub(1),
        }?;
        let other = id.is_some_and(|id| self.calls[found].id.as_deref().is_some_and(|known| known != id));
        let begins = name.is_some() && (other || (number.is_none() && id.is_none()));
        (!begins).then_some(found)
    }
}

impl EventStream for ChunkJoiner {
    #[expect(clippy::disallowed_methods, reason = "entry point: ChunkJoiner.event")]
    fn event(&mut self, data: &str) -> Result<Flow, LlmError> {
        if data.trim() == "[DONE]" {
            return Ok(Flow::End);
        }
        let json: Json = ptc_base::json::from_str(data).map_err(|error| {
            LlmError::new(
                LlmErrorKind::Malformed,
                format!("an event of the stream is not JSON ({error}): {data}"),
            )
        })?;
        if let Some(error) = failure(&json) {
            return Err(error);
        }
        if let Some(usage) = usage(&json) {
            self.usage = Some(usage);
        }
        // The last chunk has only the usage and no choice.
        let Some(choice) = json.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(Flow::More);
        };
        self.has_choice = true;
        let delta = &choice["delta"];
        if let Some(text) = text(&delta["content"]).filter(|text| !text.is_empty()) {
            emit(&self.sink, LlmEvent::Text(&text));
            self.content.get_or_insert_default().push_str(&text);
        }
        self.images.extend(images(delta));
        if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            emit(&self.sink, LlmEvent::Text(text));
            self.refusal.get_or_insert_default().push_str(text);
        }
        let thought = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str());
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            emit(&self.sink, LlmEvent::Reasoning(text));
        }
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            self.fragment(fragment)?;
        }
        match choice["finish_reason"].as_str() {
            None => Ok(Flow::More),
            Some("error") => {
                Err(LlmError::new(LlmErrorKind::Server, "the endpoint broke the answer off with an error"))
            }
            Some(reason) => {
                self.finish = Some(reason.to_owned());
                Ok(Flow::Complete)
            }
        }
    }
}
