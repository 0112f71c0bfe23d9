//! A hash table by identity (language.md 2.10), for counting, grouping and telling apart.

use crate::error::Result;
use crate::meter;
use crate::value::{Map, Value, hash, identical};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes the hash of a value as it is.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only 64-bit hashes are written")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

struct Entry<T> {
    key: Value,
    value: T,
    /// The entry before this one with the same hash.
    before: Option<u32>,
}

/// Where a new entry belongs.
struct Place {
    hash: u64,
    /// The last entry with that hash.
    before: Option<u32>,
}

/// Values by key, in the order in which the keys came first.
///
/// Keys are compared only when their full hashes agree, so that the work, which counts as steps, does not depend
/// on where they lie in memory. Room is reserved before it is taken and charged while the table lives.
pub struct Table<T> {
    entries: Vec<Entry<T>>,
    /// The last entry of each hash.
    heads: HashMap<u64, u32, BuildHasherDefault<Ready>>,
    charged: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { entries: Vec::new(), heads: HashMap::default(), charged: 0 }
    }
}

impl<T> Table<T> {
    /// Bytes for each entry: itself with the slack of a growing vector, and a slot of the hash map.
    const ENTRY: usize = 2 * size_of::<Entry<T>>() + 32;

    /// The value of `key`, made by `make` when the key is new; and whether it was.
    #[inline]
    pub fn entry(&mut self, key: Value, make: impl FnOnce() -> T) -> Result<(&mut T, bool)> {
        match self.find(&key)? {
            Ok(index) => {
                key.discard();
                Ok((&mut self.entries[index].value, false))
            }
            Err(place) => self.add(key, make(), place).map(|value| (value, true)),
        }
    }

    /// As [`entry`](Table::entry), for a key that is cloned only when it is new.
    #[inline]
    pub fn entry_of(&mut self, key: &Value, make: impl FnOnce() -> T) -> Result<&mut T> {
        match self.find(key)? {
            Ok(index) => Ok(&mut self.entries[index].value),
            Err(place) => self.add(key.clone(), make(), place),
        }
    }

    /// Where the entry of `key` is, or where it belongs.
    #[inline]
    fn find(&self, key: &Value) -> Result<std::result::Result<usize, Place>> {
        let hash = hash(key);
        meter::charge_steps(1)?;
        let head = self.heads.get(&hash).copied();
        let mut at = head;
        while let Some(index) = at {
            let index = index as usize;
            let entry = &self.entries[index];
            if identical(&entry.key, key) {
                return Ok(Ok(index));
            }
            at = entry.before;
        }
        Ok(Err(Place { hash, before: head }))
    }

    #[inline(never)]
    fn add(&mut self, key: Value, value: T, place: Place) -> Result<&mut T> {
        if self.entries.len() * Self::ENTRY >= self.charged {
            self.grow()?;
        }
        let index = self.entries.len();
        self.heads.insert(place.hash, index as u32);
        self.entries.push(Entry { key, value, before: place.before });
        Ok(&mut self.entries[index].value)
    }

    /// Charges for twice as many entries.
    #[cold]
    fn grow(&mut self) -> Result<()> {
        let more = self.entries.len().max(4) * Self::ENTRY;
        meter::reserve(more)?;
        meter::charge_memory(more);
        self.charged += more;
        Ok(())
    }

    /// The entries as a map, with values made by `finish`; the table is empty afterwards.
    pub fn take_map(&mut self, mut finish: impl FnMut(T) -> Value) -> Result<Map> {
        let count = self.entries.len();
        meter::charge_steps(count as u64)?;
        meter::reserve(count * 2 * size_of::<Value>())?;
        self.heads = HashMap::default();
        let entries = std::mem::take(&mut self.entries);
        Ok(Map::from_entries(entries.into_iter().map(|entry| (entry.key, finish(entry.value))).collect()))
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;

    #[test]
    fn keys_are_told_apart_by_identity() {
        let mut table = Table::default();
        let keys = [Value::Int(1), Value::str("a"), Value::Int(1), Value::keyword("a"), Value::str("a")];
        let fresh: Vec<bool> = keys.into_iter().map(|key| table.entry(key, || ()).unwrap().1).collect();
        assert_eq!(fresh, [true, true, false, true, false]);
    }

    #[test]
    fn a_table_is_charged_and_given_back() {
        let mut account = Account::new(1_000_000);
        {
            let _installed = account.install();
            let mut table = Table::default();
            for n in 0..1000 {
                *table.entry(Value::Int(n), || 0).unwrap().0 += 1;
            }
            let map = table.take_map(Value::Int).unwrap();
            assert_eq!(map.len(), 1000);
        }
        assert_eq!(account.live, 0);
        assert!(account.peak > 32_000);
    }

    #[test]
    fn growth_stops_at_the_memory_limit() {
        let mut account = Account::new(10_000);
        let _installed = account.install();
        let mut table = Table::default();
        assert!((0..10_000).any(|n| table.entry(Value::Int(n), || ()).is_err()));
    }
}
