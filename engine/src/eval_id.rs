//! The number of an eval.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of an eval, unique in the process: joins log, trace, metrics and debug record.
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
        let digits = (16 - self.0.leading_zeros() as usize / 4).max(8);
        out.extend_from_slice(b"ev_");
        out.extend((0..digits).rev().map(|at| b"0123456789abcdef"[(self.0 >> (4 * at)) as usize & 15]));
    }

    /// The eval of that number.
    pub const fn from_number(number: u64) -> EvalId {
        EvalId(number)
    }
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
}
