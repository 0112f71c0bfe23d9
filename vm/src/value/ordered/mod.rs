//! Shared by maps and sets: keys in the order of [`key_compare`], each with a payload.
//!
//! Up to [`SMALL_MAX`] keys are a [`Shape`], which maps with the same keys share, and the payloads side by side: a thousand
//! rows with the same columns hold one list of keys. More keys are a B+ tree ([`tree`]) whose nodes are shared between
//! versions. Both are changed in place if they have no other owner.

mod build;
mod contents;
mod iter;
mod layouts;
mod node;
mod shape;
#[cfg(test)]
mod tests;
mod tree;
mod unread_rows;

pub(crate) use contents::{Contents, RowField};
pub(super) use iter::{Iter, OwnedEntries};
pub use layouts::Layouts;
pub use shape::Shape;
pub(crate) use unread_rows::{ReplyText, Rows};

use super::order::key_compare;
use super::{Allocation, ReplyWatch, Value, drop_deferred};
use crate::meter;
use std::cmp::Ordering;
use std::convert::Infallible;
use std::rc::Rc;
use tree::Tree;
use unread_rows::{UnreadPayloads, UnreadRow};

/// Most keys without a tree.
pub(super) const SMALL_MAX: usize = 32;

/// The payload of each key: a value in maps, nothing in sets.
pub(super) trait EntryValue: Clone + Default {
    /// Payloads that are read when they are asked for.
    type Unread: UnreadPayloads<Self>;

    /// Drops without native recursion.
    fn discard(self);
}

impl EntryValue for Value {
    type Unread = UnreadRow;

    #[inline]
    fn discard(self) {
        drop_deferred(self);
    }
}

impl EntryValue for () {
    type Unread = Infallible;

    #[inline]
    fn discard(self) {}
}

/// Keys in ascending order with their payloads: the one machine word of maps and sets.
#[derive(Clone)]
pub(super) struct OrderedEntries<V: EntryValue>(Rc<Repr<V>>);

enum Repr<V: EntryValue> {
    Small(Small<V>),
    Tree(Tree<V>),
    Watched(Box<WatchedResult<V>>),
    Unread(V::Unread),
}

/// The payloads of a small map, by the indices of their keys.
pub(super) enum Payloads<'a, V: EntryValue> {
    Read(&'a [V]),
    Unread(&'a V::Unread),
}

impl<'a, V: EntryValue> Payloads<'a, V> {
    /// The payload of the key at `index`, if there is one.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&'a V> {
        match self {
            Payloads::Read(payloads) => payloads.get(index),
            Payloads::Unread(unread) => (index < unread.shape().len()).then(|| unread.get(index)),
        }
    }
}

/// The failed result of a call, which records whether a program looks at it. It is a separate form so that no other code has to
/// check for it.
struct WatchedResult<V> {
    small: Small<V>,
    watch: Rc<ReplyWatch>,
}

impl<V: EntryValue> WatchedResult<V> {
    /// The entry at `index`, which is being read.
    fn read(&self, index: usize) -> (&Value, &V) {
        let key = self.small.shape.key(index);
        self.watch.look_at(key);
        (key, &self.small.payloads[index])
    }
}

/// As many payloads as the shape has keys.
struct Small<V> {
    shape: Rc<Shape>,
    payloads: Vec<V>,
}

impl<V: EntryValue> Repr<V> {
    const BYTES: usize = size_of::<Repr<V>>() + 16;

    fn small(shape: Rc<Shape>, payloads: Vec<V>) -> Repr<V> {
        debug_assert_eq!(shape.len(), payloads.len());
        meter::charge_memory(Repr::<V>::BYTES + payloads.capacity() * size_of::<V>());
        Repr::Small(Small { shape, payloads })
    }

    fn watched(small: Small<V>, watch: Rc<ReplyWatch>) -> Repr<V> {
        meter::charge_memory(Repr::<V>::BYTES + small.payloads.capacity() * size_of::<V>());
        Repr::Watched(Box::new(WatchedResult { small, watch }))
    }

    fn tree(tree: Tree<V>) -> Repr<V> {
        meter::charge_memory(Repr::<V>::BYTES);
        Repr::Tree(tree)
    }

