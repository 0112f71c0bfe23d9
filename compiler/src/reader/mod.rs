//! Tokens to forms.
//!
//! One loop with a stack of open collections: the depth of nesting is bounded by a count, not by the thread's stack.
//! What went wrong is worked out in [`failure`] only after something did.

mod failure;
mod numbers;
mod strings;

use logos::{Lexer, Logos};
use smallvec::SmallVec;

use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Forms, Tables};
use crate::source::{Span, line_column};
use crate::token::{Escapes, LexError, NameKind, Token};

/// How many collections an atom may sit in.
pub const MAX_DEPTH: usize = 64;

/// Reads a whole program.
///
/// # Errors
/// `parse_error`, in the precedence of the language: forbidden syntax anywhere, then delimiters that do not balance, then
/// the first thing that could not be read.
pub fn read(source: &str) -> Result<Forms<'_>> {
    read_into(source, Tables::default())
}

/// As [`read`], into empty tables that may have served before.
pub(crate) fn read_into(source: &str, tables: Tables) -> Result<Forms<'_>> {
    let mut reader = Reader::new(source, tables);
    match reader.run() {
        Ok(()) => Ok(reader.forms),
        Err(error) => Err(failure::diagnose(source, error)),
    }
}

/// Whether `source` stops in the middle of a form or a string, so that more text could make it readable: what a
/// prompt asks before it takes another line. False for a text that can be read and for one that no continuation mends.
pub fn is_unfinished(source: &str) -> bool {
    let mut reader = Reader::new(source, Tables::default());
    reader.run().is_err() && reader.unfinished
}

/// What is open: a collection, or a prefix that waits for its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    List,
    Vector,
    Map,
    Set,
    ShortFn,
    Quote,
    Discard,
}

impl Opening {
    fn is_prefix(self) -> bool {
        matches!(self, Self::Quote | Self::Discard)
    }

    fn noun(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Vector => "vector",
            Self::Map => "map",
            Self::Set => "set",
            Self::ShortFn => "short function",
            Self::Quote | Self::Discard => "expression",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    opening: Opening,
    start: u32,
    /// Where the children begin in `pending`.
    base: u32,
}

struct Reader<'s> {
    source: &'s str,
    forms: Forms<'s>,
    /// Finished forms whose collection is still open.
    pending: SmallVec<[Form; 32]>,
    frames: SmallVec<[Frame; 16]>,
    /// Open collections and quotes; discards do not nest values.
    depth: usize,
    /// Whether the innermost frame is a prefix.
    prefixed: bool,
    /// Whether the text ended too early.
    unfinished: bool,
}

impl<'s> Reader<'s> {
    fn new(source: &'s str, tables: Tables) -> Self {
        Self {
            source,
            forms: Forms::with_tables(source, tables),
            pending: SmallVec::new(),
            frames: SmallVec::new(),
            depth: 0,
            prefixed: false,
            unfinished: false,
        }
    }

    fn run(&mut self) -> Result<()> {
        let mut lexer = Token::lexer(self.source);
        while let Some(token) = lexer.next() {
            let span = span(&lexer);
            let token = match token {
                Ok(token) => token,
                Err(error) => {
                    self.unfinished = matches!(error, LexError::UnclosedString(_));
                    return Err(self.lex_error(error, span));
                }
            };
            self.token(token, lexer.slice(), span)?;
        }
        if let Some(&frame) = self.frames.last() {
            self.unfinished = true;
            return Err(self.unclosed(frame));
        }
        let items = self.forms.add_read(&self.pending);
        self.forms.set_program(items);
        Ok(())
    }

