//! Canonical JSON: one spelling for each value, so that a digest identifies the value (waiting.md 3.3).
//!
//! Keys are sorted by their UTF-8 bytes, there are no blanks, strings have the shortest escapes, and a number is its exact
//! value in the shortest decimal form: two texts of one value become the same bytes, two of different values never do. A
//! repeated key in an object is refused: readers keep one of the two values, and not all the same one.

use std::borrow::Cow;
use std::io::Write as _;

use ptc_mcp::json::{Map, Raw, Value, write_string};
use ring::digest::{Context, SHA256};

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
    /// The exponent of a number is out of range.
    #[error("a number is out of range")]
    Number,
}

/// The SHA-256 of the canonical form of a JSON text. It is made member by member: besides the text there is at most a small
/// multiple of it, the places of the members of one object at each level.
///
/// # Errors
/// The text is not JSON, has a key twice in one object, or a number out of range.
pub fn digest(json: &[u8]) -> Result<[u8; 32], NotCanonical> {
    let mut context = Context::new(&SHA256);
    CanonicalWriter::new(json, &mut |piece| context.update(piece))?.whole()?;
    let mut sha = [0; 32];
    sha.copy_from_slice(context.finish().as_ref());
    Ok(sha)
}

/// Bytes that are collected before they are handed on.
const PIECE: usize = 16 << 10;
/// Bytes of an array or object that is walked again rather than remembered.
const SHORT: usize = 64;

/// The canonical form of a text, as it is written.
struct CanonicalWriter<'t, 's> {
    text: &'t str,
    /// Where each array and object begins and ends that is not short, by its beginning.
    ends: Vec<(u32, u32)>,
    out: Vec<u8>,
    sink: &'s mut dyn FnMut(&[u8]),
}

impl<'t, 's> CanonicalWriter<'t, 's> {
    fn new(json: &'t [u8], sink: &'s mut dyn FnMut(&[u8])) -> Result<Self, NotCanonical> {
        let text = std::str::from_utf8(json).map_err(|_| NotCanonical::NotJson)?;
        // From here on it is known to be JSON, nested as deep as is read.
        Raw::parse(text).map_err(|_| NotCanonical::NotJson)?;
        u32::try_from(text.len()).map_err(|_| NotCanonical::NotJson)?;
        Ok(CanonicalWriter { text, ends: ends(json), out: Vec::with_capacity(PIECE), sink })
    }

    fn whole(mut self) -> Result<(), NotCanonical> {
        let start = self.skip_space(0);
        self.value(start)?;
        (self.sink)(&self.out);
        Ok(())
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
        }
        at
    }

    /// The place after the value at `at`.
    fn end(&self, at: usize) -> usize {
        match self.byte(at) {
            b'"' => end_of_string(self.text.as_bytes(), at),
            b'{' | b'[' => match self.ends.binary_search_by_key(&at, |(start, _)| *start as usize) {
                Ok(found) => self.ends[found].1 as usize,
                Err(_) => end_of_short(self.text.as_bytes(), at),
            },
            _ => self.end_of_word(at),
        }
    }

    /// The place after a number or a literal.
    fn end_of_word(&self, at: usize) -> usize {
        let rest = &self.text.as_bytes()[at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        rest.iter().position(is_end).map_or(self.text.len(), |length| at + length)
    }

    /// Writes the value at `at`; the place after it.
    fn value(&mut self, at: usize) -> Result<usize, NotCanonical> {
        if self.out.len() >= PIECE {
            (self.sink)(&self.out);
            self.out.clear();
        }
        match self.byte(at) {
            b'{' => self.object(at),
            b'[' => self.array(at),
            b'"' => {
                let end = self.end(at);
                let text = Raw::parse(&self.text[at..end]).ok().and_then(Raw::as_str);
                self.string(&text.ok_or(NotCanonical::NotJson)?);
                Ok(end)
            }
            byte => {
                let end = self.end_of_word(at);
                match byte {
                    b't' | b'f' | b'n' => self.out.extend_from_slice(&self.text.as_bytes()[at..end]),
                    _ => write_number(&mut self.out, &self.text[at..end])?,
                }
                Ok(end)
            }
        }
    }

    /// Writes a string, in pieces if it is long: each is written between quotes of its own, which are left out.
    fn string(&mut self, text: &str) {
        if text.len() <= PIECE {
            return write_string(&mut self.out, text);
        }
        self.out.push(b'"');
        let mut rest = text;
        let mut piece = Vec::new();
        while !rest.is_empty() {
            let (first, others) = rest.split_at(rest.floor_char_boundary(PIECE));
            (self.sink)(&self.out);
            self.out.clear();
            piece.clear();
            write_string(&mut piece, first);
            self.out.extend_from_slice(&piece[1..piece.len() - 1]);
            rest = others;
        }
        self.out.push(b'"');
    }

    fn array(&mut self, at: usize) -> Result<usize, NotCanonical> {
        self.out.push(b'[');
        let mut at = self.skip_space(at + 1);
        while self.byte(at) != b']' {
            if self.byte(at) == b',' {
                self.out.push(b',');
                at = self.skip_space(at + 1);
            }
            let end = self.value(at)?;
            at = self.skip_space(end);
        }
        self.out.push(b']');
        Ok(at + 1)
    }

    fn object(&mut self, at: usize) -> Result<usize, NotCanonical> {
        let mut members: Vec<(Cow<'t, str>, u32)> = Vec::new();
        let text = self.text;
        let mut at = self.skip_space(at + 1);
        while self.byte(at) != b'}' {
            if self.byte(at) == b',' {
                at = self.skip_space(at + 1);
            }
            let end_of_key = self.end(at);
            let key =
                Raw::parse(&text[at..end_of_key]).ok().and_then(Raw::as_str).ok_or(NotCanonical::NotJson)?;
            let colon = self.skip_space(end_of_key);
            let value = self.skip_space(colon + 1);
            // As long as the text, which is shorter than that.
            members.push((key, u32::try_from(value).map_err(|_| NotCanonical::NotJson)?));
            at = self.skip_space(self.end(value));
        }
        // Text is ordered by its UTF-8 bytes.
        members.sort_unstable();
        if let Some(twice) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(NotCanonical::RepeatedKey(twice[0].0.to_string()));
        }
        self.out.push(b'{');
        for (position, (key, value)) in members.into_iter().enumerate() {
            if position > 0 {
                self.out.push(b',');
            }
            self.string(&key);
            self.out.push(b':');
            self.value(value as usize)?;
        }
        self.out.push(b'}');
        Ok(at + 1)
    }
}

