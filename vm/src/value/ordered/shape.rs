//! The keys of a small map, shared by all maps that have the same ones.

use crate::meter;
use crate::value::order::{
    compare_to_name, compare_to_underscored, is_dear, key_compare, may_have_dash, sort_by_key,
};
use crate::value::{Value, drop_deferred, missed_keys};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::rc::{Rc, Weak};

/// Up to this many keys are searched one by one for the same allocation first.
const SCAN_MAX: usize = 8;

/// Up to 32 keys in ascending order, without duplicates.
pub struct Shape {
    keys: Vec<Value>,
    kinds: Kinds,
    /// Whether the maps came from the reply of a call.
    of_reply: Cell<bool>,
    /// The result of the last change to a map of this shape. Maps that are changed alike, as the rows of a table are by
    /// `(map #(assoc % :k v) rows)`, share their keys afterwards too.
    change: RefCell<Option<Change>>,
}

/// One key more or one key less.
struct Change {
    /// Where the key is or was.
    index: usize,
    removed: bool,
    /// As long as some map has that shape.
    shape: Weak<Shape>,
}

/// Longest name of a key whose addition is remembered: names compared in passing must be short, and so must those of one
/// program that another one's cache may keep alive.
const NAME_MAX: usize = 48;

/// The kinds of keys that may occur: bits that are set when a key is added, and never cleared. They tell whether a key that was
/// found by a flexible read can be hidden by an exact one.
#[derive(Clone, Copy, Default)]
struct Kinds(u8);

impl Kinds {
    const KEYWORDS: u8 = 1;
    const STRINGS: u8 = 2;
    /// A name with `-`.
    const DASHES: u8 = 4;

    fn add(&mut self, key: &Value) {
        let (kind, name) = match key {
            Value::Keyword(k) => (Self::KEYWORDS, k.name()),
            Value::Str(s) => (Self::STRINGS, s.as_str()),
            _ => return,
        };
        self.0 |= kind | if may_have_dash(name) { Self::DASHES } else { 0 };
    }

    fn has(self, kind: u8) -> bool {
        self.0 & kind != 0
    }
}

impl Shape {
    const BYTES: usize = size_of::<Shape>() + 16;

    /// Most keys of a shape.
    pub const MOST_KEYS: usize = super::SMALL_MAX;

    /// `keys`, which are in ascending order of [`key_compare`] and all different.
    pub(super) fn new(keys: Vec<Value>) -> Rc<Shape> {
        debug_assert!(keys.len() <= Shape::MOST_KEYS, "{} keys are too many for a shape", keys.len());
        // Comparing dear keys is charged, which an assertion must not be, and is cut short once the steps are used up.
        debug_assert!(
            keys.iter().any(is_dear) || is_ascending(&keys),
            "the keys of a shape ascend and are all different"
        );
        let mut kinds = Kinds::default();
        keys.iter().for_each(|key| kinds.add(key));
        Rc::new(Shape::charged(keys, kinds))
    }

    /// The shape of these keys, in any order; `None` if two are identical or there are more than 32.
    pub fn of(mut keys: Vec<Value>) -> Option<Rc<Shape>> {
        if keys.len() > Shape::MOST_KEYS {
            return None;
        }
        // An order that is cut short contradicts itself, which the standard library's sort answers with a panic.
        sort_by_key(&mut keys, |key| key);
        is_ascending(&keys).then(|| Shape::new(keys))
    }

    /// The shape of these keys, of which there are at most 32 and whose caller has seen that they ascend.
    pub(crate) fn of_ascending(keys: Vec<Value>) -> Rc<Shape> {
        Shape::new(keys)
    }

    fn charged(keys: Vec<Value>, kinds: Kinds) -> Shape {
        meter::charge_memory(Shape::BYTES + keys.capacity() * size_of::<Value>());
        Shape { keys, kinds, of_reply: Cell::new(false), change: RefCell::new(None) }
    }

    /// The maps of this shape came from the reply of a call. A shape that is made from it by adding or removing a key does
    /// not have this.
    pub(crate) fn mark_reply(&self) {
        if !self.of_reply.replace(true) {
            missed_keys::note_names(self);
        }
    }

    /// Whether the maps of this shape came from the reply of a call.
    #[inline]
    pub(crate) fn is_of_reply(&self) -> bool {
        self.of_reply.get()
    }

