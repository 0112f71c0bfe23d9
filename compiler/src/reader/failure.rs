//! The message for a text that cannot be read.
//!
//! The reader stops at its first problem, but a missing delimiter elsewhere is more often the cause. The whole text is therefore
//! scanned once more, token by token. Delimiters in strings, comments and characters do not count.

use logos::Logos;

use crate::error::CompileError;
use crate::source::Span;
use crate::token::{LexError, Token};

#[derive(Default)]
struct Balance {
    open: i64,
    /// The opener that is still unclosed, or the first closer too many.
    at: Option<Span>,
    stack: Vec<Span>,
}

impl Balance {
    fn opened(&mut self, span: Span) {
        self.open += 1;
        self.stack.push(span);
    }

    fn closed(&mut self, span: Span) {
        self.open -= 1;
        if self.stack.pop().is_none() {
            self.at.get_or_insert(span);
        }
    }

    fn message(&self, noun: &str, opener: char, closer: char) -> Option<CompileError> {
        let (count, state, delimiter) = match self.open {
            0 => return None,
            n if n > 0 => (n, "unclosed", opener),
            n => (-n, "extra", closer),
        };
        let span = if self.open > 0 { self.stack.first().copied() } else { self.at };
        let text = format!("unbalanced {noun}: {count} {state} '{delimiter}'");
        Some(CompileError::parse(span.unwrap_or_default(), text))
    }
}

#[derive(Default)]
struct Delimiters {
    parentheses: Balance,
    brackets: Balance,
    braces: Balance,
}

impl Delimiters {
    fn count(&mut self, token: Token, span: Span) {
        match token {
            Token::OpenList | Token::OpenShortFn => self.parentheses.opened(span),
            Token::CloseList => self.parentheses.closed(span),
            Token::OpenVector => self.brackets.opened(span),
            Token::CloseVector => self.brackets.closed(span),
            Token::OpenMap | Token::OpenSet => self.braces.opened(span),
            Token::CloseMap => self.braces.closed(span),
            _ => {}
        }
    }

    /// The text behind a quote that is never closed. Most of it was meant to be code.
    fn count_unclosed_text(&mut self, text: &str, offset: usize) {
        for (at, byte) in text.bytes().enumerate() {
            let token = match byte {
                b'(' => Token::OpenList,
                b')' => Token::CloseList,
                b'[' => Token::OpenVector,
                b']' => Token::CloseVector,
                b'{' => Token::OpenMap,
                b'}' => Token::CloseMap,
                _ => continue,
            };
            self.count(token, Span::new(offset + at, offset + at + 1));
        }
    }

    fn message(&self) -> Option<CompileError> {
        None.or_else(|| self.parentheses.message("parentheses", '(', ')'))
            .or_else(|| self.brackets.message("brackets", '[', ']'))
            .or_else(|| self.braces.message("braces", '{', '}'))
    }
}

const OF_VAR: &str = "deref syntax (@var) is not supported. Atoms and refs are not available";
const OF_FORM: &str = "deref syntax @(…) is not supported. A call gives its value by itself: leave @ and future out, \
                       and write (pmap f coll) or (pcalls f g) for several at once";

/// The error to report for a text on which the reader stopped with `error`.
pub(super) fn diagnose(source: &str, error: CompileError) -> CompileError {
    let mut delimiters = Delimiters::default();
    let mut lexer = Token::lexer(source);
    while let Some(token) = lexer.next() {
        let span = Span::new(lexer.span().start, lexer.span().end);
        match token {
            Ok(token) => delimiters.count(token, span),
            Err(LexError::UnclosedString(_)) => {
                let start = span.start as usize + 1;
                delimiters.count_unclosed_text(source.get(start..).unwrap_or(""), start);
            }
            Err(_) => {
                let text = &source[span.start as usize..];
                let behind = text.strip_prefix('@').and_then(|rest| rest.chars().next());
                let text = match behind {
                    Some(c) if c.is_ascii_alphabetic() => OF_VAR,
                    Some('(') => OF_FORM,
                    _ => continue,
                };
                return CompileError::parse(Span { start: span.start, end: span.start + 1 }, text);
            }
        }
    }
    delimiters.message().unwrap_or(error)
}
