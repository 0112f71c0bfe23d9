//! Numbers as programs write them.

use crate::value::Value;
use num_bigint::BigInt;

/// Most digits of a number, as in programs.
pub(super) const MAX_DIGITS: usize = 100;

/// The number that a token writes: an integer in any of Clojure's ways, a float, a quotient.
pub(super) fn number(token: &str) -> Option<Value> {
    if token.len() > MAX_DIGITS {
        return None;
    }
    let (sign, digits) = match token.strip_prefix(['+', '-']) {
        Some(digits) => (if token.starts_with('-') { "-" } else { "" }, digits),
        None => ("", token),
    };
    let integer = |digits: &str, radix| {
        let is_digits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let number = is_digits.then(|| BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), radix));
        number.flatten().map(Value::integer)
    };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return integer(digits, 16);
    }
    if let Some((radix, digits)) = digits.split_once(['r', 'R']) {
        return integer(digits, radix.parse().ok().filter(|radix| (2..=36).contains(radix))?);
    }
    if let Some((over, under)) = digits.split_once('/') {
        let (over, under): (i64, i64) = (over.parse().ok()?, under.parse().ok()?);
        let over = if sign.is_empty() { over } else { -over };
        let exact = over.checked_rem(under)? == 0;
        return Some(if exact { Value::Int(over / under) } else { Value::float(over as f64 / under as f64) });
    }
    let is_integer = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let digits = digits.strip_suffix('N').filter(|digits| is_integer(digits)).unwrap_or(digits);
    let digits = digits.strip_suffix('M').unwrap_or(digits);
    if is_integer(digits) {
        let is_octal = digits.len() > 1 && digits.starts_with('0');
        return integer(digits, if is_octal { 8 } else { 10 });
    }
    let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let float = is_float.then(|| format!("{sign}{digits}").parse::<f64>().ok()).flatten()?;
    Some(Value::float(float))
}
