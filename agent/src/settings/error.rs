//! Errors in an agent's options.

/// An error in an agent's options, with the exact text of agent.md 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> ConfigError {
        ConfigError(text.into())
    }
}
