//! Schemas without alternatives at their top. What the alternatives say of properties stands among the schema's own.

use ptc_mcp::json::{Map, Value, json};

use super::loosen::{is_astray, leave_out, loosen};
use super::references::References;

/// Keywords that are refused at the top of a schema, and references, which may lead to them.
const TOP: [&str; 6] = ["oneOf", "anyOf", "allOf", "not", "enum", "$ref"];
/// Keywords that mean something else beside others.
const DEPENDENT: [&str; 15] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "if",
    "then",
    "else",
    "$ref",
];
/// How deep alternatives are followed.
const MOST_DEPTH: usize = 12;
/// How many of them.
const MOST_PARTS: usize = 256;
/// Longest name of a property that the interface of Claude takes.
const LONGEST_NAME: usize = 64;

/// The schema with a plain top. With `names`, without properties of other names than the interface of Claude takes there.
pub(super) fn plain_top(whole: &Value, names: bool) -> Value {
    let mut plain = flattened(whole);
    if let Some(members) = plain.as_object_mut()
        && names
        && leave_out(members, is_name)
    {
        members.remove("unevaluatedProperties");
    }
    if plain == *whole {
        return plain;
    }
    let now = plain.clone();
    loosen(&mut plain, &mut |part| {
        part.get("$ref").is_some_and(|reference| reference == "#" || is_astray(reference, &now))
    });
    plain
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// The schema with the properties of its alternatives. Its references lead to where they led in the original.
pub(super) fn flattened(whole: &Value) -> Value {
    let Some(members) = whole.as_object().filter(|members| TOP.iter().any(|key| members.contains_key(key)))
    else {
        return whole.clone();
    };
    let own = Shape::own(members);
    let mut shapes = Shapes { references: References::of(whole), left: MOST_PARTS };
    let mut shape = shapes.of(whole, 0);
    if own.is_closed {
        shape.properties.retain(|name, _| own.properties.contains_key(name));
    }
    let mut plain: Map = members.clone();
    plain.retain(|key, _| !TOP.contains(&key.as_str()) && key != "unevaluatedProperties");
    if !shape.properties.is_empty() {
        plain.insert("properties".to_owned(), Value::Object(shape.properties));
    }
    if !shape.required.is_empty() {
        plain.insert("required".to_owned(), shape.required.into_iter().map(Value::from).collect());
    }
    Value::Object(plain)
}

/// What a schema says of the properties of an object.
#[derive(Default)]
struct Shape {
    properties: Map,
    required: Vec<String>,
    /// Whether there can be no others.
    is_closed: bool,
}

impl Shape {
    fn own(members: &Map) -> Shape {
        let names = members.get("required").and_then(Value::as_array).into_iter().flatten();
        let has_patterns = members
            .get("patternProperties")
            .and_then(Value::as_object)
            .is_some_and(|named| !named.is_empty());
        Shape {
            properties: members.get("properties").and_then(Value::as_object).cloned().unwrap_or_default(),
            required: names.filter_map(Value::as_str).map(str::to_owned).collect(),
            is_closed: members.get("additionalProperties") == Some(&Value::Bool(false)) && !has_patterns,
        }
    }

    /// Both hold.
    fn and(mut self, other: Shape) -> Shape {
        for (name, schema) in other.properties {
            let both = match self.properties.remove(&name) {
                Some(known) => both(known, schema),
                None => schema,
            };
            self.properties.insert(name, both);
        }
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.is_closed |= other.is_closed;
        self
    }

    /// One of them holds.
    fn one_of(shapes: &[Shape]) -> Shape {
        let Some((first, others)) = shapes.split_first() else { return Shape::default() };
        let mut properties = Map::new();
        for name in shapes.iter().flat_map(|shape| shape.properties.keys()) {
            if properties.contains_key(name) {
                continue;
            }
            let mut known: Vec<&Value> = Vec::new();
            for schema in shapes.iter().filter_map(|shape| shape.properties.get(name)) {
                if !known.contains(&schema) {
                    known.push(schema);
                }
            }
            // An alternative that does not name it, and takes others, takes any value.
            let takes_any =
                shapes.iter().any(|shape| !shape.is_closed && !shape.properties.contains_key(name));
            properties.insert(name.clone(), one_of(&known, takes_any));
        }
        let is_everywhere = |name: &&String| others.iter().all(|shape| shape.required.contains(name));
        Shape {
            properties,
            required: first.required.iter().filter(is_everywhere).cloned().collect(),
            is_closed: shapes.iter().all(|shape| shape.is_closed),
        }
    }
}

struct Shapes<'w> {
    references: References<'w>,
    /// How many schemas more are looked at.
    left: usize,
}

impl<'w> Shapes<'w> {
    /// Of what is too deep, or too much, nothing is said.
    fn of(&mut self, schema: &'w Value, depth: usize) -> Shape {
        let Some(members) = schema.as_object() else { return Shape::default() };
        if depth > MOST_DEPTH || self.left == 0 {
            return Shape::default();
        }
        self.left -= 1;
        let mut shape = Shape::own(members);
        if let Some(reference) = members.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.references.enter(reference)
        {
            shape = shape.and(self.of(target, depth + 1));
            self.references.leave();
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            shape = shape.and(self.of(part, depth + 1));
        }
        for keyword in ["anyOf", "oneOf"] {
            let parts = members.get(keyword).and_then(Value::as_array).into_iter().flatten();
            let shapes: Vec<Shape> = parts.map(|part| self.of(part, depth + 1)).collect();
            shape = shape.and(Shape::one_of(&shapes));
        }
        shape
    }
}

