//! The `re-…` functions, and `extract`.

use super::scan::{Scan, match_value};
use crate::builtins::parsing;
use crate::builtins::support::copied;
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::regex::Groups;
use crate::value::{Regex, Str, Value};
use std::rc::Rc;

/// `(re-pattern s)`
pub(super) fn re_pattern(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(source) => Regex::pattern(source.as_str()).map(Value::Regex),
        regex @ Value::Regex(_) => Ok(regex.clone()),
        _ => Err(Error::argument_types("re-pattern", args)),
    }
}

/// The pattern and the text, in this order.
fn regex_and_text(name: &str, args: &[Value]) -> Result<(Rc<Regex>, Str)> {
    match args {
        [Value::Regex(regex), Value::Str(text), ..] => Ok((regex.clone(), text.clone())),
        _ => Err(Error::argument_types(name, args)),
    }
}

fn first_match(regex: &Regex, text: &Str) -> Result<Option<Groups>> {
    let text = text.as_str();
    regex.charge(text.len())?;
    let plan = regex.plan(text)?;
    regex.find(text, 0, &plan)
}

/// `(re-find re s)`
pub(super) fn re_find(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (regex, text) = regex_and_text("re-find", args)?;
    let found = first_match(&regex, &text)?;
    Ok(found.map_or(Value::Nil, |groups| match_value(text.as_str(), &groups)))
}

/// `(re-matches re s)`
pub(super) fn re_matches(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (regex, text) = regex_and_text("re-matches", args)?;
    regex.charge(text.as_str().len())?;
    let found = regex.matches(text.as_str())?;
    Ok(found.map_or(Value::Nil, |groups| match_value(text.as_str(), &groups)))
}

/// `(re-seq re s)`
pub(super) fn re_seq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (regex, text) = regex_and_text("re-seq", args)?;
    Scan::matches(regex, text, ctx)
}

/// `(re-split re s)`
pub(super) fn re_split(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (regex, text) = regex_and_text("re-split", args)?;
    Scan::split_with_groups(regex, text, ctx)
}

/// The text of a group of the first match, or `nil`.
fn group_text(name: &str, args: &[Value]) -> Result<Value> {
    let group = match args.get(2) {
        None => 1,
        Some(Value::Int(n)) => *n,
        Some(_) => return Err(Error::argument_types(name, args)),
    };
    let regex = match (&args[0], &args[1]) {
        (Value::Regex(regex), Value::Str(_)) => regex.clone(),
        (Value::Str(source), Value::Str(_)) => Regex::pattern(source.as_str())?,
        _ => return Err(Error::argument_types(name, args)),
    };
    let Value::Str(text) = &args[1] else { return Ok(Value::Nil) };
    let found = first_match(&regex, text)?;
    let range = usize::try_from(group).ok().and_then(|group| *found?.get(group)?);
    Ok(range.map_or(Value::Nil, |(start, end)| copied(&text.as_str()[start..end])))
}

/// `(extract pat s)`, `(extract pat s n)`
pub(super) fn extract(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    group_text("extract", args)
}

/// `(extract-int pat s)`, `(extract-int pat s n)`, `(extract-int pat s n default)`
pub(super) fn extract_int(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = group_text("extract-int", args)?;
    Ok(match parsing::long(&text) {
        Value::Nil => args.get(3).cloned().unwrap_or_default(),
        number => number,
    })
}

/// Whether a pattern given as text matches all of `text`.
pub(crate) fn matches_whole(source: &str, text: &Str) -> Result<bool> {
    let regex = Regex::pattern(source)?;
    regex.charge(text.as_str().len())?;
    Ok(regex.matches(text.as_str())?.is_some())
}

/// Java's `split` at a pattern given as text: groups are left out, a limit of 0 drops trailing empty pieces.
pub(crate) fn split_as_java(source: &str, text: Str, limit: i64, ctx: &mut Ctx<'_>) -> Result<Flow> {
    Scan::split_as_java(Regex::pattern(source)?, text, limit, ctx)
}
