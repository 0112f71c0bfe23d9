//! Short text forms of schemas: argument types (upstreams.md 12.4) and result types (12.5).

use ahash::{AHashMap, AHashSet};
use ptc_mcp::json::{Map, Value};

use super::payload::payload_schema;
use ptc_base::text::literal::{json_beginning, literal, literals};
use ptc_base::text::{argument_key, clip, cut};
use ptc_schema::json_schema::{properties, required, resolve};

/// Longest type of one argument, in bytes; longer ones end in three dots.
const MAX_ARGUMENT_BYTES: usize = 400;
/// Longest types of all arguments together, in bytes.
const MAX_ARGUMENTS_BYTES: usize = 64 * 1024;
/// Types that one `type` may list.
const MAX_TYPES: usize = 16;
/// Nesting of objects and arrays that a result type shows.
const MAX_RESULT_DEPTH: usize = 4;
/// Longest result type, in characters.
const MAX_RESULT_CHARS: usize = 400;
/// The most schemas visited, and keys listed, for one result type, so that a wide hostile schema costs little.
const MAX_RESULT_NODES: usize = 500;

/// The type of one argument: `string`, `enum<string>`, `const<42>` … `root` is the schema that holds it, for
/// references.
pub(super) fn argument_type(root: &Value, schema: &Value) -> String {
    let Some(Value::Object(map)) = resolve(root, schema) else { return "any".to_owned() };
    // By presence of the key: false, null, 0 and "" are constants like any other.
    if let Some(value) = map.get("const") {
        return format!("const<{}>", json_beginning(value, MAX_ARGUMENT_BYTES));
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        let first = primitive(&values[0]);
        let uniform = values.iter().all(|value| primitive(value) == first);
        return if uniform { format!("enum<{first}>") } else { "enum".to_owned() };
    }
    match map.get("type") {
        Some(Value::String(word)) => type_word(word).to_owned(),
        Some(Value::Array(words)) if words.iter().any(Value::is_string) => words
            .iter()
            .take(MAX_TYPES)
            .filter_map(Value::as_str)
            .map(type_word)
            .collect::<Vec<_>>()
            .join("|"),
        _ if map.contains_key("properties") => "object".to_owned(),
        _ if map.contains_key("items") => "array".to_owned(),
        _ => "any".to_owned(),
    }
}

/// The name of a type, which is short unless the schema is malicious.
fn type_word(word: &str) -> &str {
    clip(word, 40)
}

fn primitive(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_integer(number: &ptc_mcp::json::Number) -> bool {
    !number.to_string().contains(['.', 'e', 'E'])
}

/// The arguments that a call must name: those that `required` lists, but for those with a `default`, which the upstream
/// fills in. In the order of `required`.
pub(super) fn needed_arguments(schema: &Value) -> Vec<&str> {
    let properties = properties(schema);
    let has_default = |name: &str| {
        let property = properties.and_then(|properties| properties.get(name));
        property.and_then(|property| resolve(schema, property)).is_some_and(|p| p.get("default").is_some())
    };
    required(schema).into_iter().filter(|name| !has_default(name)).collect()
}

/// The arguments of a tool in the order of every rendering: [`needed_arguments`], then the rest by name. The flag says
/// whether it is needed.
pub(super) fn ordered_arguments(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let Some(properties) = properties(schema) else { return Vec::new() };
    let required = needed_arguments(schema);
    let mut ordered: Vec<(&str, &Value, bool)> = required
        .iter()
        .filter_map(|name| properties.get_key_value(name))
        .map(|(n, s)| (n.as_str(), s, true))
        .collect();
    let required: AHashSet<&str> = required.into_iter().collect();
    let mut optional: Vec<(&str, &Value, bool)> = properties
        .iter()
        .filter(|(name, _)| !required.contains(name.as_str()))
        .map(|(name, schema)| (name.as_str(), schema, false))
        .collect();
    optional.sort_by_key(|(name, ..)| *name);
    ordered.append(&mut optional);
    ordered
}

/// All arguments of a tool: `{:owner string :state enum<string> :limit integer?}`.
pub(super) fn arguments_type(input_schema: &Value) -> String {
    let mut shown = String::new();
    for (name, schema, required) in ordered_arguments(input_schema) {
        let space = if shown.is_empty() { "" } else { " " };
        if shown.len() > MAX_ARGUMENTS_BYTES {
            shown.push_str(" ...");
            break;
        }
        let optional = if required { "" } else { "?" };
        let kind = argument_type(input_schema, schema);
        shown.push_str(&format!("{space}{} {kind}{optional}", argument_key(name)));
    }
    format!("{{{shown}}}")
}

/// The type of `:value`, at most 400 characters: `[{:number int :title string?}]`, `any` if nothing is known. If a server wraps
/// its payload, the type of the inner value (ruling 50).
pub(super) fn result_type(output_schema: Option<&Value>) -> String {
    let Some(root) = output_schema else { return "any".to_owned() };
    let mut nodes = MAX_RESULT_NODES;
    let payload = payload_schema(output_schema).usual().unwrap_or(root);
    cut(ResultTypes { root, nodes: &mut nodes }.of(payload, 1), MAX_RESULT_CHARS)
}

/// The type of a value that nobody wraps, at most 400 characters.
pub(super) fn value_type(schema: Option<&Value>) -> String {
    let Some(root) = schema else { return "any".to_owned() };
    let mut nodes = MAX_RESULT_NODES;
    cut(ResultTypes { root, nodes: &mut nodes }.of(root, 1), MAX_RESULT_CHARS)
}

/// The type of an argument that holds objects, since the line of types says only `array` or `object` of it.
pub(super) fn structure(root: &Value, schema: &Value) -> Option<String> {
    let mut nodes = MAX_RESULT_NODES;
    let text = ResultTypes { root, nodes: &mut nodes }.of(schema, 1);
    (text.contains('{') && text.starts_with(['[', '{'])).then(|| cut(text, MAX_RESULT_CHARS))
}

struct ResultTypes<'a> {
    root: &'a Value,
    nodes: &'a mut usize,
}

