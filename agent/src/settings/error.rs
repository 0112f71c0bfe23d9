//! What is wrong with an agent's options.

/// What is wrong with an agent's options: the exact texts of agent.md 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> ConfigError {
        ConfigError(text.into())
    }
}
