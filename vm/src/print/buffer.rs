//! Growing text whose size the program controls.
//!
//! Large texts move in pieces, between which others may have the thread: a copy of 40 MB takes ten milliseconds.

use crate::error::Result;
use crate::meter;

/// Bytes that are copied in one go.
const PIECE: usize = 64 << 10;
/// Copied bytes that count as one unit of work.
const BYTES_PER_UNIT: usize = 64;

/// The capacity to grow to for `extra` bytes more, reserved at the [meter]; `None` when they fit already.
#[inline]
fn room(len: usize, capacity: usize, extra: usize) -> Result<Option<usize>> {
    if capacity - len >= extra {
        return Ok(None);
    }
    let wanted = len.saturating_add(extra).max(capacity.saturating_mul(2)).max(32);
    // The old buffer lives until its bytes have moved, but a reallocation mostly happens in place.
    meter::reserve(wanted)?;
    Ok(Some(wanted))
}

/// Makes room for `extra` bytes, refusing an amount beyond the program's memory limit.
#[inline]
pub(crate) fn grow_string(out: &mut String, extra: usize) -> Result<()> {
    if let Some(capacity) = room(out.len(), out.capacity(), extra)? {
        enlarge(out, capacity);
    }
    Ok(())
}

/// Gives the text a larger capacity, which has been reserved.
pub(crate) fn enlarge(out: &mut String, capacity: usize) {
    if out.len() <= PIECE {
        out.reserve_exact(capacity - out.len());
    } else {
        let mut larger = String::with_capacity(capacity);
        push_in_pieces(&mut larger, out);
        *out = larger;
    }
}

/// Appends `text`, refusing an amount beyond the program's memory limit. Charges no steps.
#[inline]
pub(crate) fn append(out: &mut String, text: &str) -> Result<()> {
    grow_string(out, text.len())?;
    push_in_pieces(out, text);
    Ok(())
}

/// Appends `text`, for which there is room.
#[inline]
pub(crate) fn push_in_pieces(out: &mut String, text: &str) {
    if text.len() <= PIECE {
        out.push_str(text);
    } else {
        push_long(out, text);
    }
}

#[cold]
fn push_long(out: &mut String, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        out.push_str(piece);
        meter::uncharged(piece.len() / BYTES_PER_UNIT);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_arrive_whole_and_in_pieces() {
        let text = "aé\u{1F600}".repeat(PIECE);
        let mut out = String::from("x");
        append(&mut out, &text).unwrap();
        append(&mut out, &text).unwrap();
        assert!(out.len() == 1 + 2 * text.len() && out.starts_with("xaé") && out[1..].starts_with(&text));
        assert!(out.ends_with(&text));
        let mut grown = text.clone();
        grow_string(&mut grown, 4 * text.len()).unwrap();
        assert!(grown.capacity() >= 5 * text.len() && grown == text);
    }
}
