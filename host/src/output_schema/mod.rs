//! The subset of JSON Schema that callers may require of a program's value (server.md 5.1, 5.5).
//!
//! [`OutputSchema::parse`] reads a schema, [`OutputSchema::validate`] checks a value and gives its JSON. Validation
//! works on values of the language, so its messages say keyword and nil; the JSON uses the schema's own names.

mod check;
mod parse;

use ahash::AHashMap;

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSchema {
    /// Text: strings, keywords, dates and instants.
    String,
    /// Integers of any size.
    Integer,
    /// Integers and floats.
    Number,
    /// Booleans.
    Boolean,
    /// Vectors and sets.
    Array(Box<OutputSchema>),
    /// Maps.
    Object(ObjectSchema),
}

/// The schema of a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectSchema {
    /// Declared properties, sorted by name.
    properties: Vec<Property>,
    /// From names with `_` for `-` to places in `properties`; the first of several wins.
    by_spelling: AHashMap<String, usize>,
    /// Whether other properties are refused.
    closed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Property {
    name: String,
    schema: OutputSchema,
    required: bool,
}

/// The spelling under which `a-b` and `a_b` are the same name.
fn spelling(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests;
