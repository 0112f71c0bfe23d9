//! Reads of keys that a tool's result does not have (ruling 76).

use super::{Shape, Value};
use std::cell::RefCell;

/// Misses that one program keeps.
const MOST: usize = 8;
/// Longest name that is kept, in bytes: what is longer is data.
const LONGEST: usize = 64;
/// Members of the result of a call that a program may look for in vain.
const OF_RESULTS: [&str; 8] = ["ok", "value", "value_kind", "reason", "message", "content", "data", "raw"];

/// A key that a program looked for in a map of a tool's result, which has others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedKey {
    /// The key.
    pub key: KeyName,
    /// The keys that the map has, in order; empty if one of them is no name.
    pub keys: Vec<KeyName>,
}

/// A key that is a string or a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// Without the colon of a keyword.
    pub name: String,
    /// Whether it is a keyword.
    pub is_keyword: bool,
}

impl KeyName {
    fn of(key: &Value) -> Option<KeyName> {
        let (name, is_keyword) = match key {
            Value::Keyword(keyword) => (keyword.name(), true),
            Value::Str(text) => (text.as_str(), false),
            _ => return None,
        };
        (name.len() <= LONGEST).then(|| KeyName { name: name.to_owned(), is_keyword })
    }
}

thread_local! {
    /// What the machine that runs on this thread has missed since the last [`take`].
    static MISSED: RefCell<Vec<MissedKey>> = const { RefCell::new(Vec::new()) };
}

/// Notes that `key` was looked for in a map of a reply, which has the keys of `shape`.
#[cold]
pub(super) fn note(shape: &Shape, key: &Value) {
    let Some(key) = KeyName::of(key) else { return };
    let of_result = shape.keys().iter().any(|key| matches!(key, Value::Keyword(_)));
    if of_result && OF_RESULTS.contains(&key.name.as_str()) {
        return;
    }
    MISSED.with_borrow_mut(|missed| {
        if missed.len() == MOST {
            return;
        }
        let keys: Option<Vec<KeyName>> = shape.keys().iter().map(KeyName::of).collect();
        let miss = MissedKey { key, keys: keys.unwrap_or_default() };
        if !missed.contains(&miss) {
            missed.push(miss);
        }
    });
}

/// Makes `missed` what has been missed, and gives what was: a pause puts away what belongs to the machine that pauses.
pub(crate) fn replace(missed: Vec<MissedKey>) -> Vec<MissedKey> {
    MISSED.replace(missed)
}

/// Moves what was missed into `all`, which keeps the first few.
pub(crate) fn take(all: &mut Vec<MissedKey>) {
    MISSED.with_borrow_mut(|missed| {
        for miss in missed.drain(..) {
            if all.len() < MOST && !all.contains(&miss) {
                all.push(miss);
            }
        }
    });
}
