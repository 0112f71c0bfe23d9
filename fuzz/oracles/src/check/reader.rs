//! Reading any text.

use logos::Logos;
use ptc_compiler::form::FormKind;
use ptc_compiler::reader::{is_unfinished, read};
use ptc_compiler::token::Token;

/// Reading any text gives forms whose places are in it, in order and on character boundaries, or an error.
pub fn reader(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    tokens(text);
    let unfinished = is_unfinished(text);
    let Ok(forms) = read(text) else { return };
    assert!(!unfinished, "it can be read, and more is asked for");
    let mut open = vec![(forms.program(), 0, text.len())];
    while let Some((items, start, end)) = open.pop() {
        let mut behind = start;
        for form in &forms[items] {
            let (from, to) = (form.span.start as usize, form.span.end as usize);
            assert!(behind <= from && from < to && to <= end, "{form:?} in {start}..{end} behind {behind}");
            assert!(text.is_char_boundary(from) && text.is_char_boundary(to), "{form:?} cuts a character");
            behind = to;
            match form.kind {
                FormKind::List(items)
                | FormKind::Vector(items)
                | FormKind::Map(items)
                | FormKind::Set(items)
                | FormKind::ShortFn(items)
                | FormKind::Quoted(items) => open.push((items, from, to)),
                _ => {}
            }
        }
    }
}

/// Tokens, and what is none, cover the text from its beginning to its end: each begins where the last one ended or
/// behind white space and comments, none is empty, and none cuts a character.
fn tokens(text: &str) {
    let mut lexer = Token::lexer(text);
    let mut behind = 0;
    while lexer.next().is_some() {
        let span = lexer.span();
        assert!(
            behind <= span.start && span.start < span.end && span.end <= text.len(),
            "{span:?} behind {behind}"
        );
        assert!(
            text.is_char_boundary(span.start) && text.is_char_boundary(span.end),
            "{span:?} cuts a character"
        );
        skipped(&text[behind..span.start]);
        behind = span.end;
    }
    skipped(&text[behind..]);
}

/// White space and comments only.
fn skipped(mut text: &str) {
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n', '\x0c', ',']);
        match text.strip_prefix(';') {
            Some(comment) => text = comment.find('\n').map_or("", |end| &comment[end..]),
            None => break,
        }
    }
    assert!(text.is_empty(), "{text:?} is in no token");
}
