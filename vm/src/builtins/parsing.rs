//! `parse-long`, `parse-double`, `parse-boolean` and their Java names: `nil` for all that they cannot read.

use super::Builtin;
use super::namespaces::{BOOLEAN, CORE, DOUBLE, FLOAT, INTEGER, LONG, STRING};
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::Value;

/// The integer that a string spells: an optional sign and ASCII digits, within 64 bits; else `nil`.
pub(super) fn long(value: &Value) -> Value {
    long_in(value, 10)
}

/// Digits of the longest integer of 64 bits, in base 2.
const LONGEST_LONG: usize = 64;

fn long_in(value: &Value, radix: u32) -> Value {
    let Value::Str(text) = value else { return Value::Nil };
    let text = text.as_str();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.len() > LONGEST_LONG {
        // Whatever is longer begins with zeros, or is no integer of 64 bits.
        let zeros = position(digits, |byte| byte != b'0').unwrap_or(digits.len() - 1);
        let (sign, decisive) = (&text[..text.len() - digits.len()], &digits[zeros..]);
        if decisive.len() > LONGEST_LONG {
            return Value::Nil;
        }
        return long_in(&Value::str(format!("{sign}{decisive}")), radix);
    }
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return Value::Nil;
    }
    i64::from_str_radix(text, radix).map_or(Value::Nil, Value::Int)
}

fn parse_long(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    charge(ctx, &args[0])?;
    Ok(long(&args[0]))
}

fn java_long(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    charge(ctx, &args[0])?;
    let radix = match args.get(1) {
        None => 10,
        Some(Value::Int(radix @ 2..=36)) => *radix as u32,
        Some(_) => return Ok(Value::Nil),
    };
    Ok(long_in(&args[0], radix))
}

fn charge(ctx: &mut Ctx<'_>, value: &Value) -> Result<()> {
    match value {
        Value::Str(text) => ctx.charge(text.as_str().len() / 8),
        _ => Ok(()),
    }
}

/// The float that a string spells, as `Double/valueOf` reads it: `[+-]?(D+.?D*|.D+)([eE][+-]?D+)?[fFdD]?` or a special one by its
/// Java name, with spaces and control characters around it; else `nil`.
fn parse_double(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    charge(ctx, &args[0])?;
    let Value::Str(text) = &args[0] else { return Ok(Value::Nil) };
    Ok(match trimmed(text.as_str()) {
        "Infinity" | "+Infinity" => Value::float(f64::INFINITY),
        "-Infinity" => Value::float(f64::NEG_INFINITY),
        "NaN" | "+NaN" | "-NaN" => Value::float(f64::NAN),
        text => {
            decimal(text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text)).map_or(Value::Nil, Value::float)
        }
    })
}

/// A text without the ASCII spaces and control characters around it.
fn trimmed(text: &str) -> &str {
    let is_kept = |byte| byte > b' ';
    let Some(start) = position(text, is_kept) else { return "" };
    let mut end = text.len();
    for piece in text.as_bytes().rchunks(PIECE) {
        meter::uncharged(piece.len() / 8);
        match piece.iter().rposition(|&byte| is_kept(byte)) {
            Some(at) => return &text[start..end - piece.len() + at + 1],
            None => end -= piece.len(),
        }
    }
    ""
}

/// Bytes of a number that are read in one go.
const PIECE: usize = 4 << 10;
/// Digits that decide which float a decimal is nearest to, if it is known whether any digit behind them is not 0.
const DECISIVE: usize = 800;

/// A decimal without its sign, in parts.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
    exponent: &'a str,
}

fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let parts = parts(unsigned)?;
    if text.len() <= PIECE {
        return text.parse().ok();
    }
    let x = parts.nearest();
    Some(if text.starts_with('-') { -x } else { x })
}

fn parts(text: &str) -> Option<Decimal<'_>> {
    let (whole, mut rest) = digits(text).unwrap_or(("", text));
    let (mut fraction, mut exponent) = ("", "");
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = digits(after).unwrap_or(("", after));
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let (_, end) = digits(after.strip_prefix(['+', '-']).unwrap_or(after))?;
        (exponent, rest) = (&after[..after.len() - end.len()], end);
    }
    rest.is_empty().then_some(Decimal { whole, fraction, exponent })
}

/// The digits at the beginning of a text, one at least, and what follows them.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = position(text, |byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Where the first such byte is; gives way on the way there.
fn position(text: &str, is_such: impl Fn(u8) -> bool) -> Option<usize> {
    text.as_bytes().chunks(PIECE).enumerate().find_map(|(i, piece)| {
        meter::uncharged(piece.len() / 8);
        piece.iter().position(|&byte| is_such(byte)).map(|at| i * PIECE + at)
    })
}

