//! Reading arguments: strings and positions.

pub(super) use crate::builtins::support::check::position;
use crate::error::{Error, Result};
use crate::print;
use crate::value::{Str, Value};

/// The only or first argument, which must be a string; `name` is the spelling of TYPES texts.
pub(super) fn text(name: &str, args: &[Value]) -> Result<Str> {
    match args.first() {
        Some(Value::Str(text)) => Ok(text.clone()),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// The first two arguments, which must be strings.
pub(super) fn two_texts(name: &str, args: &[Value]) -> Result<(Str, Str)> {
    match args {
        [Value::Str(a), Value::Str(b), ..] => Ok((a.clone(), b.clone())),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// The first argument as a string: as in Clojure, anything with a text but `nil` and functions.
pub(super) fn shown(name: &str, args: &[Value]) -> Result<Str> {
    match args.first() {
        Some(Value::Str(text)) => Ok(text.clone()),
        Some(other) if !other.is_nil() && !other.is_function() => Ok(Str::from_string(print::plain(other)?)),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// The first two arguments as strings, of which the second one must be one.
pub(super) fn shown_and_text(name: &str, args: &[Value]) -> Result<(Str, Str)> {
    match args {
        [text, Value::Str(part), ..] => {
            let text = match text {
                Value::Str(text) => text.clone(),
                _ => shown(name, args)?,
            };
            Ok((text, part.clone()))
        }
        _ => Err(Error::argument_types(name, args)),
    }
}
