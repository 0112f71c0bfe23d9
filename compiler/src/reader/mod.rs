//! The reader: tokens to forms.
//!
//! The reader is one loop with a stack of open collections. A counter bounds the depth of nesting, not the thread's stack.
//! [`failure`] works out the message only after something went wrong.

mod failure;
mod numbers;
mod strings;

use logos::Logos;
use ptc_vm::meter;

use crate::error::{CompileError, Reason, Result};
use crate::form::{Contents, Form, FormBuffers, FormKind, Forms, Items};
use crate::parts::{self, TextPart};
use crate::source::{Span, line_column};
use crate::token::{Escapes, LexError, NameKind, NumberKind, Token};

/// Bytes of text that are charged at a time.
const CHARGED: usize = 4 << 10;
/// How many collections an atom may sit in.
const MAX_DEPTH: usize = 64;

/// Reads a whole program.
///
/// # Errors
/// `parse_error`, in the precedence of the language: forbidden syntax anywhere, then delimiters that do not balance, then
/// the first thing that could not be read.
pub fn read(source: &str) -> Result<Forms<'_>> {
    read_into(source, &parts::parts(source), Box::default(), Stacks::default()).map(|(forms, ..)| forms)
}

/// As [`read`], into empty tables and with empty stacks that may have served before. The stacks come back empty. `parts`: those
/// of the text; the forms of called programs are returned apart.
pub(crate) fn read_into<'s>(
    source: &'s str,
    parts: &[TextPart<'_>],
    tables: Box<FormBuffers>,
    stacks: Stacks,
) -> Result<(Forms<'s>, Stacks, Vec<Items>)> {
    let mut reader = FormReader::new(source, tables, stacks);
    let Some((main, called)) = parts.split_first() else {
        let forms = reader.run_to(source.len())?;
        reader.forms.set_program(forms);
        let (forms, stacks) = reader.finished();
        return Ok((forms, stacks, Vec::new()));
    };
    parts::check(parts)?;
    reader.at = main.span.start as usize;
    let forms = reader.run_to(main.span.end as usize)?;
    reader.forms.set_program(forms.skip(usize::from(main.has_head && !forms.is_empty())));
    let mut read = Vec::with_capacity(called.len());
    for part in called {
        reader.begin_part(part.span.start as usize);
        let forms = reader.run_to(part.span.end as usize)?;
        read.push(forms.skip(usize::from(!forms.is_empty())));
    }
    let (forms, stacks) = reader.finished();
    Ok((forms, stacks, read))
}

/// Whether `source` stops in the middle of a form or a string, so that more text could make it readable: a prompt then reads
/// another line. False for a text that can be read and for one that no continuation mends.
pub fn is_unfinished(source: &str) -> bool {
    let mut reader = FormReader::new(source, Box::default(), Stacks::default());
    reader.run(source.len()).is_err() && reader.unfinished
}

/// The class of a byte where a token may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Other,
    Space,
    Opener,
    Closer,
}

const BYTE_CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    let told = [
        (b" \n,\t\r\x0c".as_slice(), ByteClass::Space),
        (b"([{", ByteClass::Opener),
        (b")]}", ByteClass::Closer),
    ];
    let mut row = 0;
    while row < told.len() {
        let mut at = 0;
        while at < told[row].0.len() {
            classes[told[row].0[at] as usize] = told[row].1;
            at += 1;
        }
        row += 1;
    }
    classes
};

/// An open construct: a collection, or a prefix that waits for its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    List,
    Vector,
    Map,
    /// `#:name{`
    NamespacedMap,
    Set,
    ShortFn,
    Quote,
    Discard,
}

impl Opening {
    fn is_prefix(self) -> bool {
        matches!(self, Self::Quote | Self::Discard)
    }