    #[inline]
    fn token(&mut self, token: Token, text: &'s str, span: Span) -> Result<()> {
        let kind = match token {
            Token::OpenList => return self.open(Opening::List, span),
            Token::OpenVector => return self.open(Opening::Vector, span),
            Token::OpenMap => return self.open(Opening::Map, span),
            Token::OpenSet => return self.open(Opening::Set, span),
            Token::OpenShortFn => return self.open(Opening::ShortFn, span),
            Token::Quote => return self.open(Opening::Quote, span),
            Token::Discard => return self.open(Opening::Discard, span),
            Token::CloseList | Token::CloseVector | Token::CloseMap => return self.close(token, span),
            Token::Var => return Err(self.cannot("parse var", span.end)),
            Token::VarName => self.name(&text[2..], Span { start: span.start + 2, end: span.end }),
            Token::QuotedName => FormKind::QuotedSymbol(self.forms.names.intern(behind_first(span))),
            Token::Name(NameKind::Name) => self.name(text, span),
            Token::Name(kind) => numbers::positive(&mut self.forms, kind, text, span)?,
            Token::Number(kind) => numbers::number(&mut self.forms, kind, text, span)?,
            Token::Keyword => FormKind::Keyword(self.forms.names.intern(behind_first(span))),
            Token::Infinity => FormKind::SpecialFloat(f64::INFINITY),
            Token::NegativeInfinity => FormKind::SpecialFloat(f64::NEG_INFINITY),
            Token::NaN => FormKind::SpecialFloat(f64::NAN),
            Token::Str(Escapes::None) => {
                FormKind::Str(self.forms.add_string(Span { start: span.start + 1, end: span.end - 1 }))
            }
            Token::Str(Escapes::Some) => {
                FormKind::Str(self.forms.add_decoded(&strings::decode(&text[1..text.len() - 1])))
            }
            Token::Regex(Escapes::None) => {
                FormKind::Regex(self.forms.add_string(Span { start: span.start + 2, end: span.end - 1 }))
            }
            Token::Regex(Escapes::Some) => {
                FormKind::Regex(self.forms.add_decoded(&strings::decode_regex(&text[2..text.len() - 1])))
            }
            Token::Char => {
                let value = strings::character(&text[1..])
                    .ok_or_else(|| self.at("invalid character literal", span.start))?;
                FormKind::Str(self.forms.add_decoded(&value))
            }
        };
        self.finish(Form { kind, span })
    }

    /// A word that is neither number nor keyword.
    fn name(&mut self, text: &'s str, span: Span) -> FormKind {
        if let Some(b'n' | b't' | b'f' | b'*') = text.as_bytes().first() {
            match text {
                "nil" => return FormKind::Nil,
                "true" => return FormKind::Bool(true),
                "false" => return FormKind::Bool(false),
                "*1" => return FormKind::History(1),
                "*2" => return FormKind::History(2),
                "*3" => return FormKind::History(3),
                _ => {}
            }
        }
        match text.bytes().position(|byte| byte == b'/') {
            Some(slash) if slash > 0 && slash + 1 < text.len() => {
                let slash = span.start + slash as u32;
                FormKind::Qualified {
                    namespace: self.forms.names.intern(Span { end: slash, ..span }),
                    name: self.forms.names.intern(Span { start: slash + 1, ..span }),
                }
            }
            _ => FormKind::Symbol(self.forms.names.intern(span)),
        }
    }

    fn open(&mut self, opening: Opening, span: Span) -> Result<()> {
        if opening != Opening::Discard {
            self.check_depth(span)?;
            self.depth += 1;
        }
        self.frames.push(Frame { opening, start: span.start, base: self.pending.len() as u32 });
        self.prefixed = opening.is_prefix();
        Ok(())
    }

    /// The outermost form has depth 0; a form deeper than the limit is refused.
    fn check_depth(&self, span: Span) -> Result<()> {
        if self.depth > MAX_DEPTH {
            return Err(CompileError::parse(span, format!("nesting depth exceeds limit of {MAX_DEPTH}")));
        }
        Ok(())
    }

    fn close(&mut self, closer: Token, span: Span) -> Result<()> {
        // Surplus closers between top-level forms are ignored.
        let Some(&frame) = self.frames.last() else { return Ok(()) };
        let fits = match frame.opening {
            Opening::List | Opening::ShortFn => closer == Token::CloseList,
            Opening::Vector => closer == Token::CloseVector,
            Opening::Map | Opening::Set => closer == Token::CloseMap,
            Opening::Quote | Opening::Discard => return Err(self.unfinished_prefix(frame, span.start)),
        };
        if !fits {
            return Err(self.cannot("parse expression", span.start));
        }
        self.leave();
        self.depth -= 1;
        let base = frame.base as usize;
        let items = self.forms.add_read(&self.pending[base..]);
        self.pending.truncate(base);
        let span = Span { start: frame.start, end: span.end };
        let kind = match frame.opening {
            Opening::List => FormKind::List(items),
            Opening::Vector => FormKind::Vector(items),
            Opening::Set => FormKind::Set(items),
            Opening::ShortFn => FormKind::ShortFn(items),
            _ => {
                if items.len() % 2 == 1 {
                    let text = format!("Map literal requires even number of forms, got {}", items.len());
                    return Err(CompileError::parse(span, text));
                }
                FormKind::Map(items)
            }
        };
        self.finish(Form { kind, span })
    }

