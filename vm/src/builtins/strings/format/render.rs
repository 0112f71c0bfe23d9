//! Printing one argument by its specifier.

use super::super::simple::upper_in_pieces;
use super::decimal::Decimal;
use super::fill::fill;
use super::specifier::{Specifier, unsupported};
use crate::error::{Error, Result};
use crate::meter;
use crate::print::{self, grow_string, push_in_pieces, write_plain};
use crate::value::{Graphemes, Value};
use num_bigint::Sign;

/// Most digits after the point that `%f` and `%e` print, and most digits that `%g` does. No number has more that are not zero.
const MAX_PRECISION: usize = 1_000_000;

/// Appends `value` as `specifier` says; `whole` is the format string from its `%` on.
pub(super) fn write(specifier: &Specifier, value: &Value, whole: &str, out: &mut String) -> Result<()> {
    match specifier.conversion {
        '%' => pad(specifier, "%", out),
        'n' => {
            out.push('\n');
            Ok(())
        }
        's' => {
            let mut text = String::new();
            match value {
                Value::Nil => text.push_str("null"),
                value => write_plain(value, &mut text)?,
            }
            word(specifier, text, out)
        }
        'b' => word(specifier, if value.is_truthy() { "true" } else { "false" }.into(), out),
        'c' => word(specifier, character(value)?, out),
        'd' => integer(specifier, value, out),
        'x' | 'o' => bits(specifier, value, out),
        'f' | 'e' | 'g' => number(specifier, value, out),
        _ => Err(unsupported(whole)),
    }
}

/// A text: cut to the precision, padded to the width.
fn word(specifier: &Specifier, mut text: String, out: &mut String) -> Result<()> {
    if let Some(precision) = specifier.precision
        && let Some((end, _)) = Graphemes::new(&text).nth(precision)
    {
        text.truncate(end);
    }
    if specifier.upper {
        meter::charge_steps(text.len() as u64 / 4)?;
        // The longest mapping makes three characters of one.
        meter::reserve(text.len().saturating_mul(3))?;
        text = upper_in_pieces(&text);
    }
    pad(specifier, &text, out)
}

fn pad(specifier: &Specifier, text: &str, out: &mut String) -> Result<()> {
    meter::charge_steps(text.len() as u64 / 8)?;
    let missing =
        if specifier.width == 0 { 0 } else { specifier.width.saturating_sub(Graphemes::new(text).count()) };
    grow_string(out, text.len().saturating_add(missing))?;
    meter::charge_steps(missing as u64 / 16)?;
    if specifier.left {
        push_in_pieces(out, text);
    }
    fill(out, ' ', missing);
    if !specifier.left {
        push_in_pieces(out, text);
    }
    Ok(())
}

fn character(value: &Value) -> Result<String> {
    match value {
        Value::Nil => Ok("null".into()),
        Value::Str(text) if text.len() == 1 => Ok(text.as_str().into()),
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => Ok(c.into()),
            None => Err(expects("c", "a character", value)),
        },
        _ => Err(expects("c", "a character", value)),
    }
}

#[cold]
fn expects(conversion: &str, what: &str, got: &Value) -> Error {
    Error::runtime(format!("%{conversion} expects {what}, got: {}", print::readable_lossy(got)))
}

/// Whether the value is negative, and the digits of its amount; whole floats count as integers.
fn integer_digits(conversion: &str, value: &Value) -> Result<(bool, String)> {
    match value {
        Value::Int(n) => Ok((*n < 0, n.unsigned_abs().to_string())),
        Value::BigInt(n) => {
            let mut text = String::new();
            print::write_integer(n, &mut text)?;
            let digits = text.trim_start_matches('-').to_owned();
            Ok((n.get().sign() == Sign::Minus, digits))
        }
        Value::Float(x) if x.is_finite() && x.get().fract() == 0.0 => {
            let x = x.get();
            Ok((x.is_sign_negative() && x != 0.0, format!("{:.0}", x.abs())))
        }
        _ => Err(expects(conversion, "an integer", value)),
    }
}

fn integer(specifier: &Specifier, value: &Value, out: &mut String) -> Result<()> {
    if value.is_nil() {
        return word(specifier, "null".into(), out);
    }
    let (negative, digits) = integer_digits("d", value)?;
    signed(specifier, negative, digits, "", out)
}

