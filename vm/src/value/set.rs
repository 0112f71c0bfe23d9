//! Sets: elements unique by identity, always traversed in ascending order (language.md 2.7, 2.11).

use super::ordered::{Contents, OrderedEntries, OwnedEntries, Shape};
use super::{Allocation, Value};
use std::rc::Rc;

/// An immutable set.
#[derive(Clone, Default)]
pub struct Set(OrderedEntries<()>);

impl Set {
    /// Bytes that a caller [reserves](crate::meter::reserve) for each element it is going to build.
    pub(crate) const ELEMENT_BYTES: usize = size_of::<Value>();

    /// The empty set.
    pub fn new() -> Set {
        Set::default()
    }

    /// The set of the keys of `shape`.
    pub(crate) fn with_shape(shape: Rc<Shape>) -> Set {
        let places = vec![(); shape.len()];
        Set(OrderedEntries::from_shape(shape, places))
    }

    /// The set of these elements, kept as a tree.
    ///
    /// # Panics
    /// If there are none. In debug builds also if they do not ascend.
    pub(crate) fn tree(elements: Vec<Value>) -> Set {
        Set(OrderedEntries::tree(elements.into_iter().map(|element| (element, ())).collect()))
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element identical to `value`.
    pub fn get(&self, value: &Value) -> Option<&Value> {
        self.0.get(value).map(|(found, ())| found)
    }

    /// The element at `index`, in order.
    pub(crate) fn element_at(&self, index: usize) -> Option<&Value> {
        self.0.entry_at(index).map(|(found, ())| found)
    }

    /// Whether an element is identical to `value`.
    pub fn contains(&self, value: &Value) -> bool {
        self.get(value).is_some()
    }

    /// Adds `value`; in place if this set has no other owner. An identical element stays.
    pub fn insert(&mut self, value: Value) {
        self.0.insert(value, ());
    }

    /// Removes the element identical to `value`; whether there was one.
    pub fn remove(&mut self, value: &Value) -> bool {
        self.0.remove(value).is_some()
    }

    /// The elements in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.iter().map(|(value, ())| value)
    }

    /// Its content, without reading further fields.
    pub(crate) fn contents(&self) -> Contents<'_, ()> {
        self.0.contents()
    }

    /// Where this lies, and how many hold it.
    pub(super) fn allocation(&self) -> Allocation {
        self.0.allocation()
    }

    /// Where this lies: no other value of its kind lies there as long as this lives.
    #[inline]
    pub(super) fn address(&self) -> usize {
        self.0.address()
    }

    /// Whether both are the same allocation.
    #[inline]
    pub(crate) fn same_allocation(&self, other: &Set) -> bool {
        self.0.same_allocation(&other.0)
    }
}

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Set {
        Set(OrderedEntries::from_entries(items.into_iter().map(|item| (item, ())).collect()))
    }
}

impl IntoIterator for Set {
    type Item = Value;
    type IntoIter = SetIter;

    #[inline]
    fn into_iter(self) -> SetIter {
        SetIter(self.0.held())
    }
}

/// Iterates a set that it holds, in order.
#[derive(Clone)]
pub struct SetIter(OwnedEntries<()>);

impl Iterator for SetIter {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        self.0.next().map(|(value, ())| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Value> {
        self.0.nth(n).map(|(value, ())| value)
    }
}

impl DoubleEndedIterator for SetIter {
    fn next_back(&mut self) -> Option<Value> {
        self.0.next_back().map(|(value, ())| value)
    }
}

impl ExactSizeIterator for SetIter {}

impl SetIter {
    /// The set, and how many of its elements have been taken.
    pub(crate) fn taken(&self) -> (Set, usize) {
        let (ordered, taken) = self.0.taken();
        (Set(ordered.clone()), taken)
    }
}
