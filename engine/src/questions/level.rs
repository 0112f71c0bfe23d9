//! Levels of approval: how independent of the model an answer must be.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The channels that may answer an approval (waiting.md 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Any channel, the model's own word included. Questions that are no approvals have this level.
    Model,
    /// The client, by means that do not go through the model; the console; the webhook.
    #[default]
    Client,
    /// The console and the webhook alone.
    OutOfBand,
}

impl Level {
    /// All levels, from the weakest to the strongest.
    pub const ALL: [Level; 3] = [Self::Model, Self::Client, Self::OutOfBand];

    /// The level's word in files, records and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Client => "client",
            Self::OutOfBand => "out_of_band",
        }
    }

    /// The level of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
