//! Names of properties as the schema declares them.

use ptc_mcp::json::{Map, Value as Json};
use ptc_vm::Value;

use super::wording::{LanguageWording, MAX_NODES};
use crate::parsed::{ParsedSchema, SchemaId, SchemaNode, SchemaProperty, Validation, spelling};

/// Gives declared properties their declared names, and drops optional ones that are null where they must not be. `depth`: how
/// many schemas within each other are still followed.
pub(super) fn respell(schema: &ParsedSchema, id: SchemaId, tree: &mut Json, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let rules = &schema[id];
    match tree {
        Json::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                if let Some(items) = rules.element(at) {
                    respell(schema, items, element, depth);
                }
            }
        }
        Json::Object(map) => object(schema, rules, map, depth),
        _ => return,
    }
    let alternatives = [&rules.any_of, &rules.one_of].into_iter();
    let chosen = alternatives.filter_map(|ids| ids.iter().find(|id| is_meant(schema, **id, tree, depth)));
    for id in rules.all_of.iter().chain(target(rules)).chain(chosen).copied().collect::<Vec<_>>() {
        respell(schema, id, tree, depth);
    }
}

fn object(schema: &ParsedSchema, rules: &SchemaNode, map: &mut Map, depth: usize) {
    let mut renamed = Map::new();
    for (key, mut value) in std::mem::take(map) {
        match rules.properties.as_ref().and_then(|table| table.spelled(&key)) {
            Some(property)
                if value.is_null() && !property.is_required && !admits_null(schema, property.schema) => {}
            Some(property) => {
                respell(schema, property.schema, &mut value, depth);
                // Two spellings of one property: the exact one counts.
                if key == property.name || !renamed.contains_key(&property.name) {
                    renamed.insert(property.name.clone(), value);
                }
            }
            None => {
                if let Some(others) = rules.additional {
                    respell(schema, others, &mut value, depth);
                }
                renamed.insert(key, value);
            }
        }
    }
    *map = renamed;
}

/// Whether an alternative is the one of a value that fits one of them: its kind, its constants and its required names tell.
fn is_meant(schema: &ParsedSchema, id: SchemaId, tree: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let rules = &schema[id];
    let word = match tree {
        Json::Object(_) => "object",
        Json::Array(_) => "array",
        _ => return false,
    };
    if !rules.kinds.is_empty() && !rules.kinds.iter().any(|kind| kind.name() == word) {
        return false;
    }
    let has = |name: &str| tree.as_object().is_some_and(|map| map.keys().any(|key| is_spelling(key, name)));
    let member =
        |name: &str| tree.as_object()?.iter().find(|(key, _)| is_spelling(key, name)).map(|(_, v)| v);
    let fits = |property: &SchemaProperty| {
        let rules = &schema[property.schema];
        let is_listed = member(&property.name).is_none_or(|value| {
            rules.constant.as_ref().is_none_or(|constant| constant == value)
                && rules.choices.as_ref().is_none_or(|choices| choices.contains(value))
        });
        (!property.is_required || has(&property.name)) && is_listed
    };
    rules.properties.iter().flatten().all(fits)
        && rules.all_of.iter().chain(target(rules)).all(|id| is_meant(schema, *id, tree, depth))
}

/// Whether the schema admits null.
fn admits_null(schema: &ParsedSchema, id: SchemaId) -> bool {
    Validation::fits(schema, &LanguageWording::new(schema), id, &Value::Nil, &mut { MAX_NODES })
}

/// What `$ref` leads to.
fn target(rules: &SchemaNode) -> Option<&SchemaId> {
    rules.reference.as_ref().map(|(_, target)| target)
}

fn is_spelling(key: &str, name: &str) -> bool {
    key == name || spelling(key) == spelling(name)
}
