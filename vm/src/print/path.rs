//! Where inside a value something is, as messages say it: `rows[0].ts`.

use super::PrintLevel;
use crate::value::Value;
use std::fmt::Write as _;

/// Longest piece of a key that a path shows.
const KEY_BYTES: usize = 40;

/// Bytes after which a path continues as `…`.
const LONGEST: usize = 400;

/// A path that is being written.
#[derive(Default)]
pub(crate) struct PathText(String);

impl PathText {
    /// The path to the current elements of all these levels.
    pub(crate) fn of<'a>(levels: impl IntoIterator<Item = &'a PrintLevel>) -> PathText {
        let mut path = PathText::default();
        for level in levels {
            match level.key() {
                Some(key) => path.push_key(key),
                None => path.push_index(level.given().saturating_sub(1)),
            }
        }
        path
    }

    /// Goes into an element of a vector or set.
    pub(crate) fn push_index(&mut self, index: usize) {
        if self.has_room() {
            let _ = write!(self.0, "[{index}]");
        }
    }

    /// Goes into the value of a map entry.
    pub(crate) fn push_key(&mut self, key: &Value) {
        if !self.has_room() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('.');
        }
        match key {
            Value::Str(s) => self.push_text(s.as_str()),
            Value::Keyword(k) => self.push_text(k.name()),
            other => self.push_text(&super::literal(other)),
        }
    }

    /// Longer paths are unreadable and therefore useless.
    fn has_room(&mut self) -> bool {
        if self.0.len() <= LONGEST {
            return true;
        }
        if !self.0.ends_with('…') {
            self.0.push('…');
        }
        false
    }

    fn push_text(&mut self, text: &str) {
        match text.char_indices().nth(KEY_BYTES) {
            None => self.0.push_str(text),
            Some((end, _)) => {
                self.0.push_str(&text[..end]);
                self.0.push('…');
            }
        }
    }

    /// The text; empty for the value itself.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}
