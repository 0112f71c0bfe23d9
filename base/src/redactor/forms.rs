//! The spellings in which a secret is looked for.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ptc_mcp::json::Value;
use zeroize::Zeroizing;

/// One spelling of a secret. No spelling is shorter than the secret.
pub(super) type Spelling = Arc<Zeroizing<String>>;

/// Bytes that no percent-encoding touches: the unreserved characters of RFC 3986.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A secret as it is, which comes first; inside a JSON string, and inside a JSON text that is itself in a JSON string;
/// percent-encoded with digits of either case, and as form data; and in base64 of both alphabets, without the padding,
/// which gives nothing away. Each once: most of them are equal for most secrets.
pub(super) fn forms(secret: &str) -> Vec<Spelling> {
    let escaped = |text: &str| {
        let quoted = Zeroizing::new(Value::from(text).to_string());
        Zeroizing::new(quoted[1..quoted.len() - 1].to_owned())
    };
    let json = escaped(secret);
    let json_in_json = escaped(&json);
    let percent = Zeroizing::new(utf8_percent_encode(secret, &UNRESERVED).to_string());
    let small = Zeroizing::new(with_small_digits(&percent));
    let form = Zeroizing::new(percent.replace("%20", "+"));
    let base64 = Zeroizing::new(STANDARD_NO_PAD.encode(secret));
    let url_safe = Zeroizing::new(URL_SAFE_NO_PAD.encode(secret));
    let mut forms: Vec<Spelling> = Vec::with_capacity(2);
    for text in
        [Zeroizing::new(secret.to_owned()), json, json_in_json, percent, small, form, base64, url_safe]
    {
        if !forms.iter().any(|known| ***known == **text) {
            forms.push(Arc::new(text));
        }
    }
    forms
}

/// Percent-encoded text with its digits in lower case. Each `%` is followed by two digits.
fn with_small_digits(percent: &str) -> String {
    let mut digits = 0;
    let small = |c: char| {
        let is_digit = digits > 0;
        digits = if c == '%' { 2 } else { digits - u8::from(is_digit) };
        if is_digit { c.to_ascii_lowercase() } else { c }
    };
    percent.chars().map(small).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_spellings_are_kept_once() {
        assert_eq!(forms("plain-token-0123456789").len(), 2, "itself and base64");
        assert!(forms("a b\"c\\d?e f~").len() > 6);
    }

    #[test]
    fn only_digits_of_escapes_become_small() {
        assert_eq!(with_small_digits("AB%2FCD%C3%A9EF"), "AB%2fCD%c3%a9EF");
    }
}
