//! Parsing of streamed responses: each event is a complete answer with the next parts.

use super::super::endpoint::{EventStream, Flow};
use super::super::{EventSink, LlmError, LlmErrorKind, LlmEvent, LlmResponse, emit};
use super::response::{AnswerBuilder, AnswerPiece};
use ptc_base::json::Value as Json;

/// Joins events.
pub(super) struct EventJoiner {
    sink: EventSink,
    answer: AnswerBuilder,
}

impl EventJoiner {
    pub(super) fn new(sink: EventSink) -> EventJoiner {
        EventJoiner { sink, answer: AnswerBuilder::default() }
    }

    /// The response, once the stream has ended.
    pub(super) fn finish(self) -> Result<LlmResponse, LlmError> {
        self.answer.finish()
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
        let sink = &self.sink;
        self.answer.add(&json, &mut |piece| match piece {
            AnswerPiece::Text(text) => emit(sink, LlmEvent::Text(text)),
            AnswerPiece::Thought(text) => emit(sink, LlmEvent::Reasoning(text)),
            // Calls come whole.
            AnswerPiece::Call(index, call) => {
                emit(sink, LlmEvent::ToolCall { index, name: &call.name });
                emit(sink, LlmEvent::Arguments { index, text: &call.arguments_text() });
            }
        })?;
        Ok(if self.answer.finished() { Flow::Complete } else { Flow::More })
    }
}
