//! Rounding of floats for models (agent.md 3, `float_precision`).

use std::borrow::Cow;

/// The literal `text` with its floats rounded to `digits` decimals. A number that is not zero keeps that many significant
/// digits instead of becoming zero; numbers in exponent form and everything in strings stay.
pub(super) fn rounded(text: &str, digits: u32) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'0'..=b'9' | b'-' if starts_token(bytes, at) => {
                let end = at + bytes[at..].iter().take_while(|byte| !ends_token(**byte)).count();
                if let Some(short) = short(&text[at..end], digits) {
                    out.push_str(&text[copied..at]);
                    out.push_str(&short);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Where the string that begins at `start` is over.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn ends_token(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"')
}

fn starts_token(bytes: &[u8], at: usize) -> bool {
    at == 0 || ends_token(bytes[at - 1])
}

/// A float's shorter form; `None` if the token is no float in plain digits, or short enough.
fn short(token: &str, digits: u32) -> Option<String> {
    let (whole, decimals) = token.strip_prefix('-').unwrap_or(token).split_once('.')?;
    let digits = digits as usize;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(decimals) || decimals.len() <= digits.max(1) {
        return None;
    }
    let number: f64 = token.parse().ok()?;
    let mut text = format!("{number:.digits$}");
    if text.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-')) && number != 0.0 {
        let zeros = decimals.bytes().take_while(|byte| *byte == b'0').count();
        text = format!("{number:.*}", zeros + digits.max(1));
    }
    if let Some((whole, decimals)) = text.split_once('.') {
        let kept = decimals.trim_end_matches('0');
        return Some(format!("{whole}.{}", if kept.is_empty() { "0" } else { kept }));
    }
    Some(format!("{text}.0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_short_and_nothing_else_changes() {
        for (text, digits, expected) in [
            ("0.3333333333", 2, "0.33"),
            ("[-2.6666666667 {:a 1.005 \"b\" 3.0}]", 2, "[-2.67 {:a 1.0 \"b\" 3.0}]"),
            ("0.0012345", 2, "0.0012"),
            ("-0.0000049", 0, "-0.000005"),
            ("2.5", 0, "2.5"),
            ("12.75", 0, "13.0"),
            ("99.999", 2, "100.0"),
            ("1.0e-11 6.02e23 ##Inf 12345678901234567890", 2, "1.0e-11 6.02e23 ##Inf 12345678901234567890"),
            ("\"1.23456 \\\" 2.34567\" 1.23456", 2, "\"1.23456 \\\" 2.34567\" 1.23"),
            ("a1.23456 v1.2.34567 \"open 1.23456", 2, "a1.23456 v1.2.34567 \"open 1.23456"),
        ] {
            assert_eq!(rounded(text, digits), expected, "{text}");
        }
        assert!(matches!(rounded("[1 2.25]", 2), Cow::Borrowed(_)));
    }
}
