//! One character many times.

use crate::meter;

/// Characters that are appended in one go, and that take as long as a value that is freed.
const PIECE: usize = 32 << 10;
const CHARACTERS_PER_UNIT: usize = 16;

/// Appends `c` so many times, for which there is room, and yields in between: there may be as many as the memory holds.
pub(super) fn fill(out: &mut String, c: char, count: usize) {
    let mut left = count;
    while left > 0 {
        let piece = left.min(PIECE);
        out.extend(std::iter::repeat_n(c, piece));
        meter::uncharged(piece / CHARACTERS_PER_UNIT);
        left -= piece;
    }
}
