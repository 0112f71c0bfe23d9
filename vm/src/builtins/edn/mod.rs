//! `read-string`: the value of a text of data, as programs write data (functions.md 26.1).
//!
//! It reads and never evaluates: a list is its parts, a name is a symbol. Only the functions that the program gives for tagged
//! values are called.

mod number;
mod reader;

use self::reader::{EdnReader, OpenForm, ReadStop};
use super::Builtin;
use super::dates::java_date;
use super::namespaces::{CORE, EDN};
use super::parsing::parse_uuid;
use super::row::{frame, section};
use super::support::callee;
use crate::error::{Error, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::value::{Str, Value};
use std::mem::take;

/// `read-string` under way.
pub(crate) struct Reading {
    text: Str,
    at: usize,
    levels: Vec<OpenForm>,
    discarded: usize,
    /// `:readers`, `:default` and `:eof` of the options.
    readers: Value,
    default: Value,
    blank: Value,
    /// The first call to make.
    call: Option<(Value, Args)>,
}

portable!(Reading { text, at, levels, discarded, readers, default, blank, call }
    if |reading: &Reading| reading.text.as_str().is_char_boundary(reading.at));

impl Reading {
    /// Reads on, with the value of the tagged form that was read last. Gives the value of the text, or keeps the call that is
    /// to be made before.
    fn advance(&mut self, ctx: &mut Ctx<'_>, mut value: Option<Value>) -> Result<Option<Value>> {
        let text = self.text.clone();
        let mut reader = EdnReader {
            text: text.as_str(),
            at: self.at,
            levels: take(&mut self.levels),
            discarded: self.discarded,
        };
        loop {
            let taken = match value.take() {
                Some(value) => reader.take(value)?,
                None => None,
            };
            let stop = match taken {
                Some(stop) => stop,
                None => reader.read()?,
            };
            match stop {
                ReadStop::Done(value) => return Ok(Some(value.unwrap_or_else(|| take(&mut self.blank)))),
                ReadStop::Tagged(tag, tagged) => match self.meaning(&reader, ctx, tag, tagged)? {
                    Meaning::Value(meant) => value = Some(meant),
                    Meaning::Call(function, args) => {
                        self.call = Some((function, args));
                        (self.at, self.levels, self.discarded) = (reader.at, reader.levels, reader.discarded);
                        return Ok(None);
                    }
                },
            }
        }
    }

    /// The value of a tagged form.
    fn meaning(&self, reader: &EdnReader<'_>, ctx: &mut Ctx<'_>, tag: Str, value: Value) -> Result<Meaning> {
        let symbol = Value::Symbol(tag.clone());
        let own = match &self.readers {
            Value::Map(readers) => readers.get(&symbol).cloned(),
            _ => None,
        };
        if let Some(function) = own {
            return Ok(Meaning::Call(function, callee::one(value)));
        }
        let mut args = [value];
        match tag.as_str() {
            "inst" => return java_date(ctx, &mut args).map(Meaning::Value),
            "uuid" => {
                return match parse_uuid(ctx, &mut args)? {
                    Value::Nil => Err(reader.error("an invalid #uuid ends")),
                    uuid => Ok(Meaning::Value(uuid)),
                };
            }
            _ => {}
        }
        if self.default.is_nil() {
            let tag = crate::print::readable_lossy(&symbol);
            let what = format!(
                "a tagged value without a meaning, for which {{:readers {{{tag} f}}}} is missing, ends"
            );
            return Err(reader.error(what));
        }
        let [value] = args;
        Ok(Meaning::Call(self.default.clone(), callee::two(symbol, value)))
    }
}

/// The meaning of a tagged form.
enum Meaning {
    Value(Value),
    /// The result of this call.
    Call(Value, Args),
}

impl NativeFrame for Reading {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let mut value = match input {
            Input::Value(value) => Some(value),
            Input::Start => None,
        };
        loop {
            if let Some((function, args)) = self.call.take() {
                match ctx.call_now(&function, args)? {
                    CallNow::Done(result) => value = Some(result),
                    CallNow::NeedsFrame(args) => return Ok(Flow::Call(function, args)),
                }
            }
            if let Some(read) = self.advance(ctx, value.take())? {
                return Ok(Flow::Return(read));
            }
        }
    }
}

