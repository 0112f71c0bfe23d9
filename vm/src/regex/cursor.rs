//! A place in a pattern that is being read.

/// Why a pattern cannot be read, and at which character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// Characters before the place.
    pub(super) position: usize,
    /// The fault.
    pub(super) text: String,
}

pub(super) type PatternResult<T> = Result<T, PatternError>;

/// The text of a pattern, and the place up to which it has been read.
pub(super) struct Cursor {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
}

impl Cursor {
    pub(super) fn error(&self, text: impl Into<String>) -> PatternError {
        PatternError { position: self.at, text: text.into() }
    }

    pub(super) fn error_at(&self, position: usize, text: impl Into<String>) -> PatternError {
        PatternError { position, text: text.into() }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn looking_at(&self, wanted: &str) -> bool {
        wanted.chars().enumerate().all(|(i, c)| self.text.get(self.at + i) == Some(&c))
    }

    pub(super) fn accept(&mut self, wanted: &str) -> bool {
        let found = self.looking_at(wanted);
        if found {
            self.at += wanted.chars().count();
        }
        found
    }
}
