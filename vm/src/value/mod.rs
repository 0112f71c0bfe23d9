//! Values of the language: immutable, persistent, reference counted on one thread.
//!
//! A [`Value`] is at most 16 bytes: immediate for `nil`, booleans, 64-bit integers and floats, one pointer otherwise. Every
//! payload is one integer-like word at the same place ([`Float`] says why), which lets values travel in registers. Collections
//! mutate in place if they have no other owner (`Rc` with a count of one) and copy the changed path otherwise. Everything that
//! holds memory charges it to the [`meter`] when it is built and credits it when it is dropped.

mod allocation;
mod blob;
mod builtin;
mod closure;
mod deferred_drop;
mod float;
mod graphemes;
mod keyword;
mod map;
mod missed_keys;
mod name;
mod order;
mod ordered;
mod regex;
mod reply_watch;
mod set;
mod string;
mod temporal;
mod vector;
mod zone;

pub(crate) use allocation::Allocation;
pub use blob::{Blob, BlobContent, decoded_len};
pub use builtin::{BuiltinHandle, BuiltinId};
pub use closure::{Captures, Closure, Combinator, CombinatorKind};
pub(crate) use deferred_drop::{DeferredDrop, drop_deferred, drop_many};
pub use float::Float;
pub(crate) use graphemes::{Graphemes, last as last_grapheme};
pub use keyword::Keyword;
pub use map::{Map, MapIter};
pub use missed_keys::{KeyName, MissedKey};
pub(crate) use missed_keys::{MissedKeys, replace as replace_missed, take as take_missed};
pub use name::is_letter_beyond_ascii;
pub(crate) use name::{is_readable_keyword, is_readable_symbol, parts_of_name};
pub(crate) use order::{
    Hashing, combined, hash_of_elements, identical, mix_collection, program_hash, same_object,
};
pub use order::{compare, equal, hash, key_compare, sort_by, sort_by_key};
pub(crate) use ordered::{Contents, ReplyText, RowField, Rows};
pub use ordered::{Layouts, Shape};
pub(crate) use regex::{PaidPatterns, Plan, paid_patterns};
pub use regex::{Regex, forget_patterns, pattern_bytes};
pub use reply_watch::ReplyWatch;
pub use set::{Set, SetIter};
pub use string::Str;
pub use temporal::Temporal;
pub(crate) use temporal::{Day, local_iso, local_parts};
pub(crate) use vector::{Pieces, Uniform};
pub use vector::{Vector, VectorIter};
pub use zone::Zone;
pub(crate) use zone::offset_text;

use crate::error::Result;
use crate::meter;
use num_bigint::BigInt;
use std::cell::RefCell;
use std::rc::Rc;

/// A value of the language. Variants without a reference count come first, so that one comparison identifies them.
#[derive(Default)]
pub enum Value {
    /// `nil`
    #[default]
    Nil,
    /// `false`
    False,
    /// `true`
    True,
    /// An integer of 64 bits. An integer that fits is never a [`Value::BigInt`].
    Int(i64),
    /// A double, special ones included.
    Float(Float),
    /// A function of the library.
    Builtin(&'static BuiltinHandle),
    /// A keyword.
    Keyword(Keyword),
    /// A string.
    Str(Str),
    /// A vector.
    Vector(Vector),
    /// A list: the elements of a vector, added and removed in front.
    List(Vector),
    /// A queue: the elements of a vector, added at the back and removed in front.
    Queue(Vector),
    /// A map.
    Map(Map),
    /// A set.
    Set(Set),
    /// A function made by `fn`, `defn` or `#()`.
    Closure(Rc<Closure>),
    /// A function made by `partial`, `comp` and the like.
    Combinator(Rc<Combinator>),
    /// An integer outside 64 bits.
    BigInt(Rc<Big>),
    /// A compiled regular expression.
    Regex(Rc<Regex>),
    /// An image, a recording or a file of a tool's answer.
    Blob(Rc<Blob>),
    /// A date, an instant or a duration.
    Temporal(Rc<Temporal>),
    /// `#'name`, the result of `def`.
    Var(Str),
    /// `'name` or `'ns/name`, with the text between quote and end.
    Symbol(Str),
    /// `tool/name`, with the name.
    Tool(Str),
    /// The state of a `for` or `doseq` level. Never visible to a program.
    Cursor(Rc<RefCell<Cursor>>),
}

/// An integer outside 64 bits, charged by its digits.
#[derive(Debug)]
pub struct Big(BigInt);

impl Big {
    const OVERHEAD: usize = 48;

    fn bytes(n: &BigInt) -> usize {
        Self::OVERHEAD + (n.bits() / 8) as usize
    }

