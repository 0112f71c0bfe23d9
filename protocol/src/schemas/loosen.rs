//! Changes of a schema that never make it forbid more.

use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value, json};

use super::parts::change_parts;

/// Keywords with what else goes with them: it would forbid more without them.
const TOGETHER: [(&str, &[&str]); 4] = [
    ("properties", &["additionalProperties"]),
    ("patternProperties", &["additionalProperties"]),
    ("prefixItems", &["items"]),
    ("minContains", &["contains", "maxContains"]),
];
/// Keywords that forbid more where something below or beside them allows more.
const INVERSE: [&str; 7] =
    ["not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems", "maxContains"];

/// Has `change` take parts of a schema apart. It says whether a part allows more than before; then what forbids more by that
/// goes, too, as do references that lead nowhere by now.
pub(super) fn loosen(schema: &mut Value, change: &mut impl FnMut(&mut Map) -> bool) {
    let mut is_looser = false;
    change_parts(schema, &mut |part| {
        is_looser |= change(part);
        true
    });
    if !is_looser {
        return;
    }
    change_parts(schema, &mut |part| {
        INVERSE.iter().for_each(|keyword| drop(part.remove(keyword)));
        // A value that fits two of the alternatives by now is none that the original forbids.
        if let Some(alternatives) = part.remove("oneOf") {
            if !part.contains_key("anyOf") {
                part.insert("anyOf".to_owned(), alternatives);
            } else if let Some(Value::Array(all)) = part.get_mut("allOf") {
                all.push(json!({"anyOf": alternatives}));
            } else {
                part.insert("allOf".to_owned(), json!([{"anyOf": alternatives}]));
            }
        }
        true
    });
    let whole = schema.clone();
    change_parts(schema, &mut |part| {
        if part.get("$ref").is_some_and(|reference| is_astray(reference, &whole)) {
            part.remove("$ref");
        }
        true
    });
}

/// Whether a reference into the schema leads nowhere.
pub(super) fn is_astray(reference: &Value, whole: &Value) -> bool {
    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
    pointer.is_some_and(|pointer| {
        (pointer.is_empty() || pointer.starts_with('/')) && whole.pointer(pointer).is_none()
    })
}

/// Takes a keyword off a part; whether it was there.
pub(super) fn take_off(part: &mut Map, keyword: &str) -> bool {
    let is_there = part.remove(keyword).is_some();
    if is_there {
        let others = TOGETHER.iter().filter(|(first, _)| *first == keyword);
        others.flat_map(|(_, others)| *others).for_each(|other| drop(part.remove(other)));
    }
    is_there
}

/// Leaves out the properties whose names do not fit, and says in the description that there are such; whether there were any.
pub(super) fn leave_out(part: &mut Map, fits: impl Fn(&str) -> bool) -> bool {
    let mut required = Vec::new();
    if let Some(Value::Array(names)) = part.get_mut("required") {
        required.extend(names.extract_if(.., |name| name.as_str().is_some_and(|name| !fits(name))));
        if names.is_empty() && !required.is_empty() {
            part.remove("required");
        }
    }
    let mut left_out: Vec<(Value, Value)> = Vec::new();
    if let Some(Value::Object(properties)) = part.get_mut("properties") {
        let names: Vec<String> = properties.keys().filter(|name| !fits(name)).cloned().collect();
        let schemas = names.iter().map(|name| properties.remove(name).unwrap_or_default());
        left_out = schemas.zip(&names).map(|(schema, name)| (name.as_str().into(), schema)).collect();
    }
    for name in &required {
        if !left_out.iter().any(|(known, _)| known == name) {
            left_out.push((name.clone(), Value::Null));
        }
    }
    if left_out.is_empty() {
        return false;
    }
    let listed = left_out.iter().map(|(name, schema)| property(name, schema, required.contains(name)));
    let listed: Vec<_> = listed.collect();
    note(part, &format!("More properties, by their names in JSON: {}.", listed.join("; ")));
    part.remove("additionalProperties");
    true
}

/// What is said of a property that cannot be listed.
fn property(name: &Value, schema: &Value, is_required: bool) -> String {
    let kind = schema.get("type").and_then(Value::as_str);
    let facts: Vec<_> = kind.into_iter().chain(is_required.then_some("required")).collect();
    let mut text = as_json(name);
    if !facts.is_empty() {
        text.push_str(&format!(" ({})", visible(&facts.join(", "))));
    }
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        text.push_str(&format!(": {}", visible(description.trim_end_matches('.'))));
    }
    text
}

/// A value as JSON with its hidden characters escaped, which is the same value to a reader of JSON and no other.
fn as_json(value: &Value) -> String {
    visible(&value.to_string()).into_owned()
}

/// Adds to the description of a part.
fn note(part: &mut Map, text: &str) {
    let described = part.get("description").and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = described.map_or_else(|| text.to_owned(), |described| format!("{described}\n{text}"));
    part.insert("description".to_owned(), text.into());
}

/// Adds to the description of a part that its value is one of these.
pub(super) fn note_values(part: &mut Map, values: &[Value]) {
    let values: Vec<_> = values.iter().map(as_json).collect();
    note(part, &format!("One of these values, in JSON: {}.", values.join(", ")));
}
