//! `parse-long`, `parse-double`, `parse-boolean` and their Java names: `nil` for all that they cannot read.

use super::Builtin;
use super::namespaces::{BOOLEAN, CORE, DOUBLE, FLOAT, INTEGER, LONG, NUMBER, STRING};
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Str, Value};

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

/// `(Long/valueOf x)`, `(Integer. x)` and their kin: an integer itself, or that which a text spells.
fn integer_of(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [integer @ (Value::Int(_) | Value::BigInt(_))] => Ok(std::mem::take(integer)),
        args => java_long(ctx, args),
    }
}

/// `(Double/valueOf x)`, `(Double. x)` and their kin: a float of a number, or that which a text spells.
fn float_of(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Float(x) => Ok(Value::float(x.get())),
        Value::Int(n) => Ok(Value::float(*n as f64)),
        _ => parse_double(ctx, args),
    }
}

/// The digits of a magnitude in a radix from 2 to 36.
fn digits_in(mut magnitude: u64, radix: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((magnitude % radix) as u32, radix as u32).unwrap_or('0'));
        magnitude /= radix;
        if magnitude == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// `(Integer/toString n)`, `(Integer/toString n radix)`: as in Java, any other radix stands for 10.
fn integer_text(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [Value::Nil] => Err(Error::type_error("Integer/toString: expected a number, got nil")),
        [value] => Ok(Value::Str(Str::from_string(print::plain(value)?))),
        [Value::Int(n), Value::Int(radix)] => {
            let radix = u64::try_from(*radix).ok().filter(|radix| (2..=36).contains(radix)).unwrap_or(10);
            let sign = if *n < 0 { "-" } else { "" };
            Ok(Value::Str(Str::from_string(format!("{sign}{}", digits_in(n.unsigned_abs(), radix)))))
        }
        args => Err(Error::argument_types("Integer/toString", args)),
    }
}

/// The digits of an integer without sign: a negative one is shown as its complement in so many bits.
fn unsigned_text(name: &str, args: &[Value], bits: u32, radix: u64) -> Result<Value> {
    let Value::Int(n) = args[0] else { return Err(Error::argument_types(name, args)) };
    if bits == i32::BITS && n < i64::from(i32::MIN) {
        return Err(Error::type_error(format!("{name}: {n} has more than 32 bits: write Long for Integer")));
    }
    let magnitude = if n < 0 && bits == i32::BITS { u64::from(n as u32) } else { n as u64 };
    Ok(Value::Str(Str::from_string(digits_in(magnitude, radix))))
}

macro_rules! unsigned_texts {
    ($($function:ident $name:literal $bits:ident $radix:literal;)*) => {
        $(
            fn $function(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
                unsigned_text($name, args, $bits::BITS, $radix)
            }
        )*
    };
}

unsigned_texts! {
    integer_binary "Integer/toBinaryString" i32 2;
    integer_octal "Integer/toOctalString" i32 8;
    integer_hex "Integer/toHexString" i32 16;
    long_binary "Long/toBinaryString" i64 2;
    long_octal "Long/toOctalString" i64 8;
    long_hex "Long/toHexString" i64 16;
}

fn charge(ctx: &mut Ctx<'_>, value: &Value) -> Result<()> {
    match value {
        Value::Str(text) => ctx.charge(text.as_str().len() / 8),
        _ => Ok(()),
    }
}

/// The float that a string spells, as `Double/valueOf` reads it: `[+-]?(D+.?D*|.D+)([eE][+-]?D+)?[fFdD]?` or a special one by
/// its Java name, with spaces and control characters around it; else `nil`.
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
/// Digits that decide which float a decimal is nearest to, if it is known whether any digit after them is not 0.
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

/// The digits at the beginning of a text, one at least, and the rest.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = position(text, |byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The position of the first such byte; yields regularly.
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