impl<'a> ResultTypes<'a> {
    fn of(&mut self, schema: &'a Value, depth: usize) -> String {
        let Some(Value::Object(map)) = resolve(self.root, schema) else { return "any".to_owned() };
        if *self.nodes == 0 {
            return "any".to_owned();
        }
        *self.nodes -= 1;
        if let Some(value) = map.get("const") {
            return literal(value, MAX_RESULT_CHARS * 4);
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return match &values[..] {
                [] => "enum".to_owned(),
                values => literals(values, "|", MAX_RESULT_CHARS * 4),
            };
        }
        match map.get("type") {
            Some(Value::String(word)) => self.of_type(word, map, depth),
            Some(Value::Array(words)) => {
                let types: Vec<String> = words
                    .iter()
                    .take(MAX_TYPES)
                    .filter_map(Value::as_str)
                    .filter(|word| *word != "null")
                    .map(|word| self.of_type(word, map, depth))
                    .collect();
                if types.is_empty() { "nil".to_owned() } else { types.join("|") }
            }
            _ if map.contains_key("properties") => self.of_type("object", map, depth),
            _ if map.contains_key("items") => self.of_type("array", map, depth),
            _ => "any".to_owned(),
        }
    }

    fn of_type(&mut self, word: &str, map: &'a Map, depth: usize) -> String {
        match word {
            "string" => "string".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "boolean" => "bool".to_owned(),
            "null" => "nil".to_owned(),
            "array" => match map.get("items") {
                Some(items) if depth <= MAX_RESULT_DEPTH => format!("[{}]", self.of(items, depth + 1)),
                _ => "[any]".to_owned(),
            },
            "object" => self.of_object(map, depth),
            other => type_word(other).to_owned(),
        }
    }

