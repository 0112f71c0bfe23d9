//! Maps: unordered by contract, always traversed in ascending key order (language.md 2.6, 2.11).

use super::missed_keys;
use super::order::{compare_to_name, compare_to_underscored, is_dear, may_have_dash};
use super::ordered::{Contents, OrderedEntries, OwnedEntries, Rows, Shape};
use super::{Allocation, ReplyWatch, Value, Vector};
use std::cell::Cell;
use std::rc::Rc;

/// An immutable map.
#[derive(Clone, Default)]
pub struct Map(OrderedEntries<Value>);

impl Map {
    /// Bytes that a caller [reserves](crate::meter::reserve) for each entry it is going to build.
    pub(crate) const ENTRY_BYTES: usize = 2 * size_of::<Value>();

    /// Most entries of a map that has a [`shape`](Map::shape) however it was made.
    pub const SMALL_MAX: usize = super::ordered::SMALL_MAX;

    /// Fewest entries that a tree can come to have: with fewer it becomes a small map again.
    pub(crate) const LEAST_OF_TREE: usize = super::ordered::SMALL_MAX / 2 + 1;

    /// The empty map.
    pub fn new() -> Map {
        Map::default()
    }

    /// The map with the keys of `shape` and these values, in the order of [`Shape::keys`].
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub fn with_shape(shape: Rc<Shape>, values: Vec<Value>) -> Map {
        Map(OrderedEntries::from_shape(shape, values))
    }

    /// The map of these entries, kept as a tree.
    ///
    /// # Panics
    /// If there are none. In debug builds also if their keys do not ascend.
    pub(crate) fn tree(entries: Vec<(Value, Value)>) -> Map {
        Map(OrderedEntries::tree(entries))
    }

    /// A row of a large reply, whose members are scalars: its first member begins at `at`, their values at `places` after that.
    /// `owed` are the bytes that its strings will take as values, at least.
    pub(crate) fn unread(rows: Rc<Rows>, at: u32, places: &[u16], owed: u32) -> Map {
        Map(OrderedEntries::unread(rows, at, places, owed))
    }

    /// The same entries, whose reading `watch` observes. Maps made from it by adding and removing entries are watched as well.
    pub(crate) fn watched(self, watch: Rc<ReplyWatch>) -> Map {
        Map(self.0.watched(watch))
    }

    /// The keys of a small map, for [`Map::with_shape`]; `None` for a map of more than 32 entries, and for one that is
    /// watched.
    pub fn shape(&self) -> Option<&Rc<Shape>> {
        self.0.shape()
    }

    /// The map with these values under the keys of this one, in key order.
    ///
    /// # Panics
    /// If there are not as many values as keys.
    pub(crate) fn with_values(&self, values: Vector) -> Map {
        match self.shape() {
            Some(shape) => Map::with_shape(shape.clone(), values.to_vec()),
            None => {
                assert_eq!(self.len(), values.len(), "a value for each key");
                Map::from_entries(self.iter().map(|(key, _)| key.clone()).zip(values).collect())
            }
        }
    }

    /// The map with the keys of this one, whose values say where the new ones lie in `values`, from which they are taken:
    /// `{:a 1 :b 0}` and `[x y]` give `{:a y :b x}`.
    ///
    /// # Panics
    /// If this is not a small map of indices into `values`.
    pub(crate) fn take_from_places(&self, values: &mut [Value]) -> Map {
        let (Some(shape), Some((_, places))) = (self.0.shape(), self.0.small()) else {
            unreachable!("map literals are small")
        };
        let taken = (0..shape.len()).map(|index| match places.get(index) {
            Some(Value::Int(place)) => std::mem::take(&mut values[*place as usize]),
            _ => unreachable!("places are indices"),
        });
        Map::with_shape(shape.clone(), taken.collect())
    }

