//! Who hears what upstreams say while they work for a program: how far they are, and their log messages.

use std::fmt;
use std::sync::Arc;

use ptc_mcp::LogLevel;
use ptc_mcp::json::Value;
use tokio::sync::{mpsc, watch};

use crate::credentials::Redactor;

/// A log message of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamMessage {
    /// The upstream's name in the configuration.
    pub upstream: Arc<str>,
    /// How severe it is.
    pub level: LogLevel,
    /// The part of the upstream that says so, if it names one.
    pub logger: Option<String>,
    /// What it says: text, or any JSON.
    pub data: Value,
}

/// Who hears what upstreams say of one program's calls. Secrets are removed before anybody hears them.
pub struct Audience {
    progress: Option<watch::Sender<Option<Arc<str>>>>,
    messages: Option<(LogLevel, mpsc::Sender<UpstreamMessage>)>,
    redactor: Redactor,
}

impl Audience {
    /// Nobody yet.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self { progress: None, messages: None, redactor }
    }

    /// Somebody who hears how far calls are: one line each time, the latest of which counts.
    #[must_use]
    pub fn with_progress(self, sender: watch::Sender<Option<Arc<str>>>) -> Self {
        Self { progress: Some(sender), ..self }
    }

    /// Somebody who hears messages of this severity and above. What comes faster than it is taken is lost.
    #[must_use]
    pub fn with_messages(self, least: LogLevel, sender: mpsc::Sender<UpstreamMessage>) -> Self {
        Self { messages: Some((least, sender)), ..self }
    }

    /// Whether somebody hears how far calls are.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// The least severity that somebody hears.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.messages.as_ref().map(|(least, _)| *least)
    }

    /// Tells how far a call is.
    pub(crate) fn tell_progress(&self, line: String) {
        if let Some(sender) = &self.progress {
            sender.send_replace(Some(self.redactor.scrub_string(line).into()));
        }
    }

    /// Hands a message on.
    pub(crate) fn tell(&self, message: &UpstreamMessage) {
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
