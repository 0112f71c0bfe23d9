//! A hash that agrees with identity.

use super::memory::{AllocationFacts, LONG, Stack, identity};
use super::{Rank, rank, traversal::temporal_key};
use crate::meter;
use crate::value::{Cursor, MapIter, Value};
use ahash::{AHasher, RandomState};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

/// A hash of `value`: the same for [`identical`](super::identical) values, different from one run of the process to the next. A
/// collection has a hash of its own, which it contributes to the one around it, so that a collection that is met again need not
/// be entered again.
pub fn hash(value: &Value) -> u64 {
    let mut hasher = hasher();
    match write(value, &mut hasher) {
        Some(level) => collection(HashFrame { level, hasher, address: 0 }),
        None => hasher.finish(),
    }
}

fn hasher() -> AHasher {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    STATE.build_hasher()
}

/// A collection whose elements are being added to its hash.
struct HashFrame {
    level: HashLevel,
    hasher: AHasher,
    address: usize,
}

/// The hash of a collection, with everything in it.
#[inline(never)]
fn collection(outer: HashFrame) -> u64 {
    let mut top = outer;
    let mut levels = Stack::new();
    let mut looks = 0_u32;
    let mut known: Option<AllocationFacts<u64>> = None;
    loop {
        meter::work(1);
        if meter::exhausted() {
            return 0;
        }
        looks = looks.saturating_add(1);
        let long = looks > LONG;
        let Some(item) = top.level.next() else {
            let hash = top.hasher.finish();
            let Some(parent) = levels.pop() else { return hash };
            if long {
                known.get_or_insert_default().insert(top.address, hash);
            }
            top = parent;
            top.hasher.write_u64(hash);
            continue;
        };
        if !matches!(
            item,
            Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_)
        ) {
            write(&item, &mut top.hasher);
            continue;
        }
        let address = identity(&item).unwrap_or_default();
        if let Some(hash) = known.as_ref().and_then(|known| known.get(address)) {
            top.hasher.write_u64(hash);
            continue;
        }
        let mut hasher = hasher();
        if let Some(level) = write(&item, &mut hasher) {
            levels.push(std::mem::replace(&mut top, HashFrame { level, hasher, address }));
        }
    }
}

pub(super) enum HashLevel {
    Values(Cursor),
    /// With the value of the key that came last.
    Entries(MapIter, Option<Value>),
}

impl HashLevel {
    pub(super) fn next(&mut self) -> Option<Value> {
        match self {
            HashLevel::Values(cursor) => cursor.advance(),
            HashLevel::Entries(entries, pending) => pending.take().or_else(|| {
                let (key, value) = entries.next()?;
                *pending = Some(value);
                Some(key)
            }),
        }
    }
}

/// Adds the scalar part of `value` to the hash and returns the part to enter.
#[inline]
fn write(value: &Value, hasher: &mut impl Hasher) -> Option<HashLevel> {
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

fn write_other(value: &Value, hasher: &mut impl Hasher) -> Option<HashLevel> {
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
            if !meter::exhausted() {
                n.get().hash(hasher);
            }
        }
        Value::Var(s) | Value::Symbol(s) | Value::Tool(s) => write_text(s.as_str(), hasher),
        Value::Regex(regex) => write_text(regex.source.as_str(), hasher),
        // Contents of one length are told apart where they are compared.
        Value::Blob(blob) => blob.content().base64.len().hash(hasher),
        Value::Builtin(builtin) => write_text(builtin.name, hasher),
        // What a function captured is left out: few keys are closures that differ only in that.
        Value::Closure(closure) => (closure.function, closure.code().position).hash(hasher),
        Value::Combinator(combinator) => (combinator.kind, combinator.parts.len()).hash(hasher),
        Value::Temporal(temporal) => temporal_key(temporal).hash(hasher),
        Value::Cursor(_) => {}
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => {
            vector.len().hash(hasher);
            return Some(HashLevel::Values(Cursor::Vector(vector.iter())));
        }
        Value::Set(set) => {
            set.len().hash(hasher);
            return Some(HashLevel::Values(Cursor::Set(set.clone().into_iter())));
        }
        Value::Map(map) => {
            map.len().hash(hasher);
            return Some(HashLevel::Entries(map.clone().into_iter(), None));
        }
    }
    debug_assert!(rank(value) != Rank::Vector);
    None
}

fn write_text(text: &str, hasher: &mut impl Hasher) {
    if text.len() >= 64 {
        meter::work(text.len() as u64 / 64);
        // Whoever hashes many long texts gives way between them, and hashes none that nobody can pay for.
        if meter::exhausted() {
            return;
        }
    }
    text.hash(hasher);
}
