//! JSON in one spelling for each value, so that a digest stands for the value (waiting.md 3.3).
//!
//! Keys are sorted by their UTF-8 bytes, there are no blanks, strings have the shortest escapes, and a number is its exact
//! value in the shortest decimal form: two texts of one value become the same bytes, two of different values never do.
//! A key that stands twice in an object is refused: readers keep one of the two values, and not all the same one.

use std::io::Write as _;

use ptc_mcp::json::{Map, Value, from_str, repeated_key, write_string};
use ring::digest::SHA256;

/// Longest exponent of a number, in digits: far more than any reader takes.
const MAX_EXPONENT_DIGITS: usize = 9;

/// Why a text has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCanonical {
    /// It is not JSON, or nested too deeply.
    #[error("not JSON")]
    NotJson,
    /// An object has this key twice.
    #[error("the key {0:?} stands twice in one object")]
    RepeatedKey(String),
    /// The exponent of a number is beyond what anybody can read.
    #[error("a number is out of range")]
    Number,
}

/// The SHA-256 of the canonical form of a JSON text.
///
/// # Errors
/// As [`canonical`].
pub fn digest(json: &[u8]) -> Result<[u8; 32], NotCanonical> {
    let mut sha = [0; 32];
    sha.copy_from_slice(ring::digest::digest(&SHA256, &canonical(json)?).as_ref());
    Ok(sha)
}

/// The canonical form of a JSON text.
///
/// # Errors
/// The text is not JSON, has a key twice in one object, or a number that nobody can read.
#[expect(clippy::disallowed_methods, reason = "entry point: canonical()")]
pub fn canonical(json: &[u8]) -> Result<Vec<u8>, NotCanonical> {
    let text = std::str::from_utf8(json).map_err(|_| NotCanonical::NotJson)?;
    let value = from_str::<Value>(text).map_err(|_| NotCanonical::NotJson)?;
    if let Some(key) = repeated_key(text) {
        return Err(NotCanonical::RepeatedKey(key));
    }
    canonical_value(&value)
}

/// The canonical form of a JSON tree.
///
/// # Errors
/// It has a number that nobody can read.
pub fn canonical_value(value: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut out = Vec::new();
    write(&mut out, value)?;
    Ok(out)
}

fn write(out: &mut Vec<u8>, value: &Value) -> Result<(), NotCanonical> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Value::Number(number) => write_number(out, number.as_str())?,
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(out, item)?;
            }
            out.push(b']');
        }
        Value::Object(members) => write_members(out, members)?,
    }
    Ok(())
}

fn write_members(out: &mut Vec<u8>, members: &Map) -> Result<(), NotCanonical> {
    let mut sorted: Vec<(&str, &Value)> = members.iter().map(|(key, value)| (key.as_str(), value)).collect();
    // Text is ordered by its UTF-8 bytes.
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.push(b'{');
    for (at, (key, value)) in sorted.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(out, key);
        out.push(b':');
        write(out, value)?;
    }
    out.push(b'}');
    Ok(())
}

