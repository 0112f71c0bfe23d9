//! Severities of log messages, as `notifications/message` names them.

use std::fmt;

/// How severe a log message is. The order is that of the protocol, which is syslog's: `Debug` is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// `debug`
    Debug,
    /// `info`
    Info,
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
    /// `critical`
    Critical,
    /// `alert`
    Alert,
    /// `emergency`
    Emergency,
}

impl LogLevel {
    /// All of them, the least severe first.
    pub const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    /// The word of the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// The severity of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<LogLevel> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// All names, for messages that list the allowed values.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(LogLevel::name).join(", ")
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order_are_those_of_the_protocol() {
        assert!(LogLevel::ALL.is_sorted());
        assert!(LogLevel::ALL.into_iter().all(|level| LogLevel::from_name(level.name()) == Some(level)));
        assert_eq!(LogLevel::from_name("warn"), None);
        assert_eq!(LogLevel::names(), "debug, info, notice, warning, error, critical, alert, emergency");
    }
}
