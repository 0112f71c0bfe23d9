//! One open collection of a walk over a value, on an explicit stack instead of the native one.

use crate::value::{MapIter, SetIter, Value, VectorIter};

/// Deepest nesting that is printed or written as JSON.
pub const MAX_DEPTH: usize = 10_000;

/// A vector, list, set or map whose elements are being visited. A map gives keys and values in turn.
pub(crate) struct PrintLevel {
    items: LevelItems,
    total: usize,
    /// Elements, or keys, given so far.
    given: usize,
    /// Whether anything has been given.
    started: bool,
}

enum LevelItems {
    Vector(VectorIter),
    List(VectorIter),
    Set(SetIter),
    Map {
        entries: MapIter,
        /// Key and value of the entry whose key has been given.
        key: Value,
        value: Option<Value>,
    },
}

/// Whether a [`PrintLevel`] can be opened on it.
pub(crate) fn is_collection(value: &Value) -> bool {
    matches!(value, Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_) | Value::Map(_))
}

impl PrintLevel {
    /// Opens a collection; `None` for other values.
    pub(crate) fn of(value: &Value) -> Option<PrintLevel> {
        let (items, total) = match value {
            Value::Vector(v) => (LevelItems::Vector(v.clone().into_iter()), v.len()),
            Value::List(v) | Value::Queue(v) => (LevelItems::List(v.clone().into_iter()), v.len()),
            Value::Set(s) => (LevelItems::Set(s.clone().into_iter()), s.len()),
            Value::Map(m) => {
                (LevelItems::Map { entries: m.clone().into_iter(), key: Value::Nil, value: None }, m.len())
            }
            _ => return None,
        };
        Some(PrintLevel { items, total, given: 0, started: false })
    }

    /// The next element, key or value.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let next = match &mut self.items {
            LevelItems::Vector(items) | LevelItems::List(items) => items.next(),
            LevelItems::Set(items) => items.next(),
            LevelItems::Map { entries, key, value } => {
                if let Some(value) = value.take() {
                    return Some(value);
                }
                entries.next().map(|(k, v)| {
                    *key = k.clone();
                    *value = Some(v);
                    k
                })
            }
        };
        if next.is_some() {
            self.given += 1;
            self.started = true;
        }
        next
    }

    /// Whether anything has been given.
    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// Elements or entries of the collection.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Elements or entries that have been given, the last one perhaps in part.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// Whether the last thing given was the key of an entry whose value comes next.
    pub(crate) fn at_key(&self) -> bool {
        matches!(&self.items, LevelItems::Map { value: Some(_), .. })
    }

    /// The key of the current entry of a map.
    pub(crate) fn key(&self) -> Option<&Value> {
        match &self.items {
            LevelItems::Map { key, .. } if self.given > 0 => Some(key),
            _ => None,
        }
    }

    /// Whether this is a map.
    pub(crate) fn is_map(&self) -> bool {
        matches!(&self.items, LevelItems::Map { .. })
    }

    pub(crate) fn opening(&self) -> &'static str {
        match &self.items {
            LevelItems::Vector(_) => "[",
            LevelItems::List(_) => "(",
            LevelItems::Set(_) => "#{",
            LevelItems::Map { .. } => "{",
        }
    }

    pub(crate) fn closing(&self) -> char {
        match &self.items {
            LevelItems::Vector(_) => ']',
            LevelItems::List(_) => ')',
            LevelItems::Set(_) | LevelItems::Map { .. } => '}',
        }
    }
}
