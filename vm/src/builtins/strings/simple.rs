//! Functions of one string: trimming, case, tests, parts.

use super::args::{position, shown, shown_and_text, text};
use super::finding::find;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print::grow_string;
use crate::value::{Graphemes, Str, Value};

/// Charges a walk over the text.
fn charge_traversal(ctx: &mut Ctx<'_>, text: &Str) -> Result<()> {
    ctx.charge(text.as_str().len() / 16)
}

/// A part of `text` as a value; the text itself when the part is all of it.
fn part(ctx: &mut Ctx<'_>, text: &Str, part: &str) -> Result<Value> {
    if part.len() == text.as_str().len() {
        return Ok(Value::Str(text.clone()));
    }
    ctx.reserve(part.len())?;
    Ok(Value::str(part))
}

/// `(subs s a)`, `(subs s a b)`: never fails for integers; parts outside the text are empty.
pub(super) fn subs(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (Value::Str(text), Some(start)) = (&args[0], position(&args[1])) else {
        return Err(Error::argument_types("subs", args));
    };
    let end = match args.get(2).map(position) {
        None => i64::MAX,
        Some(Some(end)) => end,
        Some(None) => return Err(Error::argument_types("subs", args)),
    };
    if start < 0 || end <= start {
        return Ok(Value::str(""));
    }
    let (start, end) =
        (usize::try_from(start).unwrap_or(usize::MAX), usize::try_from(end).unwrap_or(usize::MAX));
    let room = end.saturating_sub(start).min(text.as_str().len());
    ctx.charge(room / 16)?;
    ctx.reserve(room)?;
    Ok(Value::Str(text.slice(start, end)))
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// The text without trimmed characters at its start.
fn trimmed_start(text: &str, is_trimmed: fn(char) -> bool) -> &str {
    let mut at = 0;
    for piece in meter::text_pieces(text) {
        let left = piece.trim_start_matches(is_trimmed);
        if !left.is_empty() {
            return &text[at + piece.len() - left.len()..];
        }
        at += piece.len();
    }
    ""
}

/// The text without trimmed characters at its end.
fn trimmed_end(text: &str, is_trimmed: fn(char) -> bool) -> &str {
    let mut end = text.len();
    for piece in meter::text_pieces_back(text) {
        end -= piece.len();
        let left = piece.trim_end_matches(is_trimmed);
        if !left.is_empty() {
            return &text[..end + left.len()];
        }
    }
    ""
}

/// Whether `trim` removes the whole text.
pub(crate) fn is_all_space(text: &str) -> bool {
    trimmed_start(text, is_space).is_empty()
}

/// `(trim s)`
pub(crate) fn trim(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("trim", args)?;
    charge_traversal(ctx, &text)?;
    part(ctx, &text, trimmed_end(trimmed_start(text.as_str(), is_space), is_space))
}

/// `(triml s)`
pub(super) fn triml(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("triml", args)?;
    charge_traversal(ctx, &text)?;
    part(ctx, &text, trimmed_start(text.as_str(), is_space))
}

/// `(trimr s)`
pub(super) fn trimr(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("trimr", args)?;
    charge_traversal(ctx, &text)?;
    part(ctx, &text, trimmed_end(text.as_str(), is_space))
}

/// `(trim-newline s)`
pub(super) fn trim_newline(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("trim-newline", args)?;
    charge_traversal(ctx, &text)?;
    part(ctx, &text, trimmed_end(text.as_str(), |c| matches!(c, '\n' | '\r')))
}

/// `(blank? s)`: white space as Clojure has it, to which separators belong and no-break spaces do not.
pub(super) fn blank(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let is_space = |c: char| match c {
        '\u{85}' | '\u{A0}' | '\u{2007}' | '\u{202F}' => false,
        '\u{1C}'..='\u{1F}' => true,
        c => c.is_whitespace(),
    };
    match &args[0] {
        Value::Nil | Value::False => Ok(Value::True),
        Value::Str(text) => {
            charge_traversal(ctx, text)?;
            Ok(Value::bool(meter::text_pieces(text.as_str()).all(|piece| piece.chars().all(is_space))))
        }
        _ => Err(Error::argument_types("blank?", args)),
    }
}

/// Bytes of a text that are worked on in one go.
const PIECE: usize = 16 << 10;

/// The text after `change`, a mapping of case, piece by piece. Only a sigma depends on its neighbours: whether the nearest ones
/// that are no accents and the like are letters with a case. So a text with sigmas is split before a space, which is none, or
/// between two such letters; each piece then includes one as context.
fn in_pieces(text: &str, change: fn(&str) -> String) -> String {
    if text.len() <= PIECE {
        return change(text);
    }
    let sigmas = text.contains('Σ');
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut after_letter) = (text, false);
    while !rest.is_empty() {
        let (end, before_letter) = cut(rest, sigmas);
        let (piece, after) = rest.split_at(end);
        meter::uncharged(piece.len() / 8);
        if after_letter || before_letter {
            let around = |is_letter| if is_letter { "x" } else { "" };
            let shown = change(&[around(after_letter), piece, around(before_letter)].concat());
            out.push_str(&shown[usize::from(after_letter)..shown.len() - usize::from(before_letter)]);
        } else {
            out.push_str(&change(piece));
        }
        (rest, after_letter) = (after, before_letter);
    }
    out
}

