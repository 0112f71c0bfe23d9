//! Maps: unordered by contract, always traversed in ascending key order (language.md 2.6, 2.11).

use super::{Value, drop_deferred, order::key_compare};
use crate::meter;
use std::cmp::Ordering;
use std::rc::Rc;

/// An immutable map, sorted by [`key_compare`].
#[derive(Clone)]
pub struct Map(Rc<Entries>);

struct Entries(Vec<(Value, Value)>);

impl Entries {
    const OVERHEAD: usize = 48;
}

impl Drop for Entries {
    fn drop(&mut self) {
        meter::credit_memory(Entries::OVERHEAD + self.0.capacity() * 2 * size_of::<Value>());
        for (key, value) in self.0.drain(..) {
            drop_deferred(key);
            drop_deferred(value);
        }
    }
}

impl Default for Map {
    fn default() -> Map {
        Map::new()
    }
}

impl Map {
    /// The empty map.
    pub fn new() -> Map {
        Map::from_sorted(Vec::new())
    }

    fn from_sorted(entries: Vec<(Value, Value)>) -> Map {
        meter::charge_memory(Entries::OVERHEAD + entries.capacity() * 2 * size_of::<Value>());
        Map(Rc::new(Entries(entries)))
    }

    /// How many entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.0.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: &Value) -> Result<usize, usize> {
        self.0.0.binary_search_by(|(k, _)| key_compare(k, key))
    }

    /// The value of exactly this key (identity, language.md 2.10).
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.find(key).ok().map(|i| &self.0.0[i].1)
    }

    /// The entry of exactly this key.
    pub fn entry(&self, key: &Value) -> Option<(&Value, &Value)> {
        self.find(key).ok().map(|i| (&self.0.0[i].0, &self.0.0[i].1))
    }

    /// The value that a read of `key` finds: exact, then the twin of the other kind, then with every `-`
    /// as `_` in both kinds (language.md 2.6). A vector key that is not found exactly is not a path here.
    pub fn get_flexible(&self, key: &Value) -> Option<&Value> {
        self.entry_flexible(key).map(|(_, value)| value)
    }

    /// As [`Map::get_flexible`], trying first the place where the key was found last time, which it updates.
    #[inline]
    pub fn get_guessed(&self, key: &Value, _guess: &std::cell::Cell<u32>) -> Option<&Value> {
        self.get_flexible(key)
    }

    /// The entry that a read of `key` finds; see [`Map::get_flexible`].
    pub fn entry_flexible(&self, key: &Value) -> Option<(&Value, &Value)> {
        if let Some(found) = self.entry(key) {
            return Some(found);
        }
        let (name, is_keyword) = match key {
            Value::Keyword(k) => (k.name(), true),
            Value::Str(s) => (s.as_str(), false),
            _ => return None,
        };
        self.entry_named(name, !is_keyword).or_else(|| {
            if !name.contains('-') {
                return None;
            }
            let spelled = name.replace('-', "_");
            self.entry_named(&spelled, is_keyword).or_else(|| self.entry_named(&spelled, !is_keyword))
        })
    }

    /// The entry whose key is the keyword (or the string) of this name; builds no key.
    pub fn entry_named(&self, name: &str, keyword: bool) -> Option<(&Value, &Value)> {
        self.0
            .0
            .binary_search_by(|(k, _)| super::order::compare_to_name(k, name, keyword))
            .ok()
            .map(|i| (&self.0.0[i].0, &self.0.0[i].1))
    }

    fn make_mut(&mut self) -> &mut Entries {
        if Rc::get_mut(&mut self.0).is_none() {
            *self = Map::from_sorted(self.0.0.clone());
        }
        Rc::get_mut(&mut self.0).expect("just made unique")
    }

    /// Sets exactly this key; in place when nobody else holds this map. An entry that exists keeps its key.
    pub fn insert(&mut self, key: Value, value: Value) {
        let found = self.find(&key);
        let entries = self.make_mut();
        match found {
            Ok(i) => entries.0[i].1 = value,
            Err(i) => {
                let before = entries.0.capacity();
                entries.0.insert(i, (key, value));
                meter::charge_memory((entries.0.capacity() - before) * 2 * size_of::<Value>());
            }
        }
    }

    /// Sets the entry that a read of `key` finds, or `key` itself when there is none (ruling 12).
    pub fn insert_flexible(&mut self, key: Value, value: Value) {
        let key = self.entry_flexible(&key).map(|(k, _)| k.clone()).unwrap_or(key);
        self.insert(key, value);
    }

    /// Removes exactly this key and returns its value.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        let i = self.find(key).ok()?;
        Some(self.make_mut().0.remove(i).1)
    }

    /// Removes the entry that a read of `key` finds (ruling 12).
    pub fn remove_flexible(&mut self, key: &Value) -> Option<Value> {
        let key = self.entry_flexible(key)?.0.clone();
        self.remove(&key)
    }

    /// Takes the value of exactly this key out, leaving `nil`, so that a caller can change it in place and
    /// [`insert`](Map::insert) it again.
    pub fn take(&mut self, key: &Value) -> Option<Value> {
        let i = self.find(key).ok()?;
        Some(std::mem::take(&mut self.make_mut().0[i].1))
    }

    /// The entries in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator {
        self.0.0.iter().map(|(k, v)| (k, v))
    }

    /// Builds a map from entries in any order; of equal keys the last value and the first key win.
    pub fn from_entries(mut entries: Vec<(Value, Value)>) -> Map {
        if !entries.is_sorted_by(|a, b| key_compare(&a.0, &b.0) == Ordering::Less) {
            let mut map = Map::new();
            for (key, value) in entries.drain(..) {
                map.insert(key, value);
            }
            return map;
        }
        Map::from_sorted(entries)
    }

    /// Whether both are the same allocation.
    pub fn same_allocation(&self, other: &Map) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = MapIter;

    fn into_iter(self) -> MapIter {
        MapIter { map: self, next: 0 }
    }
}

/// Iterates a map that it holds, in key order.
#[derive(Clone)]
pub struct MapIter {
    map: Map,
    next: usize,
}

impl Iterator for MapIter {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<(Value, Value)> {
        let (key, value) = self.map.0.0.get(self.next)?;
        self.next += 1;
        Some((key.clone(), value.clone()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for MapIter {}