/// `(read-string s)`, `(read-string options s)`
fn read_string(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let option = |name: &str| match &*args {
        [Value::Map(options), _] => options.get_flexible(&Value::keyword(name)).cloned().unwrap_or_default(),
        _ => Value::Nil,
    };
    let (readers, default, blank) = (option("readers"), option("default"), option("eof"));
    let text = match &*args {
        [_, Value::Nil] | [Value::Nil] => return Ok(Flow::Return(Value::Nil)),
        [Value::Map(_), Value::Str(text)] | [Value::Str(text)] => text.clone(),
        _ => return Err(Error::argument_types("read-string", args)),
    };
    let mut reading =
        Reading { text, at: 0, levels: Vec::new(), discarded: 0, readers, default, blank, call: None };
    Ok(match reading.advance(ctx, None)? {
        Some(value) => Flow::Return(value),
        None => Flow::Push(Box::new(reading)),
    })
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("edn", "Data as text").of([frame(
    "read-string",
    CORE,
    "s | options s",
    read_string,
)
.also_in(EDN)
.doc("The first value of a text of data: numbers, strings, keywords, symbols, collections, tagged values; nothing is evaluated")
.example(r#"(read-string "[1 :a \"b\" {x nil}]")"#, r#"[1 :a "b" {'x nil}]"#)
.example(r#"(map read-string ["12" "0.5" ":k"])"#, "[12 0.5 :k]")
.example(r##"(edn/read-string {:readers {'m inc}} "#m 41")"##, "42")]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    fn read(text: &str) -> String {
        display("read-string", [Value::str(text)])
    }

    #[test]
    fn data_is_read_as_programs_write_it() {
        for (text, value) in [
            ("42", "42"),
            ("-7 8", "-7"),
            ("+3", "3"),
            ("0x1F", "31"),
            ("-2r101", "-5"),
            ("017", "15"),
            ("12N", "12"),
            ("1.5M", "1.5"),
            ("3M", "3"),
            ("6/3", "2"),
            ("1/4", "0.25"),
            ("1e3", "1000.0"),
            ("123456789012345678901", "123456789012345678901"),
            ("##-Inf", "##-Inf"),
            (" ; comment\n nil", "nil"),
            ("true", "true"),
            (":a-b", ":a-b"),
            (":user/id", ":user/id"),
            ("#:user {:id 1 x 2 :a/b 3 :_/c 4 \"d\" 5}", "{:a/b 3 :c 4 :user/id 1 'user/x 2 \"d\" 5}"),
            ("a/b", "'a/b"),
            (r#""a\n\"\u00e9\uD83D\uDE00""#, "\"a\\n\\\"é😀\""),
            (r"[\a \space \u0041 \) \o101]", r#"["a" " " "A" ")" "A"]"#),
            (r#""\b\f\101\7x""#, r#""\b\fA\u0007x""#),
            ("#inst \"2010-11-12T13:14:15.666-05:00\"", "\"2010-11-12T18:14:15.666Z\""),
            ("#uuid \"B6883C0A-0342-4007-9966-BC2DFA6B109E\"", "\"b6883c0a-0342-4007-9966-bc2dfa6b109e\""),
            ("[#_ #foo bar 1 #_ [#a 1] 2]", "[1 2]"),
            ("привет", "'привет"),
            ("[1, [2 [3]] {:a #{1 2}} #_ x #_#_ y z 4]", "[1 [2 [3]] {:a #{1 2}} 4]"),
            ("(+ 1 2)", "('+ 1 2)"),
            ("{:b 1 \"a\" 2}", "{:b 1 \"a\" 2}"),
            ("", "nil"),
            ("#_1", "nil"),
            ("#_1 2", "2"),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
        assert_eq!(display("edn/read-string", [Value::Nil]), "nil");
        let options = crate::builtins::support::testing::read("{:eof :end}");
        assert_eq!(display("clojure.edn/read-string", [options, Value::str(" ")]), ":end");
    }

    #[test]
    fn what_is_no_data_is_refused_with_its_place() {
        for (text, what) in [
            ("[1", "] is missing at byte 2"),
            ("[1)", "unmatched ) at byte 2"),
            (")", "unmatched ) at byte 0"),
            ("{:a}", "a map with a key and no value ends at byte 3"),
            ("\"a", "\" is missing: the string does not end at byte 1"),
            ("'a", "only data can be read, not ' at byte 0"),
            ("#(+ 1)", "only data can be read, not # at byte 0"),
            ("#a", "a form behind a tag is missing at byte 2"),
            ("[#a]", "unmatched ] at byte 3"),
            ("#uuid \"x\"", "an invalid #uuid ends at byte 9"),
            (
                "#a/b 1",
                "a tagged value without a meaning, for which {:readers {'a/b f}} is missing, ends at byte 6",
            ),
            (r#""\400""#, "an octal escape is at most 377 at byte 1"),
            ("12x", "an invalid number at byte 0"),
            (":a/b/c", "an invalid keyword at byte 0"),
            ("::a", "a keyword with :: (write one colon) at byte 0"),
            ("#:a/b{}", "an invalid namespace of a map at byte 0"),
            ("#::{}", "an invalid namespace of a map at byte 0"),
            ("#:a []", "{ is missing behind the namespace of a map at byte 4"),
            ("#_", "a form behind #_ is missing at byte 2"),
            (r#""\q""#, "an unknown escape in the string at byte 1"),
        ] {
            assert_eq!(read(text), format!("! type_error: read-string: {what}"), "{text}");
        }
        assert!(read(&"[".repeat(200)).contains("nested deeper than 128 levels"));
        assert!(display("read-string", [Value::Int(1)]).starts_with("! type_error: read-string: "));
    }
}
