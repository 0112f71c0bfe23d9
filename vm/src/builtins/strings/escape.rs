//! `escape`, and the maps of characters that programs give it.

use crate::builtins::support::{Feed, Sink, TextBuilder, cursor, each};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::print::{grow_string, write_plain};
use crate::value::{Graphemes, Map, Str, Value};
use std::ops::ControlFlow;

/// `(str/escape s m)`: graphemes for which a map or a function has something, replaced by the text of that.
pub(super) fn escape(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    match &args[..] {
        [Value::Str(text), Value::Map(table)] => by_map(ctx, text, table).map(Flow::Return),
        [text @ Value::Str(_), function] if function.is_callable() => match cursor(ctx, text)? {
            Some(graphemes) => Ok(each(function.clone(), Feed::One(graphemes), EscapedText::default())),
            None => Err(Error::argument_types("escape", args)),
        },
        _ => Err(Error::argument_types("escape", args)),
    }
}

fn by_map(ctx: &mut Ctx<'_>, text: &Str, table: &Map) -> Result<Value> {
    let mut out = String::new();
    for (_, grapheme) in Graphemes::new(text.as_str()) {
        ctx.charge(1)?;
        match table.get(&Value::str(grapheme)).filter(|value| value.is_truthy()) {
            None => {
                grow_string(&mut out, grapheme.len())?;
                out.push_str(grapheme);
            }
            Some(value) => write_plain(value, &mut out)?,
        }
    }
    Ok(Value::Str(Str::from_string(out)))
}

/// The text that a function has escaped so far.
#[derive(Default)]
pub(crate) struct EscapedText {
    out: TextBuilder,
}

portable!(EscapedText { out });

impl Sink for EscapedText {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, result: Value) -> Result<ControlFlow<Value>> {
        self.out.push_plain(if result.is_truthy() { &result } else { &item })?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<Value> {
        Ok(self.out.take())
    }
}

fn map_of(texts: &[(&str, &str)]) -> Value {
    Value::Map(texts.iter().map(|(key, value)| (Value::str(key), Value::str(value))).collect())
}

/// `char-escape-string`
pub(super) fn escapes() -> Value {
    map_of(&[
        ("\n", r"\n"),
        ("\t", r"\t"),
        ("\r", r"\r"),
        ("\"", r#"\""#),
        ("\\", r"\\"),
        ("\u{c}", r"\f"),
        ("\u{8}", r"\b"),
    ])
}

/// `char-name-string`
pub(super) fn names() -> Value {
    map_of(&[
        ("\n", "newline"),
        ("\t", "tab"),
        (" ", "space"),
        ("\u{8}", "backspace"),
        ("\u{c}", "formfeed"),
        ("\r", "return"),
    ])
}
