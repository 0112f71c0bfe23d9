//! Features that compatible endpoints reject, and their substitutes.

use super::super::{LlmError, LlmErrorKind, LlmRequest, Message};
use ptc_base::json::Value as Json;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of concessions.
pub(super) type ConcessionSet = u8;

/// `response_format` is `json_object`; the schema goes into the system prompt.
pub(super) const NO_SCHEMA: ConcessionSet = 1;
/// No `response_format` at all; the schema is in the system prompt.
pub(super) const NO_FORMAT: ConcessionSet = 1 << 1;
/// No `stream_options`, so that usage may be missing.
pub(super) const NO_STREAM_OPTIONS: ConcessionSet = 1 << 2;
/// `max_completion_tokens` instead of `max_tokens`.
pub(super) const NEW_MAX_TOKENS: ConcessionSet = 1 << 3;
/// Empty content beside tool calls is `""` instead of `null`.
pub(super) const NO_NULL_CONTENT: ConcessionSet = 1 << 4;
/// Arguments in the history that are no JSON object are sent as an object that holds their text.
pub(super) const VALID_ARGUMENTS: ConcessionSet = 1 << 5;

/// Images that a model made are not sent back to it.
pub(super) const NO_MADE_IMAGES: ConcessionSet = 1 << 6;
/// Images of tool results are described in words.
pub(super) const NO_TOOL_IMAGES: ConcessionSet = 1 << 7;

/// The concessions that an endpoint has needed so far.
#[derive(Debug, Default)]
pub(super) struct Concessions(AtomicU8);

impl Concessions {
    pub(super) fn made(&self) -> ConcessionSet {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self, concession: ConcessionSet) {
        self.0.fetch_or(concession, Ordering::Relaxed);
    }
}

/// The concession that a refusal asks for, if the body that was refused has not made it yet.
pub(super) fn find(
    error: &LlmError,
    made: ConcessionSet,
    body: &Json,
    request: &LlmRequest,
) -> Option<ConcessionSet> {
    // Some servers fail inside instead of refusing, so that 500 counts where the text is clear.
    let refused = error.kind == LlmErrorKind::InvalidRequest || error.status == Some(500);
    if !refused || error.status.is_none() {
        return None;
    }
    let text = error.message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let has = |key: &str| body.get(key).is_some();
    let images = |of: fn(&Message) -> bool| {
        request.messages.iter().any(|message| of(message) && !message.images().is_empty())
    };
    let mut candidates = Vec::new();
    if says(&["image"]) && images(|message| matches!(message, Message::Assistant { .. })) {
        candidates.push(NO_MADE_IMAGES);
    }
    // What the user shows cannot be left out.
    if says(&["image", "vision", "multimodal"])
        && images(|message| matches!(message, Message::Tool { .. }))
        && !images(|message| matches!(message, Message::User { .. }))
    {
        candidates.push(NO_TOOL_IMAGES);
    }
    if has("stream_options") && says(&["stream_options"]) {
        candidates.push(NO_STREAM_OPTIONS);
    }
    if has("max_tokens") && says(&["max_completion_tokens"]) {
        candidates.push(NEW_MAX_TOKENS);
    }
    if has("response_format")
        && says(&["response_format", "json_schema", "json schema", "schema", "json_object"])
    {
        candidates.push(if made & NO_SCHEMA == 0 { NO_SCHEMA } else { NO_FORMAT });
    }
    if says(&["content"]) && says(&["null", "none", "required"]) {
        candidates.push(NO_NULL_CONTENT);
    }
    if says(&["arguments"]) {
        candidates.push(VALID_ARGUMENTS);
    }
    candidates.into_iter().find(|concession| made & concession == 0)
}

/// Whether later requests start with the concession. An endpoint that cannot enforce one schema may still enforce the
/// next one.
pub(super) fn lasts(error: &LlmError, concession: ConcessionSet) -> bool {
    let text = error.message.to_lowercase();
    !(concession == NO_SCHEMA && text.contains("invalid schema")) && concession != VALID_ARGUMENTS
}
