//! Texts that are made of kept programs (language.md 12).
//!
//! A kept program is the text of a file whose first form is data. The text that runs is a form feed and that of its file, and
//! behind it the files of the programs that it calls, directly or by another one, each after a line that names it. Any other text
//! has no form feed in front, and may have such files behind it too. So one text says everything: it is compiled, cached, and
//! stands in records.

use memchr::memmem;

use crate::error::{CompileError, Reason, Result};
use crate::source::Span;

/// What the text of a kept program begins with.
pub const HEAD_MARK: char = '\x0c';
/// Most programs that a text brings along.
pub const MAX_CALLED: usize = 256;
/// What stands before the name of a called program.
const HEADER: &str = "\n\x0c;program/";

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPart<'s> {
    /// The name of the program; empty for the main one.
    pub name: &'s str,
    /// The bytes of its file, without what the linker put there.
    pub span: Span,
    /// Whether its first form is data.
    pub has_head: bool,
}

/// The parts of a text, the main one first; none if the text is no kept program and calls none. Costs one look for a form feed
/// then.
pub fn parts(source: &str) -> Vec<TextPart<'_>> {
    if memchr::memchr(HEAD_MARK as u8, source.as_bytes()).is_none() {
        return Vec::new();
    }
    of_marked(source)
}

#[cold]
fn of_marked(source: &str) -> Vec<TextPart<'_>> {
    let has_head = source.starts_with(HEAD_MARK);
    let headers: Vec<usize> = memmem::find_iter(source.as_bytes(), HEADER).collect();
    if !has_head && headers.is_empty() {
        return Vec::new();
    }
    let end = |number: usize| headers.get(number).copied().unwrap_or(source.len());
    let mut parts = Vec::with_capacity(headers.len() + 1);
    parts.push(TextPart { name: "", span: Span::new(usize::from(has_head), end(0)), has_head });
    for (number, header) in headers.iter().enumerate() {
        let rest = &source[header + HEADER.len()..end(number + 1)];
        let name = rest.split('\n').next().unwrap_or(rest);
        let start = (header + HEADER.len() + name.len() + 1).min(end(number + 1));
        parts.push(TextPart { name, span: Span::new(start, end(number + 1)), has_head: true });
    }
    parts
}

/// Refuses texts in which a program stands twice, or that bring more along than anybody calls.
pub(crate) fn check(parts: &[TextPart<'_>]) -> Result<()> {
    if let Some(beyond) = parts.get(MAX_CALLED + 1) {
        let text = format!("a text brings at most {MAX_CALLED} programs along");
        return Err(CompileError::form(Span { end: beyond.span.start, ..beyond.span }, text));
    }
    for (number, part) in parts.iter().enumerate().skip(1) {
        if parts[1..number].iter().any(|other| other.name == part.name) {
            let text = format!("program/{} stands twice in one text", part.name);
            return Err(CompileError::form(Span { end: part.span.start, ..part.span }, text));
        }
    }
    Ok(())
}

/// A text as it runs: `main`, the text of the file of a kept program or any other, and the files of the programs that it calls,
/// by their names, in ascending order.
pub fn link<'a>(main: &str, is_kept: bool, called: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    if is_kept {
        text.push(HEAD_MARK);
    }
    text.push_str(main);
    for (name, file) in called {
        text.extend([HEADER, name, "\n", file]);
    }
    text
}

/// The called program in whose file a line of a text stands, and which line of that file it is, from 1; `None` for the main one.
pub fn place(source: &str, line: u32) -> Option<(&str, u32)> {
    let parts = parts(source);
    let first = |part: &TextPart<'_>| {
        let before = &source.as_bytes()[..part.span.start as usize];
        memchr::memchr_iter(b'\n', before).count() as u32 + 1
    };
    let called = parts.iter().skip(1).map(|part| (part.name, first(part)));
    let (name, first) = called.take_while(|(_, first)| *first <= line).last()?;
    Some((name, line - first + 1))
}

/// The error of a name that no part of the text has.
pub(crate) fn unknown(name: &str, known: &[&str], span: Span) -> CompileError {
    let similar = known.iter().find(|known| is_near(name, known));
    let hint = match (similar, known.is_empty()) {
        (Some(near), _) => format!(". Did you mean program/{near}?"),
        (None, true) => ". There are none here".to_owned(),
        (None, false) => format!(". There are {}", known.join(", ")),
    };
    CompileError::prefixed(Reason::UnboundVar, span, format!("no program is named {name}{hint}"))
}

/// Whether texts differ by one character, or by two that are swapped.
fn is_near(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[before..], &b[before..]);
    let after = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - after], &b[..b.len() - after]);
    match (a, b) {
        ([] | [_], [] | [_]) => true,
        ([a, b], [c, d]) => (a, b) == (d, c),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_text_has_its_files_as_parts() {
        let text = link("{:x 1}\n(program/b {})", true, [("b", "{}\n\n1"), ("c", "{} 2")]);
        assert_eq!(text, "\x0c{:x 1}\n(program/b {})\n\x0c;program/b\n{}\n\n1\n\x0c;program/c\n{} 2");
        let parts = parts(&text);
        let files: Vec<_> = parts.iter().map(|part| (part.name, part.span.text(&text))).collect();
        assert_eq!(files, [("", "{:x 1}\n(program/b {})"), ("b", "{}\n\n1"), ("c", "{} 2")]);
        let places: Vec<_> = (1..=8).map(|line| place(&text, line)).collect();
        let (b, c) = (|line| Some(("b", line)), Some(("c", 1)));
        assert_eq!(places, [None, None, None, b(1), b(2), b(3), b(4), c]);
    }

    #[test]
    fn any_other_text_has_none() {
        for text in ["", "(+ 1 2)", "1 \x0c 2", "\n;program/b\n1"] {
            assert_eq!(parts(text), [], "{text:?}");
        }
    }
}
