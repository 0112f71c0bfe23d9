//! The values of number literals.

use num_bigint::{BigInt, Sign};
use ptc_vm::{Value, print};

use crate::error::{CompileError, Result};
use crate::form::{FormKind, Forms};
use crate::source::Span;
use crate::token::{NameKind, NumberKind};

/// The most digits that the integer part of a literal may have.
const MAX_DIGITS: usize = 100;

pub(super) fn number(forms: &mut Forms<'_>, kind: NumberKind, text: &str, span: Span) -> Result<FormKind> {
    match kind {
        NumberKind::Integer => decimal_or_octal(forms, text, span),
        NumberKind::Float => float(text, span),
        NumberKind::Big => decimal_or_octal(forms, &text[..text.len() - 1], span),
        NumberKind::Ratio => ratio(forms, text, span),
        NumberKind::Decimal => decimal(forms, text, span),
        NumberKind::Hex => with_radix(forms, text, 16, span),
        NumberKind::Radix => {
            let radix = text.trim_start_matches('-').split(['r', 'R']).next().and_then(|r| r.parse().ok());
            with_radix(forms, text, radix.unwrap_or(10), span)
        }
    }
}

/// `1/2`: the number, or the nearest float if it is no integer.
fn ratio(forms: &mut Forms<'_>, text: &str, span: Span) -> Result<FormKind> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    check_digits(above.trim_start_matches('-').len().max(below.len()), span)?;
    let big = |digits: &str| BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
    let (dividend, divisor) = (big(above), big(below));
    if divisor.sign() == Sign::NoSign {
        return Err(CompileError::parse(span, format!("division by zero in the ratio {text}")));
    }
    if (&dividend % &divisor).sign() == Sign::NoSign {
        return integer(forms, &(dividend / divisor).to_string(), 10, span);
    }
    // Both are finite, since literals have few digits.
    let float = |digits: &str| digits.parse::<f64>().unwrap_or(f64::NAN);
    let value = float(above) / float(below);
    forms.note(NumberKind::Ratio, || {
        let shown = print::readable_lossy(&Value::float(value));
        format!("{text} is read as the float {shown}: the language has no ratios")
    });
    Ok(FormKind::Float(value))
}

/// `1M`, `1.5M`: an integer, or a float.
fn decimal(forms: &mut Forms<'_>, text: &str, span: Span) -> Result<FormKind> {
    let number = &text[..text.len() - 1];
    forms.note(NumberKind::Decimal, || format!("{text} is read as {number}: the language has no decimals"));
    if number.contains(['.', 'e', 'E']) { float(number, span) } else { integer(forms, number, 10, span) }
}

pub(super) fn positive(forms: &mut Forms<'_>, kind: NameKind, text: &str, span: Span) -> Result<FormKind> {
    match kind {
        NameKind::PlusFloat => float(&text[1..], span),
        _ => decimal_or_octal(forms, &text[1..], span),
    }
}

/// `-0x1F`, `36rZZ`: the digits stand after the letter.
fn with_radix(forms: &mut Forms<'_>, text: &str, radix: u32, span: Span) -> Result<FormKind> {
    let digits = text.split_once(['x', 'X', 'r', 'R']).map_or("", |(_, digits)| digits);
    if text.starts_with('-') {
        return integer(forms, &format!("-{digits}"), radix, span);
    }
    integer(forms, digits, radix, span)
}

/// So many decimal digits always fit in 64 bits.
const SHORT: usize = 18;

/// The value of a few decimal digits without sign, as most numbers are written.
#[inline]
pub(super) fn short(text: &str) -> Option<i64> {
    if text.len() > SHORT || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.bytes().try_fold(0, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + i64::from(digit))
    })
}

/// `12`, and `014`: a zero in front makes a number octal.
fn decimal_or_octal(forms: &mut Forms<'_>, text: &str, span: Span) -> Result<FormKind> {
    let digits = text.trim_start_matches('-');
    if digits.len() == 1 || !digits.starts_with('0') {
        return integer(forms, text, 10, span);
    }
    if digits.contains(['8', '9']) {
        check_digits(digits.len(), span)?;
        let decimal = text.replacen(digits, digits.trim_start_matches('0'), 1);
        let text = format!("invalid number {text}: a 0 in front makes a number octal. Write {decimal}");
        return Err(CompileError::parse(span, text));
    }
    integer(forms, text, 8, span)
}

fn integer(forms: &mut Forms<'_>, text: &str, radix: u32, span: Span) -> Result<FormKind> {
    check_digits(text.trim_start_matches('-').len(), span)?;
    if let Ok(small) = i64::from_str_radix(text, radix) {
        return Ok(FormKind::Int(small));
    }
    match BigInt::parse_bytes(text.as_bytes(), radix) {
        Some(big) => Ok(FormKind::BigInt(forms.add_big(big))),
        None => Err(CompileError::parse(span, format!("invalid integer: {text}"))),
    }
}

fn float(text: &str, span: Span) -> Result<FormKind> {
    let whole = text.trim_start_matches('-');
    check_digits(whole.bytes().take_while(u8::is_ascii_digit).count(), span)?;
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(FormKind::Float(value)),
        _ => Err(CompileError::parse(span, format!("invalid float: {text}"))),
    }
}

fn check_digits(digits: usize, span: Span) -> Result<()> {
    if digits > MAX_DIGITS {
        return Err(CompileError::parse(span, format!("integer literal exceeds {MAX_DIGITS} digit limit")));
    }
    Ok(())
}