    /// All that was not read.
    fn read(unread: &V::Unread) -> Repr<V> {
        unread.read_all();
        let shape = unread.shape();
        Repr::small(shape.clone(), (0..shape.len()).map(|index| unread.get(index).clone()).collect())
    }
}

impl<V: EntryValue> Clone for Repr<V> {
    fn clone(&self) -> Repr<V> {
        match self {
            Repr::Small(small) => Repr::small(small.shape.clone(), small.payloads.clone()),
            Repr::Tree(tree) => Repr::tree(tree.clone()),
            Repr::Watched(watched) => {
                let Small { shape, payloads } = &watched.small;
                let small = Small { shape: shape.clone(), payloads: payloads.clone() };
                Repr::watched(small, watched.watch.clone())
            }
            Repr::Unread(unread) => Repr::read(unread),
        }
    }
}

impl<V: EntryValue> Drop for Repr<V> {
    fn drop(&mut self) {
        let mut bytes = Repr::<V>::BYTES;
        let payloads = match self {
            Repr::Small(small) => Some(&mut small.payloads),
            Repr::Watched(watched) => Some(&mut watched.small.payloads),
            Repr::Tree(_) => None,
            Repr::Unread(unread) => {
                unread.discard();
                None
            }
        };
        if let Some(payloads) = payloads {
            bytes += payloads.capacity() * size_of::<V>();
            while let Some(payload) = payloads.pop() {
                payload.discard();
            }
        }
        meter::credit_memory(bytes);
    }
}

impl<V: EntryValue> Small<V> {
    fn insert(&mut self, index: usize, key: Value, payload: V) {
        let before = self.payloads.capacity();
        if before == self.payloads.len() {
            self.payloads.reserve_exact((before / 2).clamp(2, SMALL_MAX));
        }
        self.payloads.insert(index, payload);
        meter::charge_memory((self.payloads.capacity() - before) * size_of::<V>());
        Shape::insert(&mut self.shape, index, key);
    }
}

impl<V: EntryValue> Default for OrderedEntries<V> {
    fn default() -> OrderedEntries<V> {
        OrderedEntries::from_shape(Shape::new(Vec::new()), Vec::new())
    }
}

impl<V: EntryValue> OrderedEntries<V> {
    /// `payloads` for the keys of `shape`, in their order.
    ///
    /// # Panics
    /// If their numbers differ.
    pub(super) fn from_shape(shape: Rc<Shape>, payloads: Vec<V>) -> OrderedEntries<V> {
        assert_eq!(shape.len(), payloads.len(), "a payload for each key");
        OrderedEntries(Rc::new(Repr::small(shape, payloads)))
    }

    /// The row of a reply whose first member begins at `at`, and its values at `places` after that; `owed` are the bytes that
    /// its strings will take, at least.
    pub(super) fn unread(rows: Rc<Rows>, at: u32, places: &[u16], owed: u32) -> OrderedEntries<V>
    where
        V: EntryValue<Unread = UnreadRow>,
    {
        meter::charge_memory(Repr::<V>::BYTES);
        OrderedEntries(Rc::new(Repr::Unread(UnreadRow::new(rows, at, places, owed))))
    }

    /// The same keys and payloads, whose reading `watch` learns of.
    pub(super) fn watched(self, watch: Rc<ReplyWatch>) -> OrderedEntries<V> {
        let Repr::Small(small) = &*self.0 else { return self };
        let small = Small { shape: small.shape.clone(), payloads: small.payloads.clone() };
        OrderedEntries(Rc::new(Repr::watched(small, watch)))
    }

    /// Reads all fields before a walk.
    #[inline]
    fn read_all(&self) {
        if let Repr::Unread(unread) = &*self.0 {
            unread.read_all();
        }
    }

