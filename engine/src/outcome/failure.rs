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
    /// The definition of an earlier program of the session in which it failed; `position` is `None` then.
    pub definition: Option<Box<FailedDefinition>>,
    /// The readable form of the value given to `fail`.
    pub payload: Option<String>,
}

/// A definition of an earlier program in which a program failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedDefinition {
    /// Its text, from `(defn` to the closing parenthesis.
    pub source: String,
    /// Where in that text the program failed.
    pub position: Position,
}

impl FailedDefinition {
    /// The name that it defines; empty if that is not the second word of its text.
    pub fn name(&self) -> &str {
        let words = self.source.split(|c: char| c.is_whitespace() || "(),;".contains(c));
        let name = words.filter(|word| !word.is_empty()).nth(1).unwrap_or_default();
        if name.starts_with(['^', '"', '[', '{']) { "" } else { name }
    }
}

impl Failure {
    /// A failure without a place.
    pub fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure {
            reason,
            message: message.into(),
            hint: None,
            position: None,
            definition: None,
            payload: None,
        }
    }

    /// The same, with a place in a called program as one in its file: the end of the message, as `(in NAME.clj:3:2)`. `text` is the
    /// program's.
    #[must_use]
    pub(crate) fn placed(mut self, text: &str) -> Failure {
        if let Some(position) = self.position
            && let Some((name, line)) = ptc_compiler::parts::place(text, position.line)
        {
            self.position = None;
            self.message = format!("{} (in {name}.clj:{line}:{})", self.message, position.column);
        }
        self
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
            definition: error.definition().map(|definition| {
                Box::new(FailedDefinition {
                    source: definition.source.as_ref().to_owned(),
                    position: definition.position,
                })
            }),
            payload: error.payload().map(|_| error.message().to_owned()),
        }
    }
}
