//! The search for a long text, which others may interrupt anywhere.
//!
//! By a rolling hash (Karp and Rabin): the hash of each stretch as long as the needle follows from that of the stretch before.
//! Where it is the wanted one, the bytes are compared, so that the answer never depends on the hash. The base is the thread's
//! own, so that texts with many colliding hashes cannot be constructed.

use crate::meter;
use ahash::RandomState;

/// The prime 2⁶¹ − 1.
const MODULUS: u64 = (1 << 61) - 1;
/// Bytes that are hashed between two places where others may have the thread: some ten microseconds.
const PIECE: usize = 4 << 10;
/// Hashed bytes that count as one unit of work.
const BYTES_PER_UNIT: usize = 2;
/// Bytes that are compared between two such places.
const COMPARED: usize = 64 << 10;

thread_local! {
    static BASE: u64 = 256 + RandomState::new().hash_one(PIECE) % (MODULUS - 256);
}

/// Which end a search begins at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchEnd {
    Start,
    End,
}

fn remainder(x: u128) -> u64 {
    let folded = (x as u64 & MODULUS) + (x >> 61) as u64;
    if folded >= MODULUS { folded - MODULUS } else { folded }
}

fn product(a: u64, b: u64) -> u64 {
    remainder(u128::from(a) * u128::from(b))
}

fn power(mut base: u64, mut exponent: usize) -> u64 {
    let mut power = 1;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = product(power, base);
        }
        base = product(base, base);
        exponent /= 2;
    }
    power
}

/// Bytes in the order in which they are searched.
#[derive(Clone, Copy)]
struct Bytes<'t> {
    bytes: &'t [u8],
    from: SearchEnd,
}

impl<'t> Bytes<'t> {
    #[inline(always)]
    fn get(self, index: usize) -> u64 {
        u64::from(match self.from {
            SearchEnd::Start => self.bytes[index],
            SearchEnd::End => self.bytes[self.bytes.len() - 1 - index],
        })
    }

    /// The hash of the first `count` bytes.
    fn hash(self, base: u64, count: usize) -> u64 {
        (0..count).fold(0, |hash, at| {
            if at % PIECE == 0 {
                meter::uncharged(PIECE / BYTES_PER_UNIT);
            }
            remainder(u128::from(hash) * u128::from(base) + u128::from(self.get(at)))
        })
    }

    /// Where the `count` bytes from `at` on begin in the text.
    fn start(self, at: usize, count: usize) -> usize {
        match self.from {
            SearchEnd::Start => at,
            SearchEnd::End => self.bytes.len() - at - count,
        }
    }
}

/// Whether two texts are the same.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.chunks(COMPARED).zip(b.chunks(COMPARED)).all(|(a, b)| {
            meter::uncharged(a.len() / 64);
            a == b
        })
}

/// The byte of `text` where `wanted`, which is not empty, occurs first, or last.
pub(super) fn find(text: &str, wanted: &str, from: SearchEnd) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let count = wanted.len();
    let last = text.len().checked_sub(count)?;
    let base = BASE.with(|base| *base);
    let (bytes, goal) = (Bytes { bytes: text, from }, Bytes { bytes: wanted, from }.hash(base, count));
    // What a byte that leaves the stretch is worth, as what is added for that.
    let lead = power(base, count);
    let gone: [u64; 256] = std::array::from_fn(|byte| MODULUS - product(byte as u64, lead));
    let mut hash = bytes.hash(base, count);
    for at in 0..=last {
        if at % PIECE == 0 {
            meter::uncharged(PIECE / BYTES_PER_UNIT);
        }
        if hash == goal {
            let start = bytes.start(at, count);
            if same(&text[start..start + count], wanted) {
                return Some(start);
            }
        }
        if at < last {
            let (leaves, comes) = (gone[bytes.get(at) as usize], bytes.get(at + count));
            hash = remainder(u128::from(hash) * u128::from(base) + u128::from(leaves) + u128::from(comes));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_a_plain_search_finds() {
        let texts = ["abracadabra", "aaaaaaaaaa", "aé\u{1F600}aé", "abababc", "\0\u{7f}\0"];
        for text in texts.map(|text| text.repeat(20)) {
            for start in 0..text.len() {
                for length in [1, 2, 3, 7, 8, 40, text.len()] {
                    let Some(wanted) = text.get(start..(start + length).min(text.len())) else { continue };
                    if wanted.is_empty() {
                        continue;
                    }
                    for wanted in [wanted, &format!("{wanted}z"), &format!("z{wanted}")] {
                        assert_eq!(find(&text, wanted, SearchEnd::Start), text.find(wanted), "{wanted}");
                        assert_eq!(find(&text, wanted, SearchEnd::End), text.rfind(wanted), "{wanted}");
                    }
                }
            }
        }
        assert_eq!(find("ab", "abc", SearchEnd::Start), None);
    }

    #[test]
    fn arithmetic_is_that_of_the_prime() {
        let m = u128::from(MODULUS);
        for a in [0, 1, 255, MODULUS / 2, MODULUS - 2, MODULUS - 1] {
            for b in [0, 1, 256, MODULUS / 3, MODULUS - 1] {
                assert_eq!(u128::from(product(a, b)), u128::from(a) * u128::from(b) % m);
            }
        }
        assert_eq!(power(3, 38), (3u128.pow(38) % m) as u64);
    }
}
