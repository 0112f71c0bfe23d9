//! The texts of keywords and symbols: their parts, and which of them the reader reads.

use crate::meter;

/// Namespace and name of the text of a keyword or a symbol, which splits at its first `/`. A `/` alone is a name.
pub(crate) fn parts_of_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((namespace, name)) if text != "/" => (Some(namespace), name),
        _ => (None, text),
    }
}

/// Whether a character beyond ASCII may stand in a name: a letter or a digit of any script. Invisible alphabetic fillers may
/// not.
pub fn is_letter_beyond_ascii(c: char) -> bool {
    let is_filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}');
    !c.is_ascii() && c.is_alphanumeric() && !is_filler
}

/// Whether `:name` reads as the keyword of this text.
pub(crate) fn is_readable_keyword(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && all(part, |byte| KINDS[usize::from(byte)] & KEYWORD != 0);
    let (namespace, name) = parts_of_name(text);
    namespace.is_none_or(is_part) && is_part(name)
}

/// Whether `'name` reads as the symbol of this text.
pub(crate) fn is_readable_symbol(text: &str) -> bool {
    let begins = match text.chars().next() {
        Some(c) if c.is_ascii() => KINDS[c as usize] & FIRST != 0,
        Some(c) => is_letter_beyond_ascii(c) && c.is_alphabetic(),
        None => false,
    };
    begins
        && all(text, |byte| KINDS[usize::from(byte)] & SYMBOL != 0)
        && !matches!(text, "nil" | "true" | "false")
}

/// Whether all ASCII characters of a text are of a kind, and all others letters.
fn all(text: &str, of_kind: impl Fn(u8) -> bool) -> bool {
    meter::text_pieces(text).all(|piece| {
        piece.bytes().all(|byte| of_kind(byte) || byte >= 0x80)
            && (piece.is_ascii() || piece.chars().all(|c| c.is_ascii() || is_letter_beyond_ascii(c)))
    })
}

/// In keywords.
const KEYWORD: u8 = 1;
/// In symbols.
const SYMBOL: u8 = 2;
/// At the beginning of symbols.
const FIRST: u8 = 4;

/// Where each byte may stand (language.md 1.2).
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        kinds[byte] = match c {
            b'a'..=b'z' | b'A'..=b'Z' => KEYWORD | SYMBOL | FIRST,
            b'0'..=b'9' => KEYWORD | SYMBOL,
            b'+' | b'-' | b'*' | b'<' | b'>' | b'=' | b'?' | b'!' | b'_' | b'.' | b'|' => {
                KEYWORD | SYMBOL | FIRST
            }
            b'/' | b'%' | b'&' | b'$' => SYMBOL | FIRST,
            b'\'' => SYMBOL,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_splits_at_its_first_slash() {
        for (text, parts) in [
            ("a", (None, "a")),
            ("/", (None, "/")),
            ("a/b", (Some("a"), "b")),
            ("a/b/c", (Some("a"), "b/c")),
            ("/b", (Some(""), "b")),
            ("//", (Some(""), "/")),
            ("a/", (Some("a"), "")),
        ] {
            assert_eq!(parts_of_name(text), parts, "{text}");
        }
    }

    #[test]
    fn readable_names_are_those_of_the_grammar() {
        for text in ["a", "1", "a/b", "my.app/id", "привет", "a|b", "é1"] {
            assert!(is_readable_keyword(text), "{text}");
        }
        for text in ["", "/", "a/b/c", "a/", "/b", "a b", "a:b", "a\u{200b}", "a\u{3164}", "a'"] {
            assert!(!is_readable_keyword(text), "{text}");
        }
        for text in ["a", "/", "a/b/c", "->x", "a'", "%", "-1", "Δ"] {
            assert!(is_readable_symbol(text), "{text}");
        }
        for text in ["", "1a", "'a", "a b", "a#", "nil", "true", "a:b", "a\u{202e}"] {
            assert!(!is_readable_symbol(text), "{text}");
        }
    }
}
