//! The number of an eval.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of an eval, unique in the process: joins log, trace, metrics and debug record.
///
/// Its order is that of the evals. What is printed is another number, by a permutation of this process: callers see ids, and shall
/// not count the evals of others by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EvalId(u64);

impl EvalId {
    /// The next number.
    #[expect(clippy::new_without_default, reason = "each call gives another id, which no default should")]
    pub fn new() -> EvalId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        EvalId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The bare number, for places that have room for nothing else.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Appends its printed form.
    pub fn write(self, out: &mut Vec<u8>) {
        let printed = self.printed();
        let digits = (16 - printed.leading_zeros() as usize / 4).max(8);
        out.extend_from_slice(b"ev_");
        out.extend((0..digits).rev().map(|at| b"0123456789abcdef"[(printed >> (4 * at)) as usize & 15]));
    }

    /// The number that is printed: the lower 32 bits go through three rounds of a Feistel network whose function is keyed by this
    /// process, which no number of ids tells from a random permutation (Luby and Rackoff 1988).
    pub fn printed(self) -> u64 {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let (mut left, mut right) = ((self.0 >> 16) & 0xffff, self.0 & 0xffff);
        for round in 0..3_u64 {
            let mixed = left ^ (KEY.hash_one(round << 16 | right) & 0xffff);
            (left, right) = (right, mixed);
        }
        self.0 >> 32 << 32 | left << 16 | right
    }

    /// The eval of that number.
    pub const fn from_number(number: u64) -> EvalId {
        EvalId(number)
    }
}

impl fmt::Display for EvalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ev_{:08x}", self.printed())
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
    fn printed_ids_are_each_there_once_and_do_not_count() {
        let printed: Vec<u64> = (0..10_000).map(|number| EvalId::from_number(number).printed()).collect();
        let distinct: std::collections::HashSet<_> = printed.iter().collect();
        assert_eq!(distinct.len(), printed.len());
        assert!(printed.iter().all(|id| u32::try_from(*id).is_ok()));
        // By chance, one pair in two millions is as near as this.
        let near = printed.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1_000).count();
        assert!(near < 10, "{near} of {} neighbours", printed.len());
        let late = EvalId::from_number(7 << 32 | 5).printed();
        assert_eq!(late >> 32, 7);
    }
}