    /// Reads all fields before a change.
    #[inline]
    fn settle(&mut self) {
        if let Repr::Unread(unread) = &*self.0 {
            self.0 = Rc::new(Repr::read(unread));
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match &*self.0 {
            Repr::Small(small) => small.payloads.len(),
            Repr::Unread(unread) => unread.shape().len(),
            Repr::Tree(tree) => tree.len(),
            Repr::Watched(watched) => watched.small.payloads.len(),
        }
    }

    /// The keys of a small one.
    #[inline]
    pub(super) fn shape(&self) -> Option<&Rc<Shape>> {
        match &*self.0 {
            Repr::Small(small) => Some(&small.shape),
            Repr::Unread(unread) => Some(unread.shape()),
            Repr::Tree(_) | Repr::Watched(_) => None,
        }
    }

    /// The shape and payloads of a small one.
    #[inline]
    pub(super) fn small(&self) -> Option<(&Shape, Payloads<'_, V>)> {
        match &*self.0 {
            Repr::Small(small) => Some((&small.shape, Payloads::Read(&small.payloads))),
            Repr::Unread(unread) => Some((unread.shape(), Payloads::Unread(unread))),
            Repr::Tree(_) | Repr::Watched(_) => None,
        }
    }

    /// Where this lies: no other value of its kind lies there as long as this lives.
    #[inline]
    pub(super) fn address(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// Where this lies, and how many hold it.
    pub(super) fn allocation(&self) -> Allocation {
        Allocation::of(&self.0)
    }

    #[inline]
    pub(super) fn same_allocation(&self, other: &OrderedEntries<V>) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The entry of exactly this key.
    #[inline]
    pub(super) fn get(&self, key: &Value) -> Option<(&Value, &V)> {
        match &*self.0 {
            Repr::Small(small) => {
                let index = small.shape.find(key).ok()?;
                Some((small.shape.key(index), &small.payloads[index]))
            }
            Repr::Tree(tree) => tree.get_by(|other| key_compare(other, key)),
            Repr::Watched(watched) => Some(watched.read(watched.small.shape.find(key).ok()?)),
            Repr::Unread(unread) => {
                let index = unread.shape().find(key).ok()?;
                Some((unread.shape().key(index), unread.get(index)))
            }
        }
    }

    /// The entry whose key `compare` finds equal to its target. `compare` must agree with the order.
    pub(super) fn get_by(&self, compare: impl FnMut(&Value) -> Ordering) -> Option<(&Value, &V)> {
        match &*self.0 {
            Repr::Small(small) => {
                let index = small.shape.keys().binary_search_by(compare).ok()?;
                Some((small.shape.key(index), &small.payloads[index]))
            }
            Repr::Tree(tree) => tree.get_by(compare),
            Repr::Watched(watched) => {
                let index = watched.small.shape.keys().binary_search_by(compare).ok()?;
                Some(watched.read(index))
            }
            Repr::Unread(unread) => {
                let index = unread.shape().keys().binary_search_by(compare).ok()?;
                Some((unread.shape().key(index), unread.get(index)))
            }
        }
    }

    /// The entry at `index`, in the order of the keys.
    pub(super) fn entry_at(&self, index: usize) -> Option<(&Value, &V)> {
        match &*self.0 {
            Repr::Small(small) => small.payloads.get(index).map(|payload| (small.shape.key(index), payload)),
            Repr::Tree(tree) => (index < tree.len())
                .then(|| tree.leaf_at(index))
                .map(|(leaf, first)| leaf.entry(index - first)),
            Repr::Watched(watched) => (index < watched.small.payloads.len()).then(|| watched.read(index)),
            Repr::Unread(unread) => {
                (index < unread.shape().len()).then(|| (unread.shape().key(index), unread.get(index)))
            }
        }
    }

    /// The payload of exactly this key, to be changed in place; copied first if it has another owner.
    pub(super) fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        self.settle();
        // Looking first keeps a miss from copying anything.
        let found = match &*self.0 {
            Repr::Small(small) => small.shape.find(key).ok()?,
            Repr::Tree(tree) => tree.get_by(|other| key_compare(other, key)).map(|_| 0)?,
            Repr::Watched(watched) => {
                let found = watched.small.shape.find(key).ok()?;
                watched.watch.look_at(key);
                found
            }
            Repr::Unread(_) => unreachable!("it is settled"),
        };
        match Rc::make_mut(&mut self.0) {
            Repr::Small(small) => small.payloads.get_mut(found),
            Repr::Tree(tree) => tree.get_mut(key),
            Repr::Watched(watched) => watched.small.payloads.get_mut(found),
            Repr::Unread(_) => unreachable!("it is settled"),
        }
    }

    /// Sets exactly this key. A key that is there stays and keeps its own spelling of a number.
    pub(super) fn insert(&mut self, key: Value, payload: V) {
        self.settle();
        if let Repr::Small(small) = &*self.0 {
            match small.shape.find(&key) {
                // An element of a set is all there is of its entry: the set stays the one that it is.
                Ok(_) if size_of::<V>() == 0 => return,
                Ok(index) => {
                    let Repr::Small(small) = Rc::make_mut(&mut self.0) else { unreachable!("it is small") };
                    std::mem::replace(&mut small.payloads[index], payload).discard();
                    return;
                }
                Err(index) if small.payloads.len() < SMALL_MAX => {
                    match Rc::get_mut(&mut self.0) {
                        Some(Repr::Small(small)) => small.insert(index, key, payload),
                        _ => *self = self.with_inserted(index, key, payload),
                    }
                    return;
                }
                Err(_) => {
                    let entries = small.shape.keys().iter().cloned().zip(small.payloads.iter().cloned());
                    self.0 = Rc::new(Repr::tree(Tree::from_sorted(entries)));
                }
            }
        }
        // Not looked for first: who holds a set must not show in a program's steps.
        let before = (size_of::<V>() == 0 && Rc::strong_count(&self.0) > 1).then(|| self.0.clone());
        match Rc::make_mut(&mut self.0) {
            Repr::Tree(tree) => {
                let len = tree.len();
                tree.insert(key, payload);
                if let Some(before) = before.filter(|_| tree.len() == len) {
                    self.0 = before;
                }
            }
            Repr::Watched(watched) => {
                let small = &mut watched.small;
                match small.shape.find(&key) {
                    Ok(index) => std::mem::replace(&mut small.payloads[index], payload).discard(),
                    Err(index) if small.payloads.len() < SMALL_MAX => small.insert(index, key, payload),
                    Err(_) => {
                        // No failed result is as large as that.
                        let mut entries: Vec<(Value, V)> = self.held().collect();
                        entries.push((key, payload));
                        *self = OrderedEntries::from_entries(entries);
                    }
                }
            }
            Repr::Small(_) | Repr::Unread(_) => {}
        }
    }

    /// A copy of a small one that has this key at `index` besides, made in one go.
    fn with_inserted(&self, index: usize, key: Value, payload: V) -> OrderedEntries<V> {
        let Repr::Small(small) = &*self.0 else { unreachable!("it is small") };
        let mut payloads = Vec::with_capacity(small.payloads.len() + 1);
        payloads.extend_from_slice(&small.payloads[..index]);
        payloads.push(payload);
        payloads.extend_from_slice(&small.payloads[index..]);
        let mut shape = small.shape.clone();
        Shape::insert(&mut shape, index, key);
        OrderedEntries(Rc::new(Repr::small(shape, payloads)))
    }

    /// Removes exactly this key.
    pub(super) fn remove(&mut self, key: &Value) -> Option<V> {
        self.settle();
        match &*self.0 {
            Repr::Small(small) => {
                let index = small.shape.find(key).ok()?;
                let Repr::Small(small) = Rc::make_mut(&mut self.0) else { unreachable!("it is small") };
                Shape::remove(&mut small.shape, index);
                Some(small.payloads.remove(index))
            }
            Repr::Tree(tree) => {
                tree.get_by(|other| key_compare(other, key))?;
                let Repr::Tree(tree) = Rc::make_mut(&mut self.0) else { unreachable!("it is a tree") };
                let removed = tree.remove(key);
                // Half the limit, so that a map at the limit does not change its form with every step.
                if tree.len() <= SMALL_MAX / 2 {
                    *self = OrderedEntries::from_sorted(self.held().collect());
                }
                removed
            }
            Repr::Watched(watched) => {
                let index = watched.small.shape.find(key).ok()?;
                let Repr::Watched(watched) = Rc::make_mut(&mut self.0) else { unreachable!("it is watched") };
                Shape::remove(&mut watched.small.shape, index);
                Some(watched.small.payloads.remove(index))
            }
            Repr::Unread(_) => unreachable!("it is settled"),
        }
    }

    /// The entries in key order.
    #[inline]
    pub(super) fn iter(&self) -> Iter<'_, V> {
        self.read_all();
        Iter::new(self)
    }

    /// The entries in key order, cloned, by an iterator that holds this.
    #[inline]
    pub(super) fn held(&self) -> OwnedEntries<V> {
        self.read_all();
        OwnedEntries::new(self.clone())
    }
}
