//! The vector, indexed from 0. A list keeps its elements in one too, and adds and removes them in front.
//!
//! Up to [`FLAT_MAX`] elements lie side by side. Longer vectors are a radix tree of 32 branches a node ([`Trie`]) whose nodes
//! are shared between versions: reading, replacing, and adding or removing at either end cost O(log₃₂ n), in place if the nodes
//! have no other owner; [`Vector::slice`] shares all but the edges. Parts of the tree that are a run of integers or one
//! repeated value take no memory, so that `(range 1000000)` and `(repeat 1000000 x)` are a few words until they are written to.

mod iter;
mod node;
mod pieces;
#[cfg(test)]
mod tests;
mod trie;

pub use iter::VectorIter;
pub(crate) use pieces::{Pieces, Uniform};

use super::{Allocation, Value, drop_deferred};
use crate::meter;
use smallvec::SmallVec;
use std::rc::Rc;
use trie::Trie;

/// Most elements of a vector without a tree.
const FLAT_MAX: usize = 64;

/// Slices up to this length are copied rather than shared.
const COPY_MAX: usize = 16;

/// Longest vector that can exist; longer [ranges](Vector::range) are cut. No program has steps to see the end.
const LENGTH_MAX: usize = 1 << 50;

type FlatItems = SmallVec<[Value; 2]>;

/// An immutable vector of values.
#[derive(Clone)]
pub struct Vector(Rc<Repr>);

enum Repr {
    Flat(FlatItems),
    Tree(Trie),
}

impl Repr {
    const BYTES: usize = size_of::<Repr>() + 16;

    fn flat(items: FlatItems) -> Repr {
        let repr = Repr::Flat(items);
        meter::charge_memory(Repr::BYTES + repr.heap());
        repr
    }

    fn tree(trie: Trie) -> Repr {
        meter::charge_memory(Repr::BYTES);
        Repr::Tree(trie)
    }

    /// Bytes outside this struct that are not charged by nodes.
    fn heap(&self) -> usize {
        match self {
            Repr::Flat(items) if items.spilled() => items.capacity() * size_of::<Value>(),
            _ => 0,
        }
    }
}

impl Clone for Repr {
    fn clone(&self) -> Repr {
        match self {
            Repr::Flat(items) => {
                // Who copies a vector is about to change it.
                let mut copy = FlatItems::with_capacity(items.len() + 1);
                copy.extend(items.iter().cloned());
                Repr::flat(copy)
            }
            Repr::Tree(trie) => Repr::tree(trie.clone()),
        }
    }
}

impl Drop for Repr {
    fn drop(&mut self) {
        meter::credit_memory(Repr::BYTES + self.heap());
        if let Repr::Flat(items) = self {
            for item in items.drain(..) {
                drop_deferred(item);
            }
        }
    }
}

impl Default for Vector {
    fn default() -> Vector {
        Vector::new()
    }
}

impl Vector {
    /// Neighbours that lie side by side in a long vector.
    pub(crate) const BLOCK: usize = node::WIDTH;

    /// The empty vector.
    pub fn new() -> Vector {
        Vector::from_items(FlatItems::new())
    }

    /// The vector `[a b]`, which stands for a map entry; takes one allocation.
    #[inline]
    pub(crate) fn pair(a: Value, b: Value) -> Vector {
        Vector::from_items(FlatItems::from_buf([a, b]))
    }

    fn from_items(items: FlatItems) -> Vector {
        Vector(Rc::new(Repr::flat(items)))
    }

    fn from_trie(trie: Trie) -> Vector {
        Vector(Rc::new(Repr::tree(trie)))
    }

    /// Takes over `items`. Callers that build a size which the program controls [reserve](meter::reserve) first.
    pub fn from_vec(items: Vec<Value>) -> Vector {
        if items.len() <= FLAT_MAX {
            // A short vector moves into the struct itself; a long one keeps its allocation.
            Vector::from_items(if items.len() <= 2 {
                items.into_iter().collect()
            } else {
                FlatItems::from_vec(items)
            })
        } else {
            items.into_iter().collect()
        }
    }

    /// The integers `start, start + step, …`, `len` of them, all inside 64 bits; without memory for each.
    pub(crate) fn range(start: i64, step: i64, len: usize) -> Vector {
        if len <= COPY_MAX {
            return (0..len as u64).map(|i| Value::Int(node::nth(start, step, i))).collect();
        }
        Vector::from_trie(Trie::range(start, step, len.min(LENGTH_MAX)))
    }

