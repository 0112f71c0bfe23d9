//! The one error type of a program: a reason from a closed list, a full sentence, and where it happened.
//!
//! Reasons and message prefixes are those of the language specification, section 7.

use crate::value::Value;
use std::fmt;
use std::rc::Rc;

/// Result of everything that a program can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a program failed. [`Reason::as_str`] gives the word that clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each variant is the word of `as_str`, described in the language specification 7.3"
)]
pub enum Reason {
    ProgramTooLarge,
    ParseError,
    SymbolLimitExceeded,
    InvalidForm,
    InvalidArity,
    InvalidCondForm,
    InvalidThreadForm,
    UnsupportedPattern,
    InvalidPlaceholder,
    DuplicateKey,
    UnboundVar,
    UnknownTool,
    CompileMemoryExceeded,
    TypeError,
    ArithmeticError,
    ArityError,
    ArityMismatch,
    NotCallable,
    InvalidKeywordCall,
    InvalidMapCall,
    UnsupportedMethod,
    DestructureError,
    InvalidToolArgs,
    ToolError,
    ToolCallLimitExceeded,
    RuntimeError,
    PmapError,
    PcallsError,
    Timeout,
    StepLimitExceeded,
    MemoryExceeded,
    Fail,
    ValidationError,
    InvalidConfig,
    Cancelled,
}

impl Reason {
    /// All of them, each at the index of its discriminant.
    pub(crate) const ALL: [Reason; 35] = [
        Reason::ProgramTooLarge,
        Reason::ParseError,
        Reason::SymbolLimitExceeded,
        Reason::InvalidForm,
        Reason::InvalidArity,
        Reason::InvalidCondForm,
        Reason::InvalidThreadForm,
        Reason::UnsupportedPattern,
        Reason::InvalidPlaceholder,
        Reason::DuplicateKey,
        Reason::UnboundVar,
        Reason::UnknownTool,
        Reason::CompileMemoryExceeded,
        Reason::TypeError,
        Reason::ArithmeticError,
        Reason::ArityError,
        Reason::ArityMismatch,
        Reason::NotCallable,
        Reason::InvalidKeywordCall,
        Reason::InvalidMapCall,
        Reason::UnsupportedMethod,
        Reason::DestructureError,
        Reason::InvalidToolArgs,
        Reason::ToolError,
        Reason::ToolCallLimitExceeded,
        Reason::RuntimeError,
        Reason::PmapError,
        Reason::PcallsError,
        Reason::Timeout,
        Reason::StepLimitExceeded,
        Reason::MemoryExceeded,
        Reason::Fail,
        Reason::ValidationError,
        Reason::InvalidConfig,
        Reason::Cancelled,
    ];

    /// The snake_case word for this reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::ProgramTooLarge => "program_too_large",
            Reason::ParseError => "parse_error",
            Reason::SymbolLimitExceeded => "symbol_limit_exceeded",
            Reason::InvalidForm => "invalid_form",
            Reason::InvalidArity => "invalid_arity",
            Reason::InvalidCondForm => "invalid_cond_form",
            Reason::InvalidThreadForm => "invalid_thread_form",
            Reason::UnsupportedPattern => "unsupported_pattern",
            Reason::InvalidPlaceholder => "invalid_placeholder",
            Reason::DuplicateKey => "duplicate_key",
            Reason::UnboundVar => "unbound_var",
            Reason::UnknownTool => "unknown_tool",
            Reason::CompileMemoryExceeded => "compile_memory_exceeded",
            Reason::TypeError => "type_error",
            Reason::ArithmeticError => "arithmetic_error",
            Reason::ArityError => "arity_error",
            Reason::ArityMismatch => "arity_mismatch",
            Reason::NotCallable => "not_callable",
            Reason::InvalidKeywordCall => "invalid_keyword_call",
            Reason::InvalidMapCall => "invalid_map_call",
            Reason::UnsupportedMethod => "unsupported_method",
            Reason::DestructureError => "destructure_error",
            Reason::InvalidToolArgs => "invalid_tool_args",
            Reason::ToolError => "tool_error",
            Reason::ToolCallLimitExceeded => "tool_call_limit_exceeded",
            Reason::RuntimeError => "runtime_error",
            Reason::PmapError => "pmap_error",
            Reason::PcallsError => "pcalls_error",
            Reason::Timeout => "timeout",
            Reason::StepLimitExceeded => "step_limit_exceeded",
            Reason::MemoryExceeded => "memory_exceeded",
            Reason::Fail => "fail",
            Reason::ValidationError => "validation_error",
            Reason::InvalidConfig => "invalid_config",
            Reason::Cancelled => "cancelled",
        }
    }

    /// The text put before a message of this reason (specification 7.1).
    const fn prefix(self) -> &'static str {
        match self {
            Reason::InvalidArity | Reason::InvalidPlaceholder => "Analysis error: ",
            Reason::ArityError => "arity error: ",
            Reason::RuntimeError => "Runtime error: ",
            Reason::InvalidForm => "invalid_form: ",
            Reason::InvalidCondForm => "invalid_cond_form: ",
            Reason::InvalidThreadForm => "invalid_thread_form: ",
            Reason::UnsupportedPattern => "unsupported_pattern: ",
            Reason::DuplicateKey => "duplicate_key: ",
            Reason::TypeError => "type_error: ",
            Reason::ArithmeticError => "arithmetic_error: ",
            Reason::ArityMismatch => "arity_mismatch: ",
            Reason::InvalidKeywordCall => "invalid_keyword_call: ",
            Reason::InvalidMapCall => "invalid_map_call: ",
            Reason::DestructureError => "destructure_error: ",
            Reason::InvalidToolArgs => "invalid_tool_args: ",
            Reason::ToolCallLimitExceeded => "tool_call_limit_exceeded: ",
            Reason::PmapError => "pmap_error: ",
            Reason::PcallsError => "pcalls_error: ",
            _ => "",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in the program's text, both 1-based; a column counts code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1; only LF ends a line.
    pub line: u32,
    /// Column, from 1, in code points.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why and where a program failed. One machine word; pinned by a test.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorBody>);

#[derive(Clone, Debug)]
struct ErrorBody {
    reason: Reason,
    message: String,
    position: Option<Position>,
    payload: Option<Value>,
    hint: Option<String>,
    nil_arguments: Option<NilArguments>,
    definition: Option<Definition>,
}

/// The definition of an earlier program in which a program failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its text, from `(defn` to the closing parenthesis.
    pub source: Rc<str>,
    /// Where in that text the program failed.
    pub position: Position,
}

