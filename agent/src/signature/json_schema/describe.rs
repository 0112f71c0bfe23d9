//! Schemas for readers: as text in the manner of signatures, as an example, and as providers' constraints take them.

use super::validate::list;
use super::{Schema, Shape, members};
use ptc_base::json::{Map, Value as Json, json};
use std::collections::HashSet;
use std::fmt;

/// Bytes of text after which types are no longer spelled out.
const MAX_TEXT: usize = 4000;
/// Levels of an example.
const MAX_EXAMPLE: usize = 6;
/// Keywords that bound a value, as the text shows them.
const BOUNDS: [&str; 12] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_of(&self.0.root))
    }
}

impl Schema {
    /// A schema of the document in the manner of signatures: `{name :string, age :int? (minimum 0)}`.
    pub(super) fn text_of<'s>(&'s self, schema: &'s Json) -> String {
        let mut writer = Writer::new(self);
        writer.value(schema);
        writer.out
    }

    /// Several schemas of which one is to be satisfied.
    pub(super) fn text_of_any<'s>(&'s self, schemas: &'s [Json]) -> String {
        let mut writer = Writer::new(self);
        writer.choices(&schemas.iter().collect::<Vec<_>>());
        writer.out
    }

    /// The fields of an object as the parameters of a call: `name :string, age :int?`.
    pub(crate) fn parameters(&self) -> String {
        let text = self.to_string();
        match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(fields) if self.shape() == Shape::Object => fields.to_owned(),
            _ => format!("arguments {text}"),
        }
    }

    /// A value of the type; `None` if none is easily found.
    pub(crate) fn example(&self) -> Option<Json> {
        let found = self.example_of(&self.0.root, 0)?;
        self.check(&found).is_ok().then_some(found)
    }

    fn example_of(&self, schema: &Json, depth: usize) -> Option<Json> {
        let Json::Object(map) = schema else { return Some(json!("anything")) };
        if depth > MAX_EXAMPLE * 3 {
            return None;
        }
        if let Some(value) = map.get("const").or_else(|| members(map, "enum").first()) {
            return Some(value.clone());
        }
        if let Some(value) = members(map, "examples").first().or_else(|| map.get("example")) {
            return Some(value.clone());
        }
        let mut found = match map
            .get("type")
            .map(|ty| members(map, "type").first().unwrap_or(ty))
            .and_then(Json::as_str)
        {
            _ if map.contains_key("properties") => self.example_fields(map, depth)?,
            Some("object") => match map.get("additionalProperties") {
                Some(rest @ Json::Object(_)) => json!({"key": self.example_of(rest, depth + 1)?}),
                _ => json!({}),
            },
            Some("array") => {
                let first: Option<Vec<Json>> =
                    members(map, "prefixItems").iter().map(|item| self.example_of(item, depth + 1)).collect();
                let mut items = first?;
                if items.is_empty()
                    && let Some(item) = map.get("items").and_then(|item| self.example_of(item, depth + 1))
                {
                    items.push(item);
                }
                Json::Array(items)
            }
            Some("string") => match map.get("format").and_then(Json::as_str) {
                Some("date-time") => json!("2026-01-31T12:00:00Z"),
                Some("date") => json!("2026-01-31"),
                _ => json!("text"),
            },
            Some("integer") => {
                map.get("minimum").filter(|least| least.as_f64() > Some(1.0)).cloned().unwrap_or(json!(1))
            }
            Some("number") => {
                map.get("minimum").filter(|least| least.as_f64() > Some(1.5)).cloned().unwrap_or(json!(1.5))
            }
            Some("boolean") => json!(true),
            _ => Json::Null,
        };
        let within = self.reference(map).into_iter().chain(members(map, "allOf"));
        let choices = [members(map, "anyOf"), members(map, "oneOf")];
        let choices =
            choices.into_iter().filter_map(|any| any.iter().find_map(|one| self.example_of(one, depth + 1)));
        for more in within
            .map(|schema| self.example_of(schema, depth + 1))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .chain(choices)
        {
            match (&mut found, more) {
                (Json::Object(fields), Json::Object(more)) => fields.extend(more),
                (found @ Json::Null, more) => *found = more,
                _ => {}
            }
        }
        Some(found)
    }

    fn example_fields(&self, map: &Map, depth: usize) -> Option<Json> {
        let required = |name: &str| members(map, "required").iter().any(|one| one == name);
        let mut fields = Map::new();
        for (name, schema) in map.get("properties")?.as_object()? {
            if required(name) || depth < MAX_EXAMPLE {
                match self.example_of(schema, depth + 1) {
                    Some(value) => {
                        fields.insert(name.clone(), value);
                    }
                    None if required(name) => return None,
                    None => {}
                }
            }
        }
        Some(Json::Object(fields))
    }

    /// The document as a provider's constraint: its root is an object. A list stands under `items`, one of several types
    /// under `answer`. `None` if it cannot be put there.
    pub(crate) fn response(&self) -> Option<Json> {
        let name = match self.shape() {
            Shape::Object => return Some(self.0.root.clone()),
            Shape::List => "items",
            Shape::Union => "answer",
            Shape::Text | Shape::Scalar => return None,
        };
        let mut root = self.0.root.clone();
        let fields = root.as_object_mut()?;
        let mut definitions = fields.shift_remove("$defs").unwrap_or_else(|| json!({}));
        fields.shift_remove("$schema");
        let mut elsewhere = false;
        let mut within = false;
        let mut redirect = |reference: &mut String| {
            if reference == "#" {
                *reference = format!("#/$defs/{name}");
                within = true;
            }
            elsewhere |= !reference.starts_with("#/$defs/");
        };
        references(&mut root, &mut redirect);
        references(&mut definitions, &mut redirect);
        if elsewhere || (within && definitions.get(name).is_some()) {
            return None;
        }
        let node = if within {
            definitions[name] = root;
            json!({"$ref": format!("#/$defs/{name}")})
        } else {
            root
        };
        let mut whole = json!({"type": "object", "properties": {name: node}, "required": [name],
            "additionalProperties": false});
        if definitions.as_object().is_some_and(|all| !all.is_empty()) {
            whole["$defs"] = definitions;
        }
        Some(whole)
    }
}