    fn of_object(&mut self, map: &'a Map, depth: usize) -> String {
        let Some(Value::Object(properties)) = map.get("properties").filter(|_| depth <= MAX_RESULT_DEPTH)
        else {
            return "map".to_owned();
        };
        if properties.is_empty() {
            return "map".to_owned();
        }
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut rank: AHashMap<&str, usize> = AHashMap::new();
        for name in required.filter_map(Value::as_str) {
            let next = rank.len();
            rank.entry(name).or_insert(next);
        }
        let of = |name: &str| rank.get(name).copied().unwrap_or(usize::MAX);
        let mut names: Vec<&'a str> = properties.keys().map(String::as_str).collect();
        names.sort_by(|a, b| of(a).cmp(&of(b)).then_with(|| a.cmp(b)));
        // A long list costs as much as many schemas, since each look at it does.
        *self.nodes = self.nodes.saturating_sub(names.len() + rank.len());
        let mut shown = String::new();
        for name in names {
            let space = if shown.is_empty() { "" } else { " " };
            if shown.len() > MAX_RESULT_CHARS * 4 {
                break;
            }
            let optional = if rank.contains_key(name) { "" } else { "?" };
            let kind = self.of(&properties[name], depth + 1);
            shown.push_str(&format!("{space}{} {kind}{optional}", argument_key(name)));
        }
        format!("{{{shown}}}")
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn argument(schema: Value) -> String {
        argument_type(&schema, &schema)
    }

    #[test]
    fn argument_types() {
        for (schema, expected) in [
            (json!({"const": "fixed"}), r#"const<"fixed">"#),
            (json!({"const": 42, "type": "integer"}), "const<42>"),
            (json!({"const": true}), "const<true>"),
            (json!({"const": false}), "const<false>"),
            (json!({"const": null}), "const<null>"),
            (json!({"const": 0}), "const<0>"),
            (json!({"const": ""}), "const<\"\">"),
            (json!({"type": "string", "enum": ["open", "closed"]}), "enum<string>"),
            (json!({"enum": [1, 2]}), "enum<integer>"),
            (json!({"enum": [1, 2.5]}), "enum"),
            (json!({"enum": [1.5, 2.5]}), "enum<number>"),
            (json!({"enum": [true, false]}), "enum<boolean>"),
            (json!({"enum": ["a", null]}), "enum"),
            (json!({"enum": [null]}), "enum<null>"),
            (json!({"enum": [], "type": "string"}), "string"),
            (json!({"type": "integer"}), "integer"),
            (json!({"type": "null"}), "null"),
            (json!({"type": "date"}), "date"),
            (json!({"type": ["string", "null"]}), "string|null"),
            (json!({"properties": {}}), "object"),
            (json!({"items": {}}), "array"),
            (json!({}), "any"),
            (json!(true), "any"),
        ] {
            assert_eq!(argument(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn argument_types_follow_references() {
        let root = json!({"$defs": {"S": {"enum": ["a"]}}, "properties": {"s": {"$ref": "#/$defs/S"}}});
        assert_eq!(arguments_type(&root), "{:s enum<string>?}");
    }

    #[test]
    fn arguments_are_ordered_by_required_then_by_name() {
        let schema = json!({
            "properties": {"zeta": {"type": "string"}, "limit": {"type": "integer"}, "owner": {"type": "string"},
                "max_items": {"type": "integer"}, "state": {"type": "string", "enum": ["open"]}},
            "required": ["owner", "state", "ghost", "owner"]
        });
        assert_eq!(
            arguments_type(&schema),
            "{:owner string :state enum<string> :limit integer? :max_items integer? :zeta string?}"
        );
        let schema = json!({"required": ["page", "owner", "sort"], "$defs": {"sorted": {"default": "asc"}},
            "properties": {"sort": {"$ref": "#/$defs/sorted"}, "owner": {}, "page": {"default": 1}, "all": {}}});
        assert_eq!(arguments_type(&schema), "{:owner any :all any? :page any? :sort any?}");
        assert_eq!(needed_arguments(&schema), ["owner"]);
        assert_eq!(arguments_type(&json!({"type": "object"})), "{}");
        assert_eq!(arguments_type(&json!(null)), "{}");
    }

    #[test]
    fn result_types() {
        for (schema, expected) in [
            (json!({"const": null}), "nil"),
            (json!({"enum": ["a", 1, null]}), "\"a\"|1|nil"),
            (json!({"enum": []}), "enum"),
            (json!({"type": "number"}), "float"),
            (json!({"type": ["string", "null"]}), "string"),
            (json!({"type": ["null"]}), "nil"),
            (json!({"type": ["string", "integer"]}), "string|int"),
            (json!({"type": "array"}), "[any]"),
            (json!({"type": "array", "items": {"type": "string"}}), "[string]"),
            (json!({"type": "object"}), "map"),
            (json!({"properties": {"a_b": {"type": "boolean"}}}), "{:a_b bool?}"),
            (json!({"items": {}}), "[any]"),
            (json!({"type": "null"}), "nil"),
            (json!({}), "any"),
            (json!(5), "any"),
        ] {
            assert_eq!(result_type(Some(&schema)), expected, "{schema}");
        }
        assert_eq!(result_type(None), "any");
        let wrapped = json!({"properties": {"result": {"$ref": "#/$defs/L"}}, "$defs": {"L": {"items": {"type": "string"}}}});
        assert_eq!(result_type(Some(&wrapped)), "[string]");
        assert_eq!(result_type(Some(&json!({"properties": {"content": {"type": "string"}}}))), "string");
        let schema = json!({"type": "array", "items": {"type": "object", "required": ["number"],
            "properties": {"title": {"type": "string"}, "number": {"type": "integer"}}}});
        assert_eq!(result_type(Some(&schema)), "[{:number int :title string?}]");
    }

    #[test]
    fn many_arguments_of_one_long_type_are_bounded() {
        let long = "x".repeat(100_000);
        let references: Map =
            (0..20_000).map(|i| (format!("p{i}"), json!({"$ref": "#/$defs/long"}))).collect();
        for kind in [json!({"const": long}), json!({"type": long}), json!({"type": vec![&long; 50]})] {
            let schema = json!({"properties": references, "required": references.keys().collect::<Vec<_>>(),
                "$defs": {"long": kind}});
            let shown = arguments_type(&schema);
            assert!(shown.len() < MAX_ARGUMENTS_BYTES + 1_000 && shown.ends_with(" ...}"), "{}", shown.len());
            assert_eq!(result_type(Some(&schema)).chars().count(), MAX_RESULT_CHARS);
        }
        let object = json!({"properties": references, "$defs": {"long": {"$ref": "#"}}});
        assert_eq!(result_type(Some(&object)).chars().count(), MAX_RESULT_CHARS);
    }

    #[test]
    fn result_types_are_bounded() {
        let mut deep = json!({"type": "string"});
        for _ in 0..6 {
            deep = json!({"properties": {"k": deep}});
        }
        assert_eq!(result_type(Some(&deep)), "{:k {:k {:k {:k map?}?}?}?}");
        let cyclic = json!({"type": "array", "items": {"$ref": "#"}});
        assert_eq!(result_type(Some(&cyclic)), "[[[[[any]]]]]");
        let wide = json!({"properties": (0..200).map(|i| (format!("property{i}"), json!({"type": "string"}))).collect::<Map>()});
        let shown = result_type(Some(&wide));
        assert_eq!(shown.chars().count(), 400);
        assert!(shown.ends_with("..."));
    }
}
