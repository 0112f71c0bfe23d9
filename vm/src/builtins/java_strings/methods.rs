//! The string methods.

use crate::builtins::regex;
use crate::builtins::strings;
use crate::builtins::support::elements;
use crate::builtins::support::errors::java_type_name;
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::print::{grow_string, push_in_pieces, write_plain};
use crate::value::{Regex, Str, Value, equal};

/// The receiver, which must be a string.
fn receiver(method: &str, args: &[Value]) -> Result<Str> {
    match &args[0] {
        Value::Str(text) => Ok(text.clone()),
        other => Err(Error::type_error(format!("{method}: expected string, got {}", java_type_name(other)))),
    }
}

/// Argument `i`, which must be a string.
fn text_argument(method: &str, args: &[Value], i: usize) -> Result<Str> {
    match &args[i] {
        Value::Str(text) => Ok(text.clone()),
        other => Err(Error::type_error(format!(
            "{method}: expected string argument, got {}",
            java_type_name(other)
        ))),
    }
}

/// A position: an integer, or a float without its fraction.
fn position(method: &str, what: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Int(n) => Ok(*n),
        Value::BigInt(n) => Ok(if n.get().sign() == num_bigint::Sign::Minus { i64::MIN } else { i64::MAX }),
        Value::Float(x) if x.is_finite() => Ok(x.get() as i64),
        other => Err(Error::type_error(format!(
            "{method}: expected numeric {what}, got {}",
            java_type_name(other)
        ))),
    }
}

/// Where an element first lies, from the front or the back.
fn position_in(
    ctx: &mut Ctx<'_>,
    mut items: impl Iterator<Item = (usize, Value)>,
    wanted: &Value,
) -> Result<Option<usize>> {
    items
        .find_map(|(i, item)| match ctx.charge(1) {
            Ok(()) => equal(&item, wanted).then_some(Ok(i)),
            Err(error) => Some(Err(error)),
        })
        .transpose()
}

pub(super) fn size(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    collection_size(".size", &args[0]).map(|size| Value::Int(size as i64))
}

fn collection_size(method: &str, value: &Value) -> Result<usize> {
    match value {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => Ok(items.len()),
        Value::Map(map) => Ok(map.len()),
        Value::Set(set) => Ok(set.len()),
        other => {
            let found = java_type_name(other);
            Err(Error::type_error(format!("{method}: expected a collection, got {found}")))
        }
    }
}

pub(super) fn get(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Map(map) => Ok(map.get_flexible(&args[1]).cloned().unwrap_or_default()),
        Value::Set(set) => Ok(set.get(&args[1]).cloned().unwrap_or_default()),
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
            let index = position(".get", "index", &args[1])?;
            usize::try_from(index).ok().and_then(|index| items.get(index)).ok_or_else(|| {
                let length = items.len();
                Error::type_error(format!(".get: index {index} out of range for vector of length {length}"))
            })
        }
        other => collection_size(".get", other).map(|_| Value::Nil),
    }
}

pub(super) fn contains(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
            return Ok(Value::bool(position_in(ctx, items.iter().enumerate(), &args[1])?.is_some()));
        }
        Value::Set(set) => return Ok(Value::bool(set.contains(&args[1]))),
        _ => {}
    }
    let (text, part) = (receiver(".contains", args)?, text_argument(".contains", args, 1)?);
    ctx.charge(text.as_str().len() / 16)?;
    Ok(Value::bool(strings::find(text.as_str(), part.as_str()).is_some()))
}

pub(super) fn starts_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, prefix) = (receiver(".startsWith", args)?, text_argument(".startsWith", args, 1)?);
    ctx.charge(prefix.as_str().len() / 16)?;
    Ok(Value::bool(text.as_str().starts_with(prefix.as_str())))
}

pub(super) fn ends_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, suffix) = (receiver(".endsWith", args)?, text_argument(".endsWith", args, 1)?);
    ctx.charge(suffix.as_str().len() / 16)?;
    Ok(Value::bool(text.as_str().ends_with(suffix.as_str())))
}

pub(super) fn index_of(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let [Value::Vector(items) | Value::List(items) | Value::Queue(items), wanted] = &*args {
        let found = position_in(ctx, items.iter().enumerate(), wanted)?;
        return Ok(Value::Int(found.map_or(-1, |index| index as i64)));
    }
    let (text, part) = (receiver(".indexOf", args)?, text_argument(".indexOf", args, 1)?);
    let from = match args.get(2) {
        None => 0,
        Some(Value::Int(from)) => *from,
        Some(other) => {
            return Err(Error::type_error(format!(
                ".indexOf: expected integer from, got {}",
                java_type_name(other)
            )));
        }
    };
    if from > 0 && usize::try_from(from).is_ok_and(|from| from > text.len()) {
        return Ok(Value::Int(if part.as_str().is_empty() { text.len() as i64 } else { -1 }));
    }
    Ok(Value::Int(strings::index_of(ctx, &text, &part, from)?.unwrap_or(-1)))
}

pub(super) fn last_index_of(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let [Value::Vector(items) | Value::List(items) | Value::Queue(items), wanted] = &*args {
        let found = position_in(ctx, items.iter().enumerate().rev(), wanted)?;
        return Ok(Value::Int(found.map_or(-1, |index| index as i64)));
    }
    let (text, part) = (receiver(".lastIndexOf", args)?, text_argument(".lastIndexOf", args, 1)?);
    let from = match args.get(2) {
        None => i64::MAX,
        Some(Value::Int(from)) if *from < 0 => return Ok(Value::Int(-1)),
        Some(Value::Int(from)) => *from,
        Some(other) => {
            return Err(Error::type_error(format!(
                ".lastIndexOf: expected integer from, got {}",
                java_type_name(other)
            )));
        }
    };
    Ok(Value::Int(strings::last_index_of(ctx, &text, &part, from)?.unwrap_or(-1)))
}

