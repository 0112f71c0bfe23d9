//! Errors and warnings about options.

use ptc_host::config::ConfigError;

/// The process cannot start: one sentence for the operator, printed on standard error before it exits with status 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BootError {
    message: String,
}

impl BootError {
    /// An error of that text.
    pub fn new(message: impl Into<String>) -> Self {
        BootError { message: message.into() }
    }
}

impl From<ConfigError> for BootError {
    fn from(error: ConfigError) -> Self {
        BootError::new(error.to_string())
    }
}

/// An option with a wrong value that was replaced; logged once logging is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootWarning {
    /// Name of the log event.
    pub event: &'static str,
    /// The value found and the value used instead.
    pub message: String,
}
