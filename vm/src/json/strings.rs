//! Strings of JSON, both ways.

use super::read_error::ReadError;
use crate::error::Error;
use crate::meter;

/// Bytes that end a run of plain characters in a string that is read or written: quote, backslash, controls.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Which of eight bytes, the first one lowest, is the first that ends a run of plain characters in a string of JSON (a
/// quote, a backslash or a control character), if any does.
#[inline]
fn first_special(chunk: u64) -> Option<usize> {
    // Each of these marks the high bit of the bytes that it looks for. What it marks besides, because it borrowed, lies above.
    let zero_byte = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
    let quote = zero_byte(chunk ^ (ONES * b'"' as u64));
    let backslash = zero_byte(chunk ^ (ONES * b'\\' as u64));
    let control = chunk.wrapping_sub(ONES * 0x20) & !chunk & HIGHS;
    let marks = quote | backslash | control;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// The index of the first special byte from `from` on, or the length.
#[inline]
pub(super) fn find_special(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| <[u8; 8]>::try_from(chunk).ok()) {
        match first_special(u64::from_le_bytes(chunk)) {
            Some(offset) => return at + offset,
            None => at += 8,
        }
    }
    let offset = bytes[at..].iter().position(|byte| SPECIAL[usize::from(*byte)]);
    offset.map_or(bytes.len(), |offset| at + offset)
}

/// Whether a string is written as it is.
pub(super) fn is_plain(text: &str) -> bool {
    find_special(text.as_bytes(), 0) == text.len()
}

/// Bytes of a string that are read in one go.
const PIECE: usize = 16 << 10;
/// Bytes of a string with escapes that count as one unit of work.
const BYTES_PER_UNIT: usize = 8;

/// As [`find_special`], in pieces, between which others may have the thread.
#[inline]
fn end_of_run(bytes: &[u8], from: usize) -> usize {
    let limit = bytes.len().min(from + PIECE);
    match find_special(&bytes[..limit], from) {
        end if end == limit && limit < bytes.len() => end_of_long_run(bytes, limit),
        end => end,
    }
}

#[cold]
fn end_of_long_run(bytes: &[u8], mut from: usize) -> usize {
    loop {
        meter::uncharged(PIECE / BYTES_PER_UNIT / 8);
        let limit = bytes.len().min(from + PIECE);
        let end = find_special(&bytes[..limit], from);
        if end < limit || limit == bytes.len() {
            return end;
        }
        from = limit;
    }
}

/// Reads a string whose opening quote lies right before `*at`; leaves `*at` after the closing one. Strings with escapes are
/// decoded into `scratch`.
pub(super) fn read<'a>(text: &'a str, at: &mut usize, scratch: &'a mut String) -> Result<&'a str, ReadError> {
    let bytes = text.as_bytes();
    let start = *at;
    let mut end = end_of_run(bytes, start);
    if bytes.get(end) == Some(&b'"') {
        *at = end + 1;
        meter::reserve(end - start)?;
        return Ok(&text[start..end]);
    }
    scratch.clear();
    let (mut from, mut seen) = (start, start);
    loop {
        crate::print::grow_string(scratch, end - from + 4)?;
        crate::print::push_in_pieces(scratch, &text[from..end]);
        if end - seen > PIECE {
            meter::uncharged((end - seen) / BYTES_PER_UNIT);
            seen = end;
        }
        match bytes.get(end) {
            Some(b'"') => break,
            Some(b'\\') => from = escape(bytes, end + 1, scratch)?,
            _ => return Err(ReadError::NotJson),
        }
        end = end_of_run(bytes, from);
    }
    *at = end + 1;
    meter::reserve(scratch.len())?;
    Ok(scratch)
}

/// Whether the string that begins at the start of `bytes`, with its quote or after it, has half a surrogate pair.
pub(super) fn has_half_pair(bytes: &[u8]) -> bool {
    let (mut at, mut pending) = (usize::from(bytes.first() == Some(&b'"')), false);
    while let Some(byte) = bytes.get(at) {
        let unit = match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => hex(bytes, at + 2).ok(),
            _ => None,
        };
        match unit {
            Some(0xD800..=0xDBFF) if !pending => pending = true,
            Some(0xDC00..=0xDFFF) if pending => pending = false,
            Some(0xD800..=0xDFFF) => return true,
            _ if pending => return true,
            _ => {}
        }
        at += match (byte, unit) {
            (b'"', _) => return false,
            (_, Some(_)) => 6,
            (b'\\', None) => 2,
            _ => 1,
        };
    }
    pending
}

/// A text of JSON in which the escapes of halves of surrogate pairs that stand alone are those of U+FFFD, and how many those
/// were; `None` if there are none. It is as long as before.
pub(super) fn without_half_pairs(text: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Error> {
    let next = |at: usize| text[at..].iter().position(|byte| *byte == b'\\').map(|offset| at + offset);
    let Some(mut at) = next(0) else { return Ok(None) };
    meter::charge_steps(text.len() as u64 / 16)?;
    let unit = |at: usize| match text.get(at..at + 2) {
        Some(b"\\u") => hex(text, at + 2).ok(),
        _ => None,
    };
    let (mut out, mut count, mut seen) = (Vec::new(), 0, at);
    loop {
        if at - seen > PIECE {
            meter::uncharged((at - seen) / BYTES_PER_UNIT);
            seen = at;
        }
        at += match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                if count == 0 {
                    meter::reserve(text.len())?;
                    out = text.to_vec();
                }
                out[at + 2..at + 6].copy_from_slice(b"fffd");
                count += 1;
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        match next(at.min(text.len())) {
            Some(later) => at = later,
            None => return Ok((count > 0).then_some((out, count))),
        }
    }
}

/// Decodes the escape after a backslash; where it ends.
pub(super) fn escape(bytes: &[u8], at: usize, out: &mut String) -> Result<usize, ReadError> {
    let plain = match bytes.get(at) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(bytes, at + 1, out),
        _ => return Err(ReadError::NotJson),
    };
    out.push(plain);
    Ok(at + 1)
}

