//! JSON Schemas, read once: their keywords with what they demand.
//!
//! [`ParsedSchema::read`] reads a document with a [`ReadingProfile`], which says which keywords are read;
//! others are refused, since nobody would check them.
//! [`Validation`] checks values against it: JSON, values of the language, whatever is a [`SchemaSubject`]. A [`SchemaWording`] turns what
//! does not fit into the texts of its caller.
//!
//! A schema is a list of nodes, since references make a graph of it. Each schema of the document is one node, however often it
//! is referred to.

mod json;
mod read;
mod validate;

use std::ops::Index;

use ahash::AHashMap;
use ptc_mcp::json::{Number, Value as Json};
use regex_automata::meta::Regex;

pub use ptc_mcp::json::Kind;

pub use json::{has_no_fraction, integer_of, order};
pub use read::{PatternEngine, ReadingProfile, SchemaReadError, SchemaReadProblem};
pub use validate::{
    MisfitList, PlaceStep, SchemaMisfit, SchemaPlace, SchemaSubject, SchemaWording, Validation,
    ValidationLimit,
};

/// A schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedSchema {
    /// The first is the schema itself.
    nodes: Vec<SchemaNode>,
}

/// The place of a schema within a [`ParsedSchema`].
pub type SchemaId = usize;

impl ParsedSchema {
    /// The schema of the whole document.
    pub const ROOT: SchemaId = 0;

    /// The node of the whole document.
    #[must_use]
    pub fn root(&self) -> &SchemaNode {
        &self.nodes[Self::ROOT]
    }
}

impl Index<SchemaId> for ParsedSchema {
    type Output = SchemaNode;

    fn index(&self, id: SchemaId) -> &SchemaNode {
        &self.nodes[id]
    }
}

/// The keywords of one schema. All of them must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SchemaNode {
    /// Whether all values fit or none does, of a schema that is `true` or `false`.
    pub verdict: Option<bool>,
    /// Whether there is nothing but `type` and notes for readers.
    pub is_bare: bool,
    /// `type`: the kinds that fit; empty for all.
    pub kinds: Vec<Kind>,
    /// `nullable` where it makes null fit, whatever else is demanded.
    pub is_nullable: bool,
    /// `const`.
    pub constant: Option<Json>,
    /// `enum`; with a `const` beside it, those that are both.
    pub choices: Option<Vec<Json>>,
    /// Bounds of a number, of a length or of a count, in the order of [`BoundKeyword`].
    pub bounds: Vec<(BoundKeyword, Number)>,
    /// `pattern`.
    pub pattern: Option<SchemaPattern>,
    /// `format`.
    pub format: Option<String>,
    /// `$ref`: its text and its target.
    pub reference: Option<(String, SchemaId)>,
    /// `allOf`.
    pub all_of: Vec<SchemaId>,
    /// `anyOf`.
    pub any_of: Vec<SchemaId>,
    /// `oneOf`.
    pub one_of: Vec<SchemaId>,
    /// `not`.
    pub not: Option<SchemaId>,
    /// `if`, `then` and `else`.
    pub condition: Option<SchemaId>,
    /// `then`.
    pub consequence: Option<SchemaId>,
    /// `else`.
    pub alternative: Option<SchemaId>,
    /// `prefixItems`: schemas of the first elements.
    pub prefix: Vec<SchemaId>,
    /// `items`: the schema of the others.
    pub items: Option<SchemaId>,
    /// `uniqueItems`.
    pub has_unique_items: bool,
    /// `contains`, with the least and the most elements that fit it.
    pub contains: Option<(SchemaId, u64, u64)>,
    /// `properties`.
    pub properties: Option<PropertyTable>,
    /// `patternProperties`.
    pub pattern_properties: Vec<(SchemaPattern, SchemaId)>,
    /// `additionalProperties`: the schema of the others.
    pub additional: Option<SchemaId>,
    /// `unevaluatedProperties`.
    pub unevaluated: Option<SchemaId>,
    /// `propertyNames`.
    pub names: Option<SchemaId>,
    /// `required`.
    pub required: Vec<String>,
    /// `dependentRequired`.
    pub dependent_required: Vec<(String, Vec<String>)>,
    /// `description`.
    pub description: Option<String>,
    /// The first of `examples`, or `example`.
    pub example: Option<Json>,
}

impl SchemaNode {
    /// The number of a bound.
    #[must_use]
    pub fn bound(&self, keyword: BoundKeyword) -> Option<&Number> {
        self.bounds.iter().find(|(found, _)| *found == keyword).map(|(_, limit)| limit)
    }

    /// The schema of the element at a place.
    #[must_use]
    pub fn element(&self, at: usize) -> Option<SchemaId> {
        self.prefix.get(at).copied().or(self.items)
    }
}