/// Goes through all references of a document.
fn references(schema: &mut Json, redirect: &mut impl FnMut(&mut String)) {
    match schema {
        Json::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Json::String(reference) if key == "$ref" => redirect(reference),
                    other => references(other, redirect),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| references(item, redirect)),
        _ => {}
    }
}

struct Writer<'s> {
    schema: &'s Schema,
    out: String,
    /// The references that are being spelled out.
    open: Vec<&'s str>,
    /// Those of them that something within refers to again.
    named: HashSet<&'s str>,
}

impl<'s> Writer<'s> {
    fn new(schema: &'s Schema) -> Writer<'s> {
        Writer { schema, out: String::new(), open: Vec::new(), named: HashSet::new() }
    }

    fn value(&mut self, schema: &'s Json) {
        let map = match schema {
            Json::Bool(false) => return self.out.push_str("nothing"),
            Json::Object(map) => map,
            _ => return self.out.push_str(":any"),
        };
        if self.out.len() > MAX_TEXT {
            return self.out.push_str(":any");
        }
        let before = self.out.len();
        self.plain(map);
        let bounds: Vec<String> = BOUNDS
            .iter()
            .filter_map(|key| {
                map.get(key).map(|bound| {
                    format!("{key} {}", bound.as_str().map_or_else(|| bound.to_string(), str::to_owned))
                })
            })
            .collect();
        if !bounds.is_empty() && self.out.len() > before {
            self.out.push_str(&format!(" ({})", bounds.join(", ")));
        }
    }

    fn plain(&mut self, map: &'s Map) {
        if let Some(value) = map.get("const") {
            return self.out.push_str(&value.to_string());
        }
        if let Some(values) = map.get("enum") {
            return self.out.push_str(&format!("one of {}", list(values)));
        }
        let choices: Vec<&Json> = members(map, "anyOf").iter().chain(members(map, "oneOf")).collect();
        if let Some(reference) = map.get("$ref").and_then(Json::as_str) {
            self.reference(reference);
            if map.contains_key("properties") {
                self.out.push_str(" and ");
                self.fields(map);
            }
            return;
        }
        if map.contains_key("properties") {
            self.fields(map);
            if !choices.is_empty() {
                self.out.push_str(" and ");
                self.choices(&choices);
            }
            return;
        }
        if !choices.is_empty() {
            return self.choices(&choices);
        }
        if let [one] = members(map, "allOf") {
            return self.value(one);
        }
        let Some(ty) = map.get("type") else {
            let all = members(map, "allOf");
            if all.is_empty() {
                return self.out.push_str(":any");
            }
            return self.joined(&all.iter().collect::<Vec<_>>(), " and ");
        };
        let words: Vec<&str> = match ty {
            Json::Array(words) => words.iter().filter_map(Json::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let others: Vec<&str> = words.iter().copied().filter(|word| *word != "null").collect();
        for (at, word) in others.iter().enumerate() {
            if at > 0 {
                self.out.push_str(" | ");
            }
            self.word(word, map);
        }
        match (others.len(), words.len()) {
            (0, _) => self.out.push_str(":nil"),
            (others, words) if others < words => self.out.push('?'),
            _ => {}
        }
    }

    fn word(&mut self, word: &str, map: &'s Map) {
        match word {
            "object" => match map.get("additionalProperties") {
                Some(rest @ Json::Object(_)) => {
                    self.out.push_str("{* ");
                    self.value(rest);
                    self.out.push('}');
                }
                Some(Json::Bool(false)) if !map.contains_key("patternProperties") => self.out.push_str("{}"),
                _ => self.out.push_str(":map"),
            },
            "array" => {
                self.out.push('[');
                let first: Vec<&Json> = members(map, "prefixItems").iter().collect();
                self.joined(&first, " ");
                match map.get("items") {
                    Some(Json::Bool(false)) => {}
                    Some(items) if first.is_empty() => self.value(items),
                    None if first.is_empty() => self.out.push_str(":any"),
                    _ => self.out.push_str(" ..."),
                }
                self.out.push(']');
            }
            "string" if map.get("format").is_some_and(|format| format == "date-time") => {
                self.out.push_str(":datetime");
            }
            "integer" => self.out.push_str(":int"),
            "number" => self.out.push_str(":float"),
            "boolean" => self.out.push_str(":bool"),
            _ => self.out.push_str(":string"),
        }
    }

    fn fields(&mut self, map: &'s Map) {
        let required = |name: &str| members(map, "required").iter().any(|one| one == name);
        self.out.push('{');
        for (at, (name, schema)) in
            map.get("properties").and_then(Json::as_object).into_iter().flatten().enumerate()
        {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(name);
            self.out.push(' ');
            let start = self.out.len();
            self.value(schema);
            if !required(name) {
                self.optional(start);
            }
        }
        if let Some(rest @ Json::Object(_)) = map.get("additionalProperties") {
            self.out.push_str(", * ");
            self.value(rest);
        }
        self.out.push('}');
    }

    /// Marks the text written since `start` as something that may be absent.
    fn optional(&mut self, start: usize) {
        let text = &self.out[start..];
        match text.split_once(" (") {
            Some((ty, _)) if ty.starts_with(':') && ty.ends_with('?') => {}
            Some((ty, _)) if ty.starts_with(':') && !ty.contains(' ') => {
                let at = start + ty.len();
                self.out.insert(at, '?');
            }
            _ if text.ends_with('?') => {}
            _ => self.out.push('?'),
        }
    }

    fn choices(&mut self, choices: &[&'s Json]) {
        let is_null = |schema: &&&Json| schema.get("type").is_some_and(|ty| ty == "null");
        let others: Vec<&'s Json> = choices.iter().filter(|schema| !is_null(schema)).copied().collect();
        let nullable = others.len() < choices.len();
        // A unit variant with a comment is a `const`; those without one share an `enum`.
        let words: Option<Vec<&[Json]>> = others
            .iter()
            .map(|one| {
                one.get("const").map(std::slice::from_ref).or_else(|| Some(one.get("enum")?.as_array()?))
            })
            .collect();
        let start = self.out.len();
        match words {
            Some(words) if words.len() > 1 => {
                let words: Vec<Json> = words.concat();
                self.out.push_str(&format!("one of {}", list(&Json::Array(words))));
            }
            _ if others.len() > 1 => {
                self.out.push('(');
                self.joined(&others, " | ");
                self.out.push(')');
            }
            _ => self.joined(&others, " | "),
        }
        if nullable {
            self.optional(start);
        }
    }

    fn joined(&mut self, schemas: &[&'s Json], between: &str) {
        for (at, schema) in schemas.iter().enumerate() {
            if at > 0 {
                self.out.push_str(between);
            }
            self.value(schema);
        }
    }

    fn reference(&mut self, reference: &'s str) {
        let name = reference.rsplit('/').next().filter(|name| *name != "#").unwrap_or("root");
        if self.open.contains(&reference) || (reference == "#" && self.open.is_empty()) {
            self.named.insert(reference);
            return self.out.push_str(name);
        }
        let Some(target) = super::read::target(&self.schema.0.root, reference) else {
            return self.out.push_str(":any");
        };
        let start = self.out.len();
        self.open.push(reference);
        self.value(target);
        self.open.pop();
        // What is referred to again from within has its name before it.
        if self.named.remove(reference) {
            self.out.insert_str(start, &format!("{name} "));
        }
    }
}
