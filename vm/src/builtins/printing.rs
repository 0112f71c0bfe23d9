//! `println`, `pr-str` and their like (functions.md 25, 37.1; language.md 6.2).
//!
//! A program has no output stream but a log of entries: every call adds one. `with-out-str` captures the output of its body.

use super::namespaces::{CORE, PPRINT, STRING};
use super::row::{frame, fun, section};
use super::support::{Continuation, call_then, check};
use super::{Builtin, Native};
use crate::error::{Error, Result};
use crate::machine::{Args, Capture, Ctx, Flow};
use crate::meter;
use crate::print::{self, grow_string};
use crate::value::{Str, Value};
use std::mem::take;

/// Graphemes of an entry that are kept.
const LONGEST_ENTRY: usize = 16_384;

/// The readable forms with spaces between.
fn readable(args: &[Value]) -> Result<String> {
    let mut text = String::new();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            separate(&mut text)?;
        }
        print::write_in_text(arg, &mut text)?;
    }
    Ok(text)
}

/// The form that `println` logs: strings bare, also inside collections, everything else readable.
fn human(args: &[Value]) -> Result<String> {
    let mut text = String::new();
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            separate(&mut text)?;
        }
        print::write_human(arg, &mut text)?;
    }
    Ok(text)
}

fn separate(text: &mut String) -> Result<()> {
    meter::charge_steps(1)?;
    grow_string(text, 1)?;
    text.push(' ');
    Ok(())
}

/// The end of the printed text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// A line end, which the log does not show: each of its entries is a line.
    Line,
    /// Nothing.
    Open,
}

/// Adds an entry to the log, cut to its longest size; inside `with-out-str`, the whole text to the capture.
pub(super) fn log(ctx: &mut Ctx<'_>, mut text: String, end: TextEnd) -> Result<Value> {
    if ctx.captures_prints() {
        if end == TextEnd::Line {
            grow_string(&mut text, 1)?;
            text.push('\n');
        }
        let piece = Str::from_string(text);
        meter::check_memory()?;
        ctx.print(piece);
        return Ok(Value::Nil);
    }
    let mut entry = Str::from_string(text);
    // A text of so few bytes cannot have more graphemes.
    if entry.as_str().len() > LONGEST_ENTRY {
        let all = entry.len();
        if all > LONGEST_ENTRY {
            let kept = entry.slice(0, LONGEST_ENTRY);
            entry = Str::from_string(format!("{}... ({LONGEST_ENTRY}/{all} chars)", kept.as_str()));
        }
    }
    meter::check_memory()?;
    ctx.print(entry);
    Ok(Value::Nil)
}

impl Continuation for Capture {
    fn finish(self, ctx: &mut Ctx<'_>, _: Value) -> Result<Flow> {
        let mut text = String::new();
        for piece in ctx.end_capture(self) {
            meter::charge_steps(1 + piece.as_str().len() as u64 / 16)?;
            print::append(&mut text, piece.as_str())?;
        }
        Ok(Flow::Return(Value::Str(Str::from_string(text))))
    }

    fn give_up(self, ctx: &mut Ctx<'_>) {
        drop(ctx.end_capture(self));
    }
}

/// `(with-out-str body …)`, with the body as a function.
fn with_out_str(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("with-out-str", 1, "body", &args[0])?;
    let capture = ctx.begin_capture();
    call_then(ctx, take(&mut args[0]), Args::new(), capture)
}

fn text(text: String) -> Result<Value> {
    Ok(Value::Str(Str::from_string(text)))
}

fn line(mut line: String) -> Result<Value> {
    grow_string(&mut line, 1)?;
    line.push('\n');
    text(line)
}

/// `(println & xs)`
fn println(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let entry = human(args)?;
    log(ctx, entry, TextEnd::Line)
}

/// `(print & xs)`
fn print_open(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let entry = human(args)?;
    log(ctx, entry, TextEnd::Open)
}

/// `(prn & xs)`
fn prn(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let entry = readable(args)?;
    log(ctx, entry, TextEnd::Line)
}

/// `(pr & xs)`
fn pr(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let entry = readable(args)?;
    log(ctx, entry, TextEnd::Open)
}

/// `(printf fmt & xs)`
fn printf(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let formatted = match ctx.library().find("format").map(|format| format.native) {
        Some(Native::Plain(format)) => format(ctx, args)?,
        _ => return Err(Error::runtime("printf is not available; use (println (str …))")),
    };
    let entry = print::plain(&formatted)?;
    log(ctx, entry, TextEnd::Open)
}

/// `(flush)`
fn flush(_: &mut Ctx<'_>, _: &mut [Value]) -> Result<Value> {
    Ok(Value::Nil)
}

/// `(pr-str & xs)`
fn pr_str(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    text(readable(args)?)
}

/// `(prn-str & xs)`
fn prn_str(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    line(readable(args)?)
}

/// `(print-str & xs)`
fn print_str(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    text(human(args)?)
}

