//! Sets: elements unique by identity, always traversed in ascending order (language.md 2.7, 2.11).

use super::{Map, MapIter, Value};

/// An immutable set.
#[derive(Clone, Default)]
pub struct Set(Map);

impl Set {
    /// The empty set.
    pub fn new() -> Set {
        Set::default()
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The element identical to `value`.
    pub fn get(&self, value: &Value) -> Option<&Value> {
        self.0.entry(value).map(|(key, _)| key)
    }

    /// Whether an element is identical to `value`.
    pub fn contains(&self, value: &Value) -> bool {
        self.get(value).is_some()
    }

    /// Adds `value`; in place when nobody else holds this set. An identical element stays.
    pub fn insert(&mut self, value: Value) {
        self.0.insert(value, Value::Nil);
    }

    /// Removes the element identical to `value`; whether there was one.
    pub fn remove(&mut self, value: &Value) -> bool {
        self.0.remove(value).is_some()
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| key)
    }

    /// Whether both are the same allocation.
    pub fn same_allocation(&self, other: &Set) -> bool {
        self.0.same_allocation(&other.0)
    }
}

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Set {
        Set(Map::from_entries(items.into_iter().map(|item| (item, Value::Nil)).collect()))
    }
}

impl IntoIterator for Set {
    type Item = Value;
    type IntoIter = SetIter;

    fn into_iter(self) -> SetIter {
        SetIter(self.0.into_iter())
    }
}

/// Iterates a set that it holds, in order.
#[derive(Clone)]
pub struct SetIter(MapIter);

impl Iterator for SetIter {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        self.0.next().map(|(key, _)| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for SetIter {}
