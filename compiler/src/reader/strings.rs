//! Escapes in strings, regex literals and characters.

use std::borrow::Cow;

use crate::token::CHARACTER_NAMES;

/// The value of a string: `\\ \" \n \t \r \f \uXXXX` are decoded, every other pair stays as it is written.
pub(super) fn decode(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let pair = &rest[at + 1..];
        let (value, taken) = match pair.as_bytes().first() {
            Some(b'\\') => ('\\', 1),
            Some(b'"') => ('"', 1),
            Some(b'n') => ('\n', 1),
            Some(b't') => ('\t', 1),
            Some(b'r') => ('\r', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'u') => match code_point(&pair[1..]) {
                Some((value, digits)) => (value, 1 + digits),
                None => ('\\', 0),
            },
            _ => ('\\', 0),
        };
        text.push(value);
        rest = &pair[taken..];
    }
    text.push_str(rest);
    text
}

/// The pattern of a regex literal: only `\\` and `\"` are decoded, the engine reads the rest. Pairs at the end that would leave
/// a backslash with nothing after it stay as they are.
pub(super) fn decode_regex(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let pair = &rest[at + 1..];
        match pair.as_bytes().first() {
            Some(&byte @ (b'\\' | b'"')) => {
                text.push(char::from(byte));
                rest = &pair[1..];
            }
            _ => {
                let width = pair.chars().next().map_or(0, char::len_utf8);
                text.push('\\');
                text.push_str(&pair[..width]);
                rest = &pair[width..];
            }
        }
    }
    text.push_str(rest);
    let pairs = (body.len() - body.trim_end_matches('\\').len()) / 2;
    if pairs % 2 == 1 {
        text.extend(std::iter::repeat_n('\\', pairs));
    }
    text
}

/// The value of a character literal without its backslash. `None` for `uD800` and its like.
pub(super) fn character(name: &str) -> Option<Cow<'_, str>> {
    if let Some((_, value)) = CHARACTER_NAMES.iter().find(|(known, _)| *known == name) {
        return Some(Cow::Borrowed(value));
    }
    if name.len() == 5 && name.starts_with('u') {
        return char::from_u32(hex4(&name[1..])?).map(|c| Cow::Owned(c.to_string()));
    }
    Some(Cow::Borrowed(name))
}

/// A code point from `XXXX` or from a surrogate pair `XXXX\uXXXX`, and how many bytes it took. A lone surrogate is none.
fn code_point(digits: &str) -> Option<(char, usize)> {
    let high = hex4(digits)?;
    if let Some(value) = char::from_u32(high) {
        return Some((value, 4));
    }
    let low = hex4(digits[4..].strip_prefix("\\u")?)?;
    if !(0xD800..0xDC00).contains(&high) || !(0xDC00..0xE000).contains(&low) {
        return None;
    }
    let value = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))?;
    Some((value, 10))
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.as_bytes().get(..4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_escapes_are_decoded_and_all_others_stay() {
        assert_eq!(decode(r#"\\ \" \n\t\r\f"#), "\\ \" \n\t\r\u{c}");
        assert_eq!(decode(r"\d \q \é \😀 \x41 \101"), r"\d \q \é \😀 \x41 \101");
        assert_eq!(decode(r"\u0041\u00e9\u20AC"), "Aé€");
        assert_eq!(decode(r"\\u0041"), r"\u0041", "the backslash was escaped");
    }

    #[test]
    fn surrogates_pair_up_or_stay() {
        assert_eq!(decode(r"\uD83D\uDE00!"), "😀!");
        for lone in [r"\uD83D", r"\uDE00\uD83D", r"\uD83Dx", r"\uD83D\u0041", r"\u00", r"\uZZZZ", r"\u"] {
            let decoded = decode(lone);
            assert!(decoded.starts_with("\\u"), "{lone} gave {decoded}");
        }
        assert_eq!(decode(r"\uD83D\u0041"), r"\uD83DA");
    }

    #[test]
    fn a_regex_keeps_its_own_escapes() {
        assert_eq!(decode_regex(r"\d+"), r"\d+");
        assert_eq!(decode_regex(r"\\d+"), r"\d+");
        assert_eq!(decode_regex(r#"\"\n\u0041\é"#), r#""\n\u0041\é"#);
        assert_eq!(decode_regex(r"\\\\"), r"\\");
        assert_eq!(decode_regex(r"a\\\\\\"), r"a\\\\\\");
        assert_eq!(decode_regex(r"\\"), r"\\");
    }

    #[test]
    fn characters() {
        assert_eq!(character("newline").as_deref(), Some("\n"));
        assert_eq!(character("u0041").as_deref(), Some("A"));
        assert_eq!(character("u").as_deref(), Some("u"));
        assert_eq!(character("😀").as_deref(), Some("😀"));
        assert_eq!(character("uD800"), None);
    }
}