/// Decodes the four digits after `\u`, and the low surrogate that must follow a high one.
fn unicode(bytes: &[u8], at: usize, out: &mut String) -> Result<usize, ReadError> {
    let first = hex(bytes, at)?;
    if !(0xD800..0xDC00).contains(&first) {
        // A low surrogate by itself is no character.
        out.push(char::from_u32(first).ok_or(ReadError::NotJson)?);
        return Ok(at + 4);
    }
    if bytes.get(at + 4..at + 6) != Some(b"\\u") {
        return Err(ReadError::NotJson);
    }
    let second = hex(bytes, at + 6)?;
    if !(0xDC00..0xE000).contains(&second) {
        return Err(ReadError::NotJson);
    }
    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    out.push(char::from_u32(code).ok_or(ReadError::NotJson)?);
    Ok(at + 10)
}

fn hex(bytes: &[u8], at: usize) -> Result<u32, ReadError> {
    let digits = bytes.get(at..at + 4).ok_or(ReadError::NotJson)?;
    digits.iter().try_fold(0, |n, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(ReadError::NotJson)?;
        Ok(n * 16 + digit)
    })
}

/// Appends `text` as a JSON string, uncharged; refuses a text that would exceed the program's memory limit.
pub(super) fn push(text: &str, out: &mut String) -> Result<(), Error> {
    let bytes = text.as_bytes();
    let first = if meter::is_long_text(bytes.len()) { first_of_long(text) } else { find_special(bytes, 0) };
    // At most six bytes of each from the first one on that may not stand as it is.
    crate::print::grow_string(out, first + (bytes.len() - first) * 6 + 2)?;
    out.push('"');
    if meter::is_long_text(bytes.len()) {
        meter::text_pieces(text).for_each(|piece| push_escaped(piece, out));
    } else if first == bytes.len() {
        out.push_str(text);
    } else {
        push_escaped(text, out);
    }
    out.push('"');
    Ok(())
}

/// As [`find_special`] from the start, where others may have the thread on the way.
#[cold]
fn first_of_long(text: &str) -> usize {
    let mut before = 0;
    for piece in meter::text_pieces(text) {
        let found = find_special(piece.as_bytes(), 0);
        before += found;
        if found < piece.len() {
            break;
        }
    }
    before
}

/// Appends the text between the quotes.
fn push_escaped(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let end = find_special(bytes, from);
        out.push_str(&text[from..end]);
        let Some(byte) = bytes.get(end) else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            other => {
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(other >> 4)]));
                out.push(char::from(HEX[usize::from(other & 15)]));
            }
        }
        from = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_string_is_read_in_pieces_as_a_short_one_is() {
        for (before, special) in
            [(0, ""), (PIECE - 1, "\n"), (PIECE, "é"), (PIECE + 1, "\"\\"), (3 * PIECE, "\u{1F600}")]
        {
            for after in [0, 1, PIECE - 1, PIECE, 2 * PIECE + 3] {
                let text = format!("{}{special}{}", "a".repeat(before), "\tb".repeat(after));
                let json = serde_json::to_string(&text).unwrap() + " ";
                let (mut at, mut scratch) = (1, String::new());
                let Ok(read) = read(&json, &mut at, &mut scratch) else {
                    panic!("{before} {special} {after}")
                };
                assert!(read == text && at == json.len() - 1, "{before} {special} {after}");
            }
        }
        let open = "\"".to_owned() + &"a".repeat(3 * PIECE);
        assert!(matches!(read(&open, &mut 1, &mut String::new()), Err(ReadError::NotJson)));
    }

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is_and_whatever_is_beside_it() {
        let neighbours =
            [b' ', b'!', b'#', b'[', b']', 0x01, 0x1f, 0x7f, 0x80, 0x9f, 0xa0, 0xff, b'"', b'\\'];
        for length in [1, 7, 8, 9, 16, 19] {
            for at in 0..length {
                for byte in 0..=255 {
                    for neighbour in neighbours {
                        let mut bytes = vec![b'a'; length];
                        bytes[at] = byte;
                        bytes[at + 1..].iter_mut().for_each(|after| *after = neighbour);
                        let expected = bytes.iter().position(|byte| SPECIAL[usize::from(*byte)]);
                        assert_eq!(find_special(&bytes, 0), expected.unwrap_or(length), "{bytes:?}");
                        let behind = bytes[at..].iter().position(|byte| SPECIAL[usize::from(*byte)]);
                        assert_eq!(find_special(&bytes, at), behind.map_or(length, |n| at + n), "{bytes:?}");
                    }
                }
            }
        }
    }
}
