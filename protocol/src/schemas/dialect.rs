//! Schemas of foreign tools for clients that refuse parts of JSON Schema, or whose models do.
//!
//! The product's own schemas have nothing that anybody refuses. Those of upstreams pass unchanged unless the client is known to
//! need something else; the original is then in `_meta` of the tool.

use ptc_mcp::json::Value;

use super::gemini::gemini;
use super::plain_top::plain_top;

/// What of JSON Schema a client takes for the arguments of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaDialect {
    /// Everything, or its behaviour is unknown.
    #[default]
    Whole,
    /// An object without alternatives at its top: what the interface of OpenAI takes.
    PlainTop,
    /// The same with names of few characters at its top: what the interface of Claude takes.
    PlainNames,
    /// The keywords of Gemini's declarations of functions, without references.
    Gemini,
}

impl SchemaDialect {
    /// All of them.
    pub const ALL: [SchemaDialect; 4] =
        [SchemaDialect::Whole, SchemaDialect::PlainTop, SchemaDialect::PlainNames, SchemaDialect::Gemini];

    /// The schema for such a client; `None` if it takes it as it is.
    #[expect(clippy::disallowed_methods, reason = "entry point: SchemaDialect.adapted")]
    pub(crate) fn adapted(self, schema: &str) -> Option<String> {
        if self == SchemaDialect::Whole {
            return None;
        }
        let whole: Value = serde_json::from_str(schema).ok()?;
        let adapted = match self {
            SchemaDialect::Whole => return None,
            SchemaDialect::PlainTop => plain_top(&whole, false),
            SchemaDialect::PlainNames => plain_top(&whole, true),
            SchemaDialect::Gemini => gemini(&whole),
        };
        (adapted != whole).then(|| adapted.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::schemas::references::MOST_REFERRED;
    use ptc_mcp::json::{Map, json};

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
    fn gemini_gets_the_keywords_that_it_knows() {
        let schema = json!({"$schema": "x", "type": "object", "additionalProperties": false, "properties": {
            "a": {"type": ["string", "null"], "format": "uri", "const": "x"},
            "b": {"$ref": "#/$defs/tree", "description": "d"},
            "c": {"oneOf": [{"type": "integer", "exclusiveMinimum": 0}, {"enum": [1, 2]}]},
            "d": {"type": "array"}, "e": {"enum": ["a", null]}, "f": {"enum": ["a", ""]},
            "g": {"type": ["string", "array"], "minLength": 1, "description": "d"},
            "h": {"title": "H", "allOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": true}, "required": ["b", "c"]}]},
            "i": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "I"},
        }, "required": ["gone"], "$defs": {"tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}}});
        let adapted = adapted(SchemaDialect::Gemini, &schema).unwrap();
        let properties = &adapted["properties"];
        assert_eq!(properties["a"], json!({"type": "string", "nullable": true, "enum": ["x"]}));
        assert_eq!(properties["b"]["description"], "d");
        assert_eq!(
            properties["c"],
            json!({"anyOf": [{"type": "integer"}, {"description": "One of these values, in JSON: 1, 2."}]})
        );
        assert_eq!(properties["d"], json!({"type": "array", "items": {}}));
        assert_eq!(properties["e"], json!({"type": "string", "enum": ["a"], "nullable": true}));
        assert_eq!(properties["f"]["description"], "One of these values, in JSON: \"a\", \"\".");
        let either = json!({"description": "d", "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {}}]});
        assert_eq!(properties["g"], either);
        assert_eq!(
            properties["h"],
            json!({"type": "object", "title": "H", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]})
        );
        assert_eq!(properties["i"], json!({"type": "string", "title": "I", "nullable": true}));
        assert!(adapted.get("required").is_none(), "there is no such property");
        let text = adapted.to_string();
        assert!(!text.contains('$') && !text.contains("additional"), "{text}");
    }
}
