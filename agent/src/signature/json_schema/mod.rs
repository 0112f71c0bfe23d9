//! JSON Schema as a type of answers and arguments (agent.md 5).
//!
//! [`Schema::new`] reads a document and refuses keywords that could not be checked; [`Schema::check`] checks values, and
//! [`Schema::bend`] changes them to the spelling that the schema declares. All schemas that
//! [`schemars`](https://docs.rs/schemars) makes of Rust types are supported: references (recursive ones too), enums of every
//! tagging, maps, tuples, bounds.

mod bend;
mod describe;
mod profile;
mod wording;

use ptc_base::json::Value as Json;
use ptc_schema::parsed::{Kind, ParsedSchema, SchemaId, SchemaNode};
use std::fmt;
use std::sync::Arc;

pub use profile::SchemaError;

/// References that are followed until there is a shape.
const MAX_CHAIN: usize = 16;

/// A JSON Schema. Cheap to clone.
#[derive(Clone)]
pub struct Schema(Arc<Document>);

struct Document {
    root: Json,
    parsed: ParsedSchema,
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

    fn node(&self, id: SchemaId) -> &SchemaNode {
        &self.0.parsed[id]
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape_of(ParsedSchema::ROOT, 0)
    }

    fn shape_of(&self, id: SchemaId, depth: usize) -> Shape {
        let node = self.node(id);
        if node.verdict.is_some() {
            return Shape::Text;
        }
        if let Some((_, target)) = node.reference.as_ref().filter(|_| depth < MAX_CHAIN) {
            let is_beside = node.properties.is_some();
            return if is_beside { Shape::Object } else { self.shape_of(*target, depth + 1) };
        }
        if let [one] = node.all_of[..] {
            return self.shape_of(one, depth + 1);
        }
        if node.constant.is_some() || node.choices.is_some() {
            let mut values = node.constant.iter().chain(node.choices.iter().flatten());
            let is_plain = values.all(|value| !value.is_object() && !value.is_array());
            return if is_plain { Shape::Scalar } else { Shape::Union };
        }
        let mut choices = node.any_of.iter().chain(&node.one_of).peekable();
        match node.kinds.iter().find(|kind| **kind != Kind::Null).or(node.kinds.first()) {
            Some(Kind::Object) => Shape::Object,
            Some(Kind::Array) => Shape::List,
            Some(Kind::String) if node.is_bare => Shape::Text,
            Some(_) => Shape::Scalar,
            None if node.properties.is_some() => Shape::Object,
            None if choices.peek().is_some() => {
                let choices = choices.filter(|choice| self.node(**choice).kinds != [Kind::Null]);
                let mut shapes: Vec<Shape> =
                    choices.map(|choice| self.shape_of(*choice, depth + 1)).collect();
                shapes.dedup();
                match shapes[..] {
                    [Shape::Text] => Shape::Scalar,
                    [one] => one,
                    _ => Shape::Union,
                }
            }
            None if node.is_bare => Shape::Text,
            None => Shape::Union,
        }
    }
}

#[cfg(test)]
mod tests;
