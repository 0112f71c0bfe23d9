//! `parse-long`, `parse-double`, `parse-boolean` and their Java names: `nil` for all that they cannot read.

use super::{Arities, Builtin, Example, Native};
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
            super::java_strings::type_name(other)
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
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "parse-long",
        namespace: "clojure.core",
        aliases: &[
            "clojure.core/parse-long",
            "core/parse-long",
            "clojure.string/parse-long",
            "str/parse-long",
            "string/parse-long",
        ],
        arities: Arities::OneOf(&[1]),
        signatures: &["(parse-long s)"],
        doc: "Read a 64-bit integer, nil on failure",
        section: "parse",
        examples: &[
            Example { program: "(parse-long \"-42\")", value: "-42" },
            Example { program: "(parse-long \"4.2\")", value: "nil" },
            Example { program: "(parse-long 42)", value: "nil" },
        ],
        native: Native::Plain(parse_long),
    },
    Builtin {
        name: "parse-int",
        namespace: "clojure.string",
        aliases: &["clojure.string/parse-int", "str/parse-int", "string/parse-int"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(parse-int s)"],
        doc: "Alias of parse-long",
        section: "parse",
        examples: &[Example { program: "(parse-int \"007\")", value: "7" }],
        native: Native::Plain(parse_long),
    },
    Builtin {
        name: "parse-double",
        namespace: "clojure.core",
        aliases: &[
            "clojure.core/parse-double",
            "core/parse-double",
            "clojure.string/parse-double",
            "str/parse-double",
            "string/parse-double",
        ],
        arities: Arities::OneOf(&[1]),
        signatures: &["(parse-double s)"],
        doc: "Read a float, nil on failure",
        section: "parse",
        examples: &[
            Example { program: "(parse-double \"1.5e3\")", value: "1500.0" },
            Example { program: "(parse-double \"3\")", value: "3.0" },
            Example { program: "(parse-double \".5\")", value: "nil" },
        ],
        native: Native::Plain(parse_double),
    },
    Builtin {
        name: "parse-boolean",
        namespace: "clojure.core",
        aliases: &[
            "clojure.core/parse-boolean",
            "core/parse-boolean",
            "clojure.string/parse-boolean",
            "str/parse-boolean",
            "string/parse-boolean",
        ],
        arities: Arities::OneOf(&[1]),
        signatures: &["(parse-boolean s)"],
        doc: "Read a boolean, nil on failure",
        section: "parse",
        examples: &[
            Example { program: "(parse-boolean \"true\")", value: "true" },
            Example { program: "(parse-boolean \"TRUE\")", value: "nil" },
        ],
        native: Native::Plain(parse_boolean),
    },
    Builtin {
        name: "parse-uuid",
        namespace: "clojure.core",
        aliases: &["clojure.core/parse-uuid", "core/parse-uuid"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(parse-uuid s)"],
        doc: "The string itself if it is the text of a UUID, nil otherwise",
        section: "parse",
        examples: &[
            Example {
                program: "(parse-uuid \"912e5366-a80e-467a-bcf6-ac58a2500f83\")",
                value: "\"912e5366-a80e-467a-bcf6-ac58a2500f83\"",
            },
            Example { program: "(parse-uuid \"x\")", value: "nil" },
        ],
        native: Native::Plain(parse_uuid),
    },
    Builtin {
        name: "Boolean/parseBoolean",
        namespace: "java.lang.Boolean",
        aliases: &["Boolean/valueOf"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(Boolean/parseBoolean s)"],
        doc: "Java boolean reader: true only for \"true\" in any case",
        section: "parse",
        examples: &[
            Example { program: "(Boolean/parseBoolean \"TRUE\")", value: "true" },
            Example { program: "(Boolean/parseBoolean \"x\")", value: "false" },
        ],
        native: Native::Plain(java_boolean),
    },
    Builtin {
        name: "Integer/parseInt",
        namespace: "java.lang.Integer",
        aliases: &["Integer/valueOf"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(Integer/parseInt s)", "(Integer/parseInt s radix)"],
        doc: "Read an integer, nil on failure",
        section: "parse",
        examples: &[
            Example { program: "(Integer/parseInt \"42\")", value: "42" },
            Example { program: "(Integer/parseInt \"x\")", value: "nil" },
            Example { program: "(Integer/parseInt \"ff\" 16)", value: "255" },
        ],
        native: Native::Plain(java_long),
    },
    Builtin {
        name: "Long/parseLong",
        namespace: "java.lang.Long",
        aliases: &["Long/valueOf"],
        arities: Arities::OneOf(&[1, 2]),
        signatures: &["(Long/parseLong s)", "(Long/parseLong s radix)"],
        doc: "Read an integer, nil on failure",
        section: "parse",
        examples: &[Example { program: "(Long/parseLong \"42\")", value: "42" }],
        native: Native::Plain(java_long),
    },
    Builtin {
        name: "Double/parseDouble",
        namespace: "java.lang.Double",
        aliases: &["Double/valueOf"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(Double/parseDouble s)"],
        doc: "Read a float, nil on failure",
        section: "parse",
        examples: &[Example { program: "(Double/parseDouble \"2.5\")", value: "2.5" }],
        native: Native::Plain(parse_double),
    },
    Builtin {
        name: "Float/parseFloat",
        namespace: "java.lang.Float",
        aliases: &["Float/valueOf"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(Float/parseFloat s)"],
        doc: "Read a float, nil on failure",
        section: "parse",
        examples: &[Example { program: "(Float/parseFloat \"2.5\")", value: "2.5" }],
        native: Native::Plain(parse_double),
    },
];

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
