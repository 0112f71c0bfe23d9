//! Numbers as text: integers of any size, and floats (language.md 6.1, ruling 9).

use crate::error::Result;
use crate::number::write_decimal;
use crate::value::Big;
use std::fmt::Write as _;

/// Appends an integer outside 64 bits, charged.
pub fn write_integer(n: &Big, out: &mut String) -> Result<()> {
    super::grow_string(out, decimal_digits(n.get().bits()))?;
    write_decimal(n.get(), out)
}

/// How many bytes an integer of 64 bits prints as.
#[inline]
pub(crate) fn integer_len(n: i64) -> usize {
    let digits = n.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    digits as usize + usize::from(n < 0)
}

/// Steps for making digits of an integer of `bits` bits, or reading them: quadratic work, as measured.
pub(super) fn big_cost(bits: u64) -> u64 {
    let words = bits / 64 + 1;
    words + words * words / 64
}

/// At least as many bytes as an integer of `bits` bits has digits, sign included.
pub(crate) fn decimal_digits(bits: u64) -> usize {
    (bits as usize / 10) * 31 / 10 + bits as usize / 100 + 6
}

/// Appends the readable form of a float: as [`write_float_plain`], special floats as `##Inf`.
pub(crate) fn write_float(x: f64, out: &mut String) {
    if x.is_finite() {
        write_finite(x, out);
    } else {
        out.push_str(if x.is_nan() {
            "##NaN"
        } else if x > 0.0 {
            "##Inf"
        } else {
            "##-Inf"
        });
    }
}

/// Appends the plain form of a float: the shortest digits that read back to the same one, in exponent form below 10⁻⁶ and from
/// 10¹⁶ on, special floats as `Infinity`.
pub(crate) fn write_float_plain(x: f64, out: &mut String) {
    if x.is_finite() {
        write_finite(x, out);
    } else {
        out.push_str(if x.is_nan() {
            "NaN"
        } else if x > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
    }
}

fn write_finite(x: f64, out: &mut String) {
    let mut buffer = ryu::Buffer::new();
    // In exponent form below 10⁻⁵ and from 10¹⁶ on.
    let text = buffer.format_finite(x);
    let Some((mantissa, exponent)) = text.split_once('e') else { return out.push_str(text) };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let (first, others) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    out.push_str(sign);
    if exponent == "-6" {
        out.push_str("0.00000");
        out.push_str(first);
        out.push_str(others);
    } else {
        let fraction = if others.is_empty() { "0" } else { others };
        let _ = write!(out, "{first}.{fraction}e{exponent}");
    }
}