    /// The closing character of a collection.
    fn closer(self) -> u8 {
        match self {
            Self::List | Self::ShortFn => b')',
            Self::Vector => b']',
            Self::Map | Self::NamespacedMap | Self::Set => b'}',
            // Nothing: its form does.
            Self::Quote | Self::Discard => 0,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Vector => "vector",
            Self::Map | Self::NamespacedMap => "map",
            Self::Set => "set",
            Self::ShortFn => "short function",
            Self::Quote | Self::Discard => "expression",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ReaderFrame {
    opening: Opening,
    start: u32,
    /// Where the children begin in `pending`.
    base: u32,
    /// The known properties of the siblings before it.
    outer: Contents,
}

/// The buffers of the reader, without the program: reused from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// Finished forms whose collection is still open.
    pending: Vec<Form>,
    frames: Vec<ReaderFrame>,
}

impl Stacks {
    /// Bytes that it holds on to.
    pub(crate) fn bytes(&self) -> usize {
        self.pending.capacity() * size_of::<Form>() + self.frames.capacity() * size_of::<ReaderFrame>()
    }
}

struct FormReader<'s> {
    source: &'s str,
    forms: Forms<'s>,
    stacks: Stacks,
    /// The known properties of the pending forms of the innermost collection.
    contents: Contents,
    /// Open collections and quotes; discards do not nest values.
    depth: usize,
    /// Whether the innermost frame is a prefix, or so many are open that an atom is too deep.
    careful: bool,
    /// Whether the text ended too early.
    unfinished: bool,
    /// Where the next part of the text is to be charged.
    next_charge: usize,
    /// Where reading begins.
    at: usize,
}

impl<'s> FormReader<'s> {
    fn new(source: &'s str, tables: Box<FormBuffers>, stacks: Stacks) -> Self {
        Self {
            source,
            forms: Forms::with_tables(source, tables),
            stacks,
            contents: Contents::NONE,
            depth: 0,
            careful: false,
            unfinished: false,
            next_charge: 0,
            at: 0,
        }
    }

    /// Charges the next part of the text, and the growth of the tables.
    #[cold]
    fn charge(&mut self, at: usize) -> Result<()> {
        self.next_charge = at + CHARGED;
        let part = CHARGED.min(self.source.len() - at);
        meter::charge_steps(part as u64 / 2)
            .and_then(|()| self.forms.charge(self.stacks.bytes()))
            .map_err(|error| CompileError::limit(Span::new(at, at), &error))
    }

    fn finished(mut self) -> (Forms<'s>, Stacks) {
        self.stacks.pending.clear();
        (self.forms, self.stacks)
    }

    /// Begins the next program of the text at a byte.
    #[cold]
    fn begin_part(&mut self, at: usize) {
        self.stacks.pending.clear();
        (self.contents, self.careful, self.depth, self.at) = (Contents::NONE, false, 0, at);
        self.forms.names.begin_program();
    }

    /// Reads as far as byte `end`; with the error that tells most if that cannot be read.
    fn run_to(&mut self, end: usize) -> Result<Items> {
        match self.run(end) {
            Err(error) if error.reason() == Reason::ParseError => {
                Err(failure::diagnose(&self.source[..end], error))
            }
            // Or a limit of the program's.
            read => read,
        }
    }

    fn run(&mut self, end: usize) -> Result<Items> {
        let text = &self.source[..end];
        let bytes = text.as_bytes();
        let mut lexer = Token::lexer(text);
        let mut at = self.at;
        // White space and delimiters, which are half of a program, are told by their one byte; the automaton is asked for
        // everything else.
        while let Some(&byte) = bytes.get(at) {
            match BYTE_CLASSES[usize::from(byte)] {
                ByteClass::Space => at += 1,
                ByteClass::Opener => {
                    let opening = match byte {
                        b'(' => Opening::List,
                        b'[' => Opening::Vector,
                        _ => Opening::Map,
                    };
                    self.open(opening, Span::new(at, at + 1))?;
                    at += 1;
                }
                ByteClass::Closer => {
                    self.close(byte, Span::new(at, at + 1))?;
                    at += 1;
                }
                ByteClass::Other => {
                    if at >= self.next_charge {
                        self.charge(at)?;
                    }
                    lexer.bump(at - lexer.span().end);
                    let Some(token) = lexer.next() else { break };
                    let span = Span::new(lexer.span().start, lexer.span().end);
                    at = lexer.span().end;
                    match token {
                        Ok(token) => self.token(token, lexer.slice(), span)?,
                        Err(error) => {
                            self.unfinished = matches!(error, LexError::UnclosedString(_));
                            return Err(self.lex_error(error, span));
                        }
                    }
                }
            }
        }
        if let Some(&frame) = self.stacks.frames.last() {
            self.unfinished = true;
            return Err(self.unclosed(frame));
        }
        Ok(self.forms.add_read(&self.stacks.pending, self.contents))
    }

    /// A token of more than one byte, or one that is rare.
    #[inline]
    fn token(&mut self, token: Token, text: &'s str, span: Span) -> Result<()> {
        let kind = match token {
            Token::Keyword => FormKind::Keyword(self.forms.names.intern(behind_first(span))),
            Token::Name(NameKind::Name) => return self.name(text, span),
            Token::Str(Escapes::None) => {
                FormKind::Str(self.forms.add_string(Span { start: span.start + 1, end: span.end - 1 }))
            }
            Token::Number(NumberKind::Integer) => match numbers::short(text) {
                Some(number) => FormKind::Int(number),
                None => return self.rare_token(token, text, span),
            },
            token => return self.rare_token(token, text, span),
        };
        // It stands for itself and is no collection, so that it changes nothing that `contents` says of its siblings.
        if self.careful {
            return self.finish_prefixed(Form { kind, span });
        }
        self.stacks.pending.push(Form { kind, span });
        Ok(())
    }

