//! The parts of a JSON Schema.

use ptc_mcp::json::{Map, Value};

/// Keywords whose members are schemas under names of their own.
pub(super) const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose values are data.
const DATA: [&str; 8] =
    ["default", "const", "enum", "examples", "example", "type", "required", "dependentRequired"];

/// Has `change` see each part of a schema, the outer ones first, and not what is data; nor what is within a part of which it says
/// `false`.
pub fn change_parts(schema: &mut Value, change: &mut impl FnMut(&mut Map) -> bool) {
    match schema {
        Value::Object(members) => {
            if !change(members) {
                return;
            }
            for (keyword, value) in members {
                match value {
                    _ if DATA.contains(&keyword.as_str()) => {}
                    Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                        named.values_mut().for_each(|value| change_parts(value, change));
                    }
                    value => change_parts(value, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change_parts(item, change)),
        _ => {}
    }
}