    /// Takes the innermost frame off.
    fn leave(&mut self) {
        self.frames.pop();
        self.prefixed = self.frames.last().is_some_and(|frame| frame.opening.is_prefix());
    }

    /// Hands a complete form to whatever waits for it.
    #[inline]
    fn finish(&mut self, form: Form) -> Result<()> {
        // A collection was checked when it was opened.
        if self.prefixed || self.depth > MAX_DEPTH {
            return self.finish_prefixed(form);
        }
        self.pending.push(form);
        Ok(())
    }

    /// [`finish`](Self::finish) where a prefix waits for the form, or the form is too deep.
    #[cold]
    fn finish_prefixed(&mut self, mut form: Form) -> Result<()> {
        if !matches!(form.kind, FormKind::List(_) | FormKind::Vector(_) | FormKind::Map(_) | FormKind::Set(_))
        {
            self.check_depth(form.span)?;
        }
        while let Some(&frame) = self.frames.last() {
            if !frame.opening.is_prefix() {
                break;
            }
            self.leave();
            if frame.opening == Opening::Discard {
                return Ok(());
            }
            if matches!(form.kind, FormKind::Quoted(_) | FormKind::QuotedSymbol(_)) {
                return Err(self.unfinished_prefix(frame, form.span.end));
            }
            self.depth -= 1;
            let items = self.forms.add(&[form]);
            form =
                Form { kind: FormKind::Quoted(items), span: Span { start: frame.start, end: form.span.end } };
        }
        self.pending.push(form);
        Ok(())
    }

    fn lex_error(&self, error: LexError, span: Span) -> CompileError {
        match error {
            LexError::UnclosedString(at) => self.at("unclosed string", at),
            LexError::InvalidChar(at) => self.at("invalid character literal", at),
            LexError::Unexpected => {
                if span.text(self.source).starts_with(':') {
                    return self.cannot("parse keyword", span.start);
                }
                match self.frames.last() {
                    Some(&frame) if frame.opening.is_prefix() => self.unfinished_prefix(frame, span.start),
                    _ => self.cannot("parse expression", span.start),
                }
            }
        }
    }

    fn unclosed(&self, frame: Frame) -> CompileError {
        let end = self.source.len() as u32;
        if frame.opening.is_prefix() {
            return self.unfinished_prefix(frame, end);
        }
        self.at(&format!("unclosed {}", frame.opening.noun()), end)
    }

    /// `'` or `#_` with nothing to apply to.
    fn unfinished_prefix(&self, frame: Frame, stopped: u32) -> CompileError {
        match frame.opening {
            Opening::Quote => self.cannot("parse quoted symbol", frame.start + 1),
            _ => self.cannot("parse expression", stopped),
        }
    }

    fn cannot(&self, what: &str, at: u32) -> CompileError {
        self.at(&format!("syntax error: could not {what}"), at)
    }

    fn at(&self, text: &str, at: u32) -> CompileError {
        let (line, column) = line_column(self.source, at as usize);
        let width = self.source[at as usize..].chars().next().map_or(0, char::len_utf8);
        let span = Span { start: at, end: at + width as u32 };
        CompileError::parse(span, format!("{text} at line {line}, column {column}"))
    }
}

/// Without the first byte.
fn behind_first(span: Span) -> Span {
    Span { start: span.start + 1, end: span.end }
}

fn span<'s>(lexer: &Lexer<'s, Token>) -> Span {
    let span = lexer.span();
    Span::new(span.start, span.end)
}

#[cfg(test)]
mod tests;