/// The message of arithmetic for an argument that is no number.
const BAD_ARGUMENT: &str = "bad argument in arithmetic expression";
/// The message of arithmetic for a result, or an integer beside a float, that no float can hold.
const FLOAT_TOO_LARGE: &str = "number too large for a float (at most about 1.8e308); integers have no bound";

/// Which arguments of a call were `nil` where the function that was called refuses `nil`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NilArguments {
    /// The function, as messages name it. Empty if it is the callee itself that was `nil`.
    pub function: String,
    /// How many arguments the call had, if that is known.
    pub count: Option<usize>,
    /// The first argument that was `nil`, from 0.
    pub first: usize,
}

impl Error {
    /// An error whose message is `text` after the prefix that its reason demands.
    #[cold]
    pub fn new(reason: Reason, text: impl Into<String>) -> Error {
        let text = text.into();
        let prefix = reason.prefix();
        let message = if prefix.is_empty() { text } else { format!("{prefix}{text}") };
        Error::verbatim(reason, message)
    }

    /// An error whose message is exactly `message`.
    #[cold]
    pub fn verbatim(reason: Reason, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorBody {
            reason,
            message: message.into(),
            position: None,
            payload: None,
            hint: None,
            nil_arguments: None,
            definition: None,
        }))
    }

    /// `type_error: text`
    #[cold]
    pub fn type_error(text: impl Into<String>) -> Error {
        Error::new(Reason::TypeError, text)
    }

    /// `Runtime error: text`, for bad arguments of library functions.
    #[cold]
    pub fn runtime(text: impl Into<String>) -> Error {
        Error::new(Reason::RuntimeError, text)
    }

    /// `arithmetic_error: bad argument in arithmetic expression`
    #[cold]
    pub(crate) fn bad_arithmetic() -> Error {
        Error::new(Reason::ArithmeticError, BAD_ARGUMENT)
    }

    /// `arithmetic_error: number too large for a float …`
    #[cold]
    pub(crate) fn float_too_large() -> Error {
        Error::new(Reason::ArithmeticError, FLOAT_TOO_LARGE)
    }

    /// `arithmetic_error: division by zero`
    #[cold]
    pub(crate) fn division_by_zero() -> Error {
        Error::new(Reason::ArithmeticError, "division by zero")
    }

    /// `arithmetic_error: integer overflow`
    #[cold]
    pub(crate) fn integer_overflow() -> Error {
        Error::new(Reason::ArithmeticError, "integer overflow")
    }

    /// `type_error: NAME: invalid argument types: T1, T2` (functions.md 0.5, template TYPES).
    #[cold]
    pub fn argument_types(name: &str, args: &[Value]) -> Error {
        let mut text = format!("{name}: invalid argument types: ");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            text.push_str(arg.kind_label());
        }
        Error::type_error(text).with_nil_arguments(name, args)
    }

    /// `type_error: NAME: arg N expected KIND, got TYPE`; `n` counts from 1 (functions.md 0.5, template ARG).
    #[cold]
    pub fn argument(name: &str, n: usize, expected: &str, got: &Value) -> Error {
        let mut error =
            Error::type_error(format!("{name}: arg {n} expected {expected}, got {}", got.kind_label()));
        if got.is_nil() {
            let first = n.saturating_sub(1);
            error.0.nil_arguments = Some(NilArguments { function: name.to_owned(), count: None, first });
        }
        error
    }

    /// The memory limit of `limit` bytes is exceeded.
    #[cold]
    pub fn memory(limit: u64) -> Error {
        Error::verbatim(Reason::MemoryExceeded, format!("heap limit {limit} bytes exceeded"))
    }

    /// All programs of the server together hold as much as they may (ruling 25).
    #[cold]
    pub fn memory_budget() -> Error {
        Error::verbatim(Reason::MemoryExceeded, "the server's memory budget is exhausted".to_owned())
    }

    /// The step limit is exceeded; the text says how to write the program better (ruling 4).
    #[cold]
    pub fn steps(limit: u64) -> Error {
        Error::verbatim(
            Reason::StepLimitExceeded,
            format!(
                "execution exceeded {limit} step limit. Process less data (filter or take early), avoid nested loops over \
                 large collections, and use group-by, set or frequencies instead of searching a collection for each element"
            ),
        )
    }

    /// The time is over that a host has given the program.
    #[cold]
    pub fn timeout(allowed_ms: u64) -> Error {
        Error::verbatim(Reason::Timeout, format!("execution exceeded {allowed_ms}ms limit"))
            .with_hint(" (flag `--program-timeout-ms`)".to_owned())
    }

    /// `(fail payload)`; the message is the payload's readable form, rendered by the caller.
    #[cold]
    pub fn fail(payload: Value, shown: String) -> Error {
        let mut error = Error::verbatim(Reason::Fail, shown);
        error.0.payload = Some(payload);
        error
    }

    /// The same error with a position, unless it has one already: the innermost place wins.
    pub fn at(mut self, position: Option<Position>) -> Error {
        if self.0.position.is_none() && self.0.definition.is_none() {
            self.0.position = position;
        }
        self
    }

    /// The same error with a hint how to repair the program: text to append to the message. It is kept apart because messages
    /// are compared as documented, word for word.
    pub fn with_hint(mut self, hint: String) -> Error {
        self.0.hint = Some(hint).filter(|hint| !hint.is_empty());
        self
    }

    /// The same error with a fact about its call: whether an argument was `nil`. Unchanged if none was.
    #[cold]
    pub(crate) fn with_nil_arguments(mut self, function: &str, args: &[Value]) -> Error {
        // A division by zero is not about them, and has taken them.
        let of_arguments = match self.0.reason {
            Reason::TypeError => true,
            Reason::ArithmeticError => self.0.message.ends_with(BAD_ARGUMENT),
            _ => false,
        };
        if let Some(first) = args.iter().position(Value::is_nil).filter(|_| of_arguments) {
            self = self.with_nil_argument(function, args.len(), first);
        }
        self
    }

    /// The same error of a call with `count` arguments, of which number `first` was `nil`.
    pub(crate) fn with_nil_argument(mut self, function: &str, count: usize, first: usize) -> Error {
        let count = Some(count);
        self.0.nil_arguments = Some(NilArguments { function: function.to_owned(), count, first });
        self
    }

    /// The same error of a callee that was `nil`.
    pub(crate) fn with_nil_callee(mut self) -> Error {
        self.0.nil_arguments = Some(NilArguments { function: String::new(), count: None, first: 0 });
        self
    }

    /// The same error without [`Error::nil_arguments`]: its place is in another text than the program's.
    pub(crate) fn without_nil_arguments(mut self) -> Error {
        self.0.nil_arguments = None;
        self
    }

    /// The same error with `(fail payload)`'s payload, for who reads one that was written.
    pub(crate) fn with_payload(mut self, payload: Option<Value>) -> Error {
        self.0.payload = payload;
        self
    }

    /// The same error of a call that had these arguments.
    pub(crate) fn of_nil_arguments(mut self, nil_arguments: NilArguments) -> Error {
        self.0.nil_arguments = Some(nil_arguments);
        self
    }

    /// The `nil` arguments of the call that failed, if they are the cause and [`Error::position`] is a place in the program
    /// itself. `ptc_compiler::nil_origin` finds their origin from it.
    pub fn nil_arguments(&self) -> Option<&NilArguments> {
        self.0.nil_arguments.as_ref()
    }

    /// See [`Error::with_hint`].
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Why the program failed.
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The full sentence, prefix included, without position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same error inside a definition that an earlier program of the session made, unless it has a place already.
    pub(crate) fn in_definition(mut self, definition: Definition) -> Error {
        if self.0.position.is_none() && self.0.definition.is_none() {
            self.0.definition = Some(definition);
        }
        self
    }

    /// The definition of an earlier program in which the program failed. [`Error::position`] is `None` then. Not kept when a
    /// program is suspended.
    pub fn definition(&self) -> Option<&Definition> {
        self.0.definition.as_ref()
    }

    /// Where the program failed, when that is known and a place in its own text.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The value given to `(fail value)`.
    pub fn payload(&self) -> Option<&Value> {
        self.0.payload.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn all_reasons_are_listed() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index, "{reason}");
        }
        assert_eq!(Reason::Cancelled as usize + 1, Reason::ALL.len(), "the last one is known");
    }

    #[test]
    fn messages_carry_the_prefix_of_their_reason() {
        assert_eq!(Error::type_error("x").message(), "type_error: x");
        assert_eq!(Error::new(Reason::ArityError, "x").message(), "arity error: x");
        assert_eq!(Error::runtime("x").message(), "Runtime error: x");
        assert_eq!(Error::new(Reason::ParseError, "x").message(), "x");
    }
}
