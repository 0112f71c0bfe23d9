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
