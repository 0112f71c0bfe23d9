//! The part of JSON Schema that callers may require of a program's value (server.md 5.1, 5.5), as pydantic and zod write it.
//!
//! [`OutputSchema::parse`] reads a schema, [`OutputSchema::validate`] checks a value and returns its JSON. Validation works on
//! values of the language, so its messages say keyword and nil; the JSON uses the schema's own names.
//!
//! A schema is a list of rules, since references make a graph of it. Both reading and checking are bounded in depth and in
//! work.

mod check;
mod numbers;
mod parse;
mod respell;

use ahash::AHashMap;
use ptc_mcp::json::{Kind, Value as Json};

/// A schema.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// The first is the schema itself.
    rules: Vec<Rules>,
}

/// The place of a schema among [`OutputSchema::rules`].
type Id = usize;

/// The rules of one schema. All of them must hold.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rules {
    /// Whether nothing fits (`false`).
    never: bool,
    /// The kinds that fit; empty for all.
    kinds: Vec<Kind>,
    /// The values that fit (`enum`, `const`), and the keyword that lists them.
    values: Option<(&'static str, Vec<Json>)>,
    object: ObjectRules,
    /// `prefixItems`: schemas of the first elements.
    prefix: Vec<Id>,
    /// `items`: the schema of the others.
    items: Option<Id>,
    /// Bounds of a number, of a length, or of a count.
    bounds: Vec<(Bound, f64)>,
    unique_items: bool,
    /// `pattern`.
    pattern: Option<String>,
    /// `allOf`, and the target of `$ref`.
    all_of: Vec<Id>,
    any_of: Option<Vec<Id>>,
    one_of: Option<Vec<Id>>,
    not: Option<Id>,
}

/// Keywords with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
    MultipleOf,
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

impl Bound {
    const ALL: [Bound; 11] = [
        Bound::Minimum,
        Bound::Maximum,
        Bound::ExclusiveMinimum,
        Bound::ExclusiveMaximum,
        Bound::MultipleOf,
        Bound::MinLength,
        Bound::MaxLength,
        Bound::MinItems,
        Bound::MaxItems,
        Bound::MinProperties,
        Bound::MaxProperties,
    ];

    /// The words before and after its number.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Bound::Minimum => ("at least", ""),
            Bound::Maximum => ("at most", ""),
            Bound::ExclusiveMinimum => ("more than", ""),
            Bound::ExclusiveMaximum => ("less than", ""),
            Bound::MultipleOf => ("a multiple of", ""),
            Bound::MinLength => ("at least", " characters"),
            Bound::MaxLength => ("at most", " characters"),
            Bound::MinItems => ("at least", " items"),
            Bound::MaxItems => ("at most", " items"),
            Bound::MinProperties => ("at least", " properties"),
            Bound::MaxProperties => ("at most", " properties"),
        }
    }

    fn keyword(self) -> &'static str {
        match self {
            Bound::Minimum => "minimum",
            Bound::Maximum => "maximum",
            Bound::ExclusiveMinimum => "exclusiveMinimum",
            Bound::ExclusiveMaximum => "exclusiveMaximum",
            Bound::MultipleOf => "multipleOf",
            Bound::MinLength => "minLength",
            Bound::MaxLength => "maxLength",
            Bound::MinItems => "minItems",
            Bound::MaxItems => "maxItems",
            Bound::MinProperties => "minProperties",
            Bound::MaxProperties => "maxProperties",
        }
    }
}

/// The rules of a schema for a map.
#[derive(Debug, Clone, Default, PartialEq)]
struct ObjectRules {
    /// Declared properties, and required ones that are not declared, sorted by name.
    properties: Vec<Property>,
    /// From names with `_` for `-` to places in `properties`; the first of several wins.
    by_spelling: AHashMap<String, usize>,
    /// Whether other properties are refused.
    closed: bool,
    /// `additionalProperties`: the schema of the others.
    others: Option<Id>,
    /// `propertyNames`.
    names: Option<Id>,
}

#[derive(Debug, Clone, PartialEq)]
struct Property {
    name: String,
    schema: Id,
    required: bool,
}

/// The spelling under which `a-b` and `a_b` are the same name.
fn spelling(name: &str) -> String {
    name.replace('-', "_")
}

impl ObjectRules {
    /// The place of the property that `name` spells.
    fn place(&self, name: &str) -> Option<usize> {
        let exact = self.properties.binary_search_by(|property| property.name.as_str().cmp(name)).ok();
        exact.or_else(|| self.by_spelling.get(&spelling(name)).copied())
    }

    fn property(&self, name: &str) -> Option<&Property> {
        self.place(name).map(|at| &self.properties[at])
    }
}

#[cfg(test)]
mod tests;
