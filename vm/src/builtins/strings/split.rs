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
        None => None,
        Some(Some(limit)) => usize::try_from(limit).ok().filter(|limit| *limit > 0),
        Some(None) => return Err(Error::argument_types("split", args)),
    };
    match (&args[0], &args[1]) {
        (Value::Str(text), Value::Regex(regex)) => Scan::split(regex.clone(), text.clone(), limit, ctx),
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

fn split_at_text(text: &Str, separator: &Str, limit: Option<usize>) -> Result<Value> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut pieces = Builder::new();
    let mut rest = text.as_str();
    if separator.as_str().is_empty() {
        while let Some((_, grapheme)) = Graphemes::new(rest).next().filter(|_| pieces.len() + 1 < limit) {
            push(&mut pieces, grapheme)?;
            rest = &rest[grapheme.len()..];
        }
        if !rest.is_empty() {
            push(&mut pieces, rest)?;
        }
        return Ok(pieces.take());
    }
    if separator.len() > 1 {
        let shown = print::literal(&Value::Str(separator.clone()));
        return Err(Error::type_error(format!(
            "type_error: split: delimiter must be a regex pattern, got plain string {shown}"
        )));
    }
    while pieces.len() + 1 < limit
        && let Some(at) = find(rest, separator.as_str())
    {
        push(&mut pieces, &rest[..at])?;
        rest = &rest[at + separator.as_str().len()..];
    }
    push(&mut pieces, rest)?;
    Ok(pieces.take())
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
        for line in content.split('\n') {
            push(&mut pieces, line.strip_suffix('\r').unwrap_or(line))?;
        }
    }
    Ok(pieces.take())
}
