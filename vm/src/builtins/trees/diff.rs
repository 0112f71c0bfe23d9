//! `clojure.data/diff`: the parts only in the first value, only in the second, and in both.
//!
//! Maps are compared key by key, sequences place by place, sets by their elements, and everything else as it is. The
//! collections that are open at a time are a stack on the heap.

use crate::builtins::support::{MemoryCharge, endless};
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::{Map, Set, Value, Vector, VectorIter, equal};
use std::mem::take;

/// The parts only in the first value, only in the second, and in both; `nil` for nothing.
type DiffParts = [Value; 3];

/// Two maps, or two vectors, that are compared by their keys.
struct DiffLevel {
    both: [Value; 2],
    /// The keys to come.
    keys: VectorIter,
    /// The key whose values are compared, and whether they are both `nil`.
    key: Value,
    both_nil: bool,
    parts: DiffParts,
    _room: MemoryCharge,
}

impl DiffLevel {
    fn new(both: [Value; 2], keys: Vector) -> Result<DiffLevel> {
        let room = MemoryCharge::new(2 * size_of::<DiffLevel>())?;
        let parts = DiffParts::default();
        Ok(DiffLevel { both, keys: keys.into_iter(), key: Value::Nil, both_nil: false, parts, _room: room })
    }

    /// The values to compare next: parts that only one of the two has go to its result.
    fn next(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<[Value; 2]>> {
        while let Some(key) = self.keys.next() {
            ctx.charge(1)?;
            ctx.reserve(0)?;
            match (value_at(&self.both[0], &key), value_at(&self.both[1], &key)) {
                (Some(a), Some(b)) => {
                    self.key = key;
                    self.both_nil = a.is_nil() && b.is_nil();
                    return Ok(Some([a, b]));
                }
                (Some(a), None) => self.put(0, key, a),
                (None, Some(b)) => self.put(1, key, b),
                (None, None) => {}
            }
        }
        Ok(None)
    }

    /// Takes the parts of the values at the key. A value without a part of its own shows where it differs.
    fn accept(&mut self, [a, b, both]: DiffParts) {
        let key = take(&mut self.key);
        let same = !both.is_nil() || self.both_nil;
        if !(a.is_nil() && same) {
            self.put(0, key.clone(), a);
        }
        if !(b.is_nil() && same) {
            self.put(1, key.clone(), b);
        }
        if same {
            self.put(2, key, both);
        }
    }

    /// Puts a value at a key of a part; places of a sequence come in ascending order, and those left out are `nil`.
    fn put(&mut self, part: usize, key: Value, value: Value) {
        let part = &mut self.parts[part];
        match (&self.both[0], key) {
            (Value::Map(_), key) => {
                if part.is_nil() {
                    *part = Value::Map(Map::new());
                }
                if let Value::Map(map) = part {
                    map.insert(key, value);
                }
            }
            (_, Value::Int(place)) => {
                if part.is_nil() {
                    *part = Value::Vector(Vector::new());
                }
                if let Value::Vector(items) = part {
                    let skipped = usize::try_from(place).unwrap_or(0).saturating_sub(items.len());
                    if skipped > 0 {
                        items.append(&Vector::repeat(Value::Nil, skipped));
                    }
                    items.push(value);
                }
            }
            _ => {}
        }
    }
}

fn value_at(collection: &Value, key: &Value) -> Option<Value> {
    match collection {
        Value::Map(map) => map.get(key).cloned(),
        Value::Vector(items) => items.at(key),
        _ => None,
    }
}

/// The keys of both maps.
fn all_keys(ctx: &mut Ctx<'_>, a: &Map, b: &Map) -> Result<Vector> {
    let count = a.len() + b.len();
    ctx.charge(count)?;
    ctx.reserve(count.saturating_mul(2 * size_of::<Value>()))?;
    let mut keys: Vector = a.iter().map(|(key, _)| key.clone()).collect();
    for (key, _) in b.iter() {
        if a.get(key).is_none() {
            keys.push(key.clone());
        }
    }
    Ok(keys)
}

fn of_sets(ctx: &mut Ctx<'_>, a: &Set, b: &Set) -> Result<DiffParts> {
    let mut parts = [Set::new(), Set::new(), Set::new()];
    for item in a.iter() {
        ctx.charge(1)?;
        ctx.reserve(0)?;
        parts[if b.contains(item) { 2 } else { 0 }].insert(item.clone());
    }
    for item in b.iter() {
        ctx.charge(1)?;
        ctx.reserve(0)?;
        if !a.contains(item) {
            parts[1].insert(item.clone());
        }
    }
    Ok(parts.map(|part| if part.is_empty() { Value::Nil } else { Value::Set(part) }))
}

/// The parts of two values, or the level that has to be gone through for them.
fn compare(ctx: &mut Ctx<'_>, a: Value, b: Value) -> Result<std::result::Result<DiffParts, DiffLevel>> {
    ctx.charge(1)?;
    if equal(&a, &b) {
        return Ok(Ok([Value::Nil, Value::Nil, a]));
    }
    Ok(match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            let keys = all_keys(ctx, &a, &b)?;
            Err(DiffLevel::new([Value::Map(a), Value::Map(b)], keys)?)
        }
        (
            Value::Vector(a) | Value::List(a) | Value::Queue(a),
            Value::Vector(b) | Value::List(b) | Value::Queue(b),
        ) => {
            let places = Vector::range(0, 1, a.len().max(b.len()));
            Err(DiffLevel::new([Value::Vector(a), Value::Vector(b)], places)?)
        }
        (Value::Set(a), Value::Set(b)) => Ok(of_sets(ctx, &a, &b)?),
        (a, b) => Ok([a, b, Value::Nil]),
    })
}

/// `(clojure.data/diff a b)`
pub(super) fn diff(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Some(series) = args.iter().find(|arg| arg.is_endless()) {
        return Err(endless::error(series));
    }
    let mut levels: Vec<DiffLevel> = Vec::new();
    let mut pair = [take(&mut args[0]), take(&mut args[1])];
    loop {
        let [a, b] = pair;
        let mut found = match compare(ctx, a, b)? {
            Ok(parts) => Some(parts),
            Err(level) => {
                levels.push(level);
                None
            }
        };
        pair = loop {
            let Some(level) = levels.last_mut() else {
                return Ok(found.map(Value::vector).unwrap_or_default());
            };
            if let Some(parts) = found.take() {
                level.accept(parts);
            }
            if let Some(next) = level.next(ctx)? {
                break next;
            }
            found = levels.pop().map(|level| level.parts);
        };
    }
}