    /// The number.
    pub fn get(&self) -> &BigInt {
        &self.0
    }
}

impl Drop for Big {
    fn drop(&mut self) {
        meter::credit_memory(Self::bytes(&self.0));
    }
}

/// The state of one level of `for`/`doseq`: the remaining elements.
#[derive(Clone)]
pub enum Cursor {
    /// Over a vector or a list, or the graphemes of a string as a vector.
    Vector(VectorIter),
    /// Over the `[key value]` pairs of a map.
    Map(MapIter),
    /// Over the elements of a set.
    Set(SetIter),
}

impl Cursor {
    /// The next element.
    pub fn advance(&mut self) -> Option<Value> {
        match self {
            Cursor::Vector(iter) => iter.next(),
            Cursor::Map(iter) => iter.next().map(|(key, value)| Value::pair(key, value)),
            Cursor::Set(iter) => iter.next(),
        }
    }

    /// Passes over so many elements.
    pub(crate) fn skip(&mut self, count: usize) {
        let Some(last) = count.checked_sub(1) else { return };
        match self {
            Cursor::Vector(iter) => drop(iter.nth(last)),
            Cursor::Map(iter) => drop(iter.nth(last)),
            Cursor::Set(iter) => drop(iter.nth(last)),
        }
    }

    /// How many elements are left.
    pub fn remaining(&self) -> usize {
        match self {
            Cursor::Vector(iter) => iter.len(),
            Cursor::Map(iter) => iter.len(),
            Cursor::Set(iter) => iter.len(),
        }
    }
}

/// Bytes that a short string takes besides its slot, for reservations.
const SHORT_STRING_BYTES: usize = 48;

impl Value {
    /// A string value.
    pub fn str(text: impl AsRef<str>) -> Value {
        Value::Str(Str::new(text.as_ref()))
    }

    /// `true` or `false`.
    #[inline]
    pub const fn bool(b: bool) -> Value {
        if b { Value::True } else { Value::False }
    }

    /// A double.
    #[inline]
    pub const fn float(x: f64) -> Value {
        Value::Float(Float::new(x))
    }

    /// A keyword value, `name` without its colon.
    pub fn keyword(name: impl AsRef<str>) -> Value {
        Value::Keyword(Keyword::new(name.as_ref()))
    }

    /// A vector value of these elements.
    pub fn vector(items: impl Into<Vec<Value>>) -> Value {
        Value::Vector(Vector::from_vec(items.into()))
    }

    /// A list value of these elements.
    pub fn list(items: impl Into<Vec<Value>>) -> Value {
        Value::List(Vector::from_vec(items.into()))
    }

    /// `items` as a list if this value is one or a queue, else as a vector.
    pub(crate) fn sequence_like(&self, items: Vector) -> Value {
        if matches!(self, Value::List(_) | Value::Queue(_)) {
            Value::List(items)
        } else {
            Value::Vector(items)
        }
    }

    /// The two-element vector that stands for a map entry.
    pub fn pair(key: Value, value: Value) -> Value {
        Value::Vector(Vector::pair(key, value))
    }

    /// A date, an instant or a duration.
    pub fn temporal(temporal: Temporal) -> Value {
        Value::Temporal(Rc::new(temporal))
    }

    /// An integer of any size in its one representation.
    pub fn integer(n: BigInt) -> Value {
        match i64::try_from(&n) {
            Ok(small) => Value::Int(small),
            Err(_) => {
                meter::charge_memory(Big::bytes(&n));
                Value::BigInt(Rc::new(Big(n)))
            }
        }
    }

    /// Whether this holds nothing that is counted.
    #[inline]
    pub(crate) fn is_immediate(&self) -> bool {
        matches!(
            self,
            Value::Nil | Value::False | Value::True | Value::Int(_) | Value::Float(_) | Value::Builtin(_)
        )
    }

    /// Drops this; at once, without a call, where there is nothing to drop.
    #[inline]
    pub(crate) fn discard(self) {
        if self.is_immediate() { std::mem::forget(self) } else { drop(self) }
    }

    /// Puts `new` into this place, as an assignment does; see [`Value::discard`].
    #[inline]
    pub(crate) fn put(&mut self, new: Value) {
        std::mem::replace(self, new).discard();
    }

