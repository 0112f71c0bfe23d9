//! The number of an eval.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of an eval, unique in the process: joins log, trace, metrics and debug record. Callers see it, and shall not count the
/// evals of others by it: numbers come in no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvalId(u64);

impl EvalId {
    /// Another number.
    #[expect(clippy::new_without_default, reason = "each call gives another id, which no default should")]
    pub fn new() -> EvalId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        EvalId(permuted(NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The bare number, for places that have room for nothing else.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Appends its printed form.
    pub fn write(self, out: &mut Vec<u8>) {
        let digits = (16 - self.0.leading_zeros() as usize / 4).max(8);
        out.extend_from_slice(b"ev_");
        out.extend((0..digits).rev().map(|at| b"0123456789abcdef"[(self.0 >> (4 * at)) as usize & 15]));
    }

    /// The eval of that number.
    pub const fn from_number(number: u64) -> EvalId {
        EvalId(number)
    }
}

/// A permutation of the lower 32 bits that this process alone knows: three rounds of a Feistel network with a keyed hash, which nobody
/// who sees few of its values tells from a random one (Luby and Rackoff 1988).
fn permuted(number: u64) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let (mut left, mut right) = ((number >> 16) & 0xffff, number & 0xffff);
    for round in 0..3_u64 {
        let mixed = left ^ (KEY.hash_one(round << 16 | right) & 0xffff);
        (left, right) = (right, mixed);
    }
    number >> 32 << 32 | left << 16 | right
}

impl fmt::Display for EvalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ev_{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_it_is_printed() {
        for number in [0, 1, 0x2a, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let id = EvalId::from_number(number);
            let mut written = Vec::new();
            id.write(&mut written);
            assert_eq!(String::from_utf8(written).unwrap(), id.to_string());
        }
    }

    #[test]
    fn numbers_are_each_there_once_and_do_not_count() {
        let numbers: Vec<u64> = (0..10_000).map(permuted).collect();
        let distinct: std::collections::HashSet<_> = numbers.iter().collect();
        assert_eq!(distinct.len(), numbers.len());
        assert!(numbers.iter().all(|number| u32::try_from(*number).is_ok()));
        // By chance, one pair in two millions is as near as this.
        let near = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1_000).count();
        assert!(near < 10, "{near} of {} neighbours", numbers.len());
        assert_eq!(permuted(7 << 32 | 5) >> 32, 7);
    }
}
