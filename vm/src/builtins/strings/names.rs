//! Strings, keywords and symbols out of each other.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print;
use crate::value::{Str, Value};

/// Namespace and name of a symbol's text, which splits at its first `/`.
fn symbol_parts(symbol: &Str) -> (Option<&str>, &str) {
    match symbol.as_str().split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => (Some(namespace), name),
        _ => (None, symbol.as_str()),
    }
}

/// `(name x)`
pub(super) fn name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) => Ok(Value::Str(text.clone())),
        Value::Keyword(keyword) => Ok(Value::str(keyword.name())),
        Value::Symbol(symbol) => Ok(Value::str(symbol_parts(symbol).1)),
        special @ Value::Float(x) if !x.is_finite() => Err(Error::runtime(format!(
            "name not supported on special value: {}",
            print::readable_lossy(special)
        ))),
        other => Err(Error::runtime(format!("name not supported on: {}", print::readable_lossy(other)))),
    }
}

/// `(namespace x)`: keywords have none.
pub(super) fn namespace(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Keyword(_) => Ok(Value::Nil),
        Value::Symbol(symbol) => Ok(symbol_parts(symbol).0.map_or(Value::Nil, Value::str)),
        _ => Err(Error::argument_types("namespace", args)),
    }
}

/// Whether a key of data becomes a keyword of this name (language.md 2.4).
pub(crate) fn is_keyword_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'?' | b'!' | b'-'))
}

/// Whether `(keyword name)` accepts this name: it reads as one word, and has no namespace.
pub(crate) fn is_readable_keyword(name: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"+-*<>=?!_".contains(&b);
    !name.is_empty() && name.bytes().all(is_part)
}

/// `(keyword x)`
pub(super) fn keyword(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = match &args[0] {
        Value::Nil => return Ok(Value::Nil),
        keyword @ Value::Keyword(_) => return Ok(keyword.clone()),
        Value::Str(name) | Value::Symbol(name) => name,
        _ => return Ok(Value::Nil),
    };
    ctx.charge(name.as_str().len() / 16)?;
    if !is_readable_keyword(name.as_str()) {
        let shown = print::readable_lossy(&Value::Str(name.clone()));
        return Err(Error::runtime(format!("invalid keyword name: {shown}")));
    }
    ctx.reserve(name.as_str().len())?;
    Ok(Value::Keyword(ctx.keyword(name.as_str())))
}

/// `(symbol s)`
pub(super) fn symbol(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = match &args[0] {
        symbol @ Value::Symbol(_) => return Ok(symbol.clone()),
        Value::Str(text) => text.clone(),
        Value::Keyword(keyword) => Str::new(keyword.name()),
        _ => return Err(Error::argument_types("symbol", args)),
    };
    ctx.charge(text.as_str().len() / 16)?;
    let readable = |c: char| c.is_ascii_alphanumeric() || "_?!*+-/<>=.&%'#".contains(c);
    if text.as_str().is_empty() || !text.as_str().chars().all(readable) {
        let shown = print::readable_lossy(&Value::Str(text));
        return Err(Error::runtime(format!("invalid symbol name: {shown}")));
    }
    Ok(Value::Symbol(text))
}

/// `(char x)`: the one-character string of a code point.
pub(super) fn char(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) if text.len() == 1 => Ok(Value::Str(text.clone())),
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => Ok(Value::str(c.encode_utf8(&mut [0; 4]))),
            None => Err(Error::runtime(format!("char: {code} is not a code point"))),
        },
        _ => Err(Error::argument_types("char", args)),
    }
}
