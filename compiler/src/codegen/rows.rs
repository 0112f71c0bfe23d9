//! Shared layouts of map literals with the same keys, such as the rows of a table.

use std::rc::Rc;

use ptc_vm::Value;
use ptc_vm::value::{Shape, key_compare};
use smallvec::SmallVec;

use crate::form::{Form, FormKind};
use crate::names::Name;

/// The keys of the map literals before. Those of the same keywords in the same order, as the rows of a table are, share their
/// keys without examining any value.
#[derive(Default)]
pub(super) struct Rows {
    all: Vec<Rc<Row>>,
    /// The next one to evict.
    oldest: usize,
}

/// The keys of one map literal.
pub(super) struct Row {
    /// As they are written.
    keys: SmallVec<[Name; 8]>,
    /// For each key of the shape, which form is its value.
    pub(super) sources: SmallVec<[u8; 16]>,
    pub(super) shape: Rc<Shape>,
}

impl Rows {
    const MOST: usize = 16;

    pub(super) fn find(&self, parts: &[Form]) -> Option<Rc<Row>> {
        let is_like = |row: &&Rc<Row>| {
            let pairs = row.keys.iter().zip(parts.chunks_exact(2));
            parts.len() == 2 * row.keys.len()
                && pairs
                    .into_iter()
                    .all(|(&key, pair)| matches!(pair[0].kind, FormKind::Keyword(name) if name == key))
        };
        self.all.iter().find(is_like).cloned()
    }

    pub(super) fn learn(&mut self, row: Rc<Row>) {
        if self.all.len() < Self::MOST {
            self.all.push(row);
        } else {
            self.all[self.oldest] = row;
            self.oldest = (self.oldest + 1) % Self::MOST;
        }
    }
}

impl Row {
    /// The layout of a map of these keys and values; `None` where a key is no keyword, and of more keys than a shape has.
    pub(super) fn of(parts: &[Form], mut keyword: impl FnMut(Name) -> Value) -> Option<Row> {
        if parts.len() > 2 * Shape::MOST_KEYS {
            return None;
        }
        let mut keys = SmallVec::new();
        let mut sorted = SmallVec::<[(Value, u8); 8]>::new();
        for (pair, source) in parts.chunks_exact(2).zip((1..).step_by(2)) {
            let FormKind::Keyword(name) = pair[0].kind else { return None };
            keys.push(name);
            sorted.push((keyword(name), source));
        }
        // The order of a shape's keys, which `sources` follow.
        sorted.sort_by(|a, b| key_compare(&a.0, &b.0));
        let sources = sorted.iter().map(|&(_, source)| source).collect();
        let shape = Shape::of(sorted.into_iter().map(|(key, _)| key).collect())?;
        Some(Row { keys, sources, shape })
    }
}
