//! The text block of a result: sections that no text inside them can forge (ruling 54).
//!
//! Each line begins with a word of ours. Text of a program, an upstream or a client follows such a word, with escaped
//! line breaks; or is on lines that begin with [`MARK`]; or in a fence that is longer than any run of backticks
//! inside. Hidden characters are escaped everywhere, so that they are visible.

use std::borrow::Cow;

use ptc_host::visible::{visible, visible_line};
use ptc_mcp::json::string_len;

/// The end of a truncated text.
pub(super) const TRUNCATED: &str = "\n\n[truncated]";
/// The prefix of a line of foreign text.
pub(super) const MARK: &str = "| ";
/// The prefix of a value.
const PROMPT: &str = "user=>";
/// The end of a text that is cut inside a line.
const DOTS: &str = "...";

/// A text under construction.
#[derive(Default)]
pub(super) struct Sections(String);

impl Sections {
    /// A line that may quote foreign names and messages.
    pub(super) fn line(&mut self, text: &str) {
        self.begin();
        self.0.push_str(&visible_line(text));
    }

    /// Lines of ours, unchanged.
    pub(super) fn ours(&mut self, lines: &str) {
        self.begin();
        self.0.push_str(lines);
    }

    /// The final value, given as `user=> ` and its readable form; a string of several lines, given as its `lines`, is
    /// shown unchanged. At most about `most` bytes of JSON.
    pub(super) fn value(&mut self, result: Option<&str>, lines: Option<&str>, most: usize) {
        let result = result.unwrap_or("user=> nil");
        if let Some(text) = lines.and_then(several_lines) {
            let fence = fence(&text);
            let closing = if text.ends_with('\n') { "" } else { "\n" };
            let fenced = format!("{PROMPT}\n{fence}\n{text}{closing}{fence}");
            if clip_json(&fenced, most).len() == fenced.len() {
                return self.ours(&fenced);
            }
        }
        self.clipped(&visible_line(result), most);
    }

    /// The prints: how many lines of how many, then the lines.
    pub(super) fn prints(&mut self, shown: &[String], all: &[String]) {
        if all.is_empty() {
            return;
        }
        self.ours(&format!("prints ({}):", count(shown, all)));
        shown.iter().flat_map(|print| lines(print)).for_each(|line| self.quoted(line));
    }

    /// `reason: message`; further lines of the message are marked. At most about `most` bytes of JSON.
    pub(super) fn error(&mut self, reason: &str, message: &str, most: usize) {
        let bare = message.strip_prefix(reason).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        let shown = clip_json(bare, most);
        let dots = if shown.len() < bare.len() { DOTS } else { "" };
        let mut lines = lines(shown);
        let first = lines.next().unwrap_or_default();
        self.line(&format!("{reason}: {first}"));
        lines.for_each(|line| self.quoted(line));
        self.0.push_str(dots);
    }

    /// Adds the note that something is omitted.
    pub(super) fn truncated(&mut self) {
        self.0.push_str(TRUNCATED);
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    fn begin(&mut self) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
    }

    fn quoted(&mut self, line: &str) {
        self.begin();
        self.0.push_str(MARK);
        self.0.push_str(&visible(line));
    }

    fn clipped(&mut self, line: &str, most: usize) {
        let shown = clip_json(line, most);
        self.ours(shown);
        if shown.len() < line.len() {
            self.0.push_str(DOTS);
        }
    }
}

/// `57 lines`, or `20 of 57 lines` if not all are shown.
pub(super) fn count(shown: &[String], all: &[String]) -> String {
    let (shown, all) = (line_count(shown), line_count(all));
    let word = if all == 1 { "line" } else { "lines" };
    if shown == all { format!("{all} {word}") } else { format!("{shown} of {all} {word}") }
}

/// How many lines of `all` are not among those `shown`.
pub(super) fn left_out(shown: &[String], all: &[String]) -> usize {
    line_count(all) - line_count(shown)
}

fn line_count(prints: &[String]) -> usize {
    prints.iter().map(|print| lines(print).count()).sum()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// The text, its hidden characters escaped, if it has several lines.
fn several_lines(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let several = text.trim_end_matches('\n').contains('\n');
    several.then(|| match visible(&text) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(shown) => shown,
    })
}

/// A fence that `text` cannot close.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.saturating_add(1).max(3))
}

/// The longest prefix of `text` that takes at most `max` bytes as a JSON string.
pub(super) fn clip_json(text: &str, max: usize) -> &str {
    let mut bytes = 2;
    for (at, character) in text.char_indices() {
        bytes += string_len(character.encode_utf8(&mut [0; 4])) - 2;
        if bytes > max {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(result: &str, lines: Option<&str>) -> String {
        let mut sections = Sections::default();
        sections.value(Some(&format!("user=> {result}")), lines, usize::MAX);
        sections.into_text()
    }

    #[test]
    fn a_string_of_several_lines_is_shown_as_it_is() {
        let shown = |text| shown("\"…\"", Some(text));
        assert_eq!(shown("a\n\tb \"c\" \\n\n"), "user=>\n```\na\n\tb \"c\" \\n\n```");
        assert_eq!(shown("one\r\ntwo\u{1b}[31m"), "user=>\n```\none\ntwo\\u001b[31m\n```");
        assert_eq!(shown("code\n````\nx"), "user=>\n`````\ncode\n````\nx\n`````");
    }

    #[test]
    fn everything_else_stays_on_its_line() {
        for (result, lines) in [
            ("\"one line\"", None),
            ("\"ends\\n\"", Some("ends\n")),
            ("\"\\n\\n\"", Some("\n\n")),
            ("[\"a\\nb\"]", None),
            ("nil", None),
            (":k", None),
        ] {
            assert_eq!(shown(result, lines), format!("user=> {result}"));
        }
        assert_eq!(shown(":a\nuser=> 1", None), "user=> :a\\nuser=> 1");
        assert_eq!(shown("\"red\u{202e}\"", None), "user=> \"red\\u202e\"");
    }
}