    /// Whether conditions take this value as true: all but `nil` and `false`.
    #[inline]
    pub(crate) fn is_truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::False)
    }

    /// Whether this is `nil`.
    #[inline]
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Whether this is an integer or a float of any kind.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Float(_) | Value::BigInt(_))
    }

    /// Whether this is an index of something with so many elements.
    pub(crate) fn is_index(&self, len: usize) -> bool {
        matches!(self, Value::Int(i) if usize::try_from(*i).is_ok_and(|i| i < len))
    }

    /// Whether this is a closure, a builtin or a combinator's result (`fn?`).
    pub(crate) fn is_function(&self) -> bool {
        match self {
            Value::Builtin(_) | Value::Closure(_) => true,
            Value::Combinator(combinator) => {
                !matches!(combinator.kind, CombinatorKind::Reduced | CombinatorKind::Endless)
            }
            _ => false,
        }
    }

    /// Whether a call of this value can mean something (language.md 4.1).
    pub(crate) fn is_callable(&self) -> bool {
        self.is_function()
            || matches!(
                self,
                Value::Keyword(_)
                    | Value::Symbol(_)
                    | Value::Map(_)
                    | Value::Set(_)
                    | Value::Vector(_)
                    | Value::Tool(_)
            )
    }

    /// Whether this is a sequence without end, of which functions take a finite part.
    #[inline]
    pub(crate) fn is_endless(&self) -> bool {
        matches!(self, Value::Combinator(combinator) if combinator.kind == CombinatorKind::Endless)
    }

    /// Whether sequence functions take this value (language.md 2.12), `nil` included.
    pub(crate) fn is_seqable(&self) -> bool {
        matches!(
            self,
            Value::Nil
                | Value::Vector(_)
                | Value::List(_)
                | Value::Queue(_)
                | Value::Str(_)
                | Value::Map(_)
                | Value::Set(_)
        )
    }

    /// The word for this value's kind in error messages (functions.md 0.3).
    pub fn kind_label(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::True | Value::False => "boolean",
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => "number",
            Value::Keyword(_) => "keyword",
            Value::Str(_) => "string",
            Value::Vector(_) | Value::List(_) | Value::Queue(_) => "list",
            Value::Map(_) => "map",
            Value::Set(_) => "set",
            _ if self.is_endless() => "endless sequence",
            _ if self.is_function() => "function",
            _ => "unknown",
        }
    }

    /// The elements as a cursor, or `None` when this is not seqable. Strings give their graphemes, maps
    /// `[key value]` pairs in key order, sets their elements in order, `nil` nothing.
    ///
    /// # Errors
    /// The memory limit, where the graphemes of a string would pass it.
    pub fn cursor(&self) -> Result<Option<Cursor>> {
        Ok(Some(match self {
            Value::Nil => Cursor::Vector(Vector::new().into_iter()),
            Value::Vector(v) | Value::List(v) | Value::Queue(v) => Cursor::Vector(v.clone().into_iter()),
            Value::Str(s) => {
                meter::reserve(s.len().saturating_mul(size_of::<Value>() + SHORT_STRING_BYTES))?;
                Cursor::Vector(s.graphemes().into_iter())
            }
            Value::Map(m) => Cursor::Map(m.clone().into_iter()),
            Value::Set(s) => Cursor::Set(s.clone().into_iter()),
            _ => return Ok(None),
        }))
    }
}

impl Clone for Value {
    #[inline]
    fn clone(&self) -> Value {
        match self {
            Value::Nil => Value::Nil,
            Value::False => Value::False,
            Value::True => Value::True,
            Value::Int(n) => Value::Int(*n),
            Value::Float(x) => Value::Float(*x),
            Value::Builtin(builtin) => Value::Builtin(builtin),
            Value::Keyword(keyword) => Value::Keyword(keyword.clone()),
            Value::Str(text) => Value::Str(text.clone()),
            Value::Vector(vector) => Value::Vector(vector.clone()),
            Value::List(list) => Value::List(list.clone()),
            Value::Queue(queue) => Value::Queue(queue.clone()),
            Value::Map(map) => Value::Map(map.clone()),
            Value::Set(set) => Value::Set(set.clone()),
            Value::Closure(closure) => Value::Closure(closure.clone()),
            Value::Combinator(combinator) => Value::Combinator(combinator.clone()),
            Value::BigInt(n) => Value::BigInt(n.clone()),
            Value::Regex(regex) => Value::Regex(regex.clone()),
            Value::Blob(blob) => Value::Blob(blob.clone()),
            Value::Temporal(temporal) => Value::Temporal(temporal.clone()),
            Value::Var(name) => Value::Var(name.clone()),
            Value::Symbol(name) => Value::Symbol(name.clone()),
            Value::Tool(name) => Value::Tool(name.clone()),
            Value::Cursor(cursor) => Value::Cursor(cursor.clone()),
        }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::print::readable_lossy(self))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::float(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_at_most_16_bytes() {
        assert!(size_of::<Value>() <= 16);
        assert!(size_of::<Option<Value>>() <= 16);
    }
}