/// Where the arrays and objects of a JSON text begin and end that are not short, in the order of their beginnings.
fn ends(json: &[u8]) -> Vec<(u32, u32)> {
    let (mut ends, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(json, at);
                continue;
            }
            b'{' | b'[' => open.push(at),
            b'}' | b']' => {
                if let Some(start) = open.pop()
                    && at + 1 - start > SHORT
                {
                    // The caller has seen that the text is short enough.
                    ends.push((start as u32, at as u32 + 1));
                }
            }
            _ => {}
        }
        at += 1;
    }
    ends.sort_unstable();
    ends
}

/// The place after the array or object at `at`, found by counting its brackets.
fn end_of_short(json: &[u8], mut at: usize) -> usize {
    let mut open = 0_usize;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(json, at);
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                open = open.saturating_sub(1);
                if open == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    json.len()
}

/// The place after the string at `at`.
fn end_of_string(json: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

/// The canonical form of a JSON tree.
///
/// # Errors
/// It has a number out of range.
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
    use ptc_mcp::json::{from_str, repeated_key};

    use super::*;

    fn canonical(json: &[u8]) -> Result<Vec<u8>, NotCanonical> {
        let mut form = Vec::new();
        CanonicalWriter::new(json, &mut |piece| form.extend_from_slice(piece))?.whole()?;
        Ok(form)
    }

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

    #[test]
    fn a_text_gets_the_form_of_its_tree_however_long_and_deep_it_is() {
        let wide =
            (0..20_000).rev().map(|n| format!(r#""k{n}" : {{"b":[{n}.0],"a":"{}"}}"#, "é".repeat(n % 50)));
        let wide = format!("{{{}}}", wide.collect::<Vec<_>>().join(" , "));
        let long = format!(r#"{{"z":"{}","a":"{}\n"}}"#, r#"é\"\\"#.repeat(50_000), "x".repeat(100_000));
        let deep = format!("{}1{}", r#"{"b":2, "a":"#.repeat(100), "}".repeat(100));
        for text in [wide, long, deep, "[[],[[]],{}]".into(), format!("[{}]", "[],".repeat(100_000) + "[]")] {
            let tree = from_str::<Value>(&text).unwrap();
            assert_eq!(canonical(text.as_bytes()).unwrap(), canonical_value(&tree).unwrap(), "{:.60}", text);
        }
    }

    fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            any::<i32>().prop_map(|n| n.to_string()),
            any::<f32>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| format!("{f:?}")),
            "[a-c\\\\\"é/]{0,4}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        let key =
            prop_oneof![Just(r#""a""#), Just(r#""\u0061""#), Just(r#""b""#), Just(r#""\"""#), Just(r#""""#)];
        leaf.prop_recursive(5, 60, 6, move |inner| {
            let member = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{key} :{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(|items| format!("[ {}]", items.join(", "))),
                prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{} }}", members.join(","))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_has_the_form_of_its_tree(text in document()) {
            let form = canonical(text.as_bytes());
            match repeated_key(&text) {
                Some(_) => prop_assert!(matches!(form, Err(NotCanonical::RepeatedKey(_)))),
                None => prop_assert_eq!(form.unwrap(), canonical_value(&from_str(&text).unwrap()).unwrap()),
            }
        }

        #[test]
        fn bytes_of_anybody_have_a_form_or_none(text in "[\\[\\]{}\",:0-9a\\\\ ]{0,40}") {
            let _ = canonical(text.as_bytes());
        }

        #[test]
        fn a_canonical_text_is_its_own_form_and_the_same_float(float in any::<f64>().prop_filter("finite", |f| f.is_finite())) {
            let form = shown(&format!("{float:?}"));
            prop_assert_eq!(&shown(&form), &form);
            prop_assert_eq!(form.parse::<f64>().unwrap(), float);
            prop_assert_eq!(shown(&format!("{float}")), form, "with or without exponent");
        }
    }
}
