//! The content of maps and sets, without reading or marking anything.

use super::unread_rows::UnreadPayloads;
use super::{EntryValue, OrderedEntries, Repr, Shape};
use crate::value::{ReplyWatch, Value};
use std::rc::Rc;

/// The content of a map or a set.
pub(crate) enum Contents<'a, V> {
    /// Keys that may be shared with others, and as many payloads.
    Small(&'a Rc<Shape>, &'a [V]),
    /// As a small one; who reads it is noted.
    Watched(&'a Rc<Shape>, &'a [V], &'a Rc<ReplyWatch>),
    /// A row of a reply: some of its fields may be text still.
    Row(&'a Rc<Shape>, Vec<RowField>),
    /// More keys than a shape has, or fewer that were more once.
    Tree,
}

/// A field of a row.
pub(crate) enum RowField {
    /// It has been read: the row holds this value.
    Read(Value),
    /// It is still text: this is the value it would be, without another owner.
    Text(Value),
}

impl<V: EntryValue> OrderedEntries<V> {
    /// Its content.
    pub(in crate::value) fn contents(&self) -> Contents<'_, V> {
        match &*self.0 {
            Repr::Small(small) => Contents::Small(&small.shape, &small.payloads),
            Repr::Watched(watched) => {
                Contents::Watched(&watched.small.shape, &watched.small.payloads, &watched.watch)
            }
            Repr::Unread(unread) => Contents::Row(unread.shape(), unread.fields()),
            Repr::Tree(_) => Contents::Tree,
        }
    }
}