/// What fits both.
fn both(a: Value, b: Value) -> Value {
    match (a, b) {
        (a, b) if a == b || is_any(&b) => a,
        (a, b) if is_any(&a) => b,
        (Value::Object(mut a), Value::Object(b))
            if b.iter().all(|(key, value)| a.get(key).is_none_or(|known| known == value))
                && !a.keys().chain(b.keys()).any(|key| DEPENDENT.contains(&key.as_str())) =>
        {
            a.extend(b);
            Value::Object(a)
        }
        (a, b) => json!({"allOf": [a, b]}),
    }
}

/// What fits one of these, or is any value.
fn one_of(schemas: &[&Value], takes_any: bool) -> Value {
    match schemas {
        [one] if !takes_any => (*one).clone(),
        _ if schemas.iter().any(|schema| is_any(schema)) => json!({}),
        _ if !takes_any && let Some(values) = values(schemas) => values,
        _ => {
            let any = json!({});
            let alternatives: Vec<&Value> =
                schemas.iter().copied().chain(takes_any.then_some(&any)).collect();
            let mut all = json!({"anyOf": alternatives});
            if let ([one], Some(all)) = (schemas, all.as_object_mut())
                && let Some(description) = one.get("description")
            {
                all.insert("description".to_owned(), description.clone());
            }
            all
        }
    }
}

/// Schemas of single values as one list of values, if they are all of one type.
fn values(schemas: &[&Value]) -> Option<Value> {
    let mut all: Vec<&Value> = Vec::new();
    for schema in schemas {
        let members = schema.as_object()?;
        let listed = match (members.get("const"), members.get("enum")) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values.as_slice(),
            _ => return None,
        };
        let kind = members.get("type");
        if members.len() > 1 + usize::from(kind.is_some()) || kind != schemas.first()?.get("type") {
            return None;
        }
        for value in listed {
            if !all.contains(&value) {
                all.push(value);
            }
        }
    }
    let mut values = json!({"enum": all});
    if let (Some(members), Some(kind)) = (values.as_object_mut(), schemas.first()?.get("type")) {
        members.insert("type".to_owned(), kind.clone());
    }
    Some(values)
}

fn is_any(schema: &Value) -> bool {
    *schema == true || schema.as_object().is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discriminated_union_tells_of_all_its_variants() {
        let schema = json!({"type": "object", "properties": {"kind": {"type": "string"}, "id": {"type": "integer"}}, "required": ["id"],
            "oneOf": [{"$ref": "#/$defs/file"}, {"properties": {"kind": {"const": "link"}, "url": {"type": "string", "description": "Where."},
                "size": {"type": "null"}}, "required": ["kind", "url"], "additionalProperties": false}],
            "$defs": {"file": {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}, "size": {"type": "integer"}},
                "required": ["kind", "path"]}}});
        let expected = json!({"type": "object", "required": ["id", "kind"], "$defs": schema["$defs"], "properties": {
            "id": {"type": "integer"}, "kind": {"type": "string", "enum": ["file", "link"]},
            "path": {"type": "string"}, "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            // A file may have anything there.
            "url": {"description": "Where.", "anyOf": [{"type": "string", "description": "Where."}, {}]}}});
        assert_eq!(plain_top(&schema, false), expected);
    }

    #[test]
    fn all_of_is_merged_and_what_the_schema_forbids_is_not_listed() {
        let schema = json!({"allOf": [{"properties": {"a": {"minimum": 1}}, "required": ["a"]}, {"properties": {"a": {"maximum": 5}, "b": {}}}],
            "properties": {"a": {"type": "integer"}}, "additionalProperties": false, "unevaluatedProperties": false});
        let expected = json!({"properties": {"a": {"type": "integer", "minimum": 1, "maximum": 5}}, "required": ["a"],
            "additionalProperties": false});
        assert_eq!(plain_top(&schema, false), expected);
    }

    #[test]
    fn references_into_what_is_gone_forbid_nothing() {
        let schema = json!({"oneOf": [{"properties": {"a": {"type": "string"}}}], "properties": {
            "b": {"$ref": "#/oneOf/0/properties/a"}, "c": {"not": {"$ref": "#"}}, "d": {"$ref": "#/properties/b"}}});
        let expected = json!({"properties": {"a": {"type": "string"}, "b": {}, "c": {}, "d": {"$ref": "#/properties/b"}}});
        assert_eq!(plain_top(&schema, false), expected);
    }

    #[test]
    fn names_that_the_interface_of_claude_refuses_are_told_in_the_description() {
        let schema = json!({"type": "object", "properties": {"$top": {"type": "integer", "description": "How many."}, "filter.id": {"properties": {"$x": {}}}},
            "required": ["$top", "filter.id", "@other"], "additionalProperties": false, "patternProperties": {"^x-": {}}});
        let expected = json!({"type": "object", "properties": {"filter.id": {"properties": {"$x": {}}}}, "required": ["filter.id"],
            "patternProperties": {"^x-": {}},
            "description": "More properties, by their names in JSON: \"$top\" (integer, required): How many; \"@other\" (required)."});
        assert_eq!(plain_top(&schema, true), expected);
        assert_eq!(plain_top(&schema, false), schema);
    }
}
