//! The text block of a result: sections that no text inside them can forge (ruling 54).
//!
//! A line begins with a word of ours. Text that a program, an upstream or a client wrote stands behind such a word, its
//! line breaks escaped; on lines that begin with [`MARK`]; or in a fence that is longer than any run of backticks inside.
//! Hidden characters are escaped everywhere, so that a text looks like what it is.

use std::borrow::Cow;

use ptc_host::visible::{visible, visible_line};

use super::project::{TRUNCATED, clip_json};

/// The beginning of a line of somebody else's text.
pub(super) const MARK: &str = "| ";
/// What stands before a value.
const PROMPT: &str = "user=> ";
/// The end of a text that is cut inside a line.
const DOTS: &str = "...";

/// A text in the making.
#[derive(Default)]
pub(super) struct Sections(String);

impl Sections {
    /// A line that may quote names and messages of others.
    pub(super) fn line(&mut self, text: &str) {
        self.begin();
        self.0.push_str(&visible_line(text));
    }

    /// Lines of ours, as they are.
    pub(super) fn ours(&mut self, lines: &str) {
        self.begin();
        self.0.push_str(lines);
    }

    /// The final value, given as `user=> ` and its readable form; a string of several lines is shown as it is. At most
    /// about `most` bytes of JSON.
    pub(super) fn value(&mut self, result: Option<&str>, most: usize) {
        let result = result.unwrap_or("user=> nil");
        if let Some(text) = result.strip_prefix(PROMPT).and_then(several_lines) {
            let fence = fence(&text);
            let closing = if text.ends_with('\n') { "" } else { "\n" };
            let fenced = format!("{}\n{fence}\n{text}{closing}{fence}", PROMPT.trim_end());
            if clip_json(&fenced, most).len() == fenced.len() {
                return self.ours(&fenced);
            }
        }
        self.clipped(&visible_line(result), most);
    }

    /// What was printed: how many lines of how many, then the lines.
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

    /// Says that something is left out.
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

/// `57 lines`, or `20 of 57 lines` where not all are shown.
pub(super) fn count(shown: &[String], all: &[String]) -> String {
    let number = |prints: &[String]| prints.iter().map(|print| lines(print).count()).sum::<usize>();
    let (shown, all) = (number(shown), number(all));
    let word = if all == 1 { "line" } else { "lines" };
    if shown == all { format!("{all} {word}") } else { format!("{shown} of {all} {word}") }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// The text of a string literal if it has several lines, its hidden characters escaped.
fn several_lines(literal: &str) -> Option<String> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains("\\n") {
        return None;
    }
    let text = unescaped(inner)?.replace("\r\n", "\n");
    let several = text.trim_end_matches('\n').contains('\n');
    several.then(|| match visible(&text) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(shown) => shown,
    })
}

/// Undoes the escapes of a readable string; `None` for anything that is none.
fn unescaped(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find(['\\', '"']) {
        out.push_str(&rest[..at]);
        let mut tail = rest[at..].strip_prefix('\\')?.chars();
        out.push(match tail.next()? {
            c @ ('"' | '\\') => c,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits = tail.as_str().get(..4)?;
                tail = tail.as_str()[4..].chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
        rest = tail.as_str();
    }
    out.push_str(rest);
    Some(out)
}

/// A fence that `text` cannot close.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.saturating_add(1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(result: &str) -> String {
        let mut sections = Sections::default();
        sections.value(Some(&format!("user=> {result}")), usize::MAX);
        sections.into_text()
    }

    #[test]
    fn a_string_of_several_lines_is_shown_as_it_is() {
        assert_eq!(shown(r#""a\n\tb \"c\" \\n\n""#), "user=>\n```\na\n\tb \"c\" \\n\n```");
        assert_eq!(shown(r#""one\r\ntwo\u001B[31m""#), "user=>\n```\none\ntwo\\u001b[31m\n```");
        assert_eq!(shown(r#""code\n````\nx""#), "user=>\n`````\ncode\n````\nx\n`````");
    }

    #[test]
    fn everything_else_stays_on_its_line() {
        for result in
            [r#""one line""#, r#""ends\n""#, r#""\n\n""#, r#""\\n and \\n""#, r#"["a\nb"]"#, "nil", ":k"]
        {
            assert_eq!(shown(result), format!("user=> {result}"));
        }
        assert_eq!(shown(":a\nuser=> 1"), "user=> :a\\nuser=> 1");
        assert_eq!(shown("\"red\u{202e}\""), "user=> \"red\\u202e\"");
    }
}
