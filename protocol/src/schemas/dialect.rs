//! Schemas of foreign tools for clients that refuse parts of JSON Schema, or whose models do.
//!
//! The product's own schemas have nothing that anybody refuses. Those of upstreams pass unchanged unless the client is known to
//! need something else; the original is then in `_meta` of the tool.

use ptc_mcp::json::{Map, Value, json};

/// What of JSON Schema a client takes for the arguments of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaDialect {
    /// Everything, or its behaviour is unknown.
    #[default]
    Whole,
    /// An object without alternatives at its top: what the interfaces of OpenAI and Anthropic take.
    PlainTop,
    /// The keywords of Gemini's declarations of functions, without references.
    Gemini,
}

/// Keywords that are refused at the top of a schema.
const TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// Keywords of which Gemini's declarations know the meaning.
const GEMINI: [&str; 19] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "format",
    "nullable",
    "anyOf",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
];
/// Formats that it takes.
const GEMINI_FORMATS: [&str; 6] = ["enum", "date-time", "int32", "int64", "float", "double"];
/// How deep a schema is followed.
const MOST_DEPTH: usize = 12;
/// Most bytes that references bring into a schema, each time that they are followed: a small one may name itself many times.
const MOST_REFERRED: usize = 64 << 10;

impl SchemaDialect {
    /// All of them.
    pub const ALL: [SchemaDialect; 3] =
        [SchemaDialect::Whole, SchemaDialect::PlainTop, SchemaDialect::Gemini];

    /// The schema for such a client; `None` if it takes it as it is.
    #[expect(clippy::disallowed_methods, reason = "entry point: SchemaDialect.adapted")]
    pub(crate) fn adapted(self, schema: &str) -> Option<String> {
        if self == SchemaDialect::Whole {
            return None;
        }
        let whole: Value = serde_json::from_str(schema).ok()?;
        let adapted = match self {
            SchemaDialect::Whole => return None,
            SchemaDialect::PlainTop => plain_top(&whole),
            SchemaDialect::Gemini => {
                let plain = plain_top(&whole);
                gemini(&plain, &mut References::of(&whole), 0)
            }
        };
        (adapted != whole).then(|| adapted.to_string())
    }
}

/// The schema without alternatives at its top. Properties that only alternatives have are among its own, where none is required.
fn plain_top(schema: &Value) -> Value {
    let Some(members) = schema.as_object().filter(|members| TOP.iter().any(|key| members.contains_key(key)))
    else {
        return schema.clone();
    };
    let mut plain: Map = members
        .iter()
        .filter(|(key, _)| !TOP.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut properties = plain.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for key in ["allOf", "anyOf", "oneOf"] {
        for part in members.get(key).and_then(Value::as_array).into_iter().flatten() {
            for (name, property) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if !properties.contains_key(name) {
                    properties.insert(name.clone(), property.clone());
                }
            }
        }
    }
    if !properties.is_empty() {
        plain.insert("properties".to_owned(), Value::Object(properties));
    }
    Value::Object(plain)
}

/// The references of a schema, as they are followed.
struct References<'w> {
    whole: &'w Value,
    /// Those that lead to where the reader is.
    way: Vec<&'w str>,
    /// How many bytes more they may bring.
    left: usize,
}

