//! Why a program failed.

use ptc_vm::error::Position;
use ptc_vm::{Error, Reason};

/// Why a program has no value.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The reason word.
    pub reason: Reason,
    /// The full sentence.
    pub message: String,
    /// How to repair the program: text to append to the message.
    pub hint: Option<String>,
    /// Where in the program, if that is known.
    pub position: Option<Position>,
    /// The readable form of the value given to `fail`.
    pub payload: Option<String>,
}

impl Failure {
    /// A failure without a place.
    pub fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure { reason, message: message.into(), hint: None, position: None, payload: None }
    }

    /// The message with its hint, as people and models read it.
    pub fn full_message(&self) -> String {
        format!("{}{}", self.message, self.hint.as_deref().unwrap_or_default())
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        Failure {
            reason: error.reason(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            position: error.position(),
            payload: error.payload().map(|_| error.message().to_owned()),
        }
    }
}
