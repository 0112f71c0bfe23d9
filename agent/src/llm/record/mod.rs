//! Recorded model conversations, which turn a real conversation into a test.
//!
//! [`Recorder`] writes each request and its outcome as one line of JSON. [`Replayer`] answers from such a file and
//! requires each request to equal the recorded one.

mod difference;
mod recorder;
mod replayer;

pub use recorder::Recorder;
pub use replayer::{ReplayError, Replayer};

use super::{LlmError, LlmResponse};
use ptc_base::json::Value as Json;
use serde::{Deserialize, Serialize};

/// One line of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Exchange {
    request: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<LlmResponse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<LlmError>,
}

#[cfg(test)]
mod tests;