/// `(parse-uuid s)`: the text in its canonical form, lower case and with all digits.
pub(super) fn parse_uuid(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    const WIDTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let Value::Str(text) = &args[0] else { return Ok(Value::Nil) };
    let text = text.as_str();
    if text.len() > 36 || text.bytes().filter(|byte| *byte == b'-').count() != WIDTHS.len() - 1 {
        return Ok(Value::Nil);
    }
    let mut canonical = String::with_capacity(36);
    for (part, width) in text.split('-').zip(WIDTHS) {
        if part.is_empty() || part.len() > width || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Value::Nil);
        }
        if !canonical.is_empty() {
            canonical.push('-');
        }
        canonical.extend(std::iter::repeat_n('0', width - part.len()));
        canonical.extend(part.chars().map(|digit| digit.to_ascii_lowercase()));
    }
    Ok(Value::Str(Str::from_string(canonical)))
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
        .doc("Read an integer, nil on failure")
        .example(r#"(Integer/parseInt "42")"#, "42")
        .example(r#"(Integer/parseInt "x")"#, "nil")
        .example(r#"(Integer/parseInt "ff" 16)"#, "255"),
    fun("Long/parseLong", LONG, "s | s radix", java_long)
        .doc("Read an integer, nil on failure")
        .example(r#"(Long/parseLong "42")"#, "42"),
    fun("Double/parseDouble", DOUBLE, "s", parse_double)
        .doc("Read a float, nil on failure")
        .example(r#"(Double/parseDouble "2.5")"#, "2.5"),
    fun("Float/parseFloat", FLOAT, "s", parse_double)
        .doc("Read a float, nil on failure")
        .example(r#"(Float/parseFloat "2.5")"#, "2.5"),
    fun("Integer/valueOf", INTEGER, "x | s radix", integer_of)
        .aliases(&["Long/valueOf"])
        .doc("An integer itself, or read from a text; nil on failure")
        .example("(Long/valueOf 5)", "5")
        .example(r#"(Integer/valueOf "42")"#, "42"),
    fun("Double/valueOf", DOUBLE, "x", float_of)
        .aliases(&["Float/valueOf"])
        .doc("A number as a float, or read from a text; nil on failure")
        .example(r#"(Double/valueOf "2.5")"#, "2.5"),
    fun("Integer.", NUMBER, "x", integer_of).doc("Same as Integer/valueOf").example(r#"(Integer. "5")"#, "5"),
    fun("Long.", NUMBER, "x", integer_of).doc("Same as Long/valueOf").example(r#"(Long. "5")"#, "5"),
    fun("Double.", NUMBER, "x", float_of).doc("Same as Double/valueOf").example(r#"(Double. "5")"#, "5.0"),
    fun("Integer/toString", INTEGER, "n | n radix", integer_text)
        .aliases(&["Long/toString"])
        .doc("Text of an integer, in a radix from 2 to 36")
        .example("(Integer/toString 10 2)", r#""1010""#)
        .example("(Long/toString -255 16)", r#""-ff""#),
    fun("Integer/toBinaryString", INTEGER, "n", integer_binary)
        .doc("Binary digits; of a negative integer those of its complement in 32 bits")
        .example("(Integer/toBinaryString 5)", r#""101""#),
    fun("Integer/toOctalString", INTEGER, "n", integer_octal)
        .doc("Octal digits; of a negative integer those of its complement in 32 bits")
        .example("(Integer/toOctalString 8)", r#""10""#),
    fun("Integer/toHexString", INTEGER, "n", integer_hex)
        .doc("Hexadecimal digits; of a negative integer those of its complement in 32 bits")
        .example("(Integer/toHexString 255)", r#""ff""#)
        .example("(Integer/toHexString -1)", r#""ffffffff""#),
    fun("Long/toBinaryString", LONG, "n", long_binary)
        .doc("Binary digits; of a negative integer those of its complement in 64 bits")
        .example("(Long/toBinaryString 5)", r#""101""#),
    fun("Long/toOctalString", LONG, "n", long_octal)
        .doc("Octal digits; of a negative integer those of its complement in 64 bits")
        .example("(Long/toOctalString 8)", r#""10""#),
    fun("Long/toHexString", LONG, "n", long_hex)
        .doc("Hexadecimal digits; of a negative integer those of its complement in 64 bits")
        .example("(Long/toHexString 255)", r#""ff""#),
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
