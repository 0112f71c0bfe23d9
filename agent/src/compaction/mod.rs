//! Compaction of conversations (agent.md 14) to the first user message and the last turns.

use crate::llm::Message;
use std::fmt;
use std::sync::Arc;

/// Estimates the tokens of a text.
pub type TokenCounter = Arc<dyn Fn(&str) -> usize + Send + Sync>;

/// When and how the conversation of a PTC-Lisp agent is shortened (agent.md 14). Assistant messages with tool calls stay
/// together with their results.
#[derive(Clone)]
pub struct Compaction {
    /// More turns than this trigger it; 8 by default.
    pub trigger_turns: Option<u32>,
    /// More tokens than this trigger it; not set by default.
    pub trigger_tokens: Option<usize>,
    /// Last turns that are kept; 3 by default.
    pub keep_recent_turns: u32,
    /// Whether the first user message is kept; yes by default.
    pub keep_initial_user: bool,
    /// How tokens are counted; a quarter of the characters by default.
    pub token_counter: TokenCounter,
}

impl Default for Compaction {
    fn default() -> Compaction {
        Compaction {
            trigger_turns: Some(8),
            trigger_tokens: None,
            keep_recent_turns: 3,
            keep_initial_user: true,
            token_counter: Arc::new(|text| text.chars().count().div_ceil(4)),
        }
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("trigger_turns", &self.trigger_turns)
            .field("trigger_tokens", &self.trigger_tokens)
            .field("keep_recent_turns", &self.keep_recent_turns)
            .field("keep_initial_user", &self.keep_initial_user)
            .finish_non_exhaustive()
    }
}

/// The effect of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionReport {
    /// Messages before and after.
    pub(crate) messages: (usize, usize),
    /// Estimated tokens before and after.
    pub(crate) tokens: (usize, usize),
    /// `turns` or `tokens`.
    pub(crate) reason: &'static str,
}

/// Trims a conversation that passes a trigger; `None` if it does not, or if nothing could be left out.
///
/// A turn begins with the assistant's message and ends before the next one, so that calls and their results stay together.
pub(crate) fn compact(options: &Compaction, messages: &mut Vec<Message>) -> Option<CompactionReport> {
    let starts: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| matches!(message, Message::Assistant { .. }))
        .map(|(at, _)| at)
        .collect();
    let tokens =
        |messages: &[Message]| messages.iter().map(|message| weight(options, message)).sum::<usize>();
    let before = (messages.len(), if options.trigger_tokens.is_some() { tokens(messages) } else { 0 });
    let many_turns = options.trigger_turns.is_some_and(|most| starts.len() > most as usize);
    let many_tokens = options.trigger_tokens.is_some_and(|most| before.1 > most);
    if !many_turns && !many_tokens {
        return None;
    }
    let kept_turns = (options.keep_recent_turns as usize).max(1);
    let from = *starts.get(starts.len().checked_sub(kept_turns)?)?;
    let first = messages.iter().position(|message| matches!(message, Message::User { .. }));
    let first = first.filter(|at| options.keep_initial_user && *at < from);
    if from == usize::from(first.is_some()) {
        return None;
    }
    let before = (before.0, tokens(messages));
    let recent = messages.split_off(from);
    let first = first.map(|at| messages.swap_remove(at));
    *messages = first.into_iter().chain(recent).collect();
    let reason = if many_turns { "turns" } else { "tokens" };
    Some(CompactionReport {
        messages: (before.0, messages.len()),
        tokens: (before.1, tokens(messages)),
        reason,
    })
}

fn weight(options: &Compaction, message: &Message) -> usize {
    let count = |text: &str| (options.token_counter)(text);
    match message {
        Message::System { content } | Message::User { content, .. } | Message::Tool { content, .. } => {
            count(content)
        }
        Message::Assistant { content, tool_calls, .. } => {
            count(content) + tool_calls.iter().map(|call| count(&call.arguments)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ToolCallMsg;

    fn conversation(turns: usize) -> Vec<Message> {
        let mut messages = vec![Message::user("the mission")];
        for turn in 0..turns {
            let id = format!("c{turn}");
            let call = ToolCallMsg { id: id.clone(), name: "lisp_eval".into(), arguments: "{}".into() };
            messages.push(Message::calls("", vec![call]));
            messages.push(Message::tool(id, "x".repeat(40)));
        }
        messages
    }

    #[test]
    fn the_mission_and_the_last_turns_stay_with_their_results() {
        let mut messages = conversation(8);
        assert_eq!(compact(&Compaction::default(), &mut messages), None);
        let mut messages = conversation(9);
        let done = compact(&Compaction::default(), &mut messages).unwrap();
        assert_eq!((done.messages, done.reason), ((19, 7), "turns"));
        assert_eq!(messages[0], Message::user("the mission"));
        assert_eq!(messages[1..], conversation(9)[13..]);
        assert!(done.tokens.1 < done.tokens.0);
    }

    #[test]
    fn tokens_trigger_too_and_one_turn_is_left_alone() {
        let options = Compaction { trigger_turns: None, trigger_tokens: Some(30), ..Compaction::default() };
        let mut messages = conversation(4);
        assert_eq!(compact(&options, &mut messages).unwrap().reason, "tokens");
        assert_eq!(messages.len(), 7);
        assert_eq!(compact(&options, &mut messages), None);
    }
}
