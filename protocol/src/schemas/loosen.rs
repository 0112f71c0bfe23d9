//! Changes of a schema that never make it forbid more.

use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value, json};

use super::parts::{NAMED, change_parts};

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
        INVERSE.iter().for_each(|keyword| drop(part.remove(*keyword)));
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
fn is_astray(reference: &Value, whole: &Value) -> bool {
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
        others.flat_map(|(_, others)| *others).for_each(|other| drop(part.remove(*other)));
    }
    is_there
}

/// Leaves out what stands under names that do not fit, and says in the description which properties a value may have beside those
/// listed; whether there were such names.
pub(super) fn leave_out(part: &mut Map, fits: impl Fn(&str) -> bool) -> bool {
    let is_list = |names: &Value| names.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    let mut required = Vec::new();
    if let Some(Value::Array(names)) = part.get_mut("required") {
        let is_out = |name: &mut Value| name.as_str().is_some_and(|name| !fits(name));
        required.extend(names.extract_if(.., is_out));
        if names.is_empty() && !required.is_empty() {
            part.remove("required");
        }
    }
    let mut left_out: Vec<(Value, Value)> = Vec::new();
    let mut is_looser = !required.is_empty();
    for keyword in NAMED.into_iter().chain(["dependentRequired"]) {
        let Some(Value::Object(named)) = part.get_mut(keyword) else { continue };
        let names: Vec<String> = named.keys().filter(|name| !fits(name)).cloned().collect();
        for name in &names {
            let schema = named.remove(name).unwrap_or_default();
            if keyword == "properties" {
                left_out.push((name.as_str().into(), schema));
            }
        }
        if keyword.starts_with("depend") {
            let before = named.len();
            named.retain(|_, names| {
                !is_list(names) || names.as_array().into_iter().flatten().filter_map(Value::as_str).all(&fits)
            });
            is_looser |= before > named.len();
        }
        is_looser |= !names.is_empty();
        if !names.is_empty() && keyword.ends_with("roperties") {
            part.remove("additionalProperties");
        }
    }
    for name in &required {
        if !left_out.iter().any(|(known, _)| known == name) {
            left_out.push((name.clone(), Value::Null));
        }
    }
    if !left_out.is_empty() {
        let listed = left_out.iter().map(|(name, schema)| property(name, schema, required.contains(name)));
        let listed: Vec<_> = listed.collect();
        note(part, &format!("More properties, by their names in JSON: {}.", listed.join("; ")));
        part.remove("additionalProperties");
    }
    is_looser
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
pub(super) fn as_json(value: &Value) -> String {
    visible(&value.to_string()).into_owned()
}

/// Adds to the description of a part.
pub(super) fn note(part: &mut Map, text: &str) {
    let described = part.get("description").and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = described.map_or_else(|| text.to_owned(), |described| format!("{described}\n{text}"));
    part.insert("description".to_owned(), text.into());
}
