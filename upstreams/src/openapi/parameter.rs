//! A parameter of an operation, and the property that it becomes.

use super::style::{ParameterLocation, Style};
use ptc_mcp::json::{Value, json};

use super::document::{Document, InlineBudget};
use super::sendable::sendable;

/// A parameter, as the document declares it.
pub(super) struct Parameter<'d> {
    pub(super) name: &'d str,
    pub(super) place: ParameterLocation,
    pub(super) style: Style,
    pub(super) required: bool,
    pub(super) schema: Option<&'d Value>,
}

impl Parameter<'_> {
    /// The part of its schema that can be sent, with its description. `None` if nothing can. A schema without a type is a
    /// string, as it is sent.
    pub(super) fn property(&self, document: &Document, budget: &mut InlineBudget) -> Option<Value> {
        let schema = self.schema.map(|schema| document.inline(schema, budget));
        let mut schema = match schema {
            Some(Value::Object(schema)) => schema,
            _ => return Some(json!({"type": "string"})),
        };
        let says_type = ["type", "allOf", "anyOf", "oneOf", "$ref", "properties", "items"];
        if !says_type.iter().any(|key| schema.contains_key(key)) {
            schema.insert("type".to_owned(), "string".into());
        }
        sendable(&Value::Object(schema), self.style)
    }
}