/// Keywords with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundKeyword {
    /// `minimum`
    Minimum,
    /// `maximum`
    Maximum,
    /// `exclusiveMinimum`
    ExclusiveMinimum,
    /// `exclusiveMaximum`
    ExclusiveMaximum,
    /// `multipleOf`
    MultipleOf,
    /// `minLength`
    MinLength,
    /// `maxLength`
    MaxLength,
    /// `minItems`
    MinItems,
    /// `maxItems`
    MaxItems,
    /// `minProperties`
    MinProperties,
    /// `maxProperties`
    MaxProperties,
}

impl BoundKeyword {
    /// Each with its name in a schema, the words before its number, and the kind of the values that it counts parts of, if it does
    /// not bound numbers.
    const TABLE: [(BoundKeyword, &'static str, &'static str, Option<Kind>); 11] = [
        (BoundKeyword::Minimum, "minimum", "at least", None),
        (BoundKeyword::Maximum, "maximum", "at most", None),
        (BoundKeyword::ExclusiveMinimum, "exclusiveMinimum", "more than", None),
        (BoundKeyword::ExclusiveMaximum, "exclusiveMaximum", "less than", None),
        (BoundKeyword::MultipleOf, "multipleOf", "a multiple of", None),
        (BoundKeyword::MinLength, "minLength", "at least", Some(Kind::String)),
        (BoundKeyword::MaxLength, "maxLength", "at most", Some(Kind::String)),
        (BoundKeyword::MinItems, "minItems", "at least", Some(Kind::Array)),
        (BoundKeyword::MaxItems, "maxItems", "at most", Some(Kind::Array)),
        (BoundKeyword::MinProperties, "minProperties", "at least", Some(Kind::Object)),
        (BoundKeyword::MaxProperties, "maxProperties", "at most", Some(Kind::Object)),
    ];

    /// The keyword of this name.
    fn named(name: &str) -> Option<BoundKeyword> {
        Self::TABLE.iter().find(|(_, known, ..)| *known == name).map(|(keyword, ..)| *keyword)
    }

    /// Its name in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// The words before its number.
    #[must_use]
    pub fn words(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    /// The kind of the values that it counts parts of; nothing if it bounds numbers.
    #[must_use]
    pub fn counts(self) -> Option<Kind> {
        Self::TABLE[self as usize].3
    }
}

/// A `pattern`, or a name in `patternProperties`.
#[derive(Debug, Clone)]
pub struct SchemaPattern {
    /// Its text.
    pub text: String,
    /// Its automaton, if the profile wants one.
    pub automaton: Option<Regex>,
}

impl PartialEq for SchemaPattern {
    fn eq(&self, other: &SchemaPattern) -> bool {
        self.text == other.text
    }
}

/// Properties that are looked for one after the other.
const FEW_PROPERTIES: usize = 6;

/// The properties of a schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PropertyTable {
    list: Vec<SchemaProperty>,
    /// From names, and names with `_` for `-`, to places in the list. A name goes before what another one may be spelled as.
    places: AHashMap<String, usize>,
}

/// A property of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaProperty {
    /// Its declared name.
    pub name: String,
    /// Its schema.
    pub schema: SchemaId,
    /// Whether it is required.
    pub is_required: bool,
}

/// The spelling under which `a-b` and `a_b` are the same name.
#[must_use]
pub fn spelling(name: &str) -> String {
    name.replace('-', "_")
}

impl PropertyTable {
    fn new(list: Vec<SchemaProperty>) -> PropertyTable {
        let mut places = AHashMap::with_capacity(list.len());
        for (at, property) in list.iter().enumerate() {
            places.insert(property.name.clone(), at);
        }
        for (at, property) in list.iter().enumerate() {
            if property.name.contains('-') {
                places.entry(spelling(&property.name)).or_insert(at);
            }
        }
        PropertyTable { list, places }
    }

    /// The properties, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, SchemaProperty> {
        self.list.iter()
    }

    /// The property of this very name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SchemaProperty> {
        self.exact(name).map(|at| &self.list[at]).filter(|property| property.name == name)
    }

    /// The property that `name` spells, with `-` and `_` for each other.
    #[must_use]
    pub fn spelled(&self, name: &str) -> Option<&SchemaProperty> {
        self.place(name).map(|at| &self.list[at])
    }

    fn place(&self, name: &str) -> Option<usize> {
        let other = || name.contains('-').then(|| self.exact(&spelling(name)))?;
        self.exact(name).or_else(other)
    }

    /// The place under this key: a few names are compared, since a hash of one costs more.
    fn exact(&self, name: &str) -> Option<usize> {
        let few = self.list.iter().take(FEW_PROPERTIES);
        few.enumerate().find(|(_, property)| property.name == name).map(|(at, _)| at).or_else(|| {
            let has_more = self.list.len() > FEW_PROPERTIES || self.places.len() > self.list.len();
            if has_more { self.places.get(name).copied() } else { None }
        })
    }
}

impl<'t> IntoIterator for &'t PropertyTable {
    type Item = &'t SchemaProperty;
    type IntoIter = std::slice::Iter<'t, SchemaProperty>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
