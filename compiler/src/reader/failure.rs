//! The message for a text that cannot be read.
//!
//! The reader stops at its first problem, but a missing delimiter elsewhere is more often the cause. The whole text is
//! therefore scanned once more, token by token. Delimiters in strings, comments and characters do not count.

use logos::Logos;

use crate::error::CompileError;
use crate::source::Span;
use crate::token::{LexError, Token, is_name_byte};

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
            Token::OpenMap | Token::OpenSet | Token::OpenNamespacedMap => self.braces.opened(span),
            Token::CloseMap => self.braces.closed(span),
            _ => {}
        }
    }

    /// The text after a quote that is never closed. Most of it was meant to be code.
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

/// The replacement for a spelling of Clojure that the language does not have, with the punctuation before it; empty if there is
/// none. `text` begins where the reader stopped.
pub(super) fn advice(text: &str) -> String {
    /// The beginning of a spelling, and its replacement.
    const SPELLINGS: &[(&str, &str)] = &[
        ("`", "There are no macros and no templates of code: write a function"),
        ("~", "There are no macros and no templates of code: write a function"),
        ("#inst", "There are no tagged literals: write (Instant/parse \"2024-01-31T00:00:00Z\")"),
        ("#uuid", "There are no tagged literals: write the UUID as a text"),
        ("#?", "There are no reader conditionals: write the branch for :clj alone"),
        ("#=", "Nothing is evaluated while a program is read: write the expression itself"),
        ("#^", "Values carry no metadata: leave it out"),
        ("#::", "There is no current namespace: write #:name{…}, or the map without #::"),
        ("#:", "A map whose keys have a namespace is written #:name{…}"),
        ("##", "The special numbers are ##Inf, ##-Inf and ##NaN"),
    ];
    if let Some((_, advice)) = SPELLINGS.iter().find(|(spelling, _)| text.starts_with(spelling)) {
        return format!(". {advice}");
    }
    let word = |text: &str| -> String {
        text.bytes().take_while(|byte| is_name_byte(*byte)).take(LONGEST_NAME).map(char::from).collect()
    };
    if let Some(name) = text.strip_prefix("::").map(word).filter(|name| !name.is_empty()) {
        return format!(". There is no current namespace: write :{name}");
    }
    match text.strip_prefix('#').map(word) {
        Some(tag) if tag.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            format!(". There are no tagged literals: leave #{tag} out and write the value itself")
        }
        _ => String::new(),
    }
}

/// Bytes of a name that a message shows.
const LONGEST_NAME: usize = 60;

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
