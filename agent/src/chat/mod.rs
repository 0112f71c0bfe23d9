//! Chats: multi-turn conversations with one agent (agent.md 8.12).
//!
//! By default only the messages carry over between turns. A [`ChatState`] passed to each turn also carries definitions,
//! `*1 *2 *3` and shared results.

use crate::llm::Message;
use crate::preview::forget;
use crate::run::{ChatState, RunOptions, Step};
use crate::settings::{Agent, Mode};
use crate::template::Template;
use ptc_base::json::Value as Json;
use std::sync::Arc;

/// The result of a chat turn.
#[derive(Debug, Clone)]
pub struct ChatReply {
    /// The answer as text; the value of a PTC-Lisp agent that is no text as JSON.
    pub text: String,
    /// The conversation with the system prompt first, for display and for the next turn.
    pub messages: Vec<Message>,
    /// The state that this turn's programs left. A PTC-Lisp agent's next turn should be given it; in combined mode that is up
    /// to the host, and without it the next turn starts empty.
    pub state: ChatState,
    /// The run of the turn.
    pub step: Step,
}

impl Agent {
    /// One turn of a chat: a run whose mission is the user's text, taken literally, after the messages in
    /// `options.initial_messages`. The agent's signature is ignored.
    ///
    /// Without `options.state`, previews of earlier turns that promise a kept result are rewritten: it is gone.
    ///
    /// # Errors
    /// The failed step; its messages hold the conversation up to there.
    pub async fn chat(&self, user: &str, mut options: RunOptions) -> Result<ChatReply, Box<Step>> {
        let mut config = (*self.0).clone();
        config.prompt = Template::literal(user);
        config.signature = None;
        if options.state.is_none() {
            options.initial_messages.iter_mut().for_each(forget_cached);
        }
        options.collect_messages = true;
        let mut step = Agent(Arc::new(config)).run(options).await?;
        let text = match &step.value {
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let state = step.state.clone().unwrap_or_default();
        // The conversation ends with the program; the model shall know what its value was.
        if self.0.mode == Mode::Lisp {
            let content = crate::run::quoted(&[("result", &text)]);
            step.messages.push(Message::user(content));
        }
        Ok(ChatReply { text, messages: step.messages.clone(), state, step })
    }
}

/// Takes back the promise of a preview whose result is gone.
fn forget_cached(message: &mut Message) {
    if let Message::Tool { content, .. } = message {
        forget(content);
    }
}

#[cfg(test)]
mod tests;