/// Where the first piece of a text ends, and whether that is between two letters that have a case.
fn cut(text: &str, sigmas: bool) -> (usize, bool) {
    let start = text.floor_char_boundary(PIECE);
    if !sigmas || start == text.len() {
        return (start, false);
    }
    // U+0345 has a case, and is an accent.
    let is_cased = |c: char| c != '\u{345}' && c.is_alphabetic() && c.to_lowercase().ne(c.to_uppercase());
    let mut before = text[..start].chars().next_back().unwrap_or(' ');
    for (at, c) in text[start..].char_indices() {
        if c.is_ascii_whitespace() {
            return (start + at, false);
        }
        if is_cased(before) && is_cased(c) {
            return (start + at, true);
        }
        before = c;
    }
    (text.len(), false)
}

/// The text in upper case: full mapping, `ß` becomes `SS`.
pub(crate) fn to_upper(ctx: &mut Ctx<'_>, text: &Str) -> Result<Value> {
    // The longest mapping makes three characters of one.
    ctx.charge(text.as_str().len() / 4)?;
    ctx.reserve(text.as_str().len().saturating_mul(3))?;
    Ok(Value::Str(Str::from_string(upper_in_pieces(text.as_str()))))
}

/// A text in upper case; yields regularly.
pub(super) fn upper_in_pieces(text: &str) -> String {
    in_pieces(text, str::to_uppercase)
}

/// The text in lower case, with the rule of the final sigma.
pub(crate) fn to_lower(ctx: &mut Ctx<'_>, text: &Str) -> Result<Value> {
    ctx.charge(text.as_str().len() / 4)?;
    ctx.reserve(text.as_str().len().saturating_mul(2))?;
    Ok(Value::Str(Str::from_string(in_pieces(text.as_str(), str::to_lowercase))))
}

/// `(upcase s)`
pub(super) fn upcase(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("upper-case", args)?;
    to_upper(ctx, &text)
}

/// `(downcase s)`
pub(super) fn downcase(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("lower-case", args)?;
    to_lower(ctx, &text)
}

/// `(upper-case s)`
pub(super) fn upper_case(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("upper-case", args)?;
    to_upper(ctx, &text)
}

/// `(lower-case s)`
pub(super) fn lower_case(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("lower-case", args)?;
    to_lower(ctx, &text)
}

/// `(capitalize s)`
pub(super) fn capitalize(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("capitalize", args)?;
    ctx.charge(text.as_str().len() / 4)?;
    ctx.reserve(text.as_str().len().saturating_mul(3))?;
    let first = Graphemes::new(text.as_str()).next().map_or("", |(_, first)| first);
    let mut out = first.to_uppercase();
    out.push_str(&in_pieces(&text.as_str()[first.len()..], str::to_lowercase));
    Ok(Value::Str(Str::from_string(out)))
}

/// The graphemes of a text in reverse order.
fn reversed(text: &str) -> String {
    // From the beginning, since the end of a text does not tell where its graphemes begin without a look at all of it. Pieces
    // that begin with a grapheme are then taken from the last to the first.
    let mut pieces = vec![0];
    for (start, _) in Graphemes::new(text) {
        if start - pieces[pieces.len() - 1] >= PIECE {
            pieces.push(start);
        }
    }
    let mut out = String::with_capacity(text.len());
    let (mut end, mut graphemes) = (text.len(), Vec::new());
    for start in pieces.into_iter().rev() {
        graphemes.extend(Graphemes::new(&text[start..end]).map(|(_, grapheme)| grapheme));
        out.extend(graphemes.drain(..).rev());
        end = start;
    }
    out
}

/// `(str/reverse s)`
pub(super) fn reverse(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = text("reverse", args)?;
    ctx.charge(text.as_str().len())?;
    ctx.reserve(text.as_str().len())?;
    Ok(Value::Str(Str::from_string(reversed(text.as_str()))))
}

/// `(re-quote-replacement s)`: a replacement text that stands for itself.
pub(super) fn re_quote_replacement(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let text = shown("re-quote-replacement", args)?;
    ctx.charge(text.as_str().len() / 4)?;
    let mut out = String::new();
    grow_string(&mut out, text.as_str().len())?;
    for c in text.as_str().chars() {
        meter::uncharged(1);
        grow_string(&mut out, 1 + c.len_utf8())?;
        if matches!(c, '\\' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// `(starts-with? s p)`
pub(super) fn starts_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, prefix) = shown_and_text("starts-with?", args)?;
    charge_traversal(ctx, &prefix)?;
    Ok(Value::bool(text.as_str().starts_with(prefix.as_str())))
}

/// `(ends-with? s p)`
pub(super) fn ends_with(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, suffix) = shown_and_text("ends-with?", args)?;
    charge_traversal(ctx, &suffix)?;
    Ok(Value::bool(text.as_str().ends_with(suffix.as_str())))
}

/// `(includes? s p)`
pub(super) fn includes(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (text, wanted) = shown_and_text("includes?", args)?;
    charge_traversal(ctx, &text)?;
    Ok(Value::bool(find(text.as_str(), wanted.as_str()).is_some()))
}
