//! Building from entries in any order.

use super::tree::Tree;
use super::{EntryValue, OrderedEntries, Repr, SMALL_MAX, Shape};
use crate::meter;
use crate::value::Value;
use crate::value::order::{is_dear, key_compare, sort_by_key};
use std::cmp::Ordering;
use std::rc::Rc;

/// Entries that are looked at between two places where others may have the thread.
const PIECE: usize = 1 << 10;
/// Entries that count as one unit of work when they are looked at.
const ENTRIES_PER_UNIT: usize = 8;

impl<V: EntryValue> OrderedEntries<V> {
    /// Entries in ascending order of their keys, which are all different.
    pub(super) fn from_sorted(entries: Vec<(Value, V)>) -> OrderedEntries<V> {
        if entries.len() <= SMALL_MAX {
            let (keys, payloads) = entries.into_iter().unzip();
            return OrderedEntries::from_shape(Shape::new(keys), payloads);
        }
        OrderedEntries(Rc::new(Repr::tree(Tree::from_sorted(entries))))
    }

    /// A tree of these entries, however few they are, in ascending order of their keys, which are all different.
    ///
    /// # Panics
    /// If there are none.
    pub(in crate::value) fn tree(entries: Vec<(Value, V)>) -> OrderedEntries<V> {
        assert!(!entries.is_empty(), "a tree has an entry");
        debug_assert!(
            entries.iter().any(|(key, _)| is_dear(key)) || is_ascending(&entries),
            "the keys of a tree ascend and are all different"
        );
        OrderedEntries(Rc::new(Repr::tree(Tree::from_sorted(entries))))
    }

    /// Entries in any order; of identical keys the first one stays, with the last payload.
    pub(in crate::value) fn from_entries(mut entries: Vec<(Value, V)>) -> OrderedEntries<V> {
        if !is_ascending(&entries) {
            if entries.len() > SMALL_MAX {
                meter::work(entries.len() as u64);
            }
            sort_by_key(&mut entries, |entry| &entry.0);
            let mut looked = 0;
            entries.dedup_by(|next, kept| {
                looked += 1;
                if looked % PIECE == 0 {
                    meter::uncharged(PIECE / ENTRIES_PER_UNIT);
                }
                let same = key_compare(&next.0, &kept.0) == Ordering::Equal;
                if same {
                    std::mem::replace(&mut kept.1, std::mem::take(&mut next.1)).discard();
                }
                same
            });
        }
        OrderedEntries::from_sorted(entries)
    }
}

fn is_ascending<V>(entries: &[(Value, V)]) -> bool {
    let ascending =
        |entries: &[(Value, V)]| entries.is_sorted_by(|a, b| key_compare(&a.0, &b.0) == Ordering::Less);
    if entries.len() <= PIECE {
        return ascending(entries);
    }
    (0..entries.len()).step_by(PIECE).all(|start| {
        meter::uncharged(PIECE / ENTRIES_PER_UNIT);
        ascending(&entries[start..entries.len().min(start + PIECE + 1)])
    })
}