/// Writes the shorter of `120000` and `12e4`, of `0.0012` and `12e-4`; the plain one if both are of one length.
fn write_number(out: &mut Vec<u8>, text: &str) -> Result<(), NotCanonical> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        // Zero has no sign and no exponent.
        out.push(b'0');
        return Ok(());
    }
    let (sign, exponent) = exponent.strip_prefix('-').map_or((1, exponent), |rest| (-1, rest));
    let exponent = exponent.trim_start_matches('+').trim_start_matches('0');
    if exponent.len() > MAX_EXPONENT_DIGITS {
        return Err(NotCanonical::Number);
    }
    let exponent: i64 =
        if exponent.is_empty() { 0 } else { exponent.parse().map_err(|_| NotCanonical::Number)? };
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    // The value is the integer `significant` times ten to the power of `power`.
    let power = sign * exponent + length(digits) - length(significant) - length(fraction);
    if negative {
        out.push(b'-');
    }
    let behind_point = length(significant) + power;
    let plain = match power {
        0.. => length(significant) + power,
        _ if behind_point > 0 => length(significant) + 1,
        _ => 2 - power,
    };
    let scientific = format!("{significant}e{power}");
    let zeros = |out: &mut Vec<u8>, count: i64| out.extend((0..count).map(|_| b'0'));
    if power != 0 && length(&scientific) < plain {
        out.extend_from_slice(scientific.as_bytes());
    } else if power >= 0 {
        out.extend_from_slice(significant.as_bytes());
        zeros(out, power);
    } else if behind_point > 0 {
        let (whole, fraction) = significant.split_at(usize::try_from(behind_point).unwrap_or(0));
        // Writing to a vector does not fail.
        let _ = write!(out, "{whole}.{fraction}");
    } else {
        out.extend_from_slice(b"0.");
        zeros(out, -behind_point);
        out.extend_from_slice(significant.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(json: &str) -> String {
        String::from_utf8(canonical(json.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn one_spelling_for_each_value() {
        for (text, form) in [
            (" { \"b\" : [ 1 , 2 ] , \"a\" : null } ", r#"{"a":null,"b":[1,2]}"#),
            (r#"{"é":1,"z":2,"\u0041":3,"":4}"#, r#"{"":4,"A":3,"z":2,"é":1}"#),
            // By bytes, not by units of UTF-16: U+FF61 comes before U+1F600.
            (r#"{"😀":1,"｡":2}"#, r#"{"｡":2,"😀":1}"#),
            (r#""\u0041\/\u00e9\u000a\u001b\"\\\ud83d\ude00""#, r#""A/é\n\u001b\"\\😀""#),
            ("[true,false]", "[true,false]"),
            ("{}", "{}"),
            ("[]", "[]"),
        ] {
            assert_eq!(shown(text), form, "{text}");
        }
    }

    #[test]
    fn numbers_are_exact_and_as_short_as_can_be() {
        for (text, form) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e-7", "0"),
            ("0e99999999999999999999", "0"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("10", "10"),
            ("1e1", "10"),
            ("100", "100"),
            ("1e2", "100"),
            ("1000", "1e3"),
            ("-120000", "-12e4"),
            ("1.50", "1.5"),
            ("15e-1", "1.5"),
            ("0.1", "0.1"),
            ("1E-1", "0.1"),
            ("0.001", "1e-3"),
            ("0.012", "0.012"),
            ("0.00012", "12e-5"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("123456789012345678901234567891", "123456789012345678901234567891"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("1e400", "1e400"),
            ("10e+0399", "1e400"),
        ] {
            assert_eq!(shown(text), form, "{text}");
        }
        assert_eq!(canonical(b"1e9999999999"), Err(NotCanonical::Number));
    }

    #[test]
    fn what_is_read_in_two_ways_is_refused() {
        assert_eq!(
            canonical(br#"{"x":[{"a":1,"\u0061":2}]}"#),
            Err(NotCanonical::RepeatedKey("a".to_owned()))
        );
        for text in [&b""[..], b"{", b"[1,]", b"nan", b"01", b"\"\xff\"", b"{} {}"] {
            assert_eq!(canonical(text), Err(NotCanonical::NotJson), "{text:?}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(canonical(deep.as_bytes()), Err(NotCanonical::NotJson));
    }

    #[test]
    fn digests_are_of_the_form() {
        assert_eq!(
            crate::digest::hex(&digest(b" { } ").unwrap()),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    proptest! {
        #[test]
        fn a_canonical_text_is_its_own_form_and_the_same_float(float in any::<f64>().prop_filter("finite", |f| f.is_finite())) {
            let form = shown(&format!("{float:?}"));
            prop_assert_eq!(&shown(&form), &form);
            prop_assert_eq!(form.parse::<f64>().unwrap(), float);
            prop_assert_eq!(shown(&format!("{float}")), form, "with or without exponent");
        }
    }
}
