//! JSON Schema as a type of answers and arguments (agent.md 5).
//!
//! [`Schema::new`] reads a document and refuses keywords that could not be checked; [`Schema::check`] checks values, and
//! [`Schema::bend`] changes them to the spelling that the schema declares. All schemas that
//! [`schemars`](https://docs.rs/schemars) makes of Rust types are supported: references (recursive ones too), enums of every
//! tagging, maps, tuples, bounds.

mod bend;
mod describe;
mod read;
mod validate;

use ptc_base::json::{Map, Value as Json};
use regex_automata::meta::Regex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub use read::SchemaError;

/// A JSON Schema. Cheap to clone.
#[derive(Clone)]
pub struct Schema(Arc<Document>);

struct Document {
    root: Json,
    /// The patterns of the whole document, by their text.
    patterns: HashMap<String, Regex>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.0.root == other.0.root
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.0.root)
    }
}

/// The kind of JSON that satisfies a schema, as far as its root says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Any text, or anything: nothing is checked.
    Text,
    /// Numbers, booleans, one of several texts, text with bounds.
    Scalar,
    Object,
    List,
    /// One of several types, some of which are objects or lists.
    Union,
}

impl Schema {
    /// The document.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.0.root
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape_of(&self.0.root, 0)
    }

    fn shape_of(&self, schema: &Json, depth: usize) -> Shape {
        let Json::Object(map) = schema else { return Shape::Text };
        if let Some(target) = self.reference(map).filter(|_| depth < read::MAX_CHAIN) {
            let beside = map.contains_key("properties");
            return if beside { Shape::Object } else { self.shape_of(target, depth + 1) };
        }
        if let [one] = members(map, "allOf") {
            return self.shape_of(one, depth + 1);
        }
        let choices: Vec<&Json> = members(map, "anyOf").iter().chain(members(map, "oneOf")).collect();
        let word = map.get("type").map(|ty| match ty {
            Json::Array(words) => words.iter().find(|word| **word != "null").unwrap_or(ty),
            one => one,
        });
        match word.and_then(Json::as_str) {
            _ if map.contains_key("enum") || map.contains_key("const") => {
                let values = map.get("const").into_iter().chain(members(map, "enum"));
                let plain = values.into_iter().all(|value| !value.is_object() && !value.is_array());
                if plain { Shape::Scalar } else { Shape::Union }
            }
            Some("object") => Shape::Object,
            Some("array") => Shape::List,
            Some("string") if map.keys().all(|key| key == "type" || read::is_note(key)) => Shape::Text,
            Some(_) => Shape::Scalar,
            None if map.contains_key("properties") => Shape::Object,
            None if !choices.is_empty() => {
                let shapes = choices.iter().filter(|choice| choice.get("type").is_none_or(|ty| ty != "null"));
                let mut shapes: Vec<Shape> = shapes.map(|choice| self.shape_of(choice, depth + 1)).collect();
                shapes.dedup();
                match shapes[..] {
                    [Shape::Text] => Shape::Scalar,
                    [one] => one,
                    _ => Shape::Union,
                }
            }
            None if map.keys().all(|key| read::is_note(key)) => Shape::Text,
            None => Shape::Union,
        }
    }

    /// The schema that the `$ref` of `map` names.
    fn reference(&self, map: &Map) -> Option<&Json> {
        read::target(&self.0.root, map.get("$ref")?.as_str()?)
    }
}

/// The members of a keyword that holds a list.
fn members<'a>(map: &'a Map, key: &str) -> &'a [Json] {
    map.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
