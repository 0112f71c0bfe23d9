//! Strings, keywords and symbols out of each other.
//!
//! A keyword is its text, as a symbol is: the namespace stands before the first `/` of it.

use super::args::shown;
use super::replace::literal;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Str, Value, parts_of_name};

/// `(name x)`
pub(super) fn name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) => Ok(Value::Str(text.clone())),
        Value::Keyword(keyword) => Ok(Value::str(parts_of_name(keyword.name()).1)),
        Value::Symbol(symbol) => Ok(Value::str(parts_of_name(symbol.as_str()).1)),
        special @ Value::Float(x) if !x.is_finite() => Err(Error::runtime(format!(
            "name not supported on special value: {}",
            print::readable_lossy(special)
        ))),
        other => Err(Error::runtime(format!("name not supported on: {}", print::readable_lossy(other)))),
    }
}

/// `(namespace x)`
pub(super) fn namespace(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = match &args[0] {
        Value::Keyword(keyword) => keyword.name(),
        Value::Symbol(symbol) => symbol.as_str(),
        _ => return Err(Error::argument_types("namespace", args)),
    };
    Ok(parts_of_name(text).0.map_or(Value::Nil, Value::str))
}

/// Whether a key of data becomes a keyword of this name (language.md 2.4).
pub(crate) fn is_keyword_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'?' | b'!' | b'-'))
    };
    let (namespace, name) = parts_of_name(name);
    namespace.is_none_or(is_part) && is_part(name)
}

/// The text of a namespace and a name.
fn joined(ctx: &mut Ctx<'_>, what: &str, namespace: &Str, name: &Str) -> Result<Str> {
    let bytes = namespace.as_str().len() + 1 + name.as_str().len();
    ctx.charge(bytes / 16)?;
    // It would end at its first slash.
    if namespace.as_str().contains('/') {
        let shown = print::readable_lossy(&Value::Str(namespace.clone()));
        return Err(Error::runtime(format!("invalid {what} namespace: {shown} holds a slash")));
    }
    ctx.reserve(bytes)?;
    Ok(Str::from_string([namespace.as_str(), name.as_str()].join("/")))
}

/// `(keyword x)`, `(keyword ns name)`
pub(super) fn keyword(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = match &*args {
        [Value::Str(namespace), Value::Str(name)] => joined(ctx, "keyword", namespace, name)?,
        [keyword @ Value::Keyword(_)] => return Ok(keyword.clone()),
        [Value::Str(name) | Value::Symbol(name)] | [Value::Nil, Value::Str(name)] => name.clone(),
        [_] => return Ok(Value::Nil),
        _ => return Err(Error::argument_types("keyword", args)),
    };
    ctx.charge(name.as_str().len() / 16)?;
    ctx.reserve(name.as_str().len())?;
    Ok(Value::Keyword(ctx.keyword(name.as_str())))
}

/// `(symbol x)`, `(symbol ns name)`
pub(super) fn symbol(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(match &*args {
        [Value::Str(namespace), Value::Str(name)] => Value::Symbol(joined(ctx, "symbol", namespace, name)?),
        [symbol @ Value::Symbol(_)] => symbol.clone(),
        [Value::Str(name)] | [Value::Nil, Value::Str(name)] => Value::Symbol(name.clone()),
        [Value::Keyword(keyword)] => {
            ctx.charge(keyword.name().len() / 16)?;
            ctx.reserve(keyword.name().len())?;
            Value::Symbol(Str::new(keyword.name()))
        }
        _ => return Err(Error::argument_types("symbol", args)),
    })
}

/// How Java spells a character that no name of its may have.
fn spelled(c: char) -> Option<&'static str> {
    Some(match c {
        '-' => "_",
        ':' => "_COLON_",
        '+' => "_PLUS_",
        '>' => "_GT_",
        '<' => "_LT_",
        '=' => "_EQ_",
        '~' => "_TILDE_",
        '!' => "_BANG_",
        '@' => "_CIRCA_",
        '#' => "_SHARP_",
        '\'' => "_SINGLEQUOTE_",
        '"' => "_DOUBLEQUOTE_",
        '%' => "_PERCENT_",
        '^' => "_CARET_",
        '&' => "_AMPERSAND_",
        '*' => "_STAR_",
        '|' => "_BAR_",
        '{' => "_LBRACE_",
        '}' => "_RBRACE_",
        '[' => "_LBRACK_",
        ']' => "_RBRACK_",
        '/' => "_SLASH_",
        '\\' => "_BSLASH_",
        '?' => "_QMARK_",
        _ => return None,
    })
}

/// `(munge s)`: a symbol of a symbol.
pub(super) fn munge(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("munge", args)?;
    ctx.charge(text.as_str().len() / 4)?;
    let mut out = String::new();
    for c in text.as_str().chars() {
        meter::uncharged(1);
        let mut bytes = [0; 4];
        let spelled = spelled(c).unwrap_or_else(|| c.encode_utf8(&mut bytes));
        print::grow_string(&mut out, spelled.len())?;
        out.push_str(spelled);
    }
    let text = Str::from_string(out);
    Ok(if matches!(args[0], Value::Symbol(_)) { Value::Symbol(text) } else { Value::Str(text) })
}

/// `(namespace-munge s)`
pub(super) fn namespace_munge(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("namespace-munge", args)?;
    literal(ctx, &text, &Str::new("-"), &Str::new("_"), false)
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
