//! JSON values as program text.

use std::fmt::{self, Write};

use ptc_mcp::json::Value;

use crate::text::{Beginning, clip, string_literal};

/// A JSON value as program text, at most `max` bytes and three dots of it.
pub(super) fn literal(value: &Value, max: usize) -> String {
    Beginning::of(max, |text| write_literal(value, text))
}

/// The same for several values, with `between` between them.
pub(super) fn literals(values: &[Value], between: &str, max: usize) -> String {
    Beginning::of(max, |text| write_all(values, between, text))
}

fn write_all(values: &[Value], between: &str, text: &mut Beginning) -> fmt::Result {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            text.write_str(between)?;
        }
        write_literal(value, text)?;
    }
    Ok(())
}

fn write_literal(value: &Value, text: &mut Beginning) -> fmt::Result {
    match value {
        Value::Null => text.write_str("nil"),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.write_char('[')?;
            write_all(items, " ", text)?;
            text.write_char(']')
        }
        Value::Object(map) => {
            text.write_char('{')?;
            for (at, (key, value)) in map.iter().enumerate() {
                text.write_str(if at > 0 { " " } else { "" })?;
                write_string(key, text)?;
                text.write_char(' ')?;
                write_literal(value, text)?;
            }
            text.write_char('}')
        }
        other => write!(text, "{other}"),
    }
}

/// One byte more than there is room for is enough to see that it is too long.
fn write_string(string: &str, text: &mut Beginning) -> fmt::Result {
    let shown = clip(string, text.room().saturating_add(4));
    text.write_str(&string_literal(shown))
}

/// A JSON value as JSON, at most `max` bytes and three dots of it.
pub(super) fn json_beginning(value: &Value, max: usize) -> String {
    Beginning::of(max, |text| write_json(value, text))
}

fn write_json(value: &Value, text: &mut Beginning) -> fmt::Result {
    match value {
        Value::String(string) => write_json_string(string, text),
        Value::Array(items) => {
            text.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                text.write_str(if at > 0 { "," } else { "" })?;
                write_json(item, text)?;
            }
            text.write_char(']')
        }
        Value::Object(map) => {
            text.write_char('{')?;
            for (at, (key, value)) in map.iter().enumerate() {
                text.write_str(if at > 0 { "," } else { "" })?;
                write_json_string(key, text)?;
                text.write_char(':')?;
                write_json(value, text)?;
            }
            text.write_char('}')
        }
        other => write!(text, "{other}"),
    }
}

/// As [`write_string`] does: a writer of JSON looks at all of a string before it writes any of it.
fn write_json_string(string: &str, text: &mut Beginning) -> fmt::Result {
    let shown = clip(string, text.room().saturating_add(4));
    write!(text, "{}", Value::from(shown))
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn values_are_written_as_programs_write_them() {
        let value = json!({"a": [1, null, "x\n"], "b": {}});
        assert_eq!(literal(&value, 100), r#"{"a" [1 nil "x\n"] "b" {}}"#);
        assert_eq!(literals(&[json!(1), json!("a")], "|", 100), "1|\"a\"");
    }

    #[test]
    fn beginnings_of_json_are_those_of_the_whole() {
        let value = json!({"a": [1, null, "x\n\"é"], "b": {}, "c": "long".repeat(50)});
        let whole = value.to_string();
        assert_eq!(json_beginning(&value, whole.len()), whole);
        for max in (0..whole.len()).filter(|max| whole.is_char_boundary(*max)) {
            assert_eq!(json_beginning(&value, max), format!("{}...", &whole[..max]));
        }
    }

    #[test]
    fn long_values_are_not_written_out() {
        assert_eq!(literal(&json!(["é", "é"]), 4), "[\"é...");
        let mut deep = json!(1);
        for _ in 0..60 {
            deep = json!([deep, deep]);
            if deep.to_string().len() > 1 << 16 {
                break;
            }
        }
        assert_eq!(literal(&deep, 10).len(), 13);
    }
}
