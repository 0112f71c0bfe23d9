//! Parsing of streamed responses.

use super::super::endpoint::{EventStream, Flow};
use super::super::{EventSink, LlmError, LlmErrorKind, LlmEvent, LlmResponse, ToolCall, Usage, emit};
use super::response::{MAX_BLOCKS, assemble, failure, too_many_blocks, usage};
use ptc_base::json::Value as Json;

/// Joins events.
pub(super) struct EventJoiner {
    sink: EventSink,
    answer_tool: Option<String>,
    blocks: Vec<Block>,
    calls: usize,
    stop: Option<String>,
    usage: Option<Usage>,
}

/// A content block of which not all has come.
struct Block {
    /// The provider's own number of it.
    number: Option<u64>,
    kind: BlockKind,
    /// The text, or the arguments as JSON text.
    text: String,
}

enum BlockKind {
    Text,
    Call {
        /// Which of the response's calls; `None` for the final answer.
        index: Option<usize>,
        id: Option<String>,
        name: String,
    },
    Other,
}

impl EventJoiner {
    pub(super) fn new(sink: EventSink, answer_tool: Option<String>) -> EventJoiner {
        EventJoiner { sink, answer_tool, blocks: Vec::new(), calls: 0, stop: None, usage: None }
    }

    /// The response, once the stream has ended.
    pub(super) fn finish(self) -> Result<LlmResponse, LlmError> {
        let mut content: Option<String> = None;
        let mut calls = Vec::new();
        for block in self.blocks {
            match block.kind {
                BlockKind::Text => content.get_or_insert_default().push_str(&block.text),
                BlockKind::Call { id, name, .. } => calls.push(ToolCall::from_text(id, name, &block.text)),
                BlockKind::Other => {}
            }
        }
        Ok(assemble(content, calls, self.stop.as_deref(), self.usage, self.answer_tool.as_deref()))
    }

    fn begin(&mut self, json: &Json) -> Result<(), LlmError> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err(too_many_blocks());
        }
        let block = &json["content_block"];
        let mut text = String::new();
        let kind = match block["type"].as_str() {
            Some("text") => {
                text.push_str(block["text"].as_str().unwrap_or_default());
                if !text.is_empty() {
                    emit(&self.sink, LlmEvent::Text(&text));
                }
                BlockKind::Text
            }
            Some("tool_use") => {
                let name = block["name"].as_str().unwrap_or_default().to_owned();
                // Usually empty here and streamed; an object with something in it is all there is.
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    text = block["input"].to_string();
                }
                let index = (self.answer_tool.as_deref() != Some(&name)).then_some(self.calls);
                if let Some(index) = index {
                    self.calls += 1;
                    emit(&self.sink, LlmEvent::ToolCall { index, name: &name });
                }
                BlockKind::Call { index, id: block["id"].as_str().map(str::to_owned), name }
            }
            _ => BlockKind::Other,
        };
        self.blocks.push(Block { number: json["index"].as_u64(), kind, text });
        Ok(())
    }

    fn go_on(&mut self, json: &Json) -> Result<(), LlmError> {
        let number = json["index"].as_u64();
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.number == number) else {
            return Err(LlmError::new(
                LlmErrorKind::Malformed,
                "the stream goes on with a block that it never began",
            ));
        };
        let delta = &json["delta"];
        let piece = match delta["type"].as_str() {
            Some("text_delta") => delta["text"].as_str(),
            Some("input_json_delta") => delta["partial_json"].as_str(),
            Some("thinking_delta") => {
                if let Some(thought) = delta["thinking"].as_str().filter(|text| !text.is_empty()) {
                    emit(&self.sink, LlmEvent::Reasoning(thought));
                }
                None
            }
            _ => None,
        };
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return Ok(()) };
        match &block.kind {
            BlockKind::Text | BlockKind::Call { index: None, .. } => emit(&self.sink, LlmEvent::Text(piece)),
            BlockKind::Call { index: Some(index), .. } => {
                emit(&self.sink, LlmEvent::Arguments { index: *index, text: piece });
            }
            BlockKind::Other => return Ok(()),
        }
        block.text.push_str(piece);
        Ok(())
    }
}

impl EventStream for EventJoiner {
    #[expect(clippy::disallowed_methods, reason = "entry point: EventJoiner.event")]
    fn event(&mut self, data: &str) -> Result<Flow, LlmError> {
        let json: Json = ptc_base::json::from_str(data).map_err(|error| {
            LlmError::new(
                LlmErrorKind::Malformed,
                format!("an event of the stream is not JSON ({error}): {data}"),
            )
        })?;
        match json["type"].as_str() {
            Some("message_start") => self.usage = usage(&json["message"]["usage"], self.usage),
            Some("content_block_start") => self.begin(&json)?,
            Some("content_block_delta") => self.go_on(&json)?,
            Some("message_delta") => {
                self.usage = usage(&json["usage"], self.usage);
                if let Some(stop) = json["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                    return Ok(Flow::Complete);
                }
            }
            Some("message_stop") => return Ok(Flow::End),
            Some("error") => return Err(failure(&json)),
            // Pings, the ends of blocks, and what later revisions add.
            _ => {}
        }
        Ok(Flow::More)
    }
}
