//! `str` and `join`.

use crate::builtins::support::{TextBuilder, cursor, pulse};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, Input, NativeFrame, portable};
use crate::meter;
use crate::print::{self, write_plain};
use crate::value::{Cursor, Str, Value};
use compact_str::CompactString;
use std::cell::RefCell;

/// `(str & xs)`
pub(super) fn str(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let [Value::Str(text)] = args {
        return Ok(Value::Str(text.clone()));
    }
    if let Some(text) = short(args)? {
        return Ok(text);
    }
    not_short(args)
}

/// Apart, so that the way to short texts stays short.
#[inline(never)]
fn not_short(args: &[Value]) -> Result<Value> {
    if let Some((bytes, steps)) = simple_size(args) {
        meter::charge_steps(steps)?;
        return concatenated(args, bytes);
    }
    let mut out = String::new();
    for value in args.iter() {
        write_plain(value, &mut out)?;
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// Longest text that is put together before its length is known.
const SHORT: usize = 256;

thread_local! {
    /// Room for such a text, which stays.
    static SCRATCH: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The text of all arguments, at the price of [`simple_size`], if it is short and they are simple.
fn short(args: &[Value]) -> Result<Option<Value>> {
    // Taken, and not borrowed: a charge may pause.
    let mut out = SCRATCH.take();
    out.clear();
    let joined = short_in(&mut out, args);
    SCRATCH.set(out);
    joined
}

fn short_in(out: &mut String, args: &[Value]) -> Result<Option<Value>> {
    let mut steps = 0;
    for value in args {
        match value {
            Value::Str(text) => {
                let text = text.as_str();
                if text.len() > SHORT - out.len() {
                    return Ok(None);
                }
                steps += 1 + text.len() as u64 / 16;
                out.push_str(text);
            }
            Value::Int(n) => {
                if out.len() > SHORT - LONGEST_INTEGER {
                    return Ok(None);
                }
                steps += 2;
                out.push_str(itoa::Buffer::new().format(*n));
            }
            Value::Nil => steps += 1,
            _ => return Ok(None),
        }
    }
    meter::charge_steps(steps)?;
    meter::reserve(out.len())?;
    Ok(Some(Value::Str(Str::new(out))))
}

/// Bytes of the lowest integer of 64 bits.
const LONGEST_INTEGER: usize = 20;

/// The bytes of the texts of all arguments, and the steps of joining them, if all are strings, integers or `nil`, as in most
/// calls.
fn simple_size(args: &[Value]) -> Option<(usize, u64)> {
    let (mut bytes, mut steps): (usize, u64) = (0, 0);
    for value in meter::pieces(args).flatten() {
        let (length, cost) = match value {
            Value::Str(text) => {
                let length = text.as_str().len();
                (length, 1 + length as u64 / 16)
            }
            Value::Int(n) => (print::integer_len(*n), 2),
            Value::Nil => (0, 1),
            _ => return None,
        };
        bytes = bytes.checked_add(length)?;
        steps += cost;
    }
    Some((bytes, steps))
}

/// Shortest text during whose making others may have the thread.
const LONG: usize = 64 << 10;

/// As [`write_plain`] for each argument, which must be [simple](simple_size), into a text of exactly the right size.
fn concatenated(args: &[Value], bytes: usize) -> Result<Value> {
    meter::reserve(bytes)?;
    if bytes > LONG {
        let mut out = String::with_capacity(bytes);
        for value in meter::pieces(args).flatten() {
            match value {
                Value::Str(text) => print::push_in_pieces(&mut out, text.as_str()),
                Value::Int(n) => out.push_str(itoa::Buffer::new().format(*n)),
                _ => {}
            }
        }
        return Ok(Value::Str(Str::from_string(out)));
    }
    let mut out = CompactString::with_capacity(bytes);
    for value in args {
        match value {
            Value::Str(text) => out.push_str(text.as_str()),
            Value::Int(n) => out.push_str(itoa::Buffer::new().format(*n)),
            _ => {}
        }
    }
    Ok(Value::Str(Str::from_compact(out)))
}

/// A join under way.
pub(crate) struct Join {
    separator: Option<Str>,
    items: Cursor,
    started: bool,
    out: TextBuilder,
}

portable!(Join { separator, items, started, out });

/// `(join c)`, `(join sep c)`
pub(crate) fn join(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let separator = match args {
        [_] => None,
        [Value::Str(separator), _] => Some(separator.clone()),
        _ => return Err(Error::argument_types("join", args)),
    };
    let Some(items) = cursor(ctx, &args[args.len() - 1])? else {
        return Err(Error::argument_types("join", args));
    };
    let mut join = Join { separator, items, started: false, out: TextBuilder::new() };
    Ok(match join.run(ctx)? {
        Some(text) => Flow::Return(text),
        None => Flow::Push(Box::new(join)),
    })
}

impl Join {
    /// Runs to the end, or until the slice is used up.
    fn run(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<Value>> {
        while let Some(item) = self.items.advance() {
            ctx.charge(1)?;
            if let Some(separator) = self.separator.as_ref().filter(|_| self.started) {
                self.out.push_str(separator.as_str())?;
            }
            self.started = true;
            self.out.push_plain(&item)?;
            if pulse(ctx)? {
                return Ok(None);
            }
        }
        Ok(Some(self.out.take()))
    }
}

impl NativeFrame for Join {
    fn resume(&mut self, ctx: &mut Ctx<'_>, _input: Input) -> Result<Flow> {
        Ok(self.run(ctx)?.map_or(Flow::Yield, Flow::Return))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::round_trip;

    /// A join calls no function, so that no program waits in the middle of one.
    #[test]
    fn a_join_in_the_middle_of_its_work_is_written() {
        let mut items =
            Value::vector([Value::Int(1), Value::str("b"), Value::Int(3)]).cursor().unwrap().unwrap();
        items.advance();
        let mut out = TextBuilder::new();
        out.push_str("1").unwrap();
        let join = Join { separator: Some(Str::new(", ")), items, started: true, out };
        let mut read = round_trip(&join).unwrap();
        assert!(read.started);
        assert_eq!(read.separator.as_ref().map(Str::as_str), Some(", "));
        assert!(matches!(read.out.take(), Value::Str(text) if text.as_str() == "1"));
        assert!(matches!(read.items.advance(), Some(Value::Str(text)) if text.as_str() == "b"));
        assert!(matches!(read.items.advance(), Some(Value::Int(3))));
        assert!(read.items.advance().is_none());
    }
}
