//! Types to JSON Schema.

use super::{Field, Signature, Type};
use ptc_base::json::{Map, Value as Json, json};

impl Type {
    /// The type as JSON Schema. A `?` shows in the `required` of the object around it.
    #[must_use]
    pub fn json_schema(&self) -> Json {
        match self {
            Type::String | Type::Keyword => json!({"type": "string"}),
            Type::Int => json!({"type": "integer"}),
            Type::Float => json!({"type": "number"}),
            Type::Bool => json!({"type": "boolean"}),
            Type::DateTime => json!({"type": "string", "format": "date-time"}),
            Type::Any => json!({}),
            Type::Map => json!({"type": "object"}),
            Type::List(item) => json!({"type": "array", "items": item.json_schema()}),
            Type::Schema(schema) => schema.json().clone(),
            Type::Record(fields) => {
                let mut schema = object(fields);
                schema.insert("additionalProperties".into(), Json::Bool(false));
                Json::Object(schema)
            }
            Type::Optional(inner) => inner.json_schema(),
        }
    }

    /// A value of the type, for models that read types better from an example. Null for a JSON Schema without an obvious
    /// example.
    #[must_use]
    pub fn example(&self) -> Json {
        match self {
            Type::String => json!("text"),
            Type::Keyword => json!("word"),
            Type::Schema(schema) => schema.example().unwrap_or_default(),
            Type::Int => json!(1),
            Type::Float => json!(1.5),
            Type::Bool => json!(true),
            Type::DateTime => json!("2026-01-31T12:00:00Z"),
            Type::Any => json!("anything"),
            Type::Map => json!({"key": "value"}),
            Type::List(item) => json!([item.example()]),
            Type::Record(fields) => {
                Json::Object(fields.iter().map(|field| (field.name.clone(), field.ty.example())).collect())
            }
            Type::Optional(inner) => inner.example(),
        }
    }

    /// The schema that a provider's constraint gets: always an object, so that a list is wrapped as `items`, and one of
    /// several types as `answer`. `None` if a JSON Schema cannot be wrapped.
    #[must_use]
    pub(crate) fn response_schema(&self) -> Option<Json> {
        Some(match self.required() {
            Type::Schema(schema) => return schema.response(),
            list @ Type::List(_) => json!({
                "type": "object", "properties": {"items": list.json_schema()}, "required": ["items"],
                "additionalProperties": false,
            }),
            other => other.json_schema(),
        })
    }
}

impl Signature {
    /// The parameters as the schema of a tool's arguments.
    #[must_use]
    pub(crate) fn parameters_schema(&self) -> Json {
        Json::Object(object(&self.params))
    }
}

fn object(fields: &[Field]) -> Map {
    let properties: Map = fields.iter().map(|field| (field.name.clone(), field.ty.json_schema())).collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| !matches!(field.ty, Type::Optional(_)))
        .map(|field| field.name.as_str())
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Json::Object(properties));
    schema.insert("required".into(), json!(required));
    schema
}
