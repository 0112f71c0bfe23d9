//! Numbers of JSON.

use super::read_error::ReadError;
use crate::meter;
use crate::number::{MAX_INTEGER_BITS, read_decimal};
use crate::value::Value;

/// The number at the beginning of a text.
pub(super) struct Span {
    /// Its bytes.
    pub(super) len: usize,
    /// Digits before the point.
    pub(super) digits: usize,
    /// Whether it has a point or an exponent.
    pub(super) is_float: bool,
    pub(super) has_exponent: bool,
}

/// Where the number at the beginning of `bytes` ends.
#[inline]
pub(super) fn span(bytes: &[u8]) -> Result<Span, ReadError> {
    let start = usize::from(bytes.first() == Some(&b'-'));
    let digits = count_digits(&bytes[start..]);
    if digits == 0 || (digits > 1 && bytes[start] == b'0') {
        return Err(ReadError::NotJson);
    }
    let mut span = Span { len: start + digits, digits, is_float: false, has_exponent: false };
    if bytes.get(span.len) == Some(&b'.') {
        let digits = count_digits(&bytes[span.len + 1..]);
        if digits == 0 {
            return Err(ReadError::NotJson);
        }
        (span.is_float, span.len) = (true, span.len + 1 + digits);
    }
    if let Some(b'e' | b'E') = bytes.get(span.len) {
        let sign = usize::from(matches!(bytes.get(span.len + 1), Some(b'+' | b'-')));
        let digits = count_digits(&bytes[span.len + 1 + sign..]);
        if digits == 0 {
            return Err(ReadError::NotJson);
        }
        (span.is_float, span.has_exponent, span.len) = (true, true, span.len + 1 + sign + digits);
    }
    Ok(span)
}

/// Reads the number at the beginning of `text`, and how many bytes it has. `None` is an integer of more than
/// [`MAX_INTEGER_BITS`] bits.
pub(super) fn read(text: &str) -> Result<(Option<Value>, usize), ReadError> {
    let Span { len, digits, is_float, .. } = span(text.as_bytes())?;
    let number = &text[..len];
    let value = if is_float { Some(read_float(number)?) } else { read_integer(number, digits)? };
    Ok((value, len))
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn read_float(text: &str) -> Result<Value, ReadError> {
    // A literal beyond the range of doubles has no value here.
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Value::float(x)),
        _ => Err(ReadError::NotJson),
    }
}

fn read_integer(text: &str, digits: usize) -> Result<Option<Value>, ReadError> {
    if digits <= 18 {
        let magnitude =
            text.bytes().filter(u8::is_ascii_digit).fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
        return Ok(Some(Value::Int(if text.starts_with('-') { -magnitude } else { magnitude })));
    }
    // log₂ 10 is a little less than 3.3220.
    let bits = digits as u64 * 33_220 / 10_000;
    if bits > MAX_INTEGER_BITS + 8 {
        return Ok(None);
    }
    meter::reserve(bits as usize / 4)?;
    read_decimal(text)?.map(|n| Some(Value::integer(n))).ok_or(ReadError::NotJson)
}
