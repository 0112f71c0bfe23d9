//! Replaying a recording.

use super::super::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use super::Exchange;
use super::difference::first_difference;
use futures_util::future::BoxFuture;
use ptc_base::json::Value as Json;
use ptc_base::redactor::Redactor;
use ptc_base::sync::Mutex;
use std::path::Path;
use std::sync::MutexGuard;

/// Why a recording cannot be read, or does not match the requests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("recording {path}: {error}")]
    File {
        /// Which.
        path: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A line is no exchange.
    #[error("recording, line {line}: {detail}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// The fault.
        detail: String,
    },
    /// Not everything was asked for.
    #[error("{unused} recorded requests were not made; the first is that of line {first}")]
    Unused {
        /// How many.
        unused: usize,
        /// The line of the first, from 1.
        first: usize,
    },
}

/// A model that answers from a recording. Each recorded answer is used once, for a request that is equal in everything but its
/// deadline; among equal ones the earliest first. A request that was not recorded fails and says where it differs from the next
/// recorded one.
#[derive(Debug)]
pub struct Replayer {
    exchanges: Mutex<Vec<Option<Exchange>>>,
    /// Whether the recorded model was shown any.
    sees_images: bool,
    redactor: Mutex<Redactor>,
}

impl Replayer {
    /// Reads a recording.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no exchange.
    #[expect(clippy::disallowed_methods, reason = "entry point: Replayer.open")]
    pub fn open(path: &Path) -> Result<Replayer, ReplayError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ReplayError::File { path: path.display().to_string(), error })?;
        Replayer::parse(&text)
    }

    /// Reads a recording's text. Blank lines are skipped.
    ///
    /// # Errors
    /// A line is no exchange.
    #[expect(clippy::disallowed_methods, reason = "entry point: Replayer.parse")]
    pub fn parse(text: &str) -> Result<Replayer, ReplayError> {
        let mut exchanges = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |detail: String| ReplayError::Line { line: number, detail };
            if line.trim().is_empty() {
                exchanges.push(None);
                continue;
            }
            let exchange: Exchange = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if exchange.response.is_some() == exchange.error.is_some() {
                return Err(wrong("needs either a response or an error".into()));
            }
            exchanges.push(Some(exchange));
        }
        let shown = |exchange: &Exchange| {
            let messages = exchange.request["messages"].as_array();
            messages.is_some_and(|all| all.iter().any(|message| message.get("images").is_some()))
        };
        let sees_images = exchanges.iter().flatten().any(shown);
        Ok(Replayer { exchanges: Mutex::new(exchanges), sees_images, redactor: Mutex::default() })
    }

    /// Scrubs requests before they are compared, as the recorder scrubbed them.
    #[must_use]
    pub fn redactor(self, redactor: Redactor) -> Replayer {
        self.scrub_with(redactor);
        self
    }

    /// As [`Replayer::redactor`], for a replayer that is shared already.
    pub fn scrub_with(&self, redactor: Redactor) {
        *self.redactor.lock() = redactor;
    }

    /// Whether everything was asked for.
    ///
    /// # Errors
    /// The lines that no request used.
    pub fn finish(&self) -> Result<(), ReplayError> {
        let exchanges = self.exchanges();
        let left: Vec<usize> =
            (1..).zip(exchanges.iter()).filter(|(_, left)| left.is_some()).map(|(line, _)| line).collect();
        match left.first() {
            None => Ok(()),
            Some(first) => Err(ReplayError::Unused { unused: left.len(), first: *first }),
        }
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<Option<Exchange>>> {
        self.exchanges.lock()
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Replayer.answer")]
    fn answer(&self, request: &LlmRequest) -> Result<LlmResponse, LlmError> {
        let mut asked = ptc_base::json::to_value(request).unwrap_or_default();
        self.redactor.lock().scrub_json(&mut asked);
        // As text and back, since that is how the recorded one came.
        let asked: Json = serde_json::from_str(&asked.to_string()).unwrap_or_default();
        let mut exchanges = self.exchanges();
        let equal = exchanges.iter_mut().find(|left| left.as_ref().is_some_and(|one| one.request == asked));
        if let Some(exchange) = equal.and_then(Option::take) {
            return match (exchange.response, exchange.error) {
                (Some(response), _) => Ok(response),
                (None, Some(error)) => Err(error),
                (None, None) => Err(refuse("the recording has neither a response nor an error")),
            };
        }
        let next = (1..).zip(exchanges.iter()).find_map(|(line, left)| Some((line, left.as_ref()?)));
        Err(match next {
            None => refuse("the recording has no further exchange"),
            Some((line, next)) => {
                let where_ = first_difference(&next.request, &asked).unwrap_or_default();
                refuse(&format!("the request is not the recorded one of line {line}: {where_}"))
            }
        })
    }
}

fn refuse(text: &str) -> LlmError {
    LlmError::new(LlmErrorKind::InvalidRequest, text)
}

impl Llm for Replayer {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(std::future::ready(self.answer(&request)))
    }

    /// As the recorded model did: the requests must be the same again.
    fn sees_images(&self) -> bool {
        self.sees_images
    }
}
