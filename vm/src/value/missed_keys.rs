//! Reads of keys that a tool's result does not have (ruling 76).

use super::{Shape, Value};
use std::cell::RefCell;

/// Misses that one program keeps.
const MOST: usize = 8;
/// Longest name that is kept, in bytes: what is longer is data.
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
        let (name, is_keyword) = match key {
            Value::Keyword(keyword) => (keyword.name(), true),
            Value::Str(text) => (text.as_str(), false),
            _ => return None,
        };
        (name.len() <= LONGEST).then(|| KeyName { name: name.to_owned(), is_keyword })
    }

    fn is(&self, key: &Value) -> bool {
        match key {
            Value::Keyword(keyword) => self.is_keyword && keyword.name() == self.name,
            Value::Str(text) => !self.is_keyword && text.as_str() == self.name,
            _ => false,
        }
    }
}

/// What a program missed, and the names that there were.
#[derive(Debug, Default)]
pub(crate) struct Missed {
    keys: Vec<MissedKey>,
    /// How often each of them was looked for, as far as that is counted.
    reads: Vec<u8>,
    names: Names,
}

/// The names of the keys of replies: a Bloom filter with two bits for each, so that a name which it does not have was nowhere.
#[derive(Debug, Default)]
struct Names {
    bits: [u64; WORDS],
    has_some: bool,
}

impl Names {
    /// All names.
    const FULL: Names = Names { bits: [u64::MAX; WORDS], has_some: true };

    fn add(&mut self, name: &str) {
        for (word, bit) in places(name) {
            self.bits[word] |= bit;
        }
        self.has_some = true;
    }

    fn are_without(&self, name: &str) -> bool {
        places(name).iter().any(|(word, bit)| self.bits[*word] & bit == 0)
    }

    fn join(&mut self, other: &Names) {
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

impl Missed {
    /// What was missed before a program was stored; which names there were is not known.
    pub(crate) fn restored(keys: Vec<MissedKey>) -> Missed {
        Missed { reads: vec![OF_ROWS; keys.len()], keys, names: Names::FULL }
    }

    /// The keys, in the order in which they were missed first.
    pub(crate) fn keys(&self) -> &[MissedKey] {
        &self.keys
    }

    /// All of them, and those that were looked for in rows and that no reply has.
    pub(crate) fn into_parts(self) -> (Vec<MissedKey>, Vec<MissedKey>) {
        let nowhere = self.keys.iter().zip(&self.reads);
        let nowhere =
            nowhere.filter(|(miss, reads)| **reads >= OF_ROWS && self.names.are_without(&miss.key.name));
        let nowhere = nowhere.map(|(miss, _)| miss.clone()).collect();
        (self.keys, nowhere)
    }

    fn note(&mut self, shape: &Shape, key: &Value) {
        // Most reads in vain are those of one list's rows.
        if let Some(at) = self.keys.iter().position(|known| known.key.is(key) && known.is_of(shape)) {
            self.reads[at] = self.reads[at].saturating_add(1);
        } else if self.keys.len() < MOST
            && let Some(key) = KeyName::of(key)
        {
            let keys: Option<Vec<KeyName>> = shape.keys().iter().map(KeyName::of).collect();
            self.keys.push(MissedKey { key, keys: keys.unwrap_or_default() });
            self.reads.push(1);
        }
    }

    fn add(&mut self, miss: MissedKey, reads: u8) {
        match self.keys.iter().position(|known| *known == miss) {
            Some(at) => self.reads[at] = self.reads[at].saturating_add(reads),
            None if self.keys.len() < MOST => {
                self.keys.push(miss);
                self.reads.push(reads);
            }
            None => {}
        }
    }
}

thread_local! {
    /// What the machine that runs on this thread has missed since the last [`take`].
    static MISSED: RefCell<Missed> = RefCell::default();
}

/// Notes that `key` was looked for in a map of a reply, which has the keys of `shape`.
#[cold]
pub(super) fn note(shape: &Shape, key: &Value) {
    let name = match key {
        Value::Keyword(keyword) => keyword.name(),
        Value::Str(text) => text.as_str(),
        _ => return,
    };
    let of_result = || shape.keys().iter().any(|key| matches!(key, Value::Keyword(_)));
    if name.len() > LONGEST || (OF_RESULTS.contains(&name) && of_result()) {
        return;
    }
    MISSED.with_borrow_mut(|missed| missed.note(shape, key));
}

/// Notes that maps of replies have the keys of `shape`. Keywords are those of the results of calls, which are not told of.
pub(in crate::value) fn note_names(shape: &Shape) {
    MISSED.with_borrow_mut(|missed| {
        for key in shape.keys() {
            match key {
                Value::Str(name) if name.as_str().len() <= LONGEST => missed.names.add(name.as_str()),
                _ => {}
            }
        }
    });
}

/// Makes `missed` what has been missed, and gives what was: a pause puts away what belongs to the machine that pauses.
pub(crate) fn replace(missed: Missed) -> Missed {
    MISSED.replace(missed)
}

/// Moves what was missed into `all`, which keeps the first few.
pub(crate) fn take(all: &mut Missed) {
    MISSED.with_borrow_mut(|missed| {
        if missed.names.has_some {
            all.names.join(&std::mem::take(&mut missed.names));
        }
        for (miss, reads) in missed.keys.drain(..).zip(missed.reads.drain(..)) {
            all.add(miss, reads);
        }
    });
}
