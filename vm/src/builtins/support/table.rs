//! A hash table by identity (language.md 2.10), for counting, grouping and telling apart.

use crate::error::Result;
use crate::machine::{PartReader, PartWriter, Portable, RestoreError, SnapshotError};
use crate::meter;
use crate::value::{Map, Value, hash, identical};

struct TableEntry<T> {
    hash: u64,
    key: Value,
    value: T,
}

/// Values by key, in the order in which the keys came first.
///
/// Keys are compared only when their full hashes agree, so that the work, which counts as steps, does not depend
/// on where they lie in memory. Room is reserved before it is taken and charged while the table lives.
pub(crate) struct Table<T> {
    entries: Vec<TableEntry<T>>,
    /// The index of each entry, at the place that its hash names or after it. A power of two of places, at least half of them
    /// [`FREE`].
    places: Vec<u32>,
    charged: usize,
}

/// No index of an entry.
const FREE: u32 = u32::MAX;
/// Places of a table that has its first entry.
const FIRST_PLACES: usize = 8;

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { entries: Vec::new(), places: Vec::new(), charged: 0 }
    }
}

impl<T> Table<T> {
    /// Bytes for each entry: itself with the slack of a growing vector, and its places with theirs.
    const ENTRY: usize = 2 * size_of::<TableEntry<T>>() + 32;

    /// The value of `key`, made by `make` when the key is new; and whether it was.
    #[inline]
    pub(crate) fn entry(&mut self, key: Value, make: impl FnOnce() -> T) -> Result<(&mut T, bool)> {
        match self.find(&key)? {
            Ok(index) => {
                key.discard();
                Ok((&mut self.entries[index].value, false))
            }
            Err(hash) => self.add(hash, key, make()).map(|value| (value, true)),
        }
    }

    /// As [`entry`](Table::entry), for a key that is cloned only when it is new.
    #[inline]
    pub(crate) fn entry_of(&mut self, key: &Value, make: impl FnOnce() -> T) -> Result<&mut T> {
        match self.find(key)? {
            Ok(index) => Ok(&mut self.entries[index].value),
            Err(hash) => self.add(hash, key.clone(), make()),
        }
    }

    /// The index of the entry of `key`, or the hash of a key that has none.
    #[inline]
    fn find(&self, key: &Value) -> Result<std::result::Result<usize, u64>> {
        let hash = hash(key);
        meter::charge_steps(1)?;
        if self.places.is_empty() {
            return Ok(Err(hash));
        }
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let index = self.places[at] as usize;
            // Nothing lies at FREE.
            let Some(entry) = self.entries.get(index) else { return Ok(Err(hash)) };
            if entry.hash == hash && identical(&entry.key, key) {
                return Ok(Ok(index));
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(never)]
    fn add(&mut self, hash: u64, key: Value, value: T) -> Result<&mut T> {
        if self.entries.len() * Self::ENTRY >= self.charged {
            self.grow()?;
        }
        let index = self.entries.len();
        self.entries.push(TableEntry { hash, key, value });
        if self.places.len() < 2 * self.entries.len() {
            self.places = vec![FREE; (2 * self.places.len()).max(FIRST_PLACES)];
            for index in 0..index {
                self.place(index);
            }
        }
        self.place(index);
        Ok(&mut self.entries[index].value)
    }

    /// Puts the index of an entry to the first free place.
    fn place(&mut self, index: usize) {
        let mask = self.places.len() - 1;
        let mut at = self.entries[index].hash as usize & mask;
        while self.places[at] != FREE {
            at = (at + 1) & mask;
        }
        self.places[at] = index as u32;
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
    pub(crate) fn take_map(&mut self, mut finish: impl FnMut(T) -> Value) -> Result<Map> {
        let count = self.entries.len();
        meter::charge_steps(count as u64)?;
        meter::reserve(count * 2 * size_of::<Value>())?;
        self.places = Vec::new();
        let entries = std::mem::take(&mut self.entries);
        Ok(Map::from_entries(entries.into_iter().map(|entry| (entry.key, finish(entry.value))).collect()))
    }
}

/// The entries in the order in which their keys came.
impl<T: Portable> Portable for Table<T> {
    fn layout(out: &mut String) {
        out.push_str("table,");
        T::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.entries.len().write(to)?;
        self.entries.iter().try_for_each(|entry| {
            entry.key.write(to)?;
            entry.value.write(to)
        })
    }

    fn read(from: &mut PartReader<'_>) -> Result<Table<T>, RestoreError> {
        let mut table = Table::default();
        for _ in 0..from.count()? {
            let (key, value) = <(Value, T)>::read(from)?;
            let found = table.find(&key)?;
            from.check(found.is_err())?;
            if let Err(hash) = found {
                table.add(hash, key, value)?;
            }
        }
        Ok(table)
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
            for n in 0..3000 {
                let key = Value::Int(n % 1000);
                *if n < 1500 {
                    table.entry(key, || 0).unwrap().0
                } else {
                    table.entry_of(&key, || 0).unwrap()
                } += 1;
            }
            let map = table.take_map(Value::Int).unwrap();
            assert_eq!(map.len(), 1000);
            assert!((0..1000).all(|n| matches!(map.get(&Value::Int(n)), Some(Value::Int(3)))));
            assert!(table.entry(Value::Int(1), || 0).unwrap().1, "it is empty afterwards");
        }
        assert_eq!(account.live, 0);
        assert!(account.peak > 32_000);
    }

    #[test]
    fn a_table_is_read_as_it_was_written_and_takes_as_much() {
        let mut account = Account::new(1_000_000);
        let _installed = account.install();
        let mut table = Table::default();
        for n in 0..50 {
            table.entry(Value::Int(n % 17), || 0_usize).unwrap();
        }
        let read = crate::machine::testing::round_trip(&table).unwrap();
        assert_eq!(read.charged, table.charged);
        assert!(read.entries.iter().zip(&table.entries).all(|(a, b)| identical(&a.key, &b.key)));
        let twice = Table {
            entries: vec![
                TableEntry { hash: 0, key: Value::Int(1), value: () },
                TableEntry { hash: 0, key: Value::Int(1), value: () },
            ],
            places: Vec::new(),
            charged: 0,
        };
        assert!(crate::machine::testing::round_trip(&twice).is_err(), "a key is there once");
    }

    #[test]
    fn growth_stops_at_the_memory_limit() {
        let mut account = Account::new(10_000);
        let _installed = account.install();
        let mut table = Table::default();
        assert!((0..10_000).any(|n| table.entry(Value::Int(n), || ()).is_err()));
    }
}
