//! Reads of keys that a tool's result does not have (ruling 76).

use super::{Shape, Value};
use std::cell::RefCell;

/// Misses that one program keeps.
const MOST: usize = 8;
/// Longest name that is kept, in bytes: longer ones are data.
const LONGEST: usize = 64;
/// Reads in vain from which on a key is looked for in rows.
const OF_ROWS: u8 = 3;
/// Words of the filter of names.
const WORDS: usize = 16;
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

impl MissedKey {
    /// Whether the map that it was missed in has the keys of `shape`.
    fn is_of(&self, shape: &Shape) -> bool {
        let keys = shape.keys();
        if self.keys.is_empty() {
            return keys.iter().any(|key| KeyName::of(key).is_none());
        }
        self.keys.len() == keys.len() && self.keys.iter().zip(keys).all(|(known, key)| known.is(key))
    }
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
        name_of(key).map(|(name, is_keyword)| KeyName { name: name.to_owned(), is_keyword })
    }

    fn is(&self, key: &Value) -> bool {
        name_of(key) == Some((&self.name, self.is_keyword))
    }
}

/// The name of a string or a keyword, if it is short enough for one, and whether it is a keyword.
fn name_of(key: &Value) -> Option<(&str, bool)> {
    let (name, is_keyword) = match key {
        Value::Keyword(keyword) => (keyword.name(), true),
        Value::Str(text) => (text.as_str(), false),
        _ => return None,
    };
    (name.len() <= LONGEST).then_some((name, is_keyword))
}

/// The keys that a program missed, and the names that there were.
#[derive(Debug, Default)]
pub(crate) struct MissedKeys {
    /// In the order in which they were missed first, with how often they were looked for.
    keys: Vec<(MissedKey, u8)>,
    names: KeyFilter,
}

/// The names of the keys of replies: a Bloom filter with two bits for each, so that a name which it does not have was nowhere.
#[derive(Debug, Default)]
struct KeyFilter {
    bits: [u64; WORDS],
    has_some: bool,
}

impl KeyFilter {
    /// All names.
    const FULL: KeyFilter = KeyFilter { bits: [u64::MAX; WORDS], has_some: true };

    fn add(&mut self, name: &str) {
        for (word, bit) in places(name) {
            self.bits[word] |= bit;
        }
        self.has_some = true;
    }

    fn are_without(&self, name: &str) -> bool {
        places(name).iter().any(|(word, bit)| self.bits[*word] & bit == 0)
    }

    fn join(&mut self, other: &KeyFilter) {
        self.bits.iter_mut().zip(other.bits).for_each(|(ours, theirs)| *ours |= theirs);
        self.has_some |= other.has_some;
    }
}

/// The places of a name in the filter: alike for `-` and `_`, since a read of one finds the other. FNV-1a.
fn places(name: &str) -> [(usize, u64); 2] {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        let byte = if byte == b'-' { b'_' } else { byte };
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    [hash >> 32, hash].map(|half| ((half >> 6) as usize % WORDS, 1 << (half % 64)))
}

impl MissedKeys {
    /// The keys missed before a program was stored; the names that there were are unknown.
    pub(crate) fn restored(keys: Vec<MissedKey>) -> MissedKeys {
        MissedKeys { keys: keys.into_iter().map(|key| (key, 0)).collect(), names: KeyFilter::FULL }
    }

    /// The keys, in the order in which they were missed first.
    pub(crate) fn keys(&self) -> Vec<MissedKey> {
        self.keys.iter().map(|(miss, _)| miss.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// All of them, and those that were looked for in rows and that no reply has.
    pub(crate) fn into_parts(self) -> (Vec<MissedKey>, Vec<MissedKey>) {
        let is_nowhere =
            |(miss, reads): &&(MissedKey, u8)| *reads >= OF_ROWS && self.names.are_without(&miss.key.name);
        let nowhere = self.keys.iter().filter(is_nowhere).map(|(miss, _)| miss.clone()).collect();
        (self.keys.into_iter().map(|(miss, _)| miss).collect(), nowhere)
    }

    fn note(&mut self, shape: &Shape, key: &Value) {
        // Most reads in vain are those of one list's rows.
        let known = self.keys.iter_mut().find(|(known, _)| known.key.is(key) && known.is_of(shape));
        if let Some((_, reads)) = known {
            *reads = reads.saturating_add(1);
        } else if self.keys.len() < MOST
            && let Some(key) = KeyName::of(key)
        {
            let keys: Option<Vec<KeyName>> = shape.keys().iter().map(KeyName::of).collect();
            self.keys.push((MissedKey { key, keys: keys.unwrap_or_default() }, 1));
        }
    }

    fn add(&mut self, miss: MissedKey, reads: u8) {
        if let Some((_, before)) = self.keys.iter_mut().find(|(known, _)| *known == miss) {
            *before = before.saturating_add(reads);
        } else if self.keys.len() < MOST {
            self.keys.push((miss, reads));
        }
    }
}

thread_local! {
    /// The keys that the machine on this thread has missed since the last [`take`].
    static MISSED: RefCell<MissedKeys> = RefCell::default();
}

/// Notes that `key` was looked for in a map of a reply, which has the keys of `shape`.
#[cold]
pub(super) fn note(shape: &Shape, key: &Value) {
    let Some((name, _)) = name_of(key) else { return };
    let of_result = || shape.keys().iter().any(|key| matches!(key, Value::Keyword(_)));
    if OF_RESULTS.contains(&name) && of_result() {
        return;
    }
    MISSED.with_borrow_mut(|missed| missed.note(shape, key));
}

/// Notes that maps of replies have the keys of `shape`. Keywords belong to the results of calls, which are not reported.
pub(in crate::value) fn note_names(shape: &Shape) {
    MISSED.with_borrow_mut(|missed| {
        for key in shape.keys() {
            if let Some((name, false)) = name_of(key) {
                missed.names.add(name);
            }
        }
    });
}

/// Replaces the missed keys by `missed`, and returns the former: a pause puts away the state of the machine that pauses.
pub(crate) fn replace(missed: MissedKeys) -> MissedKeys {
    MISSED.replace(missed)
}

/// Moves the missed keys into `all`, which keeps the first few.
pub(crate) fn take(all: &mut MissedKeys) {
    MISSED.with_borrow_mut(|missed| {
        if missed.names.has_some {
            all.names.join(&std::mem::take(&mut missed.names));
        }
        missed.keys.drain(..).for_each(|(miss, reads)| all.add(miss, reads));
    });
}
