//! Numbers as text: integers of any size and the two float styles (language.md 6.1, ruling 9).

use crate::error::Result;
use crate::number::write_decimal;
use crate::value::Big;
use std::fmt::Write as _;

/// From this magnitude on a float prints in exponent form.
const LARGE: f64 = 1e16;
/// Below this magnitude a float other than zero prints in exponent form when it is readable.
const SMALL: f64 = 1e-6;
/// 2^53: from here on the plain style is scientific.
const INTEGRAL: f64 = 9_007_199_254_740_992.0;
/// Decimals of the fixed style: 10^10.
const SCALE: f64 = 1e10;

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

/// Appends the readable form: at most 10 decimals, special floats as `##Inf`, exponent form for magnitudes that
/// decimals would round to nothing or fill with invented digits.
pub(crate) fn write_float_fixed(x: f64, out: &mut String) {
    if x.is_nan() {
        return out.push_str("##NaN");
    }
    if x.is_infinite() {
        return out.push_str(if x > 0.0 { "##Inf" } else { "##-Inf" });
    }
    let magnitude = x.abs();
    if magnitude >= LARGE || (magnitude < SMALL && magnitude > 0.0) {
        return Shortest::new(x).write_scientific(out);
    }
    if x.is_sign_negative() {
        out.push('-');
    }
    let mut whole = magnitude.trunc() as u64;
    let mut decimals = ((magnitude - magnitude.trunc()) * SCALE + 0.5) as u64;
    if decimals >= SCALE as u64 {
        decimals = 0;
        whole += 1;
    }
    let mut width = 10;
    while width > 1 && decimals.is_multiple_of(10) {
        decimals /= 10;
        width -= 1;
    }
    let _ = write!(out, "{whole}.{decimals:0width$}");
}

/// Appends the plain form: the shortest digits that read back to the same float, special floats as `Infinity`.
pub(crate) fn write_float_shortest(x: f64, out: &mut String) {
    if x.is_nan() {
        return out.push_str("NaN");
    }
    if x.is_infinite() {
        return out.push_str(if x > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let digits = Shortest::new(x);
    let magnitude = x.abs();
    let decimal = if (1.0..LARGE).contains(&magnitude) && magnitude.fract() == 0.0 {
        true
    } else {
        magnitude < INTEGRAL && digits.decimal_len() <= digits.scientific_len()
    };
    if decimal { digits.write_decimal(out) } else { digits.write_scientific(out) }
}

/// The shortest digits of a finite float and its decimal exponent: `d₁.d₂d₃… × 10^exponent`.
struct Shortest {
    negative: bool,
    digits: [u8; 20],
    len: usize,
    exponent: i32,
}

impl Shortest {
    fn new(x: f64) -> Shortest {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format_finite(x.abs());
        let mut shortest =
            Shortest { negative: x.is_sign_negative(), digits: [b'0'; 20], len: 0, exponent: 0 };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // Digits after the first non-zero one; the point's place gives the exponent.
        let mut scale = whole.len() as i32 - 1 + exponent.parse::<i32>().unwrap_or(0);
        for digit in whole.bytes().chain(fraction.bytes()) {
            if shortest.len == 0 && digit == b'0' {
                scale -= 1;
                continue;
            }
            shortest.digits[shortest.len] = digit;
            shortest.len += 1;
        }
        while shortest.len > 1 && shortest.digits[shortest.len - 1] == b'0' {
            shortest.len -= 1;
        }
        if shortest.len == 0 {
            shortest.len = 1;
        } else {
            shortest.exponent = scale;
        }
        shortest
    }

    fn digits(&self) -> &str {
        std::str::from_utf8(&self.digits[..self.len]).unwrap_or("0")
    }

    fn decimal_len(&self) -> usize {
        let len = self.len as i32;
        (if self.exponent < 0 {
            // `0.`, zeros, digits
            1 - self.exponent + len
        } else if len <= self.exponent + 1 {
            // digits, zeros, `.0`
            self.exponent + 3
        } else {
            len + 1
        }) as usize
    }

    fn scientific_len(&self) -> usize {
        let exponent = match self.exponent.unsigned_abs() {
            0..=9 => 1,
            10..=99 => 2,
            _ => 3,
        };
        self.len.max(2) + 2 + exponent + usize::from(self.exponent < 0)
    }

    fn write_decimal(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        let digits = self.digits();
        if self.exponent < 0 {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', (-self.exponent - 1) as usize));
            out.push_str(digits);
            return;
        }
        let whole = self.exponent as usize + 1;
        if self.len <= whole {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', whole - self.len));
            out.push_str(".0");
        } else {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    }

    fn write_scientific(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        let digits = self.digits();
        let fraction = if self.len > 1 { &digits[1..] } else { "0" };
        let _ = write!(out, "{}.{fraction}e{}", &digits[..1], self.exponent);
    }
}
