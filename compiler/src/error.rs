//! The one error type of the front end.

use std::fmt;

pub(crate) use ptc_vm::Reason;

use crate::source::{Position, Span, excerpt};

/// A program that was refused before it ran. One word wide.
///
/// The message is the text that the language defines, with its prefix and without a position; the position is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(Box<ErrorDetails>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorDetails {
    reason: Reason,
    message: String,
    hint: String,
    span: Span,
    position: Option<Position>,
}

impl CompileError {
    pub(crate) fn new(reason: Reason, span: Span, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            reason,
            message: message.into(),
            hint: String::new(),
            span,
            position: None,
        }))
    }

    /// `reason: text`, the form of most messages.
    pub(crate) fn prefixed(reason: Reason, span: Span, text: impl fmt::Display) -> Self {
        Self::new(reason, span, format!("{reason}: {text}"))
    }

    /// A special form of the wrong shape.
    pub(crate) fn form(span: Span, text: impl fmt::Display) -> Self {
        Self::prefixed(Reason::InvalidForm, span, text)
    }

    /// A special form with the wrong number of parts.
    pub(crate) fn arity(span: Span, text: impl fmt::Display) -> Self {
        Self::new(Reason::InvalidArity, span, format!("Analysis error: {text}"))
    }

    /// A pattern that cannot be bound, shown as it is written.
    pub(crate) fn pattern(source: &str, span: Span) -> Self {
        Self::prefixed(Reason::UnsupportedPattern, span, excerpt(source, span))
    }

    /// A text that cannot be read.
    pub(crate) fn parse(span: Span, text: impl Into<String>) -> Self {
        Self::new(Reason::ParseError, span, text)
    }

    /// A program that does not fit into bytecode.
    pub(crate) fn too_large(span: Span, what: &str) -> Self {
        Self::new(Reason::CompileMemoryExceeded, span, format!("compilation exceeded the limit of {what}"))
    }

    /// The same error with a hint how to repair the program: text to append to the message.
    pub(crate) fn with_hint(mut self, hint: String) -> Self {
        self.0.hint = hint;
        self
    }

    /// A limit of the program's that compilation came to.
    pub(crate) fn limit(span: Span, error: &ptc_vm::Error) -> Self {
        Self::new(error.reason(), span, error.message())
    }

    /// Fills in lines and columns. Errors are rare, so they are counted only here.
    pub(crate) fn locate(mut self, source: &str) -> Self {
        self.0.position = Some(Position::of(source, self.0.span));
        self
    }

    /// The reason word.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The full message, as the language defines it.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How to repair the program, if there is a hint: text to append to the message.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// The bytes of the source text that are at fault.
    pub fn span(&self) -> Span {
        self.0.span
    }

    /// Lines and columns of [`span`](Self::span).
    pub fn position(&self) -> Position {
        self.0.position.unwrap_or_default()
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for CompileError {}

impl From<CompileError> for ptc_vm::Error {
    fn from(error: CompileError) -> Self {
        let at = error.position();
        let position = ptc_vm::error::Position { line: at.line, column: at.column };
        ptc_vm::Error::verbatim(error.0.reason, error.0.message).with_hint(error.0.hint).at(Some(position))
    }
}

/// The result of compilation.
pub(crate) type Result<T> = std::result::Result<T, CompileError>;