    /// How many entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of exactly this key (identity, language.md 2.10).
    #[inline]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.get(key).map(|(_, value)| value)
    }

    /// The entry of exactly this key.
    pub fn entry(&self, key: &Value) -> Option<(&Value, &Value)> {
        self.0.get(key)
    }

    /// The entry at `index`, in key order.
    #[cfg(test)]
    pub(crate) fn entry_at(&self, index: usize) -> Option<(&Value, &Value)> {
        self.0.entry_at(index)
    }

    /// Whether a read of `key` finds something, as [`get_flexible`](Map::get_flexible) does.
    pub fn has_flexible(&self, key: &Value) -> bool {
        match self.0.small() {
            Some((shape, _)) => shape.find_flexible(key).is_some(),
            None => self.entry_flexible(key).is_some(),
        }
    }

    /// The value that a read of `key` finds: exact, then the twin of the other kind, then with every `-`
    /// as `_` in both kinds (language.md 2.6). A vector key that is not found exactly is not a path here.
    #[inline]
    pub(crate) fn get_flexible(&self, key: &Value) -> Option<&Value> {
        match self.0.small() {
            Some((shape, values)) => match shape.find_flexible(key) {
                Some(index) => values.get(index),
                None => {
                    if shape.is_of_reply() {
                        missed_keys::note(shape, key);
                    }
                    None
                }
            },
            None => self.entry_flexible(key).map(|(_, value)| value),
        }
    }

    /// The value at `guess`, if the key there is the very allocation of the keyword `key`: the common case of reads of a
    /// constant key. `None` is inconclusive.
    #[inline]
    pub(crate) fn get_at_guess(&self, key: &Value, guess: u32) -> Option<&Value> {
        let (shape, values) = self.0.small()?;
        match (key, shape.keys().get(guess as usize)?) {
            (Value::Keyword(key), Value::Keyword(found)) if key.same_allocation(found) => {
                values.get(guess as usize)
            }
            _ => None,
        }
    }

    /// As [`Map::get_flexible`], trying first the place where the key was found last time, which it updates.
    #[inline]
    pub(crate) fn get_guessed(&self, key: &Value, guess: &Cell<u32>) -> Option<&Value> {
        let Some((shape, values)) = self.0.small() else { return self.get_flexible(key) };
        let guessed = guess.get() as usize;
        // A long name is only compared where that is charged.
        if !is_dear(key) && shape.certainly_finds(key, guessed) {
            return values.get(guessed);
        }
        let Some(index) = shape.find_flexible(key) else {
            if shape.is_of_reply() {
                missed_keys::note(shape, key);
            }
            return None;
        };
        // Finding a long name costs steps, which must be the same when the program runs again.
        if !is_dear(key) {
            guess.set(index as u32);
        }
        values.get(index)
    }

    /// The entry that a read of `key` finds; see [`Map::get_flexible`].
    pub(crate) fn entry_flexible(&self, key: &Value) -> Option<(&Value, &Value)> {
        if let Some((shape, values)) = self.0.small() {
            let index = shape.find_flexible(key)?;
            return Some((&shape.keys()[index], values.get(index)?));
        }
        if let Some(found) = self.entry(key) {
            return Some(found);
        }
        let (name, keyword) = match key {
            Value::Keyword(k) => (k.name(), true),
            Value::Str(s) => (s.as_str(), false),
            _ => return None,
        };
        let respelled = |keyword| self.0.get_by(|k| compare_to_underscored(k, name, keyword));
        self.entry_named(name, !keyword).or_else(|| {
            if may_have_dash(name) { respelled(keyword).or_else(|| respelled(!keyword)) } else { None }
        })
    }

    /// The entry whose key is the keyword (or the string) of this name; builds no key.
    pub(crate) fn entry_named(&self, name: &str, keyword: bool) -> Option<(&Value, &Value)> {
        self.0.get_by(|key| compare_to_name(key, name, keyword))
    }

    /// The value of exactly this key, to be changed in place; copied first if it has another owner.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Sets exactly this key; in place if this map has no other owner. An entry that exists keeps its key.
    pub fn insert(&mut self, key: Value, value: Value) {
        self.0.insert(key, value);
    }

    /// Sets the entry that a read of `key` finds, or `key` itself when there is none (ruling 12).
    pub(crate) fn insert_flexible(&mut self, key: Value, value: Value) {
        let key = self.key_flexible(&key).unwrap_or(key);
        self.insert(key, value);
    }

    /// The key of the entry that a read of `key` finds.
    pub(crate) fn key_flexible(&self, key: &Value) -> Option<Value> {
        self.entry_flexible(key).map(|(found, _)| found.clone())
    }

    /// Removes exactly this key and returns its value.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.0.remove(key)
    }

    /// Removes the entry that a read of `key` finds (ruling 12).
    pub(crate) fn remove_flexible(&mut self, key: &Value) -> Option<Value> {
        let key = self.key_flexible(key)?;
        self.remove(&key)
    }

    /// Takes the value of exactly this key out, leaving `nil`, so that a caller can change it in place and
    /// [`insert`](Map::insert) it again.
    pub fn take(&mut self, key: &Value) -> Option<Value> {
        self.get_mut(key).map(std::mem::take)
    }

    /// The entries in key order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator {
        self.0.iter()
    }

    /// Builds a map from entries in any order; of equal keys the last value and the first key win. Callers that
    /// build a size which the program controls [reserve](crate::meter::reserve) first.
    pub fn from_entries(entries: Vec<(Value, Value)>) -> Map {
        Map(OrderedEntries::from_entries(entries))
    }

    /// Whether both certainly have identical keys, because they share them. Never a proof of difference.
    pub(super) fn same_keys(&self, other: &Map) -> bool {
        matches!((self.shape(), other.shape()), (Some(a), Some(b)) if Rc::ptr_eq(a, b))
    }

    /// Its content, without reading further fields.
    pub(crate) fn contents(&self) -> Contents<'_, Value> {
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
    pub(crate) fn same_allocation(&self, other: &Map) -> bool {
        self.0.same_allocation(&other.0)
    }
}

impl FromIterator<(Value, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Map {
        Map::from_entries(entries.into_iter().collect())
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = MapIter;

    #[inline]
    fn into_iter(self) -> MapIter {
        MapIter(self.0.held())
    }
}

/// Iterates a map that it holds, in key order.
#[derive(Clone)]
pub struct MapIter(OwnedEntries<Value>);

impl MapIter {
    /// The map, and how many of its entries have been taken.
    pub(crate) fn taken(&self) -> (Map, usize) {
        let (ordered, taken) = self.0.taken();
        (Map(ordered.clone()), taken)
    }

    /// Begins again with the first entry.
    pub(crate) fn restart(&mut self) {
        self.0.restart();
    }
}

impl Iterator for MapIter {
    type Item = (Value, Value);

    #[inline]
    fn next(&mut self) -> Option<(Value, Value)> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<(Value, Value)> {
        self.0.nth(n)
    }
}

impl DoubleEndedIterator for MapIter {
    fn next_back(&mut self) -> Option<(Value, Value)> {
        self.0.next_back()
    }
}

impl ExactSizeIterator for MapIter {}