    /// `len` times `value`, without memory for each.
    pub(crate) fn repeat(value: Value, len: usize) -> Vector {
        if len <= COPY_MAX {
            return Vector::from_items(SmallVec::from_elem(value, len));
        }
        Vector::from_trie(Trie::repeat(value, len.min(LENGTH_MAX)))
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        match &*self.0 {
            Repr::Flat(items) => items.len(),
            Repr::Tree(trie) => trie.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value> {
        match &*self.0 {
            Repr::Flat(items) => items.get(index).cloned(),
            Repr::Tree(trie) => trie.get(index),
        }
    }

    /// The element at an index that may be no index at all.
    #[inline]
    pub fn at(&self, index: &Value) -> Option<Value> {
        match index {
            Value::Int(i) => self.get(usize::try_from(*i).ok()?),
            _ => None,
        }
    }

    /// The first element.
    #[inline]
    pub fn first(&self) -> Option<Value> {
        self.get(0)
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<Value> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All elements side by side, if this is a short vector that keeps them so.
    #[inline]
    pub(crate) fn as_flat(&self) -> Option<&[Value]> {
        match &*self.0 {
            Repr::Flat(items) => Some(items),
            Repr::Tree(_) => None,
        }
    }

    /// Lets `change` work on the elements of a short vector, and keeps the books of its allocation.
    fn change_flat<R>(items: &mut FlatItems, change: impl FnOnce(&mut FlatItems) -> R) -> R {
        let heap =
            |items: &FlatItems| if items.spilled() { items.capacity() * size_of::<Value>() } else { 0 };
        let before = heap(items);
        let result = change(items);
        meter::charge_memory(heap(items));
        meter::credit_memory(before);
        result
    }

    /// This vector's tree, which it becomes if `more` elements are too many for a flat one; else its flat elements.
    fn grow(&mut self, more: usize) -> Result<&mut Trie, &mut FlatItems> {
        let is_long = matches!(&*self.0, Repr::Flat(items) if items.len().saturating_add(more) > FLAT_MAX);
        if is_long {
            let mut builder = trie::Builder::default();
            builder.extend(self.iter());
            *self = Vector::from_trie(builder.finish());
        }
        match Rc::make_mut(&mut self.0) {
            Repr::Flat(items) => Err(items),
            Repr::Tree(trie) => Ok(trie),
        }
    }

    /// Appends `value`; in place if this vector has no other owner.
    pub fn push(&mut self, value: Value) {
        match self.grow(1) {
            Ok(trie) => trie.push_back(value),
            Err(items) => Vector::change_flat(items, |items| items.push(value)),
        }
    }

    /// Puts `value` before the first element; in place if this vector has no other owner.
    pub fn push_front(&mut self, value: Value) {
        match self.grow(1) {
            Ok(trie) => trie.push_front(value),
            Err(items) => Vector::change_flat(items, |items| items.insert(0, value)),
        }
    }

    /// Replaces the element at `index`.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, index: usize, value: Value) {
        *self.get_mut(index).expect("the element exists") = value;
    }

    /// The element at `index`, to be changed in place; copied first if it has another owner.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Value> {
        if index >= self.len() {
            return None;
        }
        match Rc::make_mut(&mut self.0) {
            Repr::Flat(items) => items.get_mut(index),
            Repr::Tree(trie) => Some(trie.get_mut(index)),
        }
    }

    /// Takes the element at `index` out, leaving `nil`, so that a caller can change it in place and
    /// [`set`](Vector::set) it again.
    pub fn take(&mut self, index: usize) -> Option<Value> {
        self.get_mut(index).map(std::mem::take)
    }

    /// Removes and returns the last element.
    pub fn pop(&mut self) -> Option<Value> {
        let last = self.len().checked_sub(1)?;
        let value = self.take(last);
        self.narrow(0, last);
        value
    }

    /// Removes and returns the first element.
    pub fn pop_front(&mut self) -> Option<Value> {
        let end = self.len();
        let value = if end == 0 { None } else { self.take(0) };
        self.narrow(1, end);
        value
    }

    /// The elements from `start` up to `end`, clamped; shares structure where that saves work.
    pub fn slice(&self, start: usize, end: usize) -> Vector {
        let end = end.min(self.len());
        if start >= end {
            return Vector::new();
        }
        if start == 0 && end == self.len() {
            return self.clone();
        }
        match &*self.0 {
            Repr::Flat(items) => Vector::from_items(items[start..end].iter().cloned().collect()),
            Repr::Tree(trie) if end - start <= COPY_MAX => {
                Vector::from_items((start..end).filter_map(|index| trie.get(index)).collect())
            }
            Repr::Tree(trie) => {
                let mut trie = trie.clone();
                trie.narrow(start, end);
                Vector::from_trie(trie)
            }
        }
    }

    /// Keeps only the elements from `start` up to `end`, clamped; in place if this vector has no other owner.
    pub(crate) fn narrow(&mut self, start: usize, end: usize) {
        let end = end.min(self.len());
        if start >= end
            || end - start <= COPY_MAX && self.as_flat().is_none()
            || Rc::get_mut(&mut self.0).is_none()
        {
            *self = self.slice(start, end);
            return;
        }
        match Rc::get_mut(&mut self.0) {
            Some(Repr::Flat(items)) => {
                for item in items.drain(end..) {
                    drop_deferred(item);
                }
                for item in items.drain(..start) {
                    drop_deferred(item);
                }
            }
            Some(Repr::Tree(trie)) => trie.narrow(start, end),
            None => unreachable!("nobody else holds it"),
        }
    }

    /// This vector's elements, then those of `other`. Costs as much as the shorter of the two, which callers also
    /// [reserve](meter::reserve): the size of a value for each of its elements.
    pub fn append(&mut self, other: &Vector) {
        if self.is_empty() {
            *self = other.clone();
        } else if other.len() <= self.len() {
            let more = other.iter();
            match self.grow(other.len()) {
                Ok(trie) => trie.extend(more),
                Err(items) => Vector::change_flat(items, |items| items.extend(more)),
            }
        } else {
            let mut all = other.clone();
            for item in self.iter().rev() {
                all.push_front(item);
            }
            *self = all;
        }
    }

    /// Appends `items` without cloning them, cheapest [as many at a time](Vector::BLOCK) as lie together in a long vector.
    /// `to_come` elements at least come after them. Callers [reserve](meter::reserve) first.
    pub(crate) fn append_vec(&mut self, items: Vec<Value>, to_come: usize) {
        match self.grow(items.len().saturating_add(to_come)) {
            Ok(trie) => trie.extend_vec(items),
            Err(flat) => Vector::change_flat(flat, |flat| {
                flat.reserve_exact(items.len());
                flat.extend(items);
            }),
        }
    }

    /// The elements, cloned one by one.
    #[inline]
    pub fn iter(&self) -> VectorIter {
        self.clone().into_iter()
    }

    /// A copy of the elements. Callers [reserve](meter::reserve) first.
    pub fn to_vec(&self) -> Vec<Value> {
        match self.as_flat() {
            Some(items) => items.to_vec(),
            None => {
                let mut all = Vec::with_capacity(self.len());
                self.all(|item| {
                    all.push(item.clone());
                    true
                });
                all
            }
        }
    }

    /// Whether `holds` says so of every element, asked in order until it does not. No reference is counted.
    pub fn all(&self, holds: impl FnMut(&Value) -> bool) -> bool {
        match &*self.0 {
            Repr::Flat(items) => items.iter().all(holds),
            Repr::Tree(trie) => trie.all(holds),
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

    /// Whether both are the same allocation.
    #[inline]
    pub(crate) fn same_allocation(&self, other: &Vector) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl FromIterator<Value> for Vector {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Vector {
        let mut items = items.into_iter();
        let mut long = trie::Builder::default();
        if items.size_hint().0 > FLAT_MAX {
            long.extend(items);
            return Vector::from_trie(long.finish());
        }
        let mut flat = FlatItems::new();
        while let Some(item) = items.next() {
            if flat.len() == FLAT_MAX {
                long.extend(flat);
                long.extend(std::iter::once(item).chain(items));
                return Vector::from_trie(long.finish());
            }
            if flat.len() == 2 && !flat.spilled() {
                flat.reserve_exact(items.size_hint().0.clamp(1, FLAT_MAX - 2) + 1);
            }
            flat.push(item);
        }
        Vector::from_items(flat)
    }
}

impl Extend<Value> for Vector {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl IntoIterator for Vector {
    type Item = Value;
    type IntoIter = VectorIter;

    #[inline]
    fn into_iter(self) -> VectorIter {
        VectorIter::new(self)
    }
}
