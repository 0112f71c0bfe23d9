//! Paths into nested maps and vectors, for `assoc-in` and `update-in`.

use super::write::{put, writable_index};
use crate::builtins::support::{MemoryCharge, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, portable};
use crate::print;
use crate::value::{Map, Value, Vector, VectorIter};

/// The collections on a path, each without the next one on the path, so that the next one has a single owner and can be changed
/// in place.
pub(crate) struct Levels(Vec<(PathLevel, MemoryCharge)>);

portable!(Levels(levels));

enum PathLevel {
    Map(Map, Value),
    Vector(Vector, usize),
}

portable!(enum PathLevel { 0: Map(map, key), 1: Vector(vector, index) }
    if |level: &PathLevel| !matches!(level, PathLevel::Vector(vector, index) if *index > vector.len()));

impl Levels {
    /// Goes down `path` from `root`: returns the collections on it, and the value at its end, or `nil`.
    ///
    /// Maps are entered under the key that a read would find; a missing value or `nil` counts as an empty map. `types` makes
    /// the error for a root that has no keys and for an invalid index of a vector.
    pub(super) fn descend(
        ctx: &mut Ctx<'_>,
        name: &str,
        root: Value,
        path: VectorIter,
        types: impl Fn() -> Error,
    ) -> Result<(Levels, Value)> {
        let mut found = Levels(Vec::new());
        let mut here = root;
        let mut above: Option<Value> = None;
        for step in path {
            ctx.charge(2)?;
            let room = MemoryCharge::new(2 * size_of::<(PathLevel, MemoryCharge)>())?;
            let (level, next) = match here {
                Value::Map(map) => enter_map(map, step.clone()),
                Value::Nil => (PathLevel::Map(Map::new(), step.clone()), Value::Nil),
                Value::Vector(mut vector) => {
                    let index = writable_index(&vector, &step, &types)?;
                    let next = vector.take(index).unwrap_or_default();
                    (PathLevel::Vector(vector, index), next)
                }
                Value::List(_) | Value::Queue(_) => return Err(errors::no_index(name)),
                _ => {
                    let Some(above) = above else { return Err(types()) };
                    let text = format!(
                        "could not put/update key {} on a non-map value",
                        print::readable_lossy(&above)
                    );
                    return Err(Error::runtime(text));
                }
            };
            found.0.push((level, room));
            here = next;
            above = Some(step);
        }
        Ok((found, here))
    }

    /// Puts `value` at the end of the path: the root with it inside.
    pub(super) fn ascend(mut self, value: Value) -> Value {
        let mut here = value;
        while let Some((level, _room)) = self.0.pop() {
            here = match level {
                PathLevel::Map(mut map, key) => {
                    map.insert(key, here);
                    Value::Map(map)
                }
                PathLevel::Vector(mut vector, index) => {
                    put(&mut vector, index, here);
                    Value::Vector(vector)
                }
            };
        }
        here
    }
}

/// A map without the value that a read of `key` finds, and that value.
fn enter_map(mut map: Map, key: Value) -> (PathLevel, Value) {
    match map.key_flexible(&key) {
        Some(key) => {
            let value = map.take(&key).unwrap_or_default();
            (PathLevel::Map(map, key), value)
        }
        None => (PathLevel::Map(map, key), Value::Nil),
    }
}

/// The steps of a path argument; an empty path and `nil` are the one key `nil`.
pub(super) fn steps(name: &str, path: &Value, types: impl Fn() -> Error) -> Result<VectorIter> {
    match path {
        Value::Vector(path) | Value::List(path) if !path.is_empty() => Ok(path.iter()),
        Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Nil => {
            Ok(Vector::from_vec(vec![Value::Nil]).into_iter())
        }
        other if other.is_seqable() => Err(types()),
        other => Err(Error::argument(name, 2, "seqable", other)),
    }
}