pub(super) fn length(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::Int(receiver(".length", args)?.len() as i64))
}

pub(super) fn substring(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".substring", args)?;
    let start = position(".substring", "start", &args[1])?;
    let length = text.len() as i64;
    let end = match args.get(2) {
        Some(end) => position(".substring", "stop", end)?,
        None => length,
    };
    let fault = if start < 0 || (start > length && args.len() == 2) {
        format!("start index {start} out of range for string of length {length}")
    } else if end > length {
        format!("end index {end} out of range for string of length {length}")
    } else if start > end {
        format!("start index {start} out of range (greater than end index {end})")
    } else {
        ctx.charge((end - start) as usize / 16)?;
        ctx.reserve(text.as_str().len())?;
        return Ok(Value::Str(text.slice(start as usize, end as usize)));
    };
    Err(Error::type_error(format!(".substring: {fault}")))
}

pub(super) fn char_at(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".charAt", args)?;
    let index = position(".charAt", "index", &args[1])?;
    let length = text.len() as i64;
    if index < 0 || index >= length {
        let fault = format!(".charAt: index {index} out of range for string of length {length}");
        return Err(Error::type_error(fault));
    }
    Ok(Value::Str(text.slice(index as usize, index as usize + 1)))
}

pub(super) fn to_upper_case(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".toUpperCase", args)?;
    strings::to_upper(ctx, &text)
}

pub(super) fn to_lower_case(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".toLowerCase", args)?;
    strings::to_lower(ctx, &text)
}

pub(super) fn trim(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    receiver(".trim", args)?;
    strings::trim(ctx, args)
}

pub(super) fn is_empty(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_) = &args[0] {
        return collection_size(".isEmpty", &args[0]).map(|size| Value::bool(size == 0));
    }
    Ok(Value::bool(receiver(".isEmpty", args)?.as_str().is_empty()))
}

pub(super) fn is_blank(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".isBlank", args)?;
    ctx.charge(text.as_str().len() / 16)?;
    Ok(Value::bool(strings::is_all_space(text.as_str())))
}

pub(super) fn equals_ignore_case(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".equalsIgnoreCase", args)?;
    let Value::Str(other) = &args[1] else { return Ok(Value::False) };
    ctx.charge((text.as_str().len() + other.as_str().len()) / 4)?;
    let lower = |text: &Str| {
        text.as_str()
            .chars()
            .inspect(|_| crate::meter::uncharged(1))
            .flat_map(char::to_lowercase)
            .eq(other.as_str().chars().flat_map(char::to_lowercase))
    };
    Ok(Value::bool(lower(&text)))
}

pub(super) fn replace(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = receiver(".replace", args)?;
    let (old, new) = (text_argument(".replace", args, 1)?, text_argument(".replace", args, 2)?);
    strings::replace_literal(ctx, &text, &old, &new, false)
}

pub(super) fn concat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, other) = (receiver(".concat", args)?, text_argument(".concat", args, 1)?);
    ctx.charge((text.as_str().len() + other.as_str().len()) / 16)?;
    let mut out = String::new();
    grow_string(&mut out, text.as_str().len() + other.as_str().len())?;
    push_in_pieces(&mut out, text.as_str());
    push_in_pieces(&mut out, other.as_str());
    Ok(Value::Str(Str::from_string(out)))
}

pub(super) fn matches(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, pattern) = (receiver(".matches", args)?, text_argument(".matches", args, 1)?);
    regex::matches_whole(pattern.as_str(), &text).map(Value::bool)
}

pub(super) fn split(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (text, pattern) = (receiver(".split", args)?, text_argument(".split", args, 1)?);
    let limit = match args.get(2) {
        None => 0,
        Some(Value::Int(limit)) => *limit,
        Some(other) => {
            return Err(Error::type_error(format!(
                ".split: expected integer limit, got {}",
                java_type_name(other)
            )));
        }
    };
    regex::split_as_java(pattern.as_str(), text, limit, ctx)
}

/// The arguments of a replacement, with the pattern compiled.
fn with_pattern(method: &str, args: &mut [Value]) -> Result<()> {
    receiver(method, args)?;
    let pattern = text_argument(method, args, 1)?;
    text_argument(method, args, 2)?;
    args[1] = Value::Regex(Regex::pattern(pattern.as_str())?);
    Ok(())
}

pub(super) fn replace_all(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    with_pattern(".replaceAll", args)?;
    strings::replace(ctx, args)
}

pub(super) fn replace_first(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    with_pattern(".replaceFirst", args)?;
    strings::replace_first(ctx, args)
}

pub(super) fn to_char_array(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = Value::Str(receiver(".toCharArray", args)?);
    Ok(Value::Vector(elements(ctx, text)?.unwrap_or_default()))
}

pub(super) fn equals(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(equal(&args[0], &args[1])))
}

pub(super) fn to_string(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Nil = args[0] {
        return Err(Error::type_error(".toString: expected a value, got nil"));
    }
    let mut out = String::new();
    write_plain(&args[0], &mut out)?;
    Ok(Value::Str(Str::from_string(out)))
}

pub(super) fn join(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    strings::join(ctx, args)
}