impl Decimal<'_> {
    /// The nearest float, of a text that may be as long as a program's memory.
    fn nearest(&self) -> f64 {
        let is_not_zero = |byte| byte != b'0';
        let zeros = match position(self.whole, is_not_zero) {
            Some(zeros) => zeros,
            None => match position(self.fraction, is_not_zero) {
                Some(zeros) => self.whole.len() + zeros,
                None => return 0.0,
            },
        };
        let whole = &self.whole[zeros.min(self.whole.len())..];
        let fraction = &self.fraction[zeros.saturating_sub(self.whole.len())..];
        let decisive = whole.chars().chain(fraction.chars()).take(DECISIVE).collect::<String>();
        let rest = [
            &whole[whole.len().min(DECISIVE)..],
            &fraction[fraction.len().min(DECISIVE.saturating_sub(whole.len()))..],
        ];
        let sticky =
            if rest.into_iter().any(|rest| position(rest, is_not_zero).is_some()) { "1" } else { "" };
        let magnitude = (self.whole.len() as i64 - zeros as i64).saturating_add(self.exponent());
        // Beyond these bounds it is infinite or 0 whatever its digits are.
        let magnitude = magnitude.clamp(-5_000, 5_000);
        format!("0.{decisive}{sticky}e{magnitude}").parse().unwrap_or(f64::NAN)
    }

    fn exponent(&self) -> i64 {
        let digits = self.exponent.strip_prefix(['+', '-']).unwrap_or(self.exponent);
        let Some(zeros) = position(digits, |byte| byte != b'0') else { return 0 };
        let size = digits[zeros..].parse().unwrap_or(i64::MAX);
        if self.exponent.starts_with('-') { -size } else { size }
    }
}

fn parse_boolean(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(match &args[0] {
        Value::Str(text) if text.as_str() == "true" => Value::True,
        Value::Str(text) if text.as_str() == "false" => Value::False,
        _ => Value::Nil,
    })
}

fn java_boolean(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) => Ok(Value::bool(text.as_str().eq_ignore_ascii_case("true"))),
        Value::Nil => Ok(Value::False),
        other => Err(Error::type_error(format!(
            "Boolean/parseBoolean: expected string, got {}",
            super::support::errors::java_type_name(other)
        ))),
    }
}

