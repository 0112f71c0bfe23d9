//! Iteration in key order, from both ends.

use super::node::Leaf;
use super::unread_rows::UnreadPayloads;
use super::{EntryValue, OrderedEntries, Repr};
use crate::value::Value;
use std::rc::Rc;

/// Iterates borrowed entries.
pub(in crate::value) struct Iter<'a, V: EntryValue> {
    ordered: &'a OrderedEntries<V>,
    next: usize,
    end: usize,
    /// The leaf that `next` is in, if any, and the index of its first entry.
    front: Option<(&'a Leaf<V>, usize)>,
    /// The leaf that `end - 1` is in, if any.
    back: Option<(&'a Leaf<V>, usize)>,
}

impl<'a, V: EntryValue> Iter<'a, V> {
    #[inline]
    pub(super) fn new(ordered: &'a OrderedEntries<V>) -> Iter<'a, V> {
        Iter { ordered, next: 0, end: ordered.len(), front: None, back: None }
    }
}

/// The entry at `index`, which exists, with the help of the leaf that was read last.
#[inline]
fn entry<'a, V: EntryValue>(
    ordered: &'a OrderedEntries<V>,
    cached: &mut Option<(&'a Leaf<V>, usize)>,
    index: usize,
) -> (&'a Value, &'a V) {
    match &*ordered.0 {
        Repr::Small(small) => (small.shape.key(index), &small.payloads[index]),
        Repr::Watched(watched) => watched.read(index),
        Repr::Unread(unread) => (unread.shape().key(index), unread.get(index)),
        Repr::Tree(tree) => {
            if let Some((leaf, first)) = *cached
                && let Some(within) = index.checked_sub(first)
                && within < leaf.keys.len()
            {
                return leaf.entry(within);
            }
            let (leaf, first) = tree.leaf_at(index);
            crate::meter::uncharged(leaf.keys.len());
            *cached = Some((leaf, first));
            leaf.entry(index - first)
        }
    }
}

impl<'a, V: EntryValue> Iterator for Iter<'a, V> {
    type Item = (&'a Value, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let index = self.next;
        self.next += 1;
        Some(entry(self.ordered, &mut self.front, index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl<V: EntryValue> DoubleEndedIterator for Iter<'_, V> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        self.end -= 1;
        Some(entry(self.ordered, &mut self.back, self.end))
    }
}

impl<V: EntryValue> ExactSizeIterator for Iter<'_, V> {}

/// Iterates cloned entries of its map or set.
#[derive(Clone)]
pub(in crate::value) struct OwnedEntries<V: EntryValue> {
    ordered: OrderedEntries<V>,
    next: usize,
    end: usize,
    /// The leaf that `next` is in, if any, and the index of its first entry.
    leaf: Option<(Rc<Leaf<V>>, usize)>,
}

impl<V: EntryValue> OwnedEntries<V> {
    #[inline]
    pub(super) fn new(ordered: OrderedEntries<V>) -> OwnedEntries<V> {
        let end = ordered.len();
        OwnedEntries { ordered, next: 0, end, leaf: None }
    }

    /// The iterated map or set, and how many of its entries have been taken from the front.
    pub(in crate::value) fn taken(&self) -> (&OrderedEntries<V>, usize) {
        (&self.ordered, self.next)
    }

    /// Begins again.
    pub(in crate::value) fn restart(&mut self) {
        *self = OwnedEntries::new(self.ordered.clone());
    }
}

impl<V: EntryValue> Iterator for OwnedEntries<V> {
    type Item = (Value, V);

    #[inline]
    fn next(&mut self) -> Option<(Value, V)> {
        if self.next >= self.end {
            return None;
        }
        let index = self.next;
        self.next += 1;
        let (key, payload) = match &*self.ordered.0 {
            Repr::Small(small) => (small.shape.key(index), &small.payloads[index]),
            Repr::Watched(watched) => watched.read(index),
            Repr::Unread(unread) => (unread.shape().key(index), unread.get(index)),
            Repr::Tree(tree) => {
                let cached = match &self.leaf {
                    Some((leaf, first)) => {
                        index.checked_sub(*first).is_some_and(|within| within < leaf.keys.len())
                    }
                    None => false,
                };
                if !cached {
                    let (leaf, first) = tree.leaf_at(index);
                    crate::meter::uncharged(leaf.keys.len());
                    self.leaf = Some((leaf.clone(), first));
                }
                match &self.leaf {
                    Some((leaf, first)) => leaf.entry(index - first),
                    None => unreachable!("just cached"),
                }
            }
        };
        Some((key.clone(), payload.clone()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }

    fn nth(&mut self, n: usize) -> Option<(Value, V)> {
        self.next = self.next.saturating_add(n).min(self.end);
        self.next()
    }
}

impl<V: EntryValue> DoubleEndedIterator for OwnedEntries<V> {
    fn next_back(&mut self) -> Option<(Value, V)> {
        if self.next >= self.end {
            return None;
        }
        self.end -= 1;
        self.ordered.entry_at(self.end).map(|(key, payload)| (key.clone(), payload.clone()))
    }
}

impl<V: EntryValue> ExactSizeIterator for OwnedEntries<V> {}
