//! Customisation of an agent's system prompt.

use std::fmt;
use std::sync::Arc;

/// A change of the agent's own system prompt. The parts that the mode needs (the language reference and the
/// inventories) always follow.
#[derive(Clone)]
pub enum SystemPrompt {
    /// This text replaces it.
    Replace(String),
    /// Texts before and after it.
    Wrap {
        /// Before.
        prefix: String,
        /// After.
        suffix: String,
    },
    /// As [`Wrap`](SystemPrompt::Wrap), with replacements for two parts of a PTC-Lisp agent's prompt.
    WrapLisp {
        /// Before.
        prefix: String,
        /// After.
        suffix: String,
        /// Replaces the language reference.
        language_spec: Option<String>,
        /// Replaces the instructions on how to write down a program.
        output_format: Option<String>,
    },
    /// A function maps the whole prompt.
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
