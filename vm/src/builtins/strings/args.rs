//! Reading arguments: strings and positions.

pub(super) use crate::builtins::support::check::position;
use crate::error::{Error, Result};
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
