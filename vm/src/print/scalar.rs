//! Values that are not collections.

use super::{append, grow_string, number, text};
use crate::code::bare_name;
use crate::error::Result;
use crate::meter;
use crate::value::{Temporal, Value, is_readable_keyword, is_readable_symbol};
use std::fmt::Write as _;

/// Appends the readable form of anything but a collection. Charges steps and memory to the program.
pub(super) fn write(value: &Value, out: &mut String) -> Result<()> {
    meter::charge_steps(1)?;
    match value {
        Value::Str(s) => text::write_quoted(s.as_str(), out),
        Value::BigInt(n) => number::write_integer(n, out),
        other => {
            let bytes = len_bound(other);
            meter::charge_steps(bytes as u64 / 64)?;
            grow_string(out, bytes)?;
            push(other, out);
            Ok(())
        }
    }
}

/// As [`write`] in a text that a program makes: a symbol is its name there and a keyword its name after a colon, as in Clojure.
/// Where a host shows them, they read back.
pub(super) fn write_in_text(value: &Value, out: &mut String) -> Result<()> {
    let (colon, name) = match value {
        Value::Symbol(name) => ("", name.as_str()),
        Value::Keyword(keyword) => (":", keyword.name()),
        _ => return write(value, out),
    };
    meter::charge_steps(1 + (colon.len() + name.len()) as u64 / 64)?;
    grow_string(out, colon.len() + name.len())?;
    out.push_str(colon);
    out.push_str(name);
    Ok(())
}

/// Appends the plain form of anything but a collection. Charges steps and memory to the program.
pub(crate) fn write_plain_scalar(value: &Value, out: &mut String) -> Result<()> {
    meter::charge_steps(1)?;
    match value {
        Value::Nil => Ok(()),
        Value::Str(s) => append_text(s.as_str(), out),
        Value::Int(n) => {
            meter::charge_steps(1)?;
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(*n);
            grow_string(out, digits.len())?;
            out.push_str(digits);
            Ok(())
        }
        Value::Float(x) => {
            grow_string(out, 32)?;
            number::write_float_plain(x.get(), out);
            Ok(())
        }
        Value::Temporal(t) => {
            grow_string(out, time_bound(t))?;
            out.push_str(&t.iso());
            Ok(())
        }
        Value::Regex(regex) => append_text(regex.source.as_str(), out),
        other => write_in_text(other, out),
    }
}

/// Appends a text as it is, charged by its length.
#[inline]
fn append_text(text: &str, out: &mut String) -> Result<()> {
    meter::charge_steps(text.len() as u64 / 16)?;
    append(out, text)
}

/// At least as many bytes as [`push`] appends.
pub(super) fn len_bound(value: &Value) -> usize {
    match value {
        Value::Str(s) => text::quoted_len(s.as_str()),
        Value::BigInt(n) => number::decimal_digits(n.get().bits()),
        Value::Keyword(k) if is_readable_keyword(k.name()) => k.name().len() + 1,
        Value::Keyword(k) => text::quoted_len(k.name()) + "(keyword )".len(),
        Value::Closure(closure) => closure.code().display.len(),
        Value::Regex(regex) => 2 * regex.source.as_str().len() + 3,
        Value::Var(name) => bare_name(name.as_str()).len() + 2,
        Value::Symbol(name) if is_readable_symbol(name.as_str()) => name.as_str().len() + 1,
        Value::Symbol(name) => text::quoted_len(name.as_str()) + "(symbol )".len(),
        Value::Tool(name) => name.as_str().len() + 5,
        Value::Temporal(t) => time_bound(t),
        Value::Blob(blob) => blob.content().mime_type.len() + 64,
        _ => 32,
    }
}

/// At least as many bytes as the quoted text of a time has.
fn time_bound(time: &Temporal) -> usize {
    match time {
        Temporal::Zoned { .. } => 128,
        _ => 64,
    }
}

/// Appends the readable form of anything but a collection; charges for nothing but the digits of large integers.
pub(super) fn push(value: &Value, out: &mut String) {
    match value {
        Value::Nil => out.push_str("nil"),
        Value::True => out.push_str("true"),
        Value::False => out.push_str("false"),
        Value::Int(n) => out.push_str(itoa::Buffer::new().format(*n)),
        Value::BigInt(n) => {
            // What is refused in the middle is shown nobody: the program ends, or has ended.
            let before = out.len();
            if crate::number::write_decimal(n.get(), out).is_err() {
                out.truncate(before);
                let _ = write!(out, "an integer of {} bits", n.get().bits());
            }
        }
        Value::Float(x) => number::write_float(x.get(), out),
        Value::Keyword(k) if is_readable_keyword(k.name()) => {
            out.push(':');
            out.push_str(k.name());
        }
        Value::Keyword(k) => push_call("keyword", k.name(), out),
        Value::Str(s) => text::push_quoted(s.as_str(), out),
        Value::Builtin(_) => out.push_str("#<builtin>"),
        Value::Closure(closure) => out.push_str(&closure.code().display),
        Value::Combinator(_) => out.push_str("#fn[...]"),
        Value::Regex(regex) => {
            // A quote is escaped, so that what is printed reads back.
            out.push_str("#\"");
            for (n, part) in regex.source.as_str().split('"').enumerate() {
                if n > 0 {
                    out.push_str("\\\"");
                }
                out.push_str(part);
            }
            out.push('"');
        }
        Value::Blob(blob) => out.push_str(&blob.label()),
        Value::Temporal(t) => match **t {
            Temporal::Duration(_) => out.push_str(&t.iso()),
            Temporal::Date(_)
            | Temporal::Instant { .. }
            | Temporal::Local { .. }
            | Temporal::Zoned { .. } => {
                out.push('"');
                out.push_str(&t.iso());
                out.push('"');
            }
        },
        Value::Var(name) => {
            out.push_str("#'");
            out.push_str(bare_name(name.as_str()));
        }
        Value::Symbol(name) if is_readable_symbol(name.as_str()) => {
            out.push('\'');
            out.push_str(name.as_str());
        }
        Value::Symbol(name) => push_call("symbol", name.as_str(), out),
        Value::Tool(name) => {
            out.push_str("tool/");
            out.push_str(name.as_str());
        }
        Value::Cursor(_) => out.push_str("#<cursor>"),
        Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Map(_) | Value::Set(_) => {
            out.push_str("...")
        }
    }
}

/// The call that makes a keyword or a symbol that no program can write otherwise.
fn push_call(function: &str, name: &str, out: &mut String) {
    out.push('(');
    out.push_str(function);
    out.push(' ');
    text::push_quoted(name, out);
    out.push(')');
}
