//! Values as text: readable (`pr-str`) and plain (`str`), and the bounded renderings of hosts (language.md 6).
//!
//! | Function | For | Bounded by |
//! |---|---|---|
//! | [`readable`], [`plain`] and their `write_` forms | the running program | its steps and memory |
//! | [`render_capped`] | results that a host shows (ruling 20) | bytes, and a [`Budget`] of work |
//! | [`bounded`], [`preview`] | payloads, histories, listings (language.md 6.3) | items, characters, and a fixed size |
//! | [`literal`] | values quoted in messages (upstreams.md 8.3) | 40 characters, 3 items |
//! | [`readable_lossy`] | values quoted in messages of the language | 200 bytes |
//!
//! None of them recurses: values may be nested deeply, and may be enormous trees by sharing.

mod buffer;
mod capped_text;
mod level;
mod number;
mod path;
mod preview;
mod scalar;
mod text;

pub(crate) use buffer::{append, enlarge, grow_string, push_in_pieces};
pub use capped_text::{Budget, Cut, CutUnit, RenderedValue, render_capped};
pub use level::MAX_DEPTH;
pub(crate) use level::PrintLevel;
pub(crate) use number::integer_len;
pub use number::write_integer;
pub(crate) use path::PathText;
pub use preview::{Preview, bounded, literal, preview, readable_lossy};
pub(crate) use scalar::write_plain_scalar;

use crate::error::{Error, Result};
use crate::meter;
use crate::value::Value;

/// The readable form. Charges steps and memory; fails at their limits and on values nested too deep.
pub fn readable(value: &Value) -> Result<String> {
    let mut out = String::new();
    write_readable(value, &mut out)?;
    Ok(out)
}

/// The plain form that `str` returns for a top-level argument; fails as [`readable`] does.
pub fn plain(value: &Value) -> Result<String> {
    let mut out = String::new();
    write_plain(value, &mut out)?;
    Ok(out)
}

/// Appends the plain form; see [`plain`].
pub(crate) fn write_plain(value: &Value, out: &mut String) -> Result<()> {
    if level::is_collection(value) { write_in_text(value, out) } else { write_plain_scalar(value, out) }
}

/// Appends the readable form; see [`readable`].
pub(crate) fn write_readable(value: &Value, out: &mut String) -> Result<()> {
    write_with(value, out, scalar::write)
}

/// Appends the output of `pr-str`: the readable form with symbols as their names. Charges and fails as [`write_readable`] does.
pub(crate) fn write_in_text(value: &Value, out: &mut String) -> Result<()> {
    write_with(value, out, scalar::write_in_text)
}

/// Appends the output of `println`: that of `pr-str`, with bare strings. Charges and fails as [`write_readable`] does.
pub(crate) fn write_human(value: &Value, out: &mut String) -> Result<()> {
    write_with(value, out, |value, out| match value {
        Value::Str(_) => write_plain_scalar(value, out),
        other => scalar::write_in_text(other, out),
    })
}

/// Appends a value; `scalar` appends values that are no collection.
fn write_with(
    value: &Value,
    out: &mut String,
    scalar: impl Fn(&Value, &mut String) -> Result<()>,
) -> Result<()> {
    let Some(first) = PrintLevel::of(value) else { return scalar(value, out) };
    meter::charge_steps(1)?;
    out.push_str(first.opening());
    let mut levels = vec![first];
    while let Some(level) = levels.last_mut() {
        let separate = level.started();
        let Some(item) = level.next() else {
            // What an element has taken may be all the room there was.
            grow_string(out, 1)?;
            out.push(level.closing());
            levels.pop();
            continue;
        };
        // The separator, and two bytes that open a collection.
        grow_string(out, 3)?;
        if separate {
            out.push(' ');
        }
        match PrintLevel::of(&item) {
            None => scalar(&item, out)?,
            Some(_) if levels.len() >= MAX_DEPTH => return Err(too_deep()),
            Some(inner) => {
                meter::charge_steps(1)?;
                out.push_str(inner.opening());
                levels.push(inner);
            }
        }
    }
    Ok(())
}

#[cold]
pub(crate) fn too_deep() -> Error {
    Error::runtime(format!("value is nested more than {MAX_DEPTH} levels deep"))
}

#[cfg(test)]
mod tests;
