//! Numbers of JSON.

use super::parse::Fault;
use crate::meter;
use crate::number::{MAX_INTEGER_BITS, read_decimal};
use crate::value::Value;

/// Reads the number at the beginning of `text`, and how many bytes it has. `None` is an integer of more than
/// [`MAX_INTEGER_BITS`] bits.
pub(super) fn read(text: &str) -> Result<(Option<Value>, usize), Fault> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let digits = count_digits(&bytes[start..]);
    if digits == 0 || (digits > 1 && bytes[start] == b'0') {
        return Err(Fault::NotJson);
    }
    let mut end = start + digits;
    let mut float = false;
    if bytes.get(end) == Some(&b'.') {
        let digits = count_digits(&bytes[end + 1..]);
        if digits == 0 {
            return Err(Fault::NotJson);
        }
        (float, end) = (true, end + 1 + digits);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = count_digits(&bytes[end + 1 + sign..]);
        if digits == 0 {
            return Err(Fault::NotJson);
        }
        (float, end) = (true, end + 1 + sign + digits);
    }
    let value = if float { Some(read_float(&text[..end])?) } else { read_integer(&text[..end], digits)? };
    Ok((value, end))
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn read_float(text: &str) -> Result<Value, Fault> {
    // A literal beyond the range of doubles has no value here.
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Value::float(x)),
        _ => Err(Fault::NotJson),
    }
}

fn read_integer(text: &str, digits: usize) -> Result<Option<Value>, Fault> {
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
    read_decimal(text)?.map(|n| Some(Value::integer(n))).ok_or(Fault::NotJson)
}