/// `%x`, `%o`: integers of 64 bits as two's complement, larger ones with a sign.
fn bits(specifier: &Specifier, value: &Value, out: &mut String) -> Result<()> {
    let hexadecimal = specifier.conversion == 'x';
    let mut negative = false;
    let digits;
    match value {
        Value::Nil => return word(specifier, "null".into(), out),
        Value::Int(n) if hexadecimal => digits = format!("{n:x}"),
        Value::Int(n) => digits = format!("{n:o}"),
        Value::BigInt(n) => {
            meter::charge_steps(n.get().bits() / 8)?;
            negative = n.get().sign() == Sign::Minus;
            digits = n.get().magnitude().to_str_radix(if hexadecimal { 16 } else { 8 });
        }
        Value::Float(x) if x.is_finite() && x.get().fract() == 0.0 && x.get().abs() < 9.0e15 => {
            let n = x.get() as i64;
            digits = if hexadecimal { format!("{n:x}") } else { format!("{n:o}") };
        }
        _ => return Err(expects(if hexadecimal { "x" } else { "o" }, "an integer", value)),
    }
    let prefix = match (specifier.alternate, hexadecimal) {
        (false, _) => "",
        (true, true) => "0x",
        (true, false) => "0",
    };
    let plain = Specifier {
        group: false,
        plus: specifier.plus && negative,
        space: false,
        index: specifier.index,
        ..*specifier
    };
    signed(&plain, negative, digits, prefix, out)
}

fn number(specifier: &Specifier, value: &Value, out: &mut String) -> Result<()> {
    let conversion = specifier.conversion;
    let (negative, decimal) = match value {
        Value::Nil => return word(specifier, "null".into(), out),
        Value::Float(x) if x.is_nan() => return pad(specifier, "NaN", out),
        Value::Float(x) if x.is_infinite() => {
            let text = match (x.get() > 0.0, specifier.plus, specifier.parentheses) {
                (true, true, _) => "+Infinity",
                (true, false, _) => "Infinity",
                (false, _, true) => "(Infinity)",
                (false, _, false) => "-Infinity",
            };
            return pad(specifier, &if specifier.upper { text.to_uppercase() } else { text.into() }, out);
        }
        Value::Float(x) => (x.get().is_sign_negative(), Decimal::of_float(x.get())),
        Value::Int(_) | Value::BigInt(_) => {
            let (negative, digits) = integer_digits("f", value)?;
            (negative, Decimal::of_digits(&digits))
        }
        _ => return Err(expects(&conversion.to_string(), "a number", value)),
    };
    let precision = specifier.precision.unwrap_or(6);
    if precision > MAX_PRECISION {
        return Err(Error::runtime(format!(
            "precision {precision} of %{conversion} exceeds {MAX_PRECISION} digits; use a smaller one"
        )));
    }
    let mut digits = String::new();
    match conversion {
        'f' => decimal.fixed(precision, &mut digits)?,
        'e' => decimal.scientific(precision, &mut digits)?,
        _ => general(decimal, precision.max(1), &mut digits)?,
    }
    signed(specifier, negative, digits, "", out)
}

/// `%g`: fixed from 10⁻⁴ up to 10^precision, scientific beyond.
fn general(mut decimal: Decimal, precision: usize, out: &mut String) -> Result<()> {
    let wanted = i64::try_from(precision).unwrap_or(i64::MAX);
    decimal.round_to(wanted);
    let exponent = decimal.exponent();
    if (-4..wanted).contains(&exponent) {
        decimal.fixed(usize::try_from(wanted - 1 - exponent).unwrap_or(0), out)
    } else {
        decimal.scientific(precision - 1, out)
    }
}

/// Digits with their sign, grouping, zeros and padding.
fn signed(
    specifier: &Specifier,
    negative: bool,
    digits: String,
    prefix: &str,
    out: &mut String,
) -> Result<()> {
    let mut digits = if specifier.group { grouped(&digits)? } else { digits };
    let mut prefix = prefix.to_owned();
    if specifier.upper {
        digits.make_ascii_uppercase();
        prefix.make_ascii_uppercase();
    }
    let (before, after) = match negative {
        true if specifier.parentheses => ("(", ")"),
        true => ("-", ""),
        false if specifier.plus => ("+", ""),
        false if specifier.space => (" ", ""),
        false => ("", ""),
    };
    let length = before.len() + prefix.len() + digits.len() + after.len();
    let zeros = if specifier.zeros && !specifier.left { specifier.width.saturating_sub(length) } else { 0 };
    let mut text = String::new();
    grow_string(&mut text, length.saturating_add(zeros))?;
    meter::charge_steps((length + zeros) as u64 / 8)?;
    text.push_str(before);
    text.push_str(&prefix);
    fill(&mut text, '0', zeros);
    push_in_pieces(&mut text, &digits);
    text.push_str(after);
    pad(specifier, &text, out)
}

/// Commas between groups of three digits before the point.
fn grouped(digits: &str) -> Result<String> {
    let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut out = String::new();
    grow_string(&mut out, digits.len() + whole / 3)?;
    meter::charge_steps(digits.len() as u64 / 8)?;
    for (i, c) in digits[..whole].chars().enumerate() {
        if i > 0 && (whole - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    push_in_pieces(&mut out, &digits[whole..]);
    Ok(out)
}
