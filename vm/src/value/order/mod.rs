//! Equality, identity and the total order of values (language.md 2.10, 2.11; ruling 2, decision 172).
//!
//! | Function | Meaning |
//! |---|---|
//! | [`compare`] | the order of `sort`, `<` and `compare`: an integer ties with an equal float |
//! | [`key_compare`] | the order of map keys and set elements: an integer comes before an equal float |
//! | [`equal`] | `=`: [`compare`] finds a tie, but a NaN that is an operand itself equals nothing |
//! | [`identical`] | one key: [`key_compare`] finds a tie |
//! | [`hash`] | agrees with [`identical`] |
//! | [`same_object`] | `identical?`: identity as programs see it |
//! | [`program_hash`] | `hash`: Clojure's |
//!
//! None of these can fail, and none recurses natively: nested values are walked with a stack on the heap. Long walks remember
//! visited values by identity, so that shared trees cost their nodes and not their paths. They charge the [meter](crate::meter)
//! for each node and, once the program's steps are used up, return arbitrary answers: see the text of that module. A sort that
//! uses them must therefore survive an order that contradicts itself; [`sort_by_key`] does.

mod functions;
mod hash;
mod memory;
mod numbers;
mod program_hash;
mod sort;
#[cfg(test)]
mod tests;
mod traversal;

pub use hash::hash;
pub(crate) use program_hash::{Hashing, combined, hash_of_elements, mix_collection, program_hash};
pub use sort::{sort_by, sort_by_key};

use super::{Str, Value};
use crate::meter;
use std::cmp::Ordering;
use traversal::Mode;

/// The order that programs see in `compare` and `sort`: an integer ties with an equal float. NaN comes after
/// `##Inf` and ties with itself.
#[inline]
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::Str(x), Value::Str(y)) => compare_strings(x, y),
        (Value::Float(x), Value::Float(y)) => numbers::floats(x.get(), y.get()),
        (Value::Keyword(x), Value::Keyword(y)) if x.same_allocation(y) => Ordering::Equal,
        (Value::Keyword(x), Value::Keyword(y)) => compare_text(x.name(), y.name()),
        _ => traversal::order(a, b, Mode::LOOSE),
    }
}

/// The order of map keys and set elements: as [`compare`], an integer before an equal float. `Equal` means
/// [`identical`].
#[inline]
pub fn key_compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Keyword(x), Value::Keyword(y)) if x.same_allocation(y) => Ordering::Equal,
        (Value::Keyword(x), Value::Keyword(y)) => compare_text(x.name(), y.name()),
        (Value::Str(x), Value::Str(y)) => compare_strings(x, y),
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        _ => traversal::order(a, b, Mode::STRICT),
    }
}

/// `=`
#[inline]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Keyword(x), Value::Keyword(y)) => x == y,
        (Value::Str(x), Value::Str(y)) => equal_strings(x, y),
        (Value::Float(x), Value::Float(y)) => x == y,
        (Value::Nil, Value::Nil) => true,
        (Value::True, Value::True) | (Value::False, Value::False) => true,
        _ => traversal::order(a, b, Mode::EQUAL) == Ordering::Equal,
    }
}

/// Whether two values are the same key.
#[inline]
pub(crate) fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Keyword(x), Value::Keyword(y)) => x == y,
        (Value::Str(x), Value::Str(y)) => equal_strings(x, y),
        _ => traversal::order(a, b, Mode::STRICT) == Ordering::Equal,
    }
}

/// `identical?`: scalars of one kind and value are one object, and so are empty collections of one kind; all other values are
/// if they are one allocation.
pub(crate) fn same_object(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.get().to_bits() == y.get().to_bits(),
        (Value::Builtin(x), Value::Builtin(y)) => std::ptr::eq(*x, *y),
        (Value::Int(_), Value::Int(_))
        | (Value::Keyword(_), Value::Keyword(_))
        | (Value::Str(_), Value::Str(_))
        | (Value::Nil, Value::Nil)
        | (Value::True, Value::True)
        | (Value::False, Value::False) => equal(a, b),
        (Value::Symbol(x), Value::Symbol(y))
        | (Value::Var(x), Value::Var(y))
        | (Value::Tool(x), Value::Tool(y)) => equal_strings(x, y),
        (Value::Vector(x) | Value::List(x), Value::Vector(y) | Value::List(y))
            if x.is_empty() && y.is_empty() =>
        {
            true
        }
        (Value::Queue(x), Value::Queue(y)) if x.is_empty() && y.is_empty() => true,
        (Value::Map(x), Value::Map(y)) if x.is_empty() && y.is_empty() => true,
        (Value::Set(x), Value::Set(y)) if x.is_empty() && y.is_empty() => true,
        _ => {
            let address = |value: &Value| value.allocation().map(|allocation| allocation.address);
            std::mem::discriminant(a) == std::mem::discriminant(b)
                && address(a).is_some()
                && address(a) == address(b)
        }
    }
}

