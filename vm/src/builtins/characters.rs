//! `Character/isDigit` and its kin: the static methods of Java's class, on texts of one character or on code points.
//!
//! A character of several code points, such as an accented letter or an emoji, is classified by its first one.

use super::Builtin;
use super::namespaces::CHARACTER;
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Graphemes, Value};

/// The digits 0 of the scripts that have digits of their own, ascending: nine others follow each.
const ZEROS: [u32; 37] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50,
    0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40,
    0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// The value of a decimal digit.
fn decimal(c: char) -> Option<u32> {
    let code = u32::from(c);
    let next = ZEROS.partition_point(|zero| *zero <= code);
    let zero = ZEROS.get(next.checked_sub(1)?)?;
    Some(code - zero).filter(|digit| *digit < 10)
}

/// The value of a digit or of a letter of the Latin alphabet, which stands for 10 to 35.
fn digit(c: char) -> Option<u32> {
    decimal(c).or_else(|| {
        // Their wide forms count too.
        let c = u32::from(c)
            .checked_sub(0xFF21 - 0x41)
            .and_then(char::from_u32)
            .filter(char::is_ascii)
            .unwrap_or(c);
        c.to_digit(36)
    })
}

/// The first code point of a text of one character.
fn only_character(text: &str) -> Option<char> {
    let (_, first) = Graphemes::new(text).next()?;
    if first.len() == text.len() { text.chars().next() } else { None }
}

/// The character that an argument is or begins with.
fn character(name: &str, value: &Value) -> Result<char> {
    let found = match value {
        Value::Str(text) => only_character(text.as_str()),
        Value::Int(code) => u32::try_from(*code).ok().and_then(char::from_u32),
        _ => None,
    };
    let expected = || {
        let found = match value {
            Value::Str(text) if text.as_str().is_empty() => "an empty one",
            Value::Str(_) => "a longer one",
            other => other.kind_label(),
        };
        Error::type_error(format!("{name}: expected a text of one character, got {found}"))
    };
    found.ok_or_else(expected)
}

