//! Strings, keywords and symbols out of each other.
//!
//! A keyword is its text, as a symbol is: the namespace stands before the first `/` of it.

use super::args::shown;
use super::replace::literal;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Str, Value};

/// Namespace and name of the text of a keyword or a symbol, which splits at its first `/`.
pub(crate) fn parts_of_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => (Some(namespace), name),
        _ => (None, text),
    }
}

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

/// Whether `(keyword name)` accepts this name: it reads as one word.
pub(crate) fn is_readable_keyword(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-*<>=?!_.".contains(&b))
    };
    let (namespace, name) = parts_of_name(name);
    namespace.is_none_or(is_part) && is_part(name)
}

/// `(keyword x)`, `(keyword ns name)`
pub(super) fn keyword(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let joined;
    let name = match &*args {
        [Value::Str(namespace), Value::Str(name)] => {
            let text = [namespace.as_str(), name.as_str()];
            let bytes = text[0].len() + 1 + text[1].len();
            ctx.charge(bytes / 16)?;
            ctx.reserve(bytes)?;
            joined = Str::from_string(text.join("/"));
            &joined
        }
        [keyword @ Value::Keyword(_)] => return Ok(keyword.clone()),
        [Value::Str(name) | Value::Symbol(name)] | [Value::Nil, Value::Str(name)] => name,
        [_] => return Ok(Value::Nil),
        _ => return Err(Error::argument_types("keyword", args)),
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
