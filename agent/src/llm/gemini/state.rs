//! Provider state that the protocol requires back with a message: signatures of the thinking, and the ids of calls.

use crate::llm::ToolCallMsg;
use ptc_base::json::Value as Json;
use serde::{Deserialize, Serialize};

/// The state of one message, kept under `gemini` in the message's `provider_state`.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MessageState {
    /// The signature of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The signatures of the images, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Option<String>>,
    /// Of the calls, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<CallState>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CallState {
    /// The id that the model gave; the conversation may know the call by another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<String>,
}

impl MessageState {
    /// The state of a message; none if another provider's model said it.
    #[expect(clippy::disallowed_methods, reason = "entry point: MessageState.of")]
    pub(super) fn of(provider_state: Option<&Json>) -> Option<MessageState> {
        let state = provider_state?.get("gemini")?;
        ptc_base::json::from_str(&state.to_string()).ok()
    }

    /// As a message keeps it; nothing if there is nothing to keep.
    pub(super) fn keep(&self) -> Option<Json> {
        let state = ptc_base::json::to_value(self).ok()?;
        let idle = self.text.is_none()
            && self.images.iter().all(Option::is_none)
            && self.calls.iter().all(|call| *call == CallState::default());
        (!idle).then(|| ptc_base::json::json!({"gemini": state}))
    }
}

/// The id under which a call goes back: the model's own, or none.
pub(super) fn wire_id(state: Option<&MessageState>, at: usize) -> Option<&str> {
    state?.calls.get(at)?.id.as_deref()
}

/// A call that results may refer to.
pub(super) struct PriorCall<'a> {
    pub(super) call: &'a ToolCallMsg,
    pub(super) id: Option<String>,
}