macro_rules! tests {
    ($($(#[doc = $doc:literal])* $function:ident $name:literal $test:expr;)*) => {
        $(
            $(#[doc = $doc])*
            fn $function(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
                let test: fn(char) -> bool = $test;
                Ok(Value::bool(test(character($name, &args[0])?)))
            }
        )*
    };
}

tests! {
    /// `(Character/isDigit c)`
    is_digit "Character/isDigit" |c| decimal(c).is_some();
    /// `(Character/isLetter c)`
    is_letter "Character/isLetter" char::is_alphabetic;
    /// `(Character/isLetterOrDigit c)`
    is_letter_or_digit "Character/isLetterOrDigit" |c| c.is_alphabetic() || decimal(c).is_some();
    /// `(Character/isUpperCase c)`
    is_upper_case "Character/isUpperCase" char::is_uppercase;
    /// `(Character/isLowerCase c)`
    is_lower_case "Character/isLowerCase" char::is_lowercase;
    /// `(Character/isWhitespace c)`: without the spaces that do not break lines, as in Java.
    is_whitespace "Character/isWhitespace" |c| {
        c.is_whitespace() && !matches!(c, '\u{85}' | '\u{A0}' | '\u{2007}' | '\u{202F}')
            || matches!(c, '\u{1C}'..='\u{1F}')
    };
}

/// The argument with its case mapped, in its own form: a code point or a text. A mapping to several characters is none.
fn mapped<I: Iterator<Item = char>>(name: &str, args: &[Value], map: fn(char) -> I) -> Result<Value> {
    let first = character(name, &args[0])?;
    let mut all = map(first);
    let new = match (all.next(), all.next()) {
        (Some(new), None) => new,
        _ => first,
    };
    Ok(match &args[0] {
        Value::Str(text) => {
            let mut out = String::from(new);
            out.push_str(&text.as_str()[first.len_utf8()..]);
            Value::str(out)
        }
        _ => Value::Int(i64::from(u32::from(new))),
    })
}

/// `(Character/toUpperCase c)`
fn to_upper_case(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    mapped("Character/toUpperCase", args, char::to_uppercase)
}

/// `(Character/toLowerCase c)`
fn to_lower_case(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    mapped("Character/toLowerCase", args, char::to_lowercase)
}

/// `(Character/digit c radix)`: -1 if it is no digit of the radix.
fn digit_in(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let c = character("Character/digit", &args[0])?;
    let Value::Int(radix) = args[1] else { return Err(Error::argument_types("Character/digit", args)) };
    let found = digit(c).map(i64::from).filter(|digit| (2..=36).contains(&radix) && *digit < radix);
    Ok(Value::Int(found.unwrap_or(-1)))
}

/// `(Character/getNumericValue c)`: -1 if it has none.
fn numeric_value(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let c = character("Character/getNumericValue", &args[0])?;
    Ok(Value::Int(digit(c).map_or(-1, i64::from)))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("chars", "Characters").of([
    fun("Character/isDigit", CHARACTER, "c", is_digit)
        .doc("True for a decimal digit of any script")
        .example(r"(Character/isDigit \5)", "true"),
    fun("Character/isLetter", CHARACTER, "c", is_letter)
        .aliases(&["Character/isAlphabetic"])
        .doc("True for a letter")
        .example(r#"(filter Character/isLetter "a1é")"#, r#"["a" "é"]"#),
    fun("Character/isLetterOrDigit", CHARACTER, "c", is_letter_or_digit)
        .doc("True for a letter or a decimal digit")
        .example(r"(Character/isLetterOrDigit \_)", "false"),
    fun("Character/isUpperCase", CHARACTER, "c", is_upper_case)
        .doc("True for a letter in upper case")
        .example(r"(Character/isUpperCase \A)", "true"),
    fun("Character/isLowerCase", CHARACTER, "c", is_lower_case)
        .doc("True for a letter in lower case")
        .example(r"(Character/isLowerCase \A)", "false"),
    fun("Character/isWhitespace", CHARACTER, "c", is_whitespace)
        .doc("True for white space at which lines may break")
        .example(r"(Character/isWhitespace \space)", "true"),
    fun("Character/toUpperCase", CHARACTER, "c", to_upper_case)
        .doc("The character in upper case; itself if that is more than one")
        .example(r"(Character/toUpperCase \a)", r#""A""#),
    fun("Character/toLowerCase", CHARACTER, "c", to_lower_case)
        .doc("The character in lower case")
        .example(r"(Character/toLowerCase \A)", r#""a""#),
    fun("Character/digit", CHARACTER, "c radix", digit_in)
        .doc("Value of a digit in a radix, -1 for what is none")
        .example(r"(Character/digit \a 16)", "10")
        .example(r"(Character/digit \7 2)", "-1"),
    fun("Character/getNumericValue", CHARACTER, "c", numeric_value)
        .doc("Value of a digit, 10 to 35 for the letters a to z, -1 for what has none")
        .example(r"(Character/getNumericValue \7)", "7"),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::support::testing::display;

    fn of(name: &str, text: &str) -> String {
        display(&format!("Character/{name}"), [Value::str(text)])
    }

    #[test]
    fn characters_are_told_apart_as_in_java() {
        for (name, yes, no) in [
            ("isDigit", "5٣０", "a²½Ⅷ "),
            ("isLetter", "aÉ日ß", "1_ "),
            ("isLetterOrDigit", "a1٣", "-_ "),
            ("isUpperCase", "AÉ", "aé1"),
            ("isLowerCase", "aßé", "AÉ1"),
            ("isWhitespace", " \t\n\u{2003}", "a\u{A0}"),
        ] {
            for c in yes.chars() {
                assert_eq!(of(name, c.encode_utf8(&mut [0; 4])), "true", "{name} {c:?}");
            }
            for c in no.chars() {
                assert_eq!(of(name, c.encode_utf8(&mut [0; 4])), "false", "{name} {c:?}");
            }
        }
        assert_eq!(display("Character/isDigit", [Value::Int(0x35)]), "true");
        assert_eq!(of("isLetter", "e\u{301}"), "true", "told by the first code point");
    }

    #[test]
    fn cases_and_values_of_characters() {
        assert_eq!(of("toUpperCase", "ß"), "\"ß\"");
        assert_eq!(of("toUpperCase", "e\u{301}"), "\"E\u{301}\"");
        assert_eq!(display("Character/toLowerCase", [Value::Int(65)]), "97");
        for (c, value) in [("7", "7"), ("a", "10"), ("Z", "35"), ("٣", "3"), ("Ａ", "10"), ("-", "-1")] {
            assert_eq!(of("getNumericValue", c), value, "{c}");
        }
        assert_eq!(display("Character/digit", [Value::str("f"), Value::Int(16)]), "15");
        assert_eq!(display("Character/digit", [Value::str("g"), Value::Int(16)]), "-1");
        assert_eq!(display("Character/digit", [Value::str("1"), Value::Int(99)]), "-1");
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(
            of("isDigit", "12"),
            "! type_error: Character/isDigit: expected a text of one character, got a longer one"
        );
        assert_eq!(
            display("Character/isDigit", [Value::Nil]),
            "! type_error: Character/isDigit: expected a text of one character, got nil"
        );
    }
}
