//! Names of properties as the schema declares them.

use ptc_mcp::json::{Map, Value as Json};

use super::{Id, ObjectRules, OutputSchema};

/// Gives declared properties their declared names, and drops optional ones that are null where they must not be. `depth`: how
/// many schemas within each other are still followed.
pub(super) fn respell(schema: &OutputSchema, id: Id, tree: &mut Json, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let rules = &schema.rules[id];
    match tree {
        Json::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                if let Some(items) = rules.prefix.get(at).copied().or(rules.items) {
                    respell(schema, items, element, depth);
                }
            }
        }
        Json::Object(map) => object(schema, &rules.object, map, depth),
        _ => return,
    }
    let alternatives = rules.any_of.iter().chain(&rules.one_of);
    let chosen = alternatives.filter_map(|ids| ids.iter().find(|id| is_meant(schema, **id, tree, depth)));
    for id in rules.all_of.iter().chain(chosen).copied().collect::<Vec<_>>() {
        respell(schema, id, tree, depth);
    }
}

fn object(schema: &OutputSchema, rules: &ObjectRules, map: &mut Map, depth: usize) {
    let mut renamed = Map::new();
    for (key, mut value) in std::mem::take(map) {
        match rules.property(&key) {
            Some(property)
                if value.is_null() && !property.required && !schema.admits_null(property.schema) => {}
            Some(property) => {
                respell(schema, property.schema, &mut value, depth);
                // Two spellings of one property: the exact one counts.
                if key == property.name || !renamed.contains_key(&property.name) {
                    renamed.insert(property.name.clone(), value);
                }
            }
            None => {
                if let Some(others) = rules.others {
                    respell(schema, others, &mut value, depth);
                }
                renamed.insert(key, value);
            }
        }
    }
    *map = renamed;
}

/// Whether an alternative is the one of a value that fits one of them: its kind, its constants and its required names tell.
fn is_meant(schema: &OutputSchema, id: Id, tree: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let rules = &schema.rules[id];
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
    let fits = |property: &super::Property| {
        let constants = schema.rules[property.schema].values.as_ref();
        let is_listed = constants
            .is_none_or(|(_, values)| member(&property.name).is_none_or(|value| values.contains(value)));
        (!property.required || has(&property.name)) && is_listed
    };
    rules.object.properties.iter().all(fits)
        && rules.all_of.iter().all(|id| is_meant(schema, *id, tree, depth))
}

fn is_spelling(key: &str, name: &str) -> bool {
    key == name || super::spelling(key) == super::spelling(name)
}