/// Compares a key with the keyword (or the string) of this name without building one.
pub(super) fn compare_to_name(key: &Value, name: &str, keyword: bool) -> Ordering {
    match key {
        Value::Keyword(k) if keyword => compare_text(k.name(), name),
        Value::Str(s) if !keyword => compare_text(s.as_str(), name),
        other => rank(other).cmp(if keyword { &Rank::Keyword } else { &Rank::String }),
    }
}

/// As [`compare_to_name`] with every `-` of `name` read as `_`.
pub(super) fn compare_to_underscored(key: &Value, name: &str, keyword: bool) -> Ordering {
    let text = match key {
        Value::Keyword(k) if keyword => k.name(),
        Value::Str(s) if !keyword => s.as_str(),
        other => return rank(other).cmp(if keyword { &Rank::Keyword } else { &Rank::String }),
    };
    if !charge_text(text.len().min(name.len())) {
        return Ordering::Equal;
    }
    text.bytes().cmp(name.bytes().map(|byte| if byte == b'-' { b'_' } else { byte }))
}

/// Whether `name` has a `-`, so that it may be spelled otherwise. Scanning a long one costs as much as comparing it; if the
/// program cannot pay for that, the answer is yes.
pub(super) fn may_have_dash(name: &str) -> bool {
    !charge_text(name.len()) || name.contains('-')
}

/// The groups of 2.11, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Nil,
    Number,
    Boolean,
    Keyword,
    Opaque,
    Temporal,
    Set,
    Map,
    Vector,
    String,
}

pub(super) fn rank(value: &Value) -> Rank {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => Rank::Number,
        Value::Nil => Rank::Nil,
        Value::True | Value::False => Rank::Boolean,
        Value::Keyword(_) => Rank::Keyword,
        Value::Temporal(_) => Rank::Temporal,
        Value::Set(_) => Rank::Set,
        Value::Map(_) => Rank::Map,
        Value::Vector(_) | Value::List(_) | Value::Queue(_) => Rank::Vector,
        Value::Str(_) => Rank::String,
        Value::Builtin(_)
        | Value::Closure(_)
        | Value::Combinator(_)
        | Value::Regex(_)
        | Value::Blob(_)
        | Value::Var(_)
        | Value::Symbol(_)
        | Value::Tool(_)
        | Value::Cursor(_) => Rank::Opaque,
    }
}

#[inline]
fn compare_strings(a: &Str, b: &Str) -> Ordering {
    if a.same_allocation(b) { Ordering::Equal } else { compare_text(a.as_str(), b.as_str()) }
}

#[inline]
fn equal_strings(a: &Str, b: &Str) -> bool {
    if a.same_allocation(b) {
        return true;
    }
    let (a, b) = (a.as_str(), b.as_str());
    if a.len() != b.len() {
        return false;
    }
    if a.len() > PIECE {
        return compare_pieces(a.as_bytes(), b.as_bytes()).is_eq();
    }
    !charge_text(a.len()) || a == b
}

#[inline]
fn compare_text(a: &str, b: &str) -> Ordering {
    let common = a.len().min(b.len());
    if common > PIECE {
        return compare_pieces(a.as_bytes(), b.as_bytes());
    }
    if charge_text(common) { a.cmp(b) } else { Ordering::Equal }
}

/// Compares texts so long that the comparison has to yield in between.
#[cold]
fn compare_pieces(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    for (a, b) in a[..common].chunks(PIECE).zip(b[..common].chunks(PIECE)) {
        if !charge_text(a.len()) {
            return Ordering::Equal;
        }
        match a.cmp(b) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    a.len().cmp(&b.len())
}

/// Texts from this length on are charged for when they are compared.
const LONG_TEXT: usize = 64;

/// Bytes of text that are compared in one go.
const PIECE: usize = 256 << 10;

/// Whether comparing this key with others may be charged: whether it is a long text or no text at all.
pub(super) fn is_dear(key: &Value) -> bool {
    match key {
        Value::Keyword(keyword) => keyword.name().len() >= LONG_TEXT,
        Value::Str(text) => text.as_str().len() >= LONG_TEXT,
        Value::Int(_) => false,
        _ => true,
    }
}

/// Comparing short texts is part of the step that compares them; long ones cost a step for every 16 bytes. `false` where the
/// program's steps are used up, so that any answer will do.
#[inline]
fn charge_text(bytes: usize) -> bool {
    if bytes < LONG_TEXT {
        return true;
    }
    meter::work(bytes as u64 / 16);
    !meter::exhausted()
}
