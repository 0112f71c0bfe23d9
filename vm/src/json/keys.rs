//! Keys that a text repeats share one allocation.

use crate::value::Str;

/// Slots of the cache; a power of two.
const SLOTS: usize = 128;
/// Longest key that is kept.
const LONGEST: usize = 48;

/// The keys seen last, found by a hash of their text. The hash is fixed: a program's cost must not depend on a random seed.
#[derive(Default)]
pub(super) struct KeyCache(Vec<Option<Str>>);

impl KeyCache {
    /// The key of this text.
    pub(super) fn get(&mut self, name: &str) -> Str {
        if name.len() > LONGEST {
            return Str::new(name);
        }
        if self.0.is_empty() {
            self.0.resize(SLOTS, None);
        }
        let slot = &mut self.0[slot(name)];
        match slot {
            Some(key) if key.as_str() == name => key.clone(),
            slot => {
                let key = Str::new(name);
                *slot = Some(key.clone());
                key
            }
        }
    }
}

fn slot(name: &str) -> usize {
    // FNV-1a
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 32)) as usize % SLOTS
}
