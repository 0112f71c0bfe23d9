//! Edits a JSON file that people write too: comments, order and all other keys are preserved.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use ptc_mcp::json::Value;

/// A JSON text under edit.
pub(super) struct JsonFile {
    root: CstRootNode,
    object: CstObject,
}

impl JsonFile {
    /// # Errors
    /// The fault of the text, and its place.
    #[expect(clippy::disallowed_methods, reason = "entry point: JsonFile.parse")]
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let options = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
        let root = CstRootNode::parse(text, &options).map_err(|error| error.to_string())?;
        let object = root.object_value().ok_or("it is no JSON object")?;
        Ok(Self { root, object })
    }

    /// Sets the value at `path`, whose last part is its name. Missing objects on the way are created.
    ///
    /// # Errors
    /// A value on the way is not an object.
    pub(super) fn set(&self, path: &[&str], value: &Value) -> Result<(), String> {
        let Some((name, folders)) = path.split_last() else { return Ok(()) };
        let mut object = self.object.clone();
        for folder in folders {
            object = object
                .object_value_or_create(folder)
                .ok_or_else(|| format!("its {folder:?} is no object"))?;
        }
        match object.get(name) {
            Some(before) => before.set_value(input(value)),
            None => {
                object.append(name, input(value));
            }
        }
        Ok(())
    }

    /// Removes the value at `path`. Returns true if there was one.
    pub(super) fn remove(&self, path: &[&str]) -> bool {
        match self.at(path) {
            Some(property) => {
                property.remove();
                true
            }
            None => false,
        }
    }

    /// True if there is a value at `path`.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.at(path).is_some()
    }

    fn at(&self, path: &[&str]) -> Option<CstObjectProp> {
        let (name, folders) = path.split_last()?;
        let object =
            folders.iter().try_fold(self.object.clone(), |object, folder| object.object_value(folder));
        object?.get(name)
    }

    /// The current text, ending with a line break.
    pub(super) fn text(&self) -> String {
        let text = self.root.to_string();
        if text.ends_with('\n') { text } else { text + "\n" }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) if text.contains(is_control) => as_it_stands(value),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) if map.keys().any(|key| key.contains(is_control)) => as_it_stands(value),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// True for characters that JSON forbids in a string.
fn is_control(c: char) -> bool {
    c < ' '
}

/// The value's JSON text. The editor escapes only quotes and backslashes of strings; it writes numbers unchanged.
fn as_it_stands(value: &Value) -> CstInputValue {
    CstInputValue::Number(value.to_string())
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn control_characters_are_escaped_as_json_has_it() {
        let file = JsonFile::parse("{\n  // Mine.\n  \"a\": 1\n}\n").unwrap();
        let value = json!({"args": ["-c", "echo 1\necho \"2\"\t\u{1b}"], "env": {"K\n": "v"}, "n": 1.5});
        file.set(&["upstreams", "x"], &value).unwrap();
        let text = file.text();
        assert!(text.starts_with("{\n  // Mine.") && text.contains("echo 1\\necho"), "{text}");
        let plain = ptc_host::config::without_comments(&text);
        let read: Value = ptc_mcp::json::from_str(&plain).unwrap();
        assert_eq!(read["upstreams"]["x"], value);
    }
}