fn parse_uuid(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(text) = &args[0] else { return Ok(Value::Nil) };
    let text = text.as_str();
    let well_formed = text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    Ok(if well_formed { args[0].clone() } else { Value::Nil })
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("parse", "Parsing").of([
    fun("parse-long", CORE, "s", parse_long)
        .also_in(STRING)
        .doc("Read a 64-bit integer, nil on failure")
        .example(r#"(parse-long "-42")"#, "-42")
        .example(r#"(parse-long "4.2")"#, "nil")
        .example("(parse-long 42)", "nil"),
    fun("parse-int", STRING, "s", parse_long).doc("Alias of parse-long").example(r#"(parse-int "007")"#, "7"),
    fun("parse-double", CORE, "s", parse_double)
        .also_in(STRING)
        .doc("Read a float, nil on failure")
        .example(r#"(parse-double "1.5e3")"#, "1500.0")
        .example(r#"(parse-double "3")"#, "3.0")
        .example(r#"(parse-double " .5 ")"#, "0.5")
        .example(r#"(parse-double "1,5")"#, "nil"),
    fun("parse-boolean", CORE, "s", parse_boolean)
        .also_in(STRING)
        .doc("Read a boolean, nil on failure")
        .example(r#"(parse-boolean "true")"#, "true")
        .example(r#"(parse-boolean "TRUE")"#, "nil"),
    fun("parse-uuid", CORE, "s", parse_uuid)
        .doc("The string itself if it is the text of a UUID, nil otherwise")
        .example(
            r#"(parse-uuid "912e5366-a80e-467a-bcf6-ac58a2500f83")"#,
            r#""912e5366-a80e-467a-bcf6-ac58a2500f83""#,
        )
        .example(r#"(parse-uuid "x")"#, "nil"),
    fun("Boolean/parseBoolean", BOOLEAN, "s", java_boolean)
        .aliases(&["Boolean/valueOf"])
        .doc(r#"Java boolean reader: true only for "true" in any case"#)
        .example(r#"(Boolean/parseBoolean "TRUE")"#, "true")
        .example(r#"(Boolean/parseBoolean "x")"#, "false"),
    fun("Integer/parseInt", INTEGER, "s | s radix", java_long)
        .aliases(&["Integer/valueOf"])
        .doc("Read an integer, nil on failure")
        .example(r#"(Integer/parseInt "42")"#, "42")
        .example(r#"(Integer/parseInt "x")"#, "nil")
        .example(r#"(Integer/parseInt "ff" 16)"#, "255"),
    fun("Long/parseLong", LONG, "s | s radix", java_long)
        .aliases(&["Long/valueOf"])
        .doc("Read an integer, nil on failure")
        .example(r#"(Long/parseLong "42")"#, "42"),
    fun("Double/parseDouble", DOUBLE, "s", parse_double)
        .aliases(&["Double/valueOf"])
        .doc("Read a float, nil on failure")
        .example(r#"(Double/parseDouble "2.5")"#, "2.5"),
    fun("Float/parseFloat", FLOAT, "s", parse_double)
        .aliases(&["Float/valueOf"])
        .doc("Read a float, nil on failure")
        .example(r#"(Float/parseFloat "2.5")"#, "2.5"),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_ascii_digits_with_a_sign_within_64_bits() {
        let read = |text: &str| long(&Value::str(text));
        for (text, value) in [("0", 0), ("+7", 7), ("-007", -7), ("9223372036854775807", i64::MAX)] {
            assert!(matches!(read(text), Value::Int(n) if n == value), "{text}");
        }
        for text in ["", "+", " 1", "1 ", "1_000", "--1", "9223372036854775808", "٣", "1.0", "0x1"] {
            assert!(read(text).is_nil(), "{text}");
        }
    }

    #[test]
    fn decimals_need_a_digit_on_one_side_of_the_point() {
        for text in ["1", "-1.5", "+0.5e-3", "1E10", ".5", "-.5e1", "1.", "1.e2", "1e400"] {
            assert_eq!(decimal(text), text.parse().ok(), "{text}");
        }
        for text in ["", ".", "-.", ".e5", "1e", "e5", "1.5.2", " 1", "1f", "inf", "nan", "0x1p3"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_read_as_java_does() {
        use crate::builtins::support::testing::display;
        let spaces = " ".repeat(2 * PIECE + 3);
        for (text, shown) in [
            (" 1.5\n", "1.5"),
            (&*format!("{spaces}-2{spaces}"), "-2.0"),
            (&*spaces, "nil"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("2f", "2.0"),
            ("2.5D", "2.5"),
            ("1e400", "##Inf"),
            ("-1e400", "##-Inf"),
            ("Infinity", "##Inf"),
            ("1 2", "nil"),
            ("1\u{a0}", "nil"),
            ("f", "nil"),
            ("Inf", "nil"),
        ] {
            assert_eq!(display("parse-double", [Value::str(text)]), shown, "{text}");
        }
    }

    #[test]
    fn long_numbers_are_those_that_short_ones_of_the_same_value_are() {
        let (zeros, sevens) = ("0".repeat(2 * PIECE), "7".repeat(2 * PIECE));
        // Half way between two floats: what stands far behind decides.
        let half = format!("9007199254740993.{zeros}");
        for text in [
            format!("{zeros}1.5"),
            format!("-{zeros}"),
            format!("0.{zeros}"),
            format!("-0.{zeros}1"),
            format!("{sevens}.{sevens}e-8190"),
            format!("0.{zeros}{sevens}e8192"),
            format!("0.{zeros}{sevens}e+8400"),
            format!("{sevens}e-{zeros}8500"),
            format!("1e{sevens}"),
            format!("1e-{sevens}"),
            format!("0e{sevens}"),
            sevens.clone(),
            format!("{half}0"),
            format!("{half}1"),
            format!("-{half}1e-3"),
        ] {
            let (found, expected) = (decimal(&text).unwrap(), text.parse::<f64>().unwrap());
            assert_eq!(found.to_bits(), expected.to_bits(), "{found} {expected} {}…", &text[..20]);
        }
        assert_eq!(decimal(&format!("{zeros}x")), None);
        assert!(matches!(long(&Value::str(format!("-{zeros}12"))), Value::Int(-12)));
        assert!(matches!(long(&Value::str(&zeros)), Value::Int(0)));
        assert!(long(&Value::str(&sevens)).is_nil() && long(&Value::str(format!("{zeros}x"))).is_nil());
    }
}
