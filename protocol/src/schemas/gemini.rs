//! Schemas in the keywords of Gemini's declarations of functions, without references.

use ptc_mcp::json::{Map, Value, json};

use super::loosen::note_values;
use super::plain_top::flattened;
use super::references::References;

/// Keywords of which Gemini's declarations know the meaning, and that mean the same beside others.
const PLAIN: [&str; 12] = [
    "title",
    "description",
    "nullable",
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
/// Keywords of the values of one type.
const OF_TYPES: [(&[&str], &[&str]); 4] = [
    (&["string"], &["minLength", "maxLength", "pattern", "format", "enum"]),
    (&["number", "integer"], &["minimum", "maximum", "format"]),
    (&["array"], &["items", "minItems", "maxItems"]),
    (&["object"], &["properties", "required", "minProperties", "maxProperties"]),
];
/// Formats that it takes.
const FORMATS: [&str; 6] = ["enum", "date-time", "int32", "int64", "float", "double"];
/// How deep a schema is followed.
const MOST_DEPTH: usize = 12;

/// The schema in those keywords. References are followed; of one that contains itself only the type is told.
pub(super) fn gemini(whole: &Value) -> Value {
    let flat = flattened(whole);
    GeminiReader { references: References::of(whole) }.schema(&flat, 0)
}

struct GeminiReader<'w> {
    references: References<'w>,
}

impl<'w> GeminiReader<'w> {
    fn schema(&mut self, schema: &'w Value, depth: usize) -> Value {
        let mut out = Map::new();
        self.add(&mut out, schema, depth);
        finish(&mut out);
        Value::Object(out)
    }

    /// Adds what a schema demands. Of two demands that exclude each other in these keywords, the first one stays.
    fn add(&mut self, out: &mut Map, schema: &'w Value, depth: usize) {
        let Some(members) = schema.as_object().filter(|_| depth <= MOST_DEPTH) else { return };
        merge(out, self.own(members, depth));
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            if let Some(target) = self.references.enter(reference) {
                self.add(out, target, depth + 1);
                self.references.leave();
            } else if let Some(Value::String(kind)) =
                self.references.target(reference).and_then(|target| target.get("type"))
                && kind != "null"
                && !out.contains_key("type")
            {
                out.insert("type".to_owned(), kind.as_str().into());
            }
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add(out, part, depth + 1);
        }
    }

    /// What the schema itself demands.
    fn own(&mut self, members: &'w Map, depth: usize) -> Map {
        let mut out: Map = members.clone();
        out.retain(|key, _| PLAIN.contains(&key.as_str()));
        if let Some(Value::Object(properties)) = members.get("properties") {
            let properties = properties.iter();
            let properties = properties.map(|(name, part)| (name.clone(), self.schema(part, depth + 1)));
            out.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        for (key, is_kept) in [
            ("required", members.get("required").is_some_and(Value::is_array)),
            (
                "format",
                members.get("format").and_then(Value::as_str).is_some_and(|text| FORMATS.contains(&text)),
            ),
        ] {
            if let Some(value) = members.get(key).filter(|_| is_kept) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        // Elements of a tuple are of different schemas.
        if let Some(items) =
            members.get("items").filter(|items| items.is_object() && !members.contains_key("prefixItems"))
        {
            out.insert("items".to_owned(), self.schema(items, depth + 1));
        }
        let values = match (members.get("const"), members.get("enum")) {
            (Some(value), _) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values,
            _ => &[],
        };
        let parts = ["anyOf", "oneOf"].iter().find_map(|keyword| members.get(keyword)?.as_array());
        let kinds: Vec<&str> = match members.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        one_of_values(values, &kinds, &mut out);
        one_of_kinds(kinds, parts.is_some(), &mut out);
        if let Some(parts) = parts {
            let is_null = |part: &&Value| part.get("type").is_some_and(|kind| kind == "null");
            if parts.iter().any(|part| is_null(&part)) {
                out.insert("nullable".to_owned(), true.into());
            }
            let mut others: Vec<Value> =
                parts.iter().filter(|part| !is_null(part)).map(|part| self.schema(part, depth + 1)).collect();
            match others.pop() {
                Some(Value::Object(one)) if others.is_empty() && parts.len() > 1 => merge(&mut out, one),
                Some(last) => {
                    others.push(last);
                    out.insert("anyOf".to_owned(), Value::Array(others));
                }
                None => {}
            }
        }
        out
    }
}

/// The values that there are, as `enum` if they are texts.
fn one_of_values(values: &[Value], kinds: &[&str], out: &mut Map) {
    let texts: Vec<&str> = values.iter().filter_map(Value::as_str).filter(|text| !text.is_empty()).collect();
    let nulls = values.iter().filter(|value| value.is_null()).count();
    if nulls > 0 {
        out.insert("nullable".to_owned(), true.into());
    }
    if !texts.is_empty()
        && texts.len() + nulls == values.len()
        && kinds.iter().all(|kind| ["string", "null"].contains(kind))
    {
        out.insert("type".to_owned(), "string".into());
        out.insert("enum".to_owned(), texts.into_iter().map(Value::from).collect());
    } else if values.len() > nulls {
        note_values(out, values);
    }
}

/// The type, or alternatives of one each.
fn one_of_kinds(mut kinds: Vec<&str>, has_alternatives: bool, out: &mut Map) {
    let count = kinds.len();
    kinds.retain(|kind| *kind != "null");
    if kinds.len() < count {
        out.insert("nullable".to_owned(), true.into());
    }
    if kinds.contains(&"number") {
        kinds.retain(|kind| *kind != "integer");
    }
    match kinds[..] {
        [] => {}
        [kind] => drop(out.insert("type".to_owned(), kind.into())),
        _ if has_alternatives => {}
        _ => {
            let mut alternatives = Vec::new();
            let whole = out.clone();
            OF_TYPES.iter().flat_map(|(_, keywords)| *keywords).for_each(|keyword| drop(out.remove(keyword)));
            for kind in kinds {
                let mut alternative = whole.clone();
                let keywords = OF_TYPES.iter().find(|(names, _)| names.contains(&kind));
                let keywords = keywords.map_or(&[][..], |(_, keywords)| keywords);
                alternative.retain(|key, _| keywords.contains(&key.as_str()));
                alternative.insert("type".to_owned(), kind.into());
                finish(&mut alternative);
                alternatives.push(Value::Object(alternative));
            }
            out.insert("anyOf".to_owned(), Value::Array(alternatives));
        }
    }
}

/// Adds demands to others.
fn merge(out: &mut Map, more: Map) {
    for (key, value) in more {
        match (out.get_mut(&key), value) {
            (None, value) => drop(out.insert(key, value)),
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                for (name, schema) in more {
                    if !known.contains_key(&name) {
                        known.insert(name, schema);
                    }
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                more.into_iter().for_each(|name| {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                });
            }
            _ => {}
        }
    }
}

/// Makes a schema one that is taken.
fn finish(out: &mut Map) {
    if let Some(Value::Array(names)) = out.remove("required") {
        let properties = out.get("properties").and_then(Value::as_object);
        let is_listed = |name: &Value| {
            name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)))
        };
        let names: Vec<Value> = names.into_iter().filter(is_listed).collect();
        if !names.is_empty() {
            out.insert("required".to_owned(), Value::Array(names));
        }
    }
    let is_of = |kind: &str| out.get("type").is_some_and(|known| known == kind);
    let (is_text, is_list) = (is_of("string"), is_of("array"));
    if !is_text {
        out.remove("enum");
    }
    if is_list && !out.contains_key("items") {
        out.insert("items".to_owned(), json!({}));
    }
}
