//! Editing a JSON file that people write too: comments, order and all other keys stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use ptc_mcp::json::Value;

/// A JSON text under edit.
pub(super) struct JsonFile {
    root: CstRootNode,
    object: CstObject,
}

impl JsonFile {
    /// # Errors
    /// What is wrong with the text, and where.
    #[expect(clippy::disallowed_methods, reason = "entry point: JsonFile.parse")]
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let options = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
        let root = CstRootNode::parse(text, &options).map_err(|error| error.to_string())?;
        let object = root.object_value().ok_or("it is no JSON object")?;
        Ok(Self { root, object })
    }

    /// Sets the value at `path`, whose last part is its name. Objects on the way are made where they are missing.
    ///
    /// # Errors
    /// Something on the way is no object.
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

    /// Removes the value at `path`; whether there was one.
    pub(super) fn remove(&self, path: &[&str]) -> bool {
        let Some((name, folders)) = path.split_last() else { return false };
        let object =
            folders.iter().try_fold(self.object.clone(), |object, folder| object.object_value(folder));
        match object.and_then(|object| object.get(name)) {
            Some(property) => {
                property.remove();
                true
            }
            None => false,
        }
    }

    /// The text as it is now, ending with a line break.
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
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