    /// Handles rare tokens.
    #[inline(never)]
    fn rare_token(&mut self, token: Token, text: &'s str, span: Span) -> Result<()> {
        let kind = match token {
            Token::OpenList => return self.open(Opening::List, span),
            Token::OpenVector => return self.open(Opening::Vector, span),
            Token::OpenMap => return self.open(Opening::Map, span),
            Token::OpenSet => return self.open(Opening::Set, span),
            Token::OpenNamespacedMap => return self.open(Opening::NamespacedMap, span),
            Token::OpenShortFn => return self.open(Opening::ShortFn, span),
            Token::Quote => return self.open(Opening::Quote, span),
            Token::Discard => return self.open(Opening::Discard, span),
            Token::CloseList => return self.close(b')', span),
            Token::CloseVector => return self.close(b']', span),
            Token::CloseMap => return self.close(b'}', span),
            Token::Comment => return Ok(()),
            Token::Var => return Err(self.cannot("parse var", span.end)),
            Token::VarName => {
                return self.name(&text[2..], Span { start: span.start + 2, end: span.end });
            }
            // A quoted constant is itself.
            Token::QuotedName => match &text[1..] {
                "nil" => FormKind::Nil,
                "true" => FormKind::Bool(true),
                "false" => FormKind::Bool(false),
                _ => FormKind::QuotedSymbol(self.forms.names.intern(behind_first(span))),
            },
            Token::Name(kind) => numbers::positive(&mut self.forms, kind, text, span)?,
            Token::Number(kind) => numbers::number(&mut self.forms, kind, text, span)?,
            Token::Keyword => FormKind::Keyword(self.forms.names.intern(behind_first(span))),
            Token::Infinity => FormKind::SpecialFloat(f64::INFINITY),
            Token::NegativeInfinity => FormKind::SpecialFloat(f64::NEG_INFINITY),
            Token::NaN => FormKind::SpecialFloat(f64::NAN),
            Token::Str(_) => {
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
    fn name(&mut self, text: &'s str, span: Span) -> Result<()> {
        let kind = match text.as_bytes() {
            [b't' | b'f' | b'n' | b'*', rest @ ..] if rest.len() <= 4 => match text {
                "true" => FormKind::Bool(true),
                "false" => FormKind::Bool(false),
                "nil" => FormKind::Nil,
                "*1" => FormKind::History(1),
                "*2" => FormKind::History(2),
                "*3" => FormKind::History(3),
                _ => self.symbol(text, span),
            },
            _ => self.symbol(text, span),
        };
        self.finish(Form { kind, span })
    }

    #[inline]
    fn symbol(&mut self, text: &'s str, span: Span) -> FormKind {
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
        if span.start as usize >= self.next_charge {
            self.charge(span.start as usize)?;
        }
        if opening != Opening::Discard {
            self.check_depth(span)?;
            self.depth += 1;
        }
        let (base, outer) = (self.stacks.pending.len() as u32, self.contents);
        self.stacks.frames.push(ReaderFrame { opening, start: span.start, base, outer });
        if !opening.is_prefix() {
            self.contents = Contents::NONE;
        }
        self.careful = opening.is_prefix() || self.depth > MAX_DEPTH;
        Ok(())
    }

    /// The outermost form has depth 0; a form deeper than the limit is refused.
    fn check_depth(&self, span: Span) -> Result<()> {
        if self.depth > MAX_DEPTH {
            return Err(CompileError::parse(span, format!("nesting depth exceeds limit of {MAX_DEPTH}")));
        }
        Ok(())
    }

    fn close(&mut self, closer: u8, span: Span) -> Result<()> {
        // Surplus closers between top-level forms are ignored.
        let Some(frame) = self.stacks.frames.pop() else { return Ok(()) };
        if frame.opening.closer() != closer {
            return Err(self.not_closed_by(frame, span));
        }
        self.depth -= 1;
        self.be_careful();
        let base = frame.base as usize;
        if frame.opening == Opening::NamespacedMap {
            self.qualify_keys(frame)?;
        }
        let items = self.forms.add_read(&self.stacks.pending[base..], self.contents);
        self.stacks.pending.truncate(base);
        self.contents = frame.outer;
        let span = Span { start: frame.start, end: span.end };
        let kind = match frame.opening {
            Opening::List => FormKind::List(items),
            Opening::Vector => FormKind::Vector(items),
            Opening::Set => FormKind::Set(items),
            Opening::ShortFn => FormKind::ShortFn(items),
            _ if items.len() % 2 == 1 => {
                let text = format!("Map literal requires even number of forms, got {}", items.len());
                return Err(CompileError::parse(span, text));
            }
            _ => FormKind::Map(items),
        };
        self.finish(Form { kind, span })
    }

    /// Puts the keys of a `#:name{…}` that is about to be closed into its namespace: those that are keywords without one of
    /// their own. `_` stands for none.
    #[inline(never)]
    fn qualify_keys(&mut self, frame: ReaderFrame) -> Result<()> {
        let start = frame.start as usize + 2;
        let behind = &self.source[start..];
        let length = behind.find(['{', ' ', '\t', '\r', '\n', '\x0c', ',']).unwrap_or(behind.len());
        let namespace = &behind[..length];
        for at in (frame.base as usize..self.stacks.pending.len()).step_by(2) {
            let Form { kind: FormKind::Keyword(name), span } = self.stacks.pending[at] else { continue };
            let text = self.forms.names.text(name);
            self.stacks.pending[at].kind = match text.split_once('/') {
                None => {
                    let text = self
                        .forms
                        .join_keyword(namespace, text, self.stacks.bytes())
                        .map_err(|error| CompileError::limit(span, &error))?;
                    FormKind::JoinedKeyword { text, name }
                }
                Some(("_", _)) => {
                    let Span { start, end } = self.forms.names.span(name);
                    FormKind::Keyword(self.forms.names.intern(Span { start: start + 2, end }))
                }
                Some(_) => continue,
            };
        }
        Ok(())
    }

    /// Says whether the next form needs more than to be put with its siblings.
    #[inline]
    fn be_careful(&mut self) {
        let prefixed = self.stacks.frames.last().is_some_and(|frame| frame.opening.is_prefix());
        self.careful = prefixed || self.depth > MAX_DEPTH;
    }

    #[cold]
    fn not_closed_by(&self, frame: ReaderFrame, closer: Span) -> CompileError {
        match frame.opening {
            Opening::Quote | Opening::Discard => self.unfinished_prefix(frame, closer.start),
            _ => self.cannot("parse expression", closer.start),
        }
    }

    /// Hands a complete form to the collection or prefix that waits for it.
    #[inline]
    fn finish(&mut self, form: Form) -> Result<()> {
        // A collection was checked when it was opened.
        if self.careful {
            return self.finish_prefixed(form);
        }
        self.push(form);
        Ok(())
    }

    #[inline]
    fn push(&mut self, form: Form) {
        self.contents.add(form.kind);
        self.stacks.pending.push(form);
    }

    /// [`finish`](Self::finish) where a prefix waits for the form, or the form is too deep.
    #[cold]
    fn finish_prefixed(&mut self, mut form: Form) -> Result<()> {
        if !matches!(form.kind, FormKind::List(_) | FormKind::Vector(_) | FormKind::Map(_) | FormKind::Set(_))
        {
            self.check_depth(form.span)?;
        }
        while let Some(&frame) = self.stacks.frames.last() {
            if !frame.opening.is_prefix() {
                break;
            }
            self.stacks.frames.pop();
            self.be_careful();
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
        self.push(form);
        Ok(())
    }

    fn lex_error(&self, error: LexError, span: Span) -> CompileError {
        match error {
            LexError::UnclosedString(at) => self.at("unclosed string", at),
            LexError::InvalidChar(at) => self.at("invalid character literal", at),
            LexError::Unexpected => {
                let text = span.text(self.source);
                let error = if text.starts_with(':') {
                    self.cannot("parse keyword", span.start)
                } else if text.starts_with('\'') {
                    self.cannot("parse quoted symbol", span.start + 1)
                } else if text.starts_with("#'") {
                    self.cannot("parse var", span.start + 2)
                } else {
                    match self.stacks.frames.last() {
                        Some(&frame) if frame.opening.is_prefix() => {
                            self.unfinished_prefix(frame, span.start)
                        }
                        _ => self.cannot("parse expression", span.start),
                    }
                };
                error.with_hint(failure::advice(&self.source[span.start as usize..]))
            }
        }
    }

    fn unclosed(&self, frame: ReaderFrame) -> CompileError {
        let end = self.source.len() as u32;
        if frame.opening.is_prefix() {
            return self.unfinished_prefix(frame, end);
        }
        self.at(&format!("unclosed {}", frame.opening.noun()), end)
    }

    /// `'` or `#_` with nothing to apply to.
    fn unfinished_prefix(&self, frame: ReaderFrame, stopped: u32) -> CompileError {
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

#[cfg(test)]
mod tests;
