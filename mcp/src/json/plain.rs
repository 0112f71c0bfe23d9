//! Runs of plain characters in a string: characters without a special meaning, up to a quote, a backslash or a control
//! character. They are scanned and copied eight bytes at a time, since in text that is JSON itself the next backslash is seldom
//! far.

/// Bytes that are looked at together.
pub(super) const WORD: usize = 8;

/// Words without anything special after which a run counts as long.
const LONG: usize = 8;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks the high bit of each byte that is `byte`, up to the first one; marks above that may be wrong.
fn marks(word: u64, byte: u8) -> u64 {
    let zero = word ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero & HIGHS
}

/// The same of quotes, backslashes and control characters.
fn special(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
    marks(word, b'"') | marks(word, b'\\') | control
}

fn is_special(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\')
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; WORD]> {
    bytes.get(at..at + WORD)?.try_into().ok()
}

/// The place of the first quote, backslash or control character from `at` on, or the length.
pub(super) fn end(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..LONG {
        let Some(word) = word(bytes, at) else { return slow_end(bytes, at) };
        match special(u64::from_le_bytes(word)) {
            0 => at += WORD,
            marks => return at + marks.trailing_zeros() as usize / 8,
        }
    }
    long_end(bytes, at)
}

/// As [`end`], where it is likely to be far.
fn long_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let plain = memchr::memchr2(b'"', b'\\', rest).map_or(rest, |found| &rest[..found]);
    // One pass without branches; the place is looked for only if there is one.
    if plain.iter().fold(u8::MAX, |least, byte| least.min(*byte)) >= 0x20 {
        return at + plain.len();
    }
    slow_end(bytes, at)
}

#[cold]
fn slow_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| is_special(*byte)).map_or(bytes.len(), |found| at + found)
}

/// Bytes that one [`copy`] copies at most.
pub(super) const LONGEST_COPY: usize = 64;

/// Copies the run of plain characters at `at` to the beginning of `out`, up to [`LONGEST_COPY`] bytes of it, and returns how
/// many. `out` has room for that and for a [`WORD`] more.
#[inline]
pub(super) fn copy(bytes: &[u8], at: usize, out: &mut [u8]) -> usize {
    let mut len = 0;
    while len < LONGEST_COPY {
        let (Some(word), Some(room)) = (word(bytes, at + len), out.get_mut(len..len + WORD)) else {
            return copy_tail(bytes, at, len, out);
        };
        room.copy_from_slice(&word);
        match special(u64::from_le_bytes(word)) {
            0 => len += WORD,
            marks => return len + marks.trailing_zeros() as usize / 8,
        }
    }
    len
}

/// As [`copy`], where less than a word is left.
#[cold]
fn copy_tail(bytes: &[u8], at: usize, len: usize, out: &mut [u8]) -> usize {
    let rest = bytes.get(at + len..).unwrap_or_default();
    let plain = rest.iter().position(|byte| is_special(*byte)).map_or(rest, |found| &rest[..found]);
    let plain = &plain[..plain.len().min(WORD)];
    out[len..len + plain.len()].copy_from_slice(plain);
    len + plain.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BESIDE: [u8; 12] = [b' ', b'!', b'#', b'[', b']', 0x1f, 0x7f, 0x80, 0x9f, 0xff, b'"', b'\\'];

    #[test]
    fn a_run_ends_at_the_first_special_byte_wherever_it_is_and_whatever_is_beside_it() {
        for before in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            for byte in 0..=255 {
                for beside in BESIDE {
                    let bytes = [vec![b'a'; before], vec![byte], vec![beside; 9]].concat();
                    for at in [0, before.min(1), before] {
                        let found = bytes[at..].iter().position(|byte| is_special(*byte));
                        assert_eq!(end(&bytes, at), found.map_or(bytes.len(), |n| at + n), "{bytes:?} {at}");
                        let mut out = vec![0; LONGEST_COPY + WORD];
                        let len = copy(&bytes, at, &mut out);
                        let run = &bytes[at..end(&bytes, at)];
                        assert_eq!(len, run.len().min(LONGEST_COPY), "{bytes:?} {at}");
                        assert_eq!(out[..len], run[..len], "{bytes:?} {at}");
                    }
                }
            }
        }
        assert_eq!((end(b"", 0), end(b"a", 1), end(b"a", 5)), (0, 1, 1));
    }
}