    /// How many keys.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The keys in ascending order.
    #[inline]
    pub fn keys(&self) -> &[Value] {
        &self.keys
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> &Value {
        &self.keys[index]
    }

    /// Where exactly this key is, or where it belongs.
    #[inline]
    pub fn find(&self, key: &Value) -> Result<usize, usize> {
        if let Value::Keyword(k) = key
            && self.keys.len() <= SCAN_MAX
        {
            let same = |other: &Value| matches!(other, Value::Keyword(o) if o.same_allocation(k));
            if let Some(index) = self.keys.iter().position(same) {
                return Ok(index);
            }
        }
        self.keys.binary_search_by(|other| key_compare(other, key))
    }

    /// Where the key is that a read of `key` finds: exact, twin, then with `_` for `-` (language.md 2.6).
    pub(crate) fn find_flexible(&self, key: &Value) -> Option<usize> {
        let (name, keyword) = match key {
            Value::Keyword(k) => (k.name(), true),
            Value::Str(s) => (s.as_str(), false),
            _ => return self.find(key).ok(),
        };
        let (own, other) =
            if keyword { (Kinds::KEYWORDS, Kinds::STRINGS) } else { (Kinds::STRINGS, Kinds::KEYWORDS) };
        if self.kinds.has(own)
            && let Ok(index) = self.find(key)
        {
            return Some(index);
        }
        let named = |keyword| self.keys.binary_search_by(|k| compare_to_name(k, name, keyword)).ok();
        if self.kinds.has(other)
            && let Some(index) = named(!keyword)
        {
            return Some(index);
        }
        if !may_have_dash(name) {
            return None;
        }
        let respelled =
            |keyword| self.keys.binary_search_by(|k| compare_to_underscored(k, name, keyword)).ok();
        respelled(keyword).or_else(|| respelled(!keyword))
    }

    /// Whether `key` certainly finds the key at `index`, judged by this one key and the kinds of all.
    #[inline]
    pub(crate) fn certainly_finds(&self, key: &Value, index: usize) -> bool {
        let (name, found) = match (key, self.keys.get(index)) {
            (Value::Keyword(k), Some(Value::Keyword(o))) => {
                if k.same_allocation(o) {
                    return true;
                }
                (k.name(), o.name())
            }
            (Value::Str(k), Some(Value::Str(o))) => (k.as_str(), o.as_str()),
            (Value::Keyword(k), Some(Value::Str(o))) if !self.kinds.has(Kinds::KEYWORDS) => {
                (k.name(), o.as_str())
            }
            (Value::Str(k), Some(Value::Keyword(o))) if !self.kinds.has(Kinds::STRINGS) => {
                (k.as_str(), o.name())
            }
            (Value::Int(k), Some(Value::Int(o))) => return k == o,
            _ => return false,
        };
        name == found || self.respelled(name, found)
    }

    /// Whether `found` is `name` with `_` for `-`, and no key can be there that is spelled like `name`.
    #[inline]
    fn respelled(&self, name: &str, found: &str) -> bool {
        name.len() == found.len()
            && !self.kinds.has(Kinds::DASHES)
            && name.bytes().map(|byte| if byte == b'-' { b'_' } else { byte }).eq(found.bytes())
    }

    /// Adds `key` at `index`, where it belongs; in place if this shape has no other owner.
    pub(super) fn insert(shape: &mut Rc<Shape>, index: usize, key: Value) {
        if let Some(alone) = Rc::get_mut(shape) {
            alone.of_reply.set(false);
            alone.add(index, key);
            return;
        }
        if let Some(known) = shape.changed(index, false)
            && has_short_name(&key)
            && key_compare(&known.keys[index], &key) == Ordering::Equal
        {
            *shape = known;
            return;
        }
        let mut new = Shape::clone(shape);
        let remember = has_short_name(&key);
        new.add(index, key);
        Shape::replace(shape, new, remember.then_some((index, false)));
    }

    /// Removes the key at `index`; in place if this shape has no other owner.
    pub(super) fn remove(shape: &mut Rc<Shape>, index: usize) {
        if let Some(alone) = Rc::get_mut(shape) {
            alone.of_reply.set(false);
            drop_deferred(alone.keys.remove(index));
            return;
        }
        if let Some(known) = shape.changed(index, true) {
            *shape = known;
            return;
        }
        let mut new = Shape::clone(shape);
        drop_deferred(new.keys.remove(index));
        Shape::replace(shape, new, Some((index, true)));
    }

    fn add(&mut self, index: usize, key: Value) {
        self.kinds.add(&key);
        let before = self.keys.capacity();
        if before == self.keys.len() {
            self.keys.reserve_exact((before / 2).clamp(2, super::SMALL_MAX));
        }
        self.keys.insert(index, key);
        meter::charge_memory((self.keys.capacity() - before) * size_of::<Value>());
    }

    /// The shape that the last change came to, if it was of this kind.
    fn changed(&self, index: usize, removed: bool) -> Option<Rc<Shape>> {
        match &*self.change.borrow() {
            Some(change) if change.index == index && change.removed == removed => change.shape.upgrade(),
            _ => None,
        }
    }

    /// Puts `new` in the place of `shape` and remembers by which change, if it is to be remembered.
    fn replace(shape: &mut Rc<Shape>, new: Shape, change: Option<(usize, bool)>) {
        let new = Rc::new(new);
        if let Some((index, removed)) = change {
            *shape.change.borrow_mut() = Some(Change { index, removed, shape: Rc::downgrade(&new) });
        }
        *shape = new;
    }
}

fn is_ascending(keys: &[Value]) -> bool {
    keys.is_sorted_by(|a, b| key_compare(a, b) == Ordering::Less)
}

fn has_short_name(key: &Value) -> bool {
    match key {
        Value::Keyword(k) => k.name().len() <= NAME_MAX,
        Value::Str(s) => s.as_str().len() <= NAME_MAX,
        _ => false,
    }
}

impl Clone for Shape {
    fn clone(&self) -> Shape {
        // Who copies a shape is about to add a key or to remove one.
        let mut keys = Vec::with_capacity(self.keys.len() + 1);
        keys.extend_from_slice(&self.keys);
        Shape::charged(keys, self.kinds)
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        meter::credit_memory(Shape::BYTES + self.keys.capacity() * size_of::<Value>());
        self.keys.drain(..).for_each(drop_deferred);
    }
}
