//! JSON text to values and back (functions.md 26; ruling 10).

use super::Builtin;
use super::namespaces::JSON;
use super::row::{frame, fun, section};
use super::trees::walk::{Action, KeyConversion, WalkOrder, walk};
use crate::error::{Error, Result};
use crate::json;
use crate::machine::{Ctx, Flow};
use crate::print;
use crate::value::{Str, Value};
use std::mem::take;

/// The conversion of objects' keys, given by the arguments after the text; `None` if they stay strings.
fn key_function(name: &str, options: &mut [Value]) -> Result<Option<Action>> {
    match options {
        [] | [Value::Nil | Value::False] => Ok(None),
        [Value::True] => Ok(Some(Action::Rename(KeyConversion::Keywords))),
        // Every key can be read this way, whatever it holds: what is no name of a keyword stays a string.
        [Value::Builtin(function)] if function.name == "keyword" => {
            Ok(Some(Action::Rename(KeyConversion::Keywords)))
        }
        [Value::Map(map)] if map.len() == 1 && map.iter().all(|(key, _)| is_option(key)) => {
            let mut function: Vec<Value> = map.iter().map(|(_, value)| value.clone()).collect();
            key_function(name, &mut function)
        }
        [function] if function.is_callable() && !matches!(function, Value::Keyword(_)) => {
            Ok(Some(Action::CallKeys(take(function))))
        }
        [key, function] if is_option(key) => key_function(name, std::slice::from_mut(function)),
        [Value::Keyword(key), _] => {
            Err(Error::type_error(format!("{name}: unknown option :{}, expected :key-fn", key.name())))
        }
        [other, ..] => Err(Error::type_error(format!(
            "{name}: arg 2 expected true or a function for the keys, got {}",
            print::readable_lossy(other)
        ))),
    }
}

fn is_option(key: &Value) -> bool {
    matches!(key, Value::Keyword(key) if matches!(key.name(), "key-fn" | "keywords?" | "keywordize?"))
}

/// Reads the text with `read`, and renames the keys. A parsed value is its own result, since answers of tools come parsed
/// (decision 174); a note says so to the reader of the program's value.
fn read(
    ctx: &mut Ctx<'_>,
    name: &str,
    args: &mut [Value],
    read: impl FnOnce(&str) -> Result<Value>,
) -> Result<Flow> {
    let action = match args {
        [_] => None,
        _ => key_function(name, &mut args[1..])?,
    };
    let value = match &args[0] {
        Value::Str(text) => read(text.as_str())?,
        Value::Nil => Value::Nil,
        other => {
            let kind = other.kind_label();
            let is_parsed = is_parsed(other);
            let what =
                if is_parsed { "is parsed already: it was given back" } else { "is no text: it gave nil" };
            ctx.note(Str::from_string(format!("{name}: its argument, a {kind}, {what}")));
            if is_parsed { take(&mut args[0]) } else { Value::Nil }
        }
    };
    Ok(match action {
        Some(action) => walk(action, WalkOrder::After, value),
        None => Flow::Return(value),
    })
}

/// Whether a value may have come from a JSON text.
fn is_parsed(value: &Value) -> bool {
    value.is_number()
        || matches!(value, Value::True | Value::False | Value::Vector(_) | Value::Map(_) | Value::Set(_))
}

/// `(json/parse-string s)`, `(json/parse-string s key-fn)`, `(json/parse-string s :key-fn key-fn)`
fn parse(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    read(ctx, "json/parse-string", args, |text| Ok(json::parse(text.as_bytes())?.unwrap_or_default()))
}

/// `(json/parse-lenient s)` with the keys as for `json/parse-string`
fn parse_lenient(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    read(ctx, "json/parse-lenient", args, |text| Ok(json::parse_lenient(text)?.unwrap_or_default()))
}

/// `(json/parse-lines s)` with the keys as for `json/parse-string`
fn parse_lines(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    read(ctx, "json/parse-lines", args, json::parse_lines)
}

