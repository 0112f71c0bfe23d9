//! Characters that a reader does not see, made visible.
//!
//! Control characters drive terminals, bidirectional controls and zero-width characters make a text look like another one, and
//! tags carry text that only a model reads. Untrusted text is shown with these as `\u001b` and the like, which is the notation
//! of both JSON and the language.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with its hidden characters escaped. Line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// [`visible`] on one line: line feeds and tabs are escaped as well.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Whether `text` has a hidden character; line feeds and tabs count.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    matches!(visible_line(text), Cow::Owned(_))
}

/// A JSON text for a page: a reader that parses it and shows its strings shows their hidden characters as escapes. Line feeds
/// and tabs stay.
#[must_use]
pub fn visible_on_page(json: &str) -> Cow<'_, str> {
    let shown = visible(json);
    if let Cow::Borrowed(_) = shown
        && !json.contains("\\u00")
    {
        return shown;
    }
    // What is escaped in the text stands in its strings: one more backslash, and the escape itself is the string's.
    let mut out = String::with_capacity(shown.len() + 16);
    let mut rest = &*shown;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit =
            escape.strip_prefix("\\u").and_then(|digits| u32::from_str_radix(digits.get(..4)?, 16).ok());
        // Halves of a pair are the escapes of tags.
        let hides = |unit| (0xd800..0xe000).contains(&unit) || char::from_u32(unit).is_some_and(is_hidden);
        out.push_str(if unit.is_some_and(hides) { "\\\\" } else { "\\" });
        // The escaped character goes with it, which may be a backslash.
        let end = escape[1..].chars().next().map_or(1, |c| 1 + c.len_utf8());
        out.push_str(&escape[1..end]);
        rest = &escape[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The characters of `text`, with spaces for the control characters that are not in `stay`: for prose whose controls have no
/// meaning for its reader.
pub fn without_controls(text: &str, stay: &[char]) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c.is_control() && !stay.contains(&c) { ' ' } else { c })
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    // What is hidden is an ASCII control character or not ASCII at all.
    if text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut plain = 0;
    let mut before = PrecedingCharacter::Ascii(' ');
    for (at, c) in text.char_indices() {
        let hidden = if stays(c) { false } else { before.hides(c) };
        before = PrecedingCharacter::after(before, c, hidden);
        if hidden {
            out.push_str(&text[plain..at]);
            plain = at + c.len_utf8();
            push_escape(&mut out, c);
        }
    }
    if plain == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[plain..]);
    Cow::Owned(out)
}

fn push_escape(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

/// The preceding character, as far as joiners and variation selectors depend on it: scripts and emoji need them, one at a time,
/// after a character that they modify.
#[derive(Clone, Copy)]
enum PrecedingCharacter {
    Ascii(char),
    /// A letter or sign outside ASCII.
    Sign,
    Selector,
    /// A joiner, or something hidden.
    Nothing,
}

impl PrecedingCharacter {
    fn after(self, c: char, hidden: bool) -> PrecedingCharacter {
        match c {
            _ if hidden => PrecedingCharacter::Nothing,
            '\u{200c}' | '\u{200d}' => PrecedingCharacter::Nothing,
            '\u{fe00}'..='\u{fe0f}' => PrecedingCharacter::Selector,
            c if c.is_ascii() => PrecedingCharacter::Ascii(c),
            _ => PrecedingCharacter::Sign,
        }
    }

    fn hides(self, c: char) -> bool {
        match c {
            ' '..='~' => false,
            '\u{200c}' | '\u{200d}' => {
                !matches!(self, PrecedingCharacter::Sign | PrecedingCharacter::Selector)
            }
            '\u{fe00}'..='\u{fe0f}' => {
                !matches!(self, PrecedingCharacter::Sign | PrecedingCharacter::Ascii('0'..='9' | '#' | '*'))
            }
            c => is_hidden(c),
        }
    }
}

/// Whether nothing is drawn for `c`, or it changes how other characters are drawn.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers, Mongolian selectors.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            // Zero-width space, marks of direction, separators of lines, embeddings and overrides, isolates.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            // Formats of shorthand and music, tags, further selectors.
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_does_not_see_is_written_out() {
        for (text, shown) in [
            ("plain \"text\" \\ é 漢", "plain \"text\" \\ é 漢"),
            ("a\nb\tc", "a\nb\tc"),
            ("red\u{1b}[31m", "red\\u001b[31m"),
            ("over\rwritten", "over\\rwritten"),
            ("\u{7f}\u{85}\u{9b}", "\\u007f\\u0085\\u009b"),
            ("abc\u{202e}fed\u{2066}", "abc\\u202efed\\u2066"),
            ("zero\u{200b}width\u{feff}", "zero\\u200bwidth\\ufeff"),
            ("line\u{2028}line", "line\\u2028line"),
            ("tag\u{e0041}", "tag\\udb40\\udc41"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_line("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert!(has_hidden("list\u{200d}files") && has_hidden("a\nb") && !has_hidden("list_files"));
    }

    #[test]
    fn scripts_and_emoji_keep_their_joiners_and_selectors_one_at_a_time() {
        for text in ["👩🏽‍🚀", "🏳️‍🌈", "1️⃣", "❤️", "می‌خواهم", "क्‍ष"]
        {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible("a\u{200d}b\u{fe0f}"), "a\\u200db\\ufe0f");
        assert_eq!(visible("é\u{200c}\u{200c}"), "é\u{200c}\\u200c");
        assert_eq!(visible("❤\u{fe0f}\u{fe0e}"), "❤\u{fe0f}\\ufe0e");
    }

    #[test]
    fn strings_of_a_page_show_what_they_hide() {
        for text in [
            "a\u{1b}[2J",
            "a\u{202e}b",
            "tag\u{e0041}",
            "back\\u001b",
            "q\"\\\u{200b}",
            "line\nfeed\ttab é 👩🏽‍🚀",
        ] {
            let json = serde_json::to_string(&[text]).expect("a list is JSON");
            let shown: Vec<String> = serde_json::from_str(&visible_on_page(&json)).expect("still JSON");
            assert_eq!(shown, [visible(text)], "{json}");
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let all: String = (0x20..0x11_0000).step_by(7).filter_map(char::from_u32).collect();
        let json = serde_json::to_string(&all).expect("a string is JSON");
        let shown = visible(&json);
        assert!(!has_hidden(&shown));
        assert_eq!(serde_json::from_str::<String>(&shown).expect("still JSON"), all);
    }
}
