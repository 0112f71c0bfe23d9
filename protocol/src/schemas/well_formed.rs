//! Schemas as the meta-schema wants them: clients refuse the list of all tools for one keyword that is none.

use ptc_mcp::json::{Map, Value, json};

use super::loosen::{loosen, take_off};
use super::parts::{NAMED, change_parts};
use super::pattern::is_portable;

/// Names of types.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// References after each other that are followed.
const MOST_CHAINED: usize = 16;

/// What is made of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Models read it.
    Read,
    /// Clients compile it: ajv (draft 7) in the official SDK for TypeScript, `jsonschema` in that for Python.
    Compiled,
}

/// Takes off a schema what JSON Schema does not allow, so that it never forbids more than before.
pub fn mend(schema: &mut Value, purpose: Use) {
    let whole = schema.clone();
    let mut resources = 0;
    change_parts(schema, &mut |part| {
        resources += usize::from(part.get("$id").is_some_and(Value::is_string));
        true
    });
    // In a resource of its own below the root, references lead elsewhere.
    let is_whole = resources == 0 || resources == 1 && whole.get("$id").is_some();
    let check = Check { whole: &whole, is_whole, purpose };
    loosen(schema, &mut |part| check.mend(part));
}

struct Check<'w> {
    whole: &'w Value,
    is_whole: bool,
    purpose: Use,
}

impl Check<'_> {
    /// Whether the part allows more than before.
    fn mend(&self, part: &mut Map) -> bool {
        let mut is_looser = self.purpose == Use::Compiled && compilable(part);
        for keyword in NAMED {
            let Some(Value::Object(named)) = part.get_mut(keyword) else { continue };
            for value in named.values_mut() {
                let fits = is_schema(value) || keyword == "dependencies" && is_list_of_texts(value);
                if !fits {
                    *value = json!({});
                    is_looser = true;
                } else if keyword == "properties" && value.is_boolean() {
                    *value = if *value == true { json!({}) } else { json!({"not": {}}) };
                }
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf", "prefixItems", "items"] {
            for value in part.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten() {
                if !is_schema(value) {
                    *value = json!({});
                    is_looser = true;
                }
            }
        }
        let wrong = part.iter().filter(|(keyword, value)| !self.fits(keyword, value));
        let wrong: Vec<String> = wrong.map(|(keyword, _)| keyword.clone()).collect();
        wrong.iter().for_each(|keyword| is_looser |= take_off(part, keyword));
        is_looser
    }

    /// Whether the keyword may have this value.
    fn fits(&self, keyword: &str, value: &Value) -> bool {
        let list = value.as_array();
        match keyword {
            "type" => {
                let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                is_type(value) || list.is_some_and(|names| !names.is_empty() && names.iter().all(is_type))
            }
            "enum" => list.is_some_and(|values| !values.is_empty()),
            "pattern" => {
                value.as_str().is_some_and(|pattern| self.purpose == Use::Read || is_portable(pattern))
            }
            "title" | "description" | "$comment" | "$schema" | "format" | "contentEncoding"
            | "contentMediaType" => value.is_string(),
            "$ref" => value.as_str().is_some_and(|reference| self.leads_somewhere(reference)),
            "required" => is_list_of_texts(value),
            "dependentRequired" => {
                value.as_object().is_some_and(|lists| lists.values().all(is_list_of_texts))
            }
            "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => {
                value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
            }
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
            "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "additionalItems"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => is_schema(value),
            "items" => is_schema(value) || list.is_some_and(|items| !items.is_empty()),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => list.is_some_and(|parts| !parts.is_empty()),
            "patternProperties" => value.as_object().is_some_and(|named| {
                self.purpose == Use::Read || named.keys().all(|pattern| is_portable(pattern))
            }),
            "examples" => list.is_some(),
            _ if NAMED.contains(&keyword) => value.is_object(),
            _ => true,
        }
    }

    /// Whether a reference leads to a schema. Those out of the document are for whoever reads it.
    fn leads_somewhere(&self, reference: &str) -> bool {
        let mut reference = reference;
        for _ in 0..MOST_CHAINED {
            let Some(pointer) = reference
                .strip_prefix('#')
                .filter(|pointer| self.is_whole && (pointer.is_empty() || pointer.starts_with('/')))
            else {
                return self.purpose == Use::Read;
            };
            match self.whole.pointer(pointer) {
                Some(Value::Object(target)) => match target.get("$ref") {
                    Some(Value::String(next)) => reference = next,
                    _ => return true,
                },
                Some(Value::Bool(_)) => return true,
                _ => return false,
            }
        }
        false
    }
}

