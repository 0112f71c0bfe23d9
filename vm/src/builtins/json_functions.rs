//! JSON text to values and back (functions.md 26; ruling 10).

use super::Builtin;
use super::namespaces::JSON;
use super::row::{fun, section};
use crate::error::Result;
use crate::json;
use crate::machine::Ctx;
use crate::value::{Str, Value};

/// `(json/parse-string s)`
fn parse(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) => Ok(json::parse(text.as_str().as_bytes())?.unwrap_or_default()),
        _ => Ok(Value::Nil),
    }
}

/// `(json/parse-lines s)`
fn parse_lines(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(text) => json::parse_lines(text.as_str()),
        _ => Ok(Value::Nil),
    }
}

/// `(json/generate-string v)`
fn generate(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(json::generate(&args[0])?.map_or(Value::Nil, |text| Value::Str(Str::from_string(text))))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("json", "JSON").of([
    fun("json/parse-string", JSON, "s", parse)
        .aliases(&["json/read-str", "json/decode"])
        .doc("Value of a JSON text; nil when it is not one")
        .example(r#"(json/parse-string "{\"a\":[1,2.5,null]}")"#, r#"{"a" [1 2.5 nil]}"#)
        .example(r#"(json/parse-string "oops")"#, "nil"),
    fun("json/generate-string", JSON, "v", generate)
        .aliases(&["json/write-str", "json/encode"])
        .doc("Compact JSON text of a value; nil when it has none")
        .example(r#"(json/generate-string {"a" [1 true nil]})"#, r#""{\"a\":[1,true,null]}""#)
        .example("(json/generate-string {:a #{2 1}})", r#""{\"a\":[1,2]}""#)
        .example("(json/generate-string ##NaN)", "nil"),
    fun("json/parse-lines", JSON, "s", parse_lines)
        .doc("Vector of the values of JSON Lines; blank lines are skipped, a bad line gives nil")
        .example(r#"(json/parse-lines "{\"a\":1}\n[2]\n")"#, r#"[{"a" 1} [2]]"#),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    #[test]
    fn what_cannot_be_read_or_written_is_nil() {
        assert_eq!(display("json/parse-string", [Value::str("[1, 2.0")]), "nil");
        assert_eq!(display("json/parse-string", [Value::Int(5)]), "nil");
        assert_eq!(display("json/parse-lines", [Value::Nil]), "nil");
        assert_eq!(display("json/generate-string", [Value::vector([Value::Var("x".into())])]), "nil");
    }

    #[test]
    fn text_goes_both_ways() {
        let text = r#"{"a":[1,2.5,null,"é\n"]}"#;
        let value = crate::builtins::support::testing::call("json/decode", [Value::str(text)]).unwrap();
        assert_eq!(display("json/encode", [value]), format!("{text:?}"));
    }
}
