//! What a host changes in an agent's system prompt.

use std::fmt;
use std::sync::Arc;

/// What is done with the agent's own system prompt. What the mode needs (the reference of the language and the inventories)
/// follows in any case.
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
        /// Instead of the reference of the language.
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
