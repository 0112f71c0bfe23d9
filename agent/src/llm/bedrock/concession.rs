//! Features that models reject, and their substitutes.

use super::super::{LlmError, LlmErrorKind, LlmRequest, Message};
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of concessions.
pub(super) type ConcessionSet = u8;

/// Images of tool results are described in words.
pub(super) const NO_TOOL_IMAGES: ConcessionSet = 1;
/// No cache points.
pub(super) const NO_CACHE: ConcessionSet = 1 << 1;
/// The answer's schema is in the system prompt, instead of a tool that the model must call.
pub(super) const NO_FORCED_TOOL: ConcessionSet = 1 << 2;
/// Tool results do not say whether they are errors.
pub(super) const NO_STATUS: ConcessionSet = 1 << 3;

/// The concessions that a model has needed so far.
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

/// The concession that a refusal asks for, if it has not been made yet.
pub(super) fn find(error: &LlmError, made: ConcessionSet, request: &LlmRequest) -> Option<ConcessionSet> {
    if error.kind != LlmErrorKind::InvalidRequest || error.status.is_none() {
        return None;
    }
    let text = error.message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let images = |of: fn(&Message) -> bool| {
        request.messages.iter().any(|message| of(message) && !message.images().is_empty())
    };
    let mut candidates = Vec::new();
    if request.cache && says(&["cach"]) {
        candidates.push(NO_CACHE);
    }
    if request.schema.is_some() && says(&["toolchoice", "tool choice", "tool_choice", "tool use"]) {
        candidates.push(NO_FORCED_TOOL);
    }
    // What the user shows cannot be left out.
    if says(&["image"])
        && images(|message| matches!(message, Message::Tool { .. }))
        && !images(|message| matches!(message, Message::User { .. }))
    {
        candidates.push(NO_TOOL_IMAGES);
    }
    if says(&["status"]) && request.messages.iter().any(|message| matches!(message, Message::Tool { .. })) {
        candidates.push(NO_STATUS);
    }
    candidates.into_iter().find(|concession| made & concession == 0)
}
