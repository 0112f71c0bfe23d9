//! Options that are more than a number or a word.

use std::fmt;
use std::sync::Arc;

/// What is done with the agent's own system prompt. What the mode needs (the reference card and the inventories) follows
/// in any case.
#[derive(Clone)]
pub enum SystemPrompt {
    /// This text takes its place.
    Replace(String),
    /// Texts before and after it.
    Wrap {
        /// Before.
        prefix: String,
        /// After.
        suffix: String,
    },
    /// As [`Wrap`](SystemPrompt::Wrap), and other texts for two parts of a PTC-Lisp agent's prompt.
    WrapLisp {
        /// Before.
        prefix: String,
        /// After.
        suffix: String,
        /// Instead of the card of the language.
        language_spec: Option<String>,
        /// Instead of how a program shall be written down.
        output_format: Option<String>,
    },
    /// What a function makes of the whole of it.
    Map(Arc<dyn Fn(String) -> String + Send + Sync>),
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SystemPrompt::Replace(_) => "Replace",
            SystemPrompt::Wrap { .. } => "Wrap",
            SystemPrompt::WrapLisp { .. } => "WrapLisp",
            SystemPrompt::Map(_) => "Map",
        })
    }
}

/// How much of results a model reads back (agent.md 3, `format_options`). Results of programs have the caps of the
/// project's ruling 20 instead: 16 KiB, cut between elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatOptions {
    /// Most bytes of a program's result; 16 KiB by default.
    pub result_max_bytes: usize,
    /// Most bytes of a program's prints; 16 KiB by default.
    pub prints_max_bytes: usize,
    /// Most bytes of one result that `*1 *2 *3` keep; 1024 by default.
    pub history_max_bytes: u64,
    /// Most characters of a context value in the inventory of data; 200 by default.
    pub preview_max_chars: usize,
}

impl Default for FormatOptions {
    fn default() -> FormatOptions {
        FormatOptions {
            result_max_bytes: 16 << 10,
            prints_max_bytes: 16 << 10,
            history_max_bytes: 1024,
            preview_max_chars: 200,
        }
    }
}

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
