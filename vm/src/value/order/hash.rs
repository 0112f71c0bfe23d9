//! A hash that agrees with identity.

use super::{Rank, rank, traversal::temporal_key};
use crate::meter;
use crate::value::{Cursor, MapIter, Value};
use ahash::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

/// A hash of `value`: the same for [`identical`](super::identical) values, different from one run of the
/// process to the next.
pub fn hash(value: &Value) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut hasher = STATE.build_hasher();
    if let Some(level) = write(value, &mut hasher) {
        write_inner(level, &mut hasher);
    }
    hasher.finish()
}

/// Adds everything in a collection.
#[inline(never)]
fn write_inner(outer: Level, hasher: &mut impl Hasher) {
    let mut levels = vec![outer];
    while let Some(level) = levels.last_mut() {
        meter::work(1);
        if meter::exhausted() {
            break;
        }
        let inner = match level {
            Level::Values(cursor) => match cursor.advance() {
                Some(item) => write(&item, hasher),
                None => {
                    levels.pop();
                    continue;
                }
            },
            Level::Entries(entries) => match entries.next() {
                Some((key, value)) => {
                    let value = write(&value, hasher);
                    levels.extend(value);
                    write(&key, hasher)
                }
                None => {
                    levels.pop();
                    continue;
                }
            },
        };
        levels.extend(inner);
    }
}

enum Level {
    Values(Cursor),
    Entries(MapIter),
}

/// Adds what `value` shows of itself to the hash and returns what is to be looked into.
#[inline]
fn write(value: &Value, hasher: &mut impl Hasher) -> Option<Level> {
    // What most keys are is told apart well enough by what is written of it.
    match value {
        Value::Int(n) => hasher.write_i64(*n),
        Value::Str(s) => write_text(s.as_str(), hasher),
        Value::Keyword(k) => {
            hasher.write_u8(Rank::Keyword as u8);
            write_text(k.name(), hasher);
        }
        _ => return write_other(value, hasher),
    }
    None
}

fn write_other(value: &Value, hasher: &mut impl Hasher) -> Option<Level> {
    hasher.write_u8(rank(value) as u8);
    match value {
        Value::Int(_) | Value::Str(_) | Value::Keyword(_) => unreachable!("written above"),
        Value::Nil => 2u8.hash(hasher),
        Value::False => 0u8.hash(hasher),
        Value::True => 1u8.hash(hasher),
        Value::Float(x) if x.is_nan() => f64::NAN.to_bits().hash(hasher),
        // Adding zero turns -0.0, which is identical to 0.0, into it.
        Value::Float(x) => (1u8, (x.get() + 0.0).to_bits()).hash(hasher),
        Value::BigInt(n) => {
            meter::work(n.get().bits() / 512);
            n.get().hash(hasher);
        }
        Value::Var(s) | Value::Symbol(s) | Value::Tool(s) => write_text(s.as_str(), hasher),
        Value::Regex(regex) => write_text(regex.source.as_str(), hasher),
        Value::Builtin(builtin) => write_text(builtin.name, hasher),
        // What a function captured is left out: few keys are closures that differ only in that.
        Value::Closure(closure) => (closure.function, closure.code().position).hash(hasher),
        Value::Combinator(combinator) => (combinator.kind, combinator.parts.len()).hash(hasher),
        Value::Temporal(temporal) => temporal_key(temporal).hash(hasher),
        Value::Cursor(_) => {}
        Value::Vector(vector) => {
            vector.len().hash(hasher);
            return Some(Level::Values(Cursor::Vector(vector.iter())));
        }
        Value::Set(set) => {
            set.len().hash(hasher);
            return Some(Level::Values(Cursor::Set(set.clone().into_iter())));
        }
        Value::Map(map) => {
            map.len().hash(hasher);
            return Some(Level::Entries(map.clone().into_iter()));
        }
    }
    debug_assert!(rank(value) != Rank::Vector);
    None
}

fn write_text(text: &str, hasher: &mut impl Hasher) {
    if text.len() >= 64 {
        meter::work(text.len() as u64 / 64);
    }
    text.hash(hasher);
}