/// `(println-str & xs)`
fn println_str(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    line(human(args)?)
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("print", "Printing").of([
    fun("println", CORE, "& xs", println)
        .doc("Adds an entry to the print log: the arguments with spaces between")
        .example(r#"(println "x" 1 nil :k ["a" 2])"#, "nil"),
    fun("pr-str", CORE, "& xs", pr_str)
        .also_in(STRING)
        .doc("Readable text of the arguments, with spaces between")
        .example(r#"(pr-str "a\"b" nil :k)"#, r#""\"a\\\"b\" nil :k""#)
        .example(r#"(pr-str {:b 1 :a "x"})"#, r#""{:a \"x\" :b 1}""#),
    fun("print", CORE, "& xs", print_open)
        .doc("Same as println: each call is an entry of its own")
        .example(r#"(print "x" 1)"#, "nil"),
    fun("prn", CORE, "& xs", prn)
        .doc("Adds an entry to the print log: the readable text of the arguments")
        .example(r#"(prn "x" 1)"#, "nil"),
    fun("pr", CORE, "& xs", pr).doc("Same as prn").example(r#"(pr "x" 1)"#, "nil"),
    fun("pprint", PPRINT, "x", prn)
        .doc("Adds an entry to the print log: the readable text of a value")
        .example("(pprint {:a 1})", "nil"),
    fun("printf", CORE, "fmt & xs", printf)
        .doc("Adds an entry to the print log: what format gives")
        .example(r#"(printf "%s is %d" "x" 1)"#, "nil"),
    fun("newline", CORE, "", println).doc("Adds an empty entry to the print log").example("(newline)", "nil"),
    frame("with-out-str", CORE, "body", with_out_str)
        .calls(&["(with-out-str body…)"])
        .doc("Text of what the body prints")
        .example(r#"(with-out-str (print "a" 1) (println [2]))"#, r#""a 1[2]\n""#),
    fun("flush", CORE, "", flush)
        .doc("Does nothing: the print log is kept at once")
        .example("(flush)", "nil"),
    fun("print-str", CORE, "& xs", print_str)
        .doc("Text that print would log")
        .example(r#"(print-str "a" [1 "b"] nil)"#, r#""a [1 b] nil""#),
    fun("println-str", CORE, "& xs", println_str)
        .doc("Text that println would log, with a line end")
        .example(r#"(println-str "a" 1)"#, r#""a 1\n""#),
    fun("prn-str", CORE, "& xs", prn_str)
        .doc("Readable text of the arguments, with a line end")
        .example(r#"(prn-str "a" 1)"#, r#""\"a\" 1\n""#),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::{display, outcome};
    use crate::machine::Limits;
    use crate::value::Value;

    /// The one entry that a call logs.
    fn logged(name: &str, args: impl Into<Vec<Value>>) -> String {
        let outcome = outcome(name, args, Limits::default());
        assert!(outcome.result.is_ok());
        let [entry] = &outcome.prints[..] else { panic!("one entry, not {:?}", outcome.prints) };
        entry.as_str().to_owned()
    }

    #[test]
    fn println_logs_strings_bare_and_the_rest_readable() {
        let args = [
            Value::str("x"),
            Value::Int(1),
            Value::Nil,
            Value::float(1e-11),
            Value::float(f64::INFINITY),
            Value::keyword("k"),
            Value::vector([Value::str("ab"), Value::Int(2)]),
        ];
        assert_eq!(logged("println", args.clone()), "x 1 nil 1.0e-11 ##Inf :k [ab 2]");
        assert_eq!(logged("prn", args), "\"x\" 1 nil 1.0e-11 ##Inf :k [\"ab\" 2]");
        assert_eq!(logged("println", []), "");
    }

    #[test]
    fn println_shows_collections_as_they_are() {
        let characters = Value::vector([Value::str("h"), Value::str("👨‍👩‍👧")]);
        assert_eq!(logged("println", [characters.clone(), Value::Int(1)]), "[h 👨‍👩‍👧] 1");
        assert_eq!(logged("println", [Value::vector([characters, Value::Nil])]), "[[h 👨‍👩‍👧] nil]");
        assert_eq!(logged("println", [Value::vector([])]), "[]");
    }

    #[test]
    fn long_entries_are_cut() {
        use super::LONGEST_ENTRY;

        let whole = "é".repeat(LONGEST_ENTRY);
        assert_eq!(logged("println", [Value::str(&whole)]), whole);
        let long = Value::str("é".repeat(20_000));
        assert_eq!(logged("println", [long]), format!("{whole}... (16384/20000 chars)"));
    }

    #[test]
    fn texts_are_readable_or_plain() {
        let args = [Value::str("a\"b"), Value::Nil, Value::keyword("k")];
        assert_eq!(display("pr-str", args.clone()), format!("{:?}", "\"a\\\"b\" nil :k"));
        assert_eq!(display("print-str", args.clone()), format!("{:?}", "a\"b nil :k"));
        assert_eq!(display("prn-str", args), format!("{:?}", "\"a\\\"b\" nil :k\n"));
        assert_eq!(display("pr-str", []), "\"\"");
    }
}
