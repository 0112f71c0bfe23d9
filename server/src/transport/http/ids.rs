//! Ids of requests that bring none.
//!
//! They are told apart by them in logs, nobody is trusted for knowing one. So they cost no call of the system: a count
//! from a random beginning, spread over all digits.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

/// What one id is from the next before spreading: odd, so that the count comes to every number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// An id that no other request of this process has, and hardly one of another process: 16 hexadecimal digits.
pub(super) fn next() -> HeaderValue {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| {
        let mut seed = [0; 8];
        // Without entropy ids are still unique within the process.
        let _ = getrandom::fill(&mut seed);
        AtomicU64::new(u64::from_ne_bytes(seed))
    });
    let id = spread(NEXT.fetch_add(STEP, Ordering::Relaxed));
    let digits: [u8; 16] = std::array::from_fn(|at| b"0123456789abcdef"[(id >> (60 - 4 * at)) as usize & 15]);
    // Digits are visible ASCII.
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("-"))
}

/// The finalizer of SplitMix64, which takes no two numbers to one.
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
        let ids: HashSet<_> = (0..1000).map(|_| next()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            let text = id.to_str().unwrap();
            assert!(text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        }
    }
}