impl<'w> References<'w> {
    fn of(whole: &'w Value) -> References<'w> {
        References { whole, way: Vec::new(), left: MOST_REFERRED }
    }

    /// What a reference leads to; `None` if that contains it, leads nowhere, or would be too much.
    fn follow(&mut self, reference: &'w str) -> Option<&'w Value> {
        if self.left == 0 || self.way.contains(&reference) {
            return None;
        }
        let target = self.whole.pointer(reference.strip_prefix('#')?)?;
        self.left = self.left.saturating_sub(target.to_string().len());
        (self.left > 0).then_some(target)
    }
}

/// The schema in the keywords that Gemini knows. References are followed; one that contains itself is any object.
fn gemini<'w>(schema: &'w Value, references: &mut References<'w>, depth: usize) -> Value {
    if depth > MOST_DEPTH {
        return json!({"type": "object"});
    }
    let Some(members) = schema.as_object() else { return json!({"type": "string"}) };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        let mut found = match references.follow(reference) {
            None => json!({"type": "object"}),
            Some(target) => {
                references.way.push(reference);
                let found = gemini(target, references, depth + 1);
                references.way.pop();
                found
            }
        };
        if let (Some(found), Some(description)) = (found.as_object_mut(), members.get("description")) {
            found.insert("description".to_owned(), description.clone());
        }
        return found;
    }
    let mut out = Map::new();
    for (key, value) in members.iter().filter(|(key, _)| GEMINI.contains(&key.as_str())) {
        let value = match key.as_str() {
            "properties" => match value.as_object() {
                Some(properties) => Value::Object(
                    properties
                        .iter()
                        .map(|(name, part)| (name.clone(), gemini(part, references, depth + 1)))
                        .collect(),
                ),
                None => continue,
            },
            "items" if value.is_object() => gemini(value, references, depth + 1),
            "items" => continue,
            "anyOf" => match value.as_array() {
                Some(parts) => {
                    Value::Array(parts.iter().map(|part| gemini(part, references, depth + 1)).collect())
                }
                None => continue,
            },
            "type" if value.is_array() => {
                one_type(value, &mut out);
                continue;
            }
            "format" if !value.as_str().is_some_and(|format| GEMINI_FORMATS.contains(&format)) => continue,
            "enum" if !value.as_array().is_some_and(|values| values.iter().all(Value::is_string)) => continue,
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    if let Some(parts) =
        members.get("oneOf").and_then(Value::as_array).filter(|_| !members.contains_key("anyOf"))
    {
        let parts = parts.iter().map(|part| gemini(part, references, depth + 1)).collect();
        out.insert("anyOf".to_owned(), Value::Array(parts));
    }
    if let Some(constant) = members.get("const").filter(|constant| constant.is_string()) {
        out.insert("enum".to_owned(), Value::Array(vec![constant.clone()]));
    }
    if out.get("type").is_some_and(|kind| kind == "array") && !out.contains_key("items") {
        out.insert("items".to_owned(), json!({"type": "string"}));
    }
    Value::Object(out)
}

/// One of several types, and whether it may be null.
fn one_type(types: &Value, out: &mut Map) {
    let names: Vec<&str> = types.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.contains(&"null") {
        out.insert("nullable".to_owned(), true.into());
    }
    if let Some(name) = names.into_iter().find(|name| *name != "null") {
        out.insert("type".to_owned(), name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(dialect: SchemaDialect, schema: &Value) -> Option<Value> {
        dialect.adapted(&schema.to_string()).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn schemas_that_a_client_takes_stay_as_they_are() {
        let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        for dialect in SchemaDialect::ALL {
            assert_eq!(adapted(dialect, &plain), None, "{dialect:?}");
        }
        let odd = json!({"type": "object", "oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}});
        assert_eq!(adapted(SchemaDialect::Whole, &odd), None);
    }

    #[test]
    fn a_schema_that_names_itself_often_stays_small() {
        let names = |count: usize| -> Value {
            (0..count).map(|at| (format!("p{at}"), json!({"$ref": "#/$defs/N"}))).collect::<Map>().into()
        };
        let schema = json!({"type": "object", "$defs": {"N": {"type": "object", "properties": names(20)}},
            "properties": {"r": {"$ref": "#/$defs/N", "description": "A node."}}});
        let adapted = adapted(SchemaDialect::Gemini, &schema).unwrap();
        assert_eq!(adapted["properties"]["r"]["properties"]["p7"], json!({"type": "object"}));
        assert_eq!(adapted["properties"]["r"]["description"], "A node.");
        // Two that name each other, many times: each way is another one.
        let chain: Map = (0..12)
            .map(|at| {
                let next: Map = (0..20)
                    .map(|n| (format!("p{n}"), json!({"$ref": format!("#/$defs/N{}", at + 1)})))
                    .collect();
                (format!("N{at}"), json!({"type": "object", "properties": next}))
            })
            .collect();
        let schema = json!({"type": "object", "$defs": chain, "properties": {"r": {"$ref": "#/$defs/N0"}}});
        let text = SchemaDialect::Gemini.adapted(&schema.to_string()).unwrap();
        assert!(text.len() < 4 * MOST_REFERRED, "{}", text.len());
    }

    #[test]
    fn alternatives_at_the_top_become_properties() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "anyOf": [{"properties": {"a": {"type": "integer"}, "b": {"oneOf": [{"type": "null"}, {"type": "string"}]}}, "required": ["b"]}]});
        let expected = json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"oneOf": [{"type": "null"}, {"type": "string"}]}}});
        assert_eq!(adapted(SchemaDialect::PlainTop, &schema), Some(expected));
    }

    #[test]
    fn gemini_gets_the_keywords_that_it_knows() {
        let schema = json!({"$schema": "x", "type": "object", "additionalProperties": false, "properties": {
            "a": {"type": ["string", "null"], "format": "uri", "const": "x"},
            "b": {"$ref": "#/$defs/tree", "description": "d"},
            "c": {"oneOf": [{"type": "integer", "exclusiveMinimum": 0}, {"enum": [1, 2]}]},
            "d": {"type": "array"},
        }, "$defs": {"tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}}});
        let adapted = adapted(SchemaDialect::Gemini, &schema).unwrap();
        let properties = &adapted["properties"];
        assert_eq!(properties["a"], json!({"type": "string", "nullable": true, "enum": ["x"]}));
        assert_eq!(properties["b"]["description"], "d");
        assert_eq!(properties["c"], json!({"anyOf": [{"type": "integer"}, {}]}));
        assert_eq!(properties["d"], json!({"type": "array", "items": {"type": "string"}}));
        let text = adapted.to_string();
        assert!(!text.contains('$') && !text.contains("additional"), "{text}");
    }
}
