//! Schemas as the meta-schema wants them: clients refuse the list of all tools for one keyword that is none.

use std::collections::HashSet;

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
    let (mut was_looser, mut resources) = (false, 0);
    change_parts(schema, &mut |part| {
        was_looser |= current(part);
        resources += usize::from(part.get("$id").is_some_and(Value::is_string));
        true
    });
    let whole = schema.clone();
    // In a resource of its own below the root, references lead elsewhere.
    let is_whole = resources == 0 || resources == 1 && whole.get("$id").is_some();
    let check = Check { whole: &whole, is_whole, purpose };
    loosen(schema, &mut |part| check.mend(part) || was_looser);
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
                let fits = is_schema(value) || keyword == "dependencies" && is_list_of_names(value);
                if !fits {
                    *value = json!({});
                    is_looser = true;
                } else if keyword == "properties" && value.is_boolean() {
                    *value = if *value == true { json!({}) } else { json!({"not": {}}) };
                }
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
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
            "$anchor" | "$dynamicAnchor" => value.as_str().is_some_and(is_anchor),
            "$id" => value.as_str().is_some_and(|id| !id.trim_end_matches('#').contains('#')),
            "$dynamicRef" => value.is_string(),
            "required" => is_list_of_names(value),
            "dependentRequired" => {
                value.as_object().is_some_and(|lists| lists.values().all(is_list_of_names))
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
            | "items"
            | "propertyNames"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => is_schema(value),
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

/// Makes of a part of an older draft one of draft 2020-12, which clients take a schema for that does not say otherwise; whether it
/// allows more than before.
fn current(part: &mut Map) -> bool {
    const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
    if part
        .get("$schema")
        .and_then(Value::as_str)
        .is_some_and(|dialect| dialect.trim_end_matches('#') != DIALECT)
    {
        part.remove("$schema");
    }
    for keyword in ["$vocabulary", "$recursiveAnchor"] {
        part.remove(keyword);
    }
    let mut is_looser = part.remove("$recursiveRef").is_some();
    for keyword in ["required", "type"] {
        part.get_mut(keyword).into_iter().for_each(once_each);
    }
    for keyword in ["dependentRequired", "dependencies"] {
        let lists = part.get_mut(keyword).and_then(Value::as_object_mut);
        lists.into_iter().flat_map(Map::values_mut).for_each(once_each);
    }
    let rest = part.remove("additionalItems");
    if part.get("items").is_some_and(Value::is_array)
        && let Some(first) = part.remove("items")
    {
        if part.contains_key("prefixItems") {
            is_looser = true;
        } else {
            if first.as_array().is_some_and(|first| !first.is_empty()) {
                part.insert("prefixItems".to_owned(), first);
            }
            part.extend(rest.map(|rest| ("items".to_owned(), rest)));
        }
    }
    is_looser
}

/// Takes repetitions off a list of names. Others are no such list, and go whole.
fn once_each(list: &mut Value) {
    let Some(names) = list.as_array_mut() else { return };
    let mut seen = HashSet::new();
    names.retain(|name| name.as_str().is_none_or(|name| seen.insert(name.to_owned())));
}

/// Takes off a part what ajv refuses, and what means something else there than elsewhere; whether the part allows more than before.
fn compilable(part: &mut Map) -> bool {
    let mut is_looser = false;
    for keyword in ["$schema", "id", "$id", "$anchor", "$dynamicAnchor", "$async"] {
        part.remove(keyword);
    }
    // Draft 7 knows neither `prefixItems`, beside which `items` means the rest, nor `minContains`, which may be 0.
    if part.contains_key("prefixItems") {
        is_looser |= part.remove("items").is_some();
    }
    if part.get("minContains").is_some_and(|least| least.as_f64() == Some(0.0)) {
        is_looser |= take_off(part, "minContains");
    }
    for keyword in
        ["$dynamicRef", "formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum"]
    {
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

fn is_list_of_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_anchor(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
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
            (json!({"items": [1, {"enum": []}], "maxItems": "3"}), json!({"prefixItems": [{}, {}]})),
            (json!({"items": [], "additionalItems": {"type": "null"}}), json!({"items": {"type": "null"}})),
            (json!({"items": {}, "additionalItems": false}), json!({"items": {}})),
            (
                json!({"items": [{}], "prefixItems": [{"type": "null"}]}),
                json!({"prefixItems": [{"type": "null"}]}),
            ),
            (
                json!({"required": ["a", "a"], "type": ["null", "string", "null"], "dependentRequired": {"a": ["b", "b"]}}),
                json!({"required": ["a"], "type": ["null", "string"], "dependentRequired": {"a": ["b"]}}),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": 5, "$anchor": "0x", "$dynamicRef": 5}),
                json!({}),
            ),
            (json!({"$vocabulary": 5, "$recursiveRef": "#", "$recursiveAnchor": true, "not": {}}), json!({})),
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
            "b": {"type": "string"}, "enum": {"enum": ["x"]}, "l": {"$ref": "#/$defs/m"}, "m": {"$ref": "#/$defs/l"}, "tuple": {"items": [{}]}}})
        };
        for (text, stays) in [
            ("#/$defs/a", true),
            ("#", true),
            ("#/$defs/gone", false),
            ("#/$defs/enum/enum", false),
            ("#/$defs/l", false),
            ("#/$defs/tuple/items/0", false),
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
    fn tuples_are_those_of_the_current_draft() {
        let tuple = json!({"items": [{"type": "string"}, {}], "additionalItems": false});
        assert_eq!(
            mended(tuple.clone(), Use::Read),
            json!({"prefixItems": [{"type": "string"}, {}], "items": false})
        );
        assert_eq!(mended(tuple, Use::Compiled), json!({"prefixItems": [{"type": "string"}, {}]}));
        let contains = json!({"contains": {"const": 1}, "minContains": 0, "maxContains": 2});
        assert_eq!(mended(contains.clone(), Use::Read), contains);
        assert_eq!(mended(contains, Use::Compiled), json!({}));
        let dialect =
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://x.example/#"});
        assert_eq!(mended(dialect.clone(), Use::Read), dialect);
        assert_eq!(mended(dialect, Use::Compiled), json!({}));
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
