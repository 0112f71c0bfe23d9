//! JSON values as text, as far as there is room: written as programs write them, or as JSON.

use std::fmt::{self, Write};

use ptc_mcp::json::Value;

use super::{Beginning, clip, string_literal};

/// How values are written.
#[derive(Clone, Copy)]
enum Style {
    /// As programs write them.
    Program,
    /// As JSON without spaces.
    Json,
}

impl Style {
    /// The character between two elements or entries.
    fn between(self) -> char {
        match self {
            Self::Program => ' ',
            Self::Json => ',',
        }
    }

    /// The character between a key and its value.
    fn behind_key(self) -> char {
        match self {
            Self::Program => ' ',
            Self::Json => ':',
        }
    }

    fn string(self, string: &str) -> String {
        match self {
            Self::Program => string_literal(string),
            Self::Json => Value::from(string).to_string(),
        }
    }
}

/// A JSON value as program text, at most `max` bytes and three dots of it.
pub fn literal(value: &Value, max: usize) -> String {
    Beginning::of(max, |text| write(value, Style::Program, text))
}

/// The same for several values, with `between` between them.
pub fn literals(values: &[Value], between: &str, max: usize) -> String {
    Beginning::of(max, |text| write_all(values, between, Style::Program, text))
}

/// A JSON value as JSON, at most `max` bytes and three dots of it.
pub fn json_beginning(value: &Value, max: usize) -> String {
    Beginning::of(max, |text| write(value, Style::Json, text))
}

/// The same for several values, with `between` between them.
pub fn json_beginnings(values: &[Value], between: &str, max: usize) -> String {
    Beginning::of(max, |text| write_all(values, between, Style::Json, text))
}

fn write_all(values: &[Value], between: &str, style: Style, text: &mut Beginning) -> fmt::Result {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            text.write_str(between)?;
        }
        write(value, style, text)?;
    }
    Ok(())
}

fn write(value: &Value, style: Style, text: &mut Beginning) -> fmt::Result {
    match value {
        Value::Null if matches!(style, Style::Program) => text.write_str("nil"),
        Value::String(string) => write_string(string, style, text),
        Value::Array(items) => {
            text.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.write_char(style.between())?;
                }
                write(item, style, text)?;
            }
            text.write_char(']')
        }
        Value::Object(map) => {
            text.write_char('{')?;
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    text.write_char(style.between())?;
                }
                write_string(key, style, text)?;
                text.write_char(style.behind_key())?;
                write(value, style, text)?;
            }
            text.write_char('}')
        }
        other => write!(text, "{other}"),
    }
}

/// One byte more than there is room for is enough to see that it is too long.
fn write_string(string: &str, style: Style, text: &mut Beginning) -> fmt::Result {
    let shown = clip(string, text.room().saturating_add(4));
    text.write_str(&style.string(shown))
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
