//! Observation of the use of a call's result.

use super::Value;
use crate::paging::{CallFacts, Standing};
use std::cell::{Cell, RefCell};

/// A program's use of the result of a call. The maker of the reply keeps one end, the result the other.
#[derive(Debug, Default)]
pub struct ReplyWatch {
    looked_at: Cell<bool>,
    unreadable: RefCell<Option<String>>,
    mended: Cell<usize>,
    is_python: Cell<bool>,
    asked: Option<CallFacts>,
    standing: RefCell<Option<Standing>>,
}

impl ReplyWatch {
    /// One of the answer to a call of which so much is known.
    pub fn of_call(asked: CallFacts) -> ReplyWatch {
        ReplyWatch { asked: Some(asked), ..ReplyWatch::default() }
    }

    /// One of a result that has been looked at or not, and that could not be read or could.
    pub(crate) fn restored(looked_at: bool, unreadable: Option<String>) -> ReplyWatch {
        ReplyWatch {
            looked_at: Cell::new(looked_at),
            unreadable: RefCell::new(unreadable),
            ..ReplyWatch::default()
        }
    }

    /// How much of all the answer is, once it has been read.
    pub fn standing(&self) -> Option<Standing> {
        self.standing.borrow().clone()
    }

    /// Notes that the value of the answer has been read. Returns the tool's parameters, for `tool/pages`.
    pub(crate) fn note_value(&self, value: &Value) -> Option<Value> {
        let asked = self.asked.as_ref()?;
        if asked.by_pages {
            return Some(asked.parameters.to_value());
        }
        *self.standing.borrow_mut() = Standing::of(value, asked);
        None
    }

    /// Whether the program looked at a failure: read `:ok`, `:reason` or `:message` of it, or went through all of it, as
    /// printing and writing JSON do.
    pub fn looked_at(&self) -> bool {
        self.looked_at.get()
    }

    /// Why no program can hold the value of a success, which the program therefore got as a world fault.
    pub fn unreadable(&self) -> Option<String> {
        self.unreadable.borrow().clone()
    }

    /// Halves of surrogate pairs in the value that became U+FFFD.
    pub fn mended(&self) -> usize {
        self.mended.get()
    }

    /// So many halves of surrogate pairs became U+FFFD.
    pub(crate) fn note_mended(&self, count: usize) {
        self.mended.set(self.mended.get().saturating_add(count));
    }

    /// Whether a text of the result was Python's way to write data, and came as that data (decision 171).
    pub fn is_python(&self) -> bool {
        self.is_python.get()
    }

    /// A text was Python's way to write data.
    pub(crate) fn note_python(&self) {
        self.is_python.set(true);
    }

    /// All of the result is read.
    pub(crate) fn look(&self) {
        self.looked_at.set(true);
    }

    /// The entry under `key` is read.
    pub(crate) fn look_at(&self, key: &Value) {
        if let Value::Keyword(key) = key
            && matches!(key.name(), "ok" | "reason" | "message")
        {
            self.look();
        }
    }

    /// The program gets a world fault with this message instead of a value.
    pub(crate) fn note_unreadable(&self, message: &str) {
        *self.unreadable.borrow_mut() = Some(message.to_owned());
    }
}
