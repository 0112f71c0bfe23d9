//! Receivers of upstreams' progress and log messages while they work for a program.

use std::fmt;
use std::sync::Arc;

use ptc_mcp::LogLevel;
use ptc_mcp::json::Value;
use tokio::sync::{mpsc, watch};

use ptc_base::redactor::Redactor;

/// A log message of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamMessage {
    /// The upstream's name in the configuration.
    pub upstream: Arc<str>,
    /// How severe it is.
    pub level: LogLevel,
    /// The part of the upstream that says so, if it names one.
    pub logger: Option<String>,
    /// The content: text, or any JSON.
    pub data: Value,
}

/// The receivers of upstreams' messages about one program's calls. Secrets are removed before delivery.
pub struct Audience {
    progress: Option<watch::Sender<Option<Arc<str>>>>,
    messages: Option<(LogLevel, mpsc::Sender<UpstreamMessage>)>,
    redactor: Redactor,
}

impl Audience {
    /// No receivers yet.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self { progress: None, messages: None, redactor }
    }

    /// Adds a receiver of the calls' progress: one line each time, of which the latest counts.
    #[must_use]
    pub fn with_progress(self, sender: watch::Sender<Option<Arc<str>>>) -> Self {
        Self { progress: Some(sender), ..self }
    }

    /// Adds a receiver of messages of this severity and above. Messages that exceed its capacity are dropped.
    #[must_use]
    pub fn with_messages(self, least: LogLevel, sender: mpsc::Sender<UpstreamMessage>) -> Self {
        Self { messages: Some((least, sender)), ..self }
    }

    /// Whether there is a receiver of progress.
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// The least severity that the receiver takes.
    pub fn log_level(&self) -> Option<LogLevel> {
        self.messages.as_ref().map(|(least, _)| *least)
    }

    /// Tells how far a call is.
    pub fn tell_progress(&self, line: String) {
        if let Some(sender) = &self.progress {
            sender.send_replace(Some(self.redactor.scrub_string(line).into()));
        }
    }

    /// Hands a message on.
    pub fn tell(&self, message: &UpstreamMessage) {
        let Some((least, sender)) = &self.messages else { return };
        if message.level >= *least
            && let Ok(place) = sender.try_reserve()
        {
            let mut message = message.clone();
            self.redactor.scrub_json(&mut message.data);
            message.logger = message.logger.map(|logger| self.redactor.scrub_string(logger));
            place.send(message);
        }
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Audience")
            .field("wants_progress", &self.wants_progress())
            .field("log_level", &self.log_level())
            .finish_non_exhaustive()
    }
}
