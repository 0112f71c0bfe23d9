//! `split` and `split-lines`.

use super::args::{position, text};
use super::finding::find;
use crate::builtins::regex::Scan;
use crate::builtins::support::{Builder, copied};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::meter;
use crate::print;
use crate::value::{Graphemes, Str, Value};

/// Bytes of a piece besides its text, for reservations.
const PIECE: usize = 64;

/// `(split s sep)`, `(split s sep limit)`
pub(super) fn split(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let limit = match args.get(2).map(position) {
        None => 0,
        Some(Some(limit)) => limit,
        Some(None) => return Err(Error::argument_types("split", args)),
    };
    match (&args[0], &args[1]) {
        (Value::Str(text), Value::Regex(regex)) if regex.source.as_str().is_empty() => {
            ctx.charge(text.as_str().len() / 8)?;
            split_to_characters(text, limit).map(Flow::Return)
        }
        (Value::Str(text), Value::Regex(regex)) => {
            Scan::split_as_java(regex.clone(), text.clone(), limit, ctx)
        }
        (Value::Str(text), Value::Str(separator)) => {
            ctx.charge(text.as_str().len() / 8)?;
            split_at_text(text, separator, limit).map(Flow::Return)
        }
        _ => Err(Error::argument_types("split", args)),
    }
}

fn push(pieces: &mut Builder, piece: &str) -> Result<()> {
    meter::charge_steps(1)?;
    meter::reserve(piece.len() + PIECE)?;
    pieces.push(copied(piece))
}

/// Most pieces that a limit allows: all, unless it is positive.
fn most(limit: i64) -> usize {
    usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// The pieces, without the empty ones at the end if `limit` is 0. A text without a separator stands for itself, also
/// the empty one.
fn finish(mut pieces: Builder, text: &Str, limit: i64) -> Value {
    let mut pieces = pieces.take_vector();
    while limit == 0
        && !text.as_str().is_empty()
        && matches!(pieces.iter().next_back(), Some(Value::Str(piece)) if piece.as_str().is_empty())
    {
        meter::uncharged(1);
        pieces.pop();
    }
    Value::Vector(pieces)
}

/// At `#""` or `""`: the graphemes, as far as the limit allows, and the rest.
fn split_to_characters(text: &Str, limit: i64) -> Result<Value> {
    let most = most(limit);
    let mut pieces = Builder::new();
    let mut rest = text.as_str();
    while let Some((_, grapheme)) = Graphemes::new(rest).next().filter(|_| pieces.len() + 1 < most) {
        push(&mut pieces, grapheme)?;
        rest = &rest[grapheme.len()..];
    }
    push(&mut pieces, rest)?;
    Ok(finish(pieces, text, limit))
}

fn split_at_text(text: &Str, separator: &Str, limit: i64) -> Result<Value> {
    let most = most(limit);
    if separator.as_str().is_empty() {
        return split_to_characters(text, limit);
    }
    let mut pieces = Builder::new();
    let mut rest = text.as_str();
    if separator.len() > 1 {
        let shown = print::literal(&Value::Str(separator.clone()));
        return Err(Error::type_error(format!(
            "type_error: split: delimiter must be a regex pattern, got plain string {shown}"
        )));
    }
    while pieces.len() + 1 < most
        && let Some(at) = find(rest, separator.as_str())
    {
        push(&mut pieces, &rest[..at])?;
        rest = &rest[at + separator.as_str().len()..];
    }
    push(&mut pieces, rest)?;
    Ok(finish(pieces, text, limit))
}

/// `(split-lines s)`: trailing empty lines are dropped.
pub(super) fn split_lines(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("split-lines", args)?;
    ctx.charge(text.as_str().len() / 8)?;
    let mut pieces = Builder::new();
    if text.as_str().is_empty() {
        push(&mut pieces, "")?;
        return Ok(pieces.take());
    }
    // Lines without anything in them, at the end, are nothing but line ends.
    let mut content = text.as_str();
    while let Some(shorter) = content.strip_suffix('\n') {
        meter::uncharged(1);
        content = shorter.strip_suffix('\r').unwrap_or(shorter);
    }
    if !content.is_empty() {
        for line in content.split_inclusive('\n') {
            let ended = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
            push(&mut pieces, ended.unwrap_or(line))?;
        }
    }
    Ok(pieces.take())
}
