//! The one error type of the front end.

use std::fmt;

use crate::source::{Position, Span, excerpt};

/// Why a program was refused before it ran: the *reason* words of phases 1 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The text is longer than the limit.
    ProgramTooLarge,
    /// The text is not a sequence of forms.
    ParseError,
    /// Too many distinct names.
    SymbolLimitExceeded,
    /// A special form has the wrong shape.
    InvalidForm,
    /// A special form has the wrong number of parts.
    InvalidArity,
    /// `cond` with an odd number of parts.
    InvalidCondForm,
    /// A threading form has the wrong shape.
    InvalidThreadForm,
    /// Something that cannot be bound stands in a binding position.
    UnsupportedPattern,
    /// `%` outside `#( … )`, or one that does not exist.
    InvalidPlaceholder,
    /// Two keys or elements of a literal are equal as forms.
    DuplicateKey,
    /// A name that nothing defines.
    UnboundVar,
    /// A tool that is not registered.
    UnknownTool,
}

impl Reason {
    /// The word that hosts report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProgramTooLarge => "program_too_large",
            Self::ParseError => "parse_error",
            Self::SymbolLimitExceeded => "symbol_limit_exceeded",
            Self::InvalidForm => "invalid_form",
            Self::InvalidArity => "invalid_arity",
            Self::InvalidCondForm => "invalid_cond_form",
            Self::InvalidThreadForm => "invalid_thread_form",
            Self::UnsupportedPattern => "unsupported_pattern",
            Self::InvalidPlaceholder => "invalid_placeholder",
            Self::DuplicateKey => "duplicate_key",
            Self::UnboundVar => "unbound_var",
            Self::UnknownTool => "unknown_tool",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A program that was refused before it ran. One word wide.
///
/// The message is the text that the language defines, with its prefix and without a position; the position is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    reason: Reason,
    message: String,
    span: Span,
    position: Option<Position>,
}

impl CompileError {
    pub(crate) fn new(reason: Reason, span: Span, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { reason, message: message.into(), span, position: None }))
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

/// What the phases inside the crate return.
pub(crate) type Result<T> = std::result::Result<T, CompileError>;