/// `(json/generate-string v)`
fn generate(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(json::generate(&args[0])?.map_or(Value::Nil, |text| Value::Str(Str::from_string(text))))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("json", "JSON").of([
    frame("json/parse-string", JSON, "s | s key-fn | s :key-fn key-fn", parse)
        .aliases(&["json/read-str", "json/decode"])
        .doc("Value of a JSON text; nil when it is not one; what is parsed already comes back, with a note. With true, or a function, the keys are keywords, or what it gives")
        .example(r#"(json/parse-string "{\"a\":[1,2.5,null]}")"#, r#"{"a" [1 2.5 nil]}"#)
        .example(r#"(json/parse-string "{\"a\":{\"b c\":1}}" true)"#, r#"{:a {"b c" 1}}"#)
        .example(r#"(json/parse-string "oops")"#, "nil")
        .example(r#"(json/parse-string {"a" 1} true)"#, "{:a 1}"),
    fun("json/generate-string", JSON, "v", generate)
        .aliases(&["json/write-str", "json/encode"])
        .doc("Compact JSON text of a value; nil when it has none")
        .example(r#"(json/generate-string {"a" [1 true nil]})"#, r#""{\"a\":[1,true,null]}""#)
        .example("(json/generate-string {:a #{2 1}})", r#""{\"a\":[1,2]}""#)
        .example("(json/generate-string ##NaN)", "nil"),
    frame("json/parse-lines", JSON, "s | s key-fn | s :key-fn key-fn", parse_lines)
        .doc("Vector of the values of JSON Lines; blank lines are skipped, a bad line gives nil. Keys as for json/parse-string")
        .example(r#"(json/parse-lines "{\"a\":1}\n[2]\n")"#, r#"[{"a" 1} [2]]"#)
        .example(r#"(map :a (json/parse-lines "{\"a\":1}\n{\"a\":2}" true))"#, "[1 2]"),
    frame("json/parse-lenient", JSON, "s | s key-fn | s :key-fn key-fn", parse_lenient)
        .doc("As json/parse-string, and reads what Python and JavaScript print: single quotes, None True False, trailing commas, comments")
        .example("(json/parse-lenient \"[{'id': 1, 'ok': True, 'note': None},]\")", r#"[{"id" 1 "note" nil "ok" true}]"#)
        .example("(json/parse-lenient \"oops\")", "nil"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::{display, outcome};
    use crate::machine::Limits;
    use crate::value::Value;

    #[test]
    fn what_cannot_be_read_or_written_is_nil() {
        assert_eq!(display("json/parse-string", [Value::str("[1, 2.0")]), "nil");
        assert_eq!(display("json/parse-string", [Value::keyword("k")]), "nil");
        assert_eq!(display("json/parse-lines", [Value::Nil]), "nil");
        assert_eq!(display("json/parse-lenient", [Value::Nil]), "nil");
        assert_eq!(display("json/generate-string", [Value::vector([Value::Var("x".into())])]), "nil");
    }

    #[test]
    fn parsed_values_come_back() {
        let parsed = || Value::vector([Value::Int(5), Value::str("[1]")]);
        for name in ["json/parse-string", "json/read-str", "json/parse-lenient", "json/parse-lines"] {
            assert_eq!(display(name, [parsed()]), "[5 \"[1]\"]", "{name}");
            assert_eq!(display(name, [Value::Int(5)]), "5", "{name}");
            assert_eq!(display(name, [Value::False]), "false", "{name}");
        }
    }

    #[test]
    fn what_was_no_text_is_noted() {
        for (value, note) in [
            (
                Value::vector([]),
                "json/parse-string: its argument, a list, is parsed already: it was given back",
            ),
            (Value::keyword("k"), "json/parse-string: its argument, a keyword, is no text: it gave nil"),
        ] {
            let outcome = outcome("json/parse-string", [value], Limits::default());
            let notes: Vec<&str> = outcome.notes.iter().map(|note| note.as_str()).collect();
            assert_eq!(notes, [note]);
        }
        for value in [Value::Nil, Value::str("[]")] {
            assert!(outcome("json/parse-string", [value], Limits::default()).notes.is_empty());
        }
    }

    #[test]
    fn text_goes_both_ways() {
        let text = r#"{"a":[1,2.5,null,"é\n"]}"#;
        let value = crate::builtins::support::testing::call("json/decode", [Value::str(text)]).unwrap();
        assert_eq!(display("json/encode", [value]), format!("{text:?}"));
    }
}
