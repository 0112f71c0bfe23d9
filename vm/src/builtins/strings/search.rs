//! Positions of a text in a text, in graphemes.

use super::args::{position, two_texts};
use super::finding::{find, find_last};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Graphemes, Str, Value};

/// The grapheme that holds byte `offset`: its number. Texts are searched by bytes, so that a match may begin inside
/// a grapheme.
fn grapheme_at(ctx: &mut Ctx<'_>, text: &Str, offset: usize) -> Result<i64> {
    if text.is_simple() {
        return Ok(offset as i64);
    }
    ctx.charge(offset)?;
    let begun = Graphemes::new(text.as_str()).take_while(|(start, _)| *start <= offset).count();
    Ok(if offset == text.as_str().len() { begun } else { begun - 1 } as i64)
}

/// The grapheme where `wanted` first occurs at or after grapheme `from`.
pub(crate) fn index_of(ctx: &mut Ctx<'_>, text: &Str, wanted: &Str, from: i64) -> Result<Option<i64>> {
    ctx.charge((text.as_str().len() + wanted.as_str().len()) / 16)?;
    let from = usize::try_from(from).unwrap_or(0).min(text.len());
    if wanted.as_str().is_empty() {
        return Ok(Some(from as i64));
    }
    let start = text.byte_offset(from);
    match find(&text.as_str()[start..], wanted.as_str()) {
        Some(found) => grapheme_at(ctx, text, start + found).map(Some),
        None => Ok(None),
    }
}

/// The grapheme where `wanted` last occurs at or before grapheme `from`.
pub(crate) fn last_index_of(ctx: &mut Ctx<'_>, text: &Str, wanted: &Str, from: i64) -> Result<Option<i64>> {
    ctx.charge((text.as_str().len() + wanted.as_str().len()) / 16)?;
    let from = usize::try_from(from).unwrap_or(0).min(text.len());
    if wanted.as_str().is_empty() {
        return Ok(Some(from as i64));
    }
    let mut end = text.byte_offset(from).saturating_add(wanted.as_str().len()).min(text.as_str().len());
    while !text.as_str().is_char_boundary(end) {
        end -= 1;
    }
    match find_last(&text.as_str()[..end], wanted.as_str()) {
        Some(found) => grapheme_at(ctx, text, found).map(Some),
        None => Ok(None),
    }
}

fn from_argument(name: &str, args: &[Value], default: i64) -> Result<i64> {
    match args.get(2) {
        None => Ok(default),
        Some(from) => position(from).ok_or_else(|| Error::argument_types(name, args)),
    }
}

/// `(index-of s v)`, `(index-of s v from)`
pub(super) fn index_of_builtin(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, wanted) = two_texts("index-of", args)?;
    let from = from_argument("index-of", args, 0)?;
    Ok(index_of(ctx, &text, &wanted, from)?.map_or(Value::Nil, Value::Int))
}

/// `(last-index-of s v)`, `(last-index-of s v from)`
pub(super) fn last_index_of_builtin(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, wanted) = two_texts("last-index-of", args)?;
    let from = from_argument("last-index-of", args, i64::MAX)?;
    Ok(last_index_of(ctx, &text, &wanted, from)?.map_or(Value::Nil, Value::Int))
}
