//! `parse-long`, `parse-double`, `parse-boolean` and their Java names: `nil` for all that they cannot read.

use super::Builtin;
use super::namespaces::{BOOLEAN, CORE, DOUBLE, FLOAT, INTEGER, LONG, STRING};
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::Value;

/// The integer that a string spells: an optional sign and ASCII digits, within 64 bits; else `nil`.
pub(super) fn long(value: &Value) -> Value {
    long_in(value, 10)
}

fn long_in(value: &Value, radix: u32) -> Value {
    let Value::Str(text) = value else { return Value::Nil };
    let text = text.as_str();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| char::from(b).is_digit(radix)) {
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

/// The float that a string spells: `[+-]?D+(.D+)?([eE][+-]?D+)?` or a special one by its Java name; else `nil`.
fn parse_double(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    charge(ctx, &args[0])?;
    let Value::Str(text) = &args[0] else { return Ok(Value::Nil) };
    Ok(match text.as_str() {
        "Infinity" | "+Infinity" => Value::float(f64::INFINITY),
        "-Infinity" => Value::float(f64::NEG_INFINITY),
        "NaN" => Value::float(f64::NAN),
        text if is_decimal(text) => match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Value::float(x),
            _ => Value::Nil,
        },
        _ => Value::Nil,
    })
}

fn is_decimal(text: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    fn rest(text: &str) -> Option<&str> {
        let mut text = digits(text.strip_prefix(['+', '-']).unwrap_or(text))?;
        if let Some(fraction) = text.strip_prefix('.') {
            text = digits(fraction)?;
        }
        if let Some(exponent) = text.strip_prefix(['e', 'E']) {
            text = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))?;
        }
        Some(text)
    }
    rest(text) == Some("")
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
        .example(r#"(parse-double ".5")"#, "nil"),
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
    fn decimals_need_digits_on_both_sides_of_the_point() {
        for text in ["1", "-1.5", "+0.5e-3", "1E10"] {
            assert!(is_decimal(text), "{text}");
        }
        for text in ["", ".5", "1.", "1e", "e5", "1.5.2", " 1", "1f", "inf", "nan", "0x1p3"] {
            assert!(!is_decimal(text), "{text}");
        }
    }
}
