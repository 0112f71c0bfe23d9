//! `format`: the format strings of Java, as far as programs use them.
//!
//! `%[index$][flags][width][.precision]conversion` with the flags `- + 0 , ( # <` and space, and the conversions
//! `s S b B c C d x X o e E f g G n %`. Numbers are rounded half up in the digits that they print with.

mod decimal;
mod fill;
mod render;
mod specifier;

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print::grow_string;
use crate::value::{Str, Value};
use specifier::Specifier;

/// The text of `(format fmt & args)`.
fn text(ctx: &mut Ctx<'_>, format: &str, args: &[Value]) -> Result<String> {
    let mut out = String::new();
    let mut rest = format;
    let (mut next, mut last) = (0, None);
    while let Some((before, from)) = rest.split_once('%') {
        ctx.charge(1 + before.len() / 16)?;
        grow_string(&mut out, before.len() + 1)?;
        out.push_str(before);
        let whole = &rest[before.len()..];
        let (specifier, after) = Specifier::parse(from, whole)?;
        rest = after;
        let value = if specifier.takes_argument() {
            let index = match specifier.index {
                specifier::ArgumentIndex::Next => {
                    next += 1;
                    next - 1
                }
                specifier::ArgumentIndex::Same => last.ok_or_else(not_enough)?,
                specifier::ArgumentIndex::Number(n) => n,
            };
            last = Some(index);
            args.get(index).ok_or_else(not_enough)?
        } else {
            &Value::Nil
        };
        render::write(&specifier, value, whole, &mut out)?;
    }
    grow_string(&mut out, rest.len())?;
    out.push_str(rest);
    Ok(out)
}

#[cold]
fn not_enough() -> Error {
    Error::runtime("not enough arguments for format string")
}

/// `(format fmt & args)`
pub(super) fn format(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [] => Err(Error::runtime("format requires at least a format string")),
        [Value::Str(format), rest @ ..] => {
            Ok(Value::Str(Str::from_string(text(ctx, format.as_str(), rest)?)))
        }
        args => Err(Error::argument_types("format", args)),
    }
}

#[cfg(test)]
mod tests;
