//! Events of a stream.

use super::LlmResponse;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// One piece of an unfinished answer. Pieces are for display only: the response that ends the request holds all of
/// them, joined and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LlmEvent<'a> {
    /// The next piece of the text; never empty.
    Text(&'a str),
    /// The next piece of a reasoning model's thinking. It is not part of the response.
    Reasoning(&'a str),
    /// A tool call begins.
    ToolCall {
        /// Which of the response's calls, from 0.
        index: usize,
        /// The tool, as the model wrote it.
        name: &'a str,
    },
    /// The next piece of a tool call's arguments, as JSON text.
    Arguments {
        /// Which of the response's calls, from 0.
        index: usize,
        /// The piece.
        text: &'a str,
    },
}

/// Takes the pieces of an answer as they arrive, on the task that reads them: it should not block.
pub type EventSink = Arc<dyn Fn(LlmEvent<'_>) + Send + Sync>;

/// Takes the pieces of an answer's text.
pub type ChunkSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A sink that passes the text on and drops the rest.
#[must_use]
pub(crate) fn text_sink(sink: ChunkSink) -> EventSink {
    Arc::new(move |event| {
        if let LlmEvent::Text(text) = event {
            sink(text);
        }
    })
}

/// Sends one piece to a sink. A sink that panics is logged and ignored: it is not the model's fault.
pub fn emit(sink: &EventSink, event: LlmEvent<'_>) {
    if std::panic::catch_unwind(AssertUnwindSafe(|| sink(event))).is_err() {
        tracing::warn!(target: "ptc_runner.sub_agent", "the sink of a streamed answer panicked and was ignored");
    }
}

impl LlmResponse {
    /// Sends a whole response to a sink, as a client without streaming does: its text in one piece, then each tool call with
    /// its arguments.
    pub fn emit(&self, sink: &EventSink) {
        if let Some(text) = self.content.as_deref().filter(|text| !text.is_empty()) {
            emit(sink, LlmEvent::Text(text));
        }
        for (index, call) in self.tool_calls.iter().enumerate() {
            emit(sink, LlmEvent::ToolCall { index, name: &call.name });
            emit(sink, LlmEvent::Arguments { index, text: &call.arguments_text() });
        }
    }
}