/// Takes off a part what ajv refuses, and what means something else there than elsewhere; whether the part allows more than before.
fn compilable(part: &mut Map) -> bool {
    let mut is_looser = false;
    for keyword in ["id", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$async"] {
        part.remove(keyword);
    }
    for keyword in [
        "$dynamicRef",
        "$recursiveRef",
        "formatMinimum",
        "formatMaximum",
        "formatExclusiveMinimum",
        "formatExclusiveMaximum",
    ] {
        is_looser |= part.remove(keyword).is_some();
    }
    // A keyword of OpenAPI, which ajv does not take without a type.
    if part.remove("nullable") == Some(Value::Bool(true)) {
        let names: Vec<Value> = match part.get("type") {
            Some(Value::String(name)) => vec![name.as_str().into()],
            Some(Value::Array(names)) => names.clone(),
            _ => return is_looser,
        };
        if !names.contains(&"null".into()) {
            part.insert("type".to_owned(), names.into_iter().chain(["null".into()]).collect());
            is_looser = true;
        }
    }
    is_looser
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(mut schema: Value, purpose: Use) -> Value {
        mend(&mut schema, purpose);
        schema
    }

    #[test]
    fn what_is_no_keyword_is_taken_off() {
        for (given, expected) in [
            (json!({"properties": null, "required": null}), json!({})),
            (json!({"properties": [], "required": "a", "additionalProperties": false}), json!({})),
            (
                json!({"properties": {"a": true, "b": false, "c": {"type": "string"}}, "required": ["a"]}),
                json!({"properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}, "required": ["a"]}),
            ),
            (
                json!({"properties": {"required": {"type": "string", "required": true}, "default": {"type": "any"},
                    "n": {"minimum": 0, "exclusiveMinimum": true}, "t": {"type": ["string", "date"]}}}),
                json!({"properties": {"required": {"type": "string"}, "default": {}, "n": {"minimum": 0}, "t": {}}}),
            ),
            (json!({"items": [1, {"enum": []}], "maxItems": "3"}), json!({"items": [{}, {}]})),
            (json!({"prefixItems": 1, "items": false}), json!({})),
            (json!({"not": {"minLength": -1}, "anyOf": []}), json!({})),
            (
                json!({"default": {"type": "any"}, "const": {"$ref": "#/x"}}),
                json!({"default": {"type": "any"}, "const": {"$ref": "#/x"}}),
            ),
        ] {
            assert_eq!(mended(given.clone(), Use::Read), expected, "{given}");
            assert_eq!(mended(given.clone(), Use::Compiled), expected, "{given}");
        }
    }

    #[test]
    fn references_that_lead_to_no_schema_are_taken_off() {
        let refs = |text: &str| {
            json!({"properties": {"default": {"$ref": text}}, "$defs": {"a": {"$ref": "#/$defs/b"},
            "b": {"type": "string"}, "enum": {"enum": ["x"]}, "l": {"$ref": "#/$defs/m"}, "m": {"$ref": "#/$defs/l"}}})
        };
        for (text, stays) in [
            ("#/$defs/a", true),
            ("#", true),
            ("#/$defs/gone", false),
            ("#/$defs/enum/enum", false),
            ("#/$defs/l", false),
        ] {
            let is_there =
                |purpose| mended(refs(text), purpose)["properties"]["default"].get("$ref").is_some();
            assert_eq!((is_there(Use::Read), is_there(Use::Compiled)), (stays, stays), "{text}");
        }
        for text in ["https://x.example/y", "#name"] {
            assert!(mended(refs(text), Use::Compiled)["properties"]["default"].get("$ref").is_none());
            assert_eq!(mended(refs(text), Use::Read)["properties"]["default"]["$ref"], text);
        }
        let nested = json!({"properties": {"a": {"$id": "part", "$ref": "#/$defs/x"}}, "$defs": {"x": {}}});
        assert_eq!(mended(nested, Use::Compiled), json!({"properties": {"a": {}}, "$defs": {"x": {}}}));
    }

    #[test]
    fn what_clients_cannot_compile_is_taken_off() {
        let schema = json!({"$id": "x", "type": "object", "properties": {"a": {"type": "string", "nullable": true, "pattern": "(?i)a"},
            "b": {"nullable": true}, "id": {"id": 5, "$anchor": "0", "format": 5}, "p": {"not": {"pattern": "\\p{L}"}}},
            "patternProperties": {"^(?<x>a)": {}}, "additionalProperties": false});
        let expected = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {}, "id": {}, "p": {}}});
        assert_eq!(mended(schema, Use::Compiled), expected);
        let read = json!({"$id": "x", "properties": {"a": {"type": "string", "nullable": true, "pattern": "(?i)a"}}});
        assert_eq!(mended(read.clone(), Use::Read), read);
    }
}
