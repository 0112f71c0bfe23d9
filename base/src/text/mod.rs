//! Text helpers: one line out of prose, truncation, literals as programs write them.

pub mod literal;

use std::borrow::Cow;
use std::fmt::Write as _;

/// A word of a command that people copy into a shell: what could be more than text there is quoted.
#[must_use]
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// Prose on one line: runs of white space and control characters become one space, none at the ends.
pub fn one_line(text: &str) -> String {
    beginning_of_line(text, usize::MAX)
}

/// As [`one_line`], as far as it takes to have `bytes` or a few more.
fn beginning_of_line(text: &str, bytes: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::with_capacity(text.len().min(bytes));
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(clip(word, bytes));
        if line.len() >= bytes {
            break;
        }
    }
    line
}

/// The longest beginning of `text` that has at most `max` bytes and ends between characters.
#[must_use]
pub fn clip(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// [`clip`], followed by three dots if something was cut.
#[must_use]
pub fn with_dots(text: &str, max: usize) -> String {
    if text.len() <= max { text.to_owned() } else { format!("{}...", clip(text, max)) }
}

/// [`one_line`] of at most `max` bytes, three dots included.
pub fn bounded_line(text: &str, max: usize) -> String {
    let line = one_line(text);
    if line.len() <= max { line } else { format!("{}...", clip(&line, max - 3)) }
}

/// The beginning of a text that is being written: output beyond `max` bytes is an error, so that its writer stops.
pub struct Beginning {
    text: String,
    max: usize,
}

impl Beginning {
    /// The output of `write`, if it has at most `max` bytes, else a beginning of it followed by `...`.
    pub fn of(max: usize, write: impl FnOnce(&mut Self) -> std::fmt::Result) -> String {
        let mut beginning = Self { text: String::new(), max };
        if write(&mut beginning).is_err() {
            beginning.text.push_str("...");
        }
        beginning.text
    }

    /// The bytes that may still come.
    pub fn room(&self) -> usize {
        self.max - self.text.len()
    }
}

impl std::fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.room();
        self.text.push_str(clip(text, room));
        if text.len() <= room { Ok(()) } else { Err(std::fmt::Error) }
    }
}

/// `text` if it has at most `limit` characters, else its first `limit` − 3 and `...`.
pub fn cut(mut text: String, limit: usize) -> String {
    if text.char_indices().nth(limit).is_some() {
        let end = text.char_indices().nth(limit - 3).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// [`one_line`], then [`cut`].
pub fn short_line(text: &str, limit: usize) -> String {
    // As many bytes have more characters than that.
    cut(beginning_of_line(text, 4 * (limit + 1)), limit)
}

/// `name - description`, or the name alone.
pub fn named(name: &str, description: &str) -> String {
    if description.is_empty() { name.to_owned() } else { format!("{name} - {description}") }
}

/// A string literal of the language (language.md 6).
pub fn string_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// How a program writes the name of an argument: as its upstream spells it, `max_items` → `:max_items`; a name that no
/// keyword can have → a string.
pub fn argument_key(name: &str) -> String {
    let in_keyword = |b: u8| b.is_ascii_alphanumeric() || b"+-*<>=?!_".contains(&b);
    if !name.is_empty() && name.bytes().all(in_keyword) { format!(":{name}") } else { string_literal(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands_are_nothing_but_text_to_a_shell() {
        for (text, word) in [
            ("/a/b-c_d.e", "/a/b-c_d.e"),
            ("https://i.example/x@y", "https://i.example/x@y"),
            ("", "''"),
            ("*", "'*'"),
            ("i|ann;touch PWNED", "'i|ann;touch PWNED'"),
            ("$(id)`id`\\", "'$(id)`id`\\'"),
            ("a'b", r"'a'\''b'"),
            ("~/x", "'~/x'"),
        ] {
            assert_eq!(shell_word(text), word, "{text}");
        }
    }

    #[test]
    fn prose_fits_one_line() {
        assert_eq!(one_line("  List\n\titems \u{0} as\r\nrows. "), "List items as rows.");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn cuts_count_characters() {
        assert_eq!(cut("äöüäöü".to_owned(), 6), "äöüäöü");
        assert_eq!(cut("äöüäöüx".to_owned(), 6), "äöü...");
    }

    #[test]
    fn clips_end_between_characters() {
        assert_eq!(clip("aé", 3), "aé");
        assert_eq!(clip("aé", 2), "a");
        assert_eq!(clip("é", 1), "");
        assert_eq!(with_dots("aéb", 3), "aé...");
        assert_eq!(with_dots("aéb", 4), "aéb");
    }

    #[test]
    fn argument_names_read_back() {
        assert_eq!(argument_key("max_items"), ":max_items");
        assert_eq!(argument_key("max-items"), ":max-items");
        assert_eq!(argument_key("perPage"), ":perPage");
        assert_eq!(argument_key("a.b"), "\"a.b\"");
        assert_eq!(argument_key("x y\"z"), "\"x y\\\"z\"");
    }

    #[test]
    fn literals_escape_what_the_language_escapes() {
        assert_eq!(string_literal("a\"\\\n\t\r\u{8}\u{c}\u{1}\u{7f}é"), r#""a\"\\\n\t\r\b\f\u0001\u007Fé""#);
    }
}
