//! String literals.

use crate::error::Result;
use crate::meter;

/// For each byte, how many bytes more than one it takes inside a literal.
static EXTRA: [u8; 256] = {
    let mut extra = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        extra[byte] = 5;
        byte += 1;
    }
    extra[0x7f] = 5;
    let short = [b'"', b'\\', b'\n', b'\t', b'\r', 8, 12];
    let mut i = 0;
    while i < short.len() {
        extra[short[i] as usize] = 1;
        i += 1;
    }
    extra
};

/// Bytes of `text` as a literal, quotes included.
pub(super) fn quoted_len(text: &str) -> usize {
    let extra = |piece: &str| piece.bytes().map(|byte| usize::from(EXTRA[usize::from(byte)])).sum::<usize>();
    text.len() + 2 + meter::text_pieces(text).map(extra).sum::<usize>()
}

/// Appends `text` as a string literal. Charges steps and memory to the program.
pub(crate) fn write_quoted(text: &str, out: &mut String) -> Result<()> {
    meter::charge_steps(text.len() as u64 / 16)?;
    super::grow_string(out, quoted_len(text))?;
    push_quoted(text, out);
    Ok(())
}

/// Appends `text` as a string literal, uncharged.
pub(super) fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    push_escaped(text, out);
    out.push('"');
}

/// Appends `text` with the escapes of a string literal.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    meter::text_pieces(text).for_each(|piece| push_piece(piece, out));
}

fn push_piece(text: &str, out: &mut String) {
    let mut start = 0;
    for (i, byte) in text.bytes().enumerate() {
        if EXTRA[usize::from(byte)] == 0 {
            continue;
        }
        out.push_str(&text[start..i]);
        start = i + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            other => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(other >> 4)]));
                out.push(char::from(HEX[usize::from(other & 15)]));
            }
        }
    }
    out.push_str(&text[start..]);
}

/// The longest beginning of `text` whose literal has at most `room` bytes without quotes; ends between
/// graphemes, or at least between characters when even the first grapheme is longer.
pub(super) fn fitting_prefix(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (i, c) in text.char_indices() {
        used += c.len_utf8() + if c.is_ascii() { usize::from(EXTRA[c as usize]) } else { 0 };
        if used > room {
            break;
        }
        end = i + c.len_utf8();
    }
    if end == text.len() {
        return text;
    }
    let mut cursor = unicode_segmentation::GraphemeCursor::new(end, text.len(), true);
    let at_boundary = cursor.is_boundary(text, 0).unwrap_or(true);
    let cut = if at_boundary { end } else { cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0) };
    if cut == 0 { &text[..end] } else { &text[..cut] }
}
