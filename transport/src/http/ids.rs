//! Ids for requests that carry none.
//!
//! They distinguish requests in logs; knowing one grants no trust. They therefore cost no system call: each is a
//! counter with a random start, spread over all digits.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

/// The difference between consecutive ids before spreading: odd, so that the counter reaches every number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Numbers that a thread takes at a time.
const TAKEN: u64 = 1024;

/// An id that is unique in this process, and almost certainly among processes: 16 hexadecimal digits.
pub(super) fn next() -> HeaderValue {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| {
        let mut seed = [0; 8];
        // Without entropy ids are still unique within the process.
        let _ = getrandom::fill(&mut seed);
        AtomicU64::new(u64::from_ne_bytes(seed))
    });
    thread_local! {
        /// The numbers that this thread has taken and not yet used, so that threads seldom contend for the counter.
        static OWN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    let (next, left) = match OWN.get() {
        (_, 0) => (NEXT.fetch_add(STEP.wrapping_mul(TAKEN), Ordering::Relaxed), TAKEN),
        own => own,
    };
    OWN.set((next.wrapping_add(STEP), left - 1));
    let id = spread(next);
    let digits: [u8; 16] = std::array::from_fn(|at| b"0123456789abcdef"[(id >> (60 - 4 * at)) as usize & 15]);
    // Digits are visible ASCII.
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("-"))
}

/// The finalizer of SplitMix64, which maps no two numbers to one.
fn spread(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_are_digits() {
        let some = || (0..2 * TAKEN).map(|_| next()).collect::<Vec<_>>();
        let other = std::thread::spawn(some);
        let own = some();
        let ids: HashSet<_> = own.into_iter().chain(other.join().unwrap()).collect();
        assert_eq!(ids.len() as u64, 4 * TAKEN);
        for id in ids {
            let text = id.to_str().unwrap();
            assert!(text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        }
    }
}
