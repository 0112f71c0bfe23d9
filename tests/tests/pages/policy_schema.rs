//! `docs/schema/policy.schema.json` has the keys that the reader of policies takes, in the same order.

use ptc_host::policy::Policy;
use ptc_mcp::json::{Value, from_str};
use ptc_tests::product::root;

/// Files with an unknown key in each kind of object, with the place of that object in the schema.
const UNKNOWN: [(&str, &str); 6] = [
    ("", r#"{"rules": [], "qqqqqqqqq": 1}"#),
    ("/$defs/rule", r#"{"rules": [{"qqqqqqqqq": 1}]}"#),
    ("/$defs/match", r#"{"rules": [{"match": {"qqqqqqqqq": 1}}]}"#),
    ("/$defs/upstream", r#"{"rules": [{"match": {}, "upstreams": {"s": {"qqqqqqqqq": 1}}}]}"#),
    (
        "/$defs/argument",
        r#"{"rules": [{"match": {}, "upstreams": {"s": {"allow": ["t"], "args": {"t": {"a": {"qqqqqqqqq": 1}}}}}}]}"#,
    ),
    ("/$defs/limits", r#"{"rules": [{"match": {}, "limits": {"qqqqqqqqq": 1}}]}"#),
];

#[test]
fn the_schema_of_policies_has_the_keys_of_the_reader() {
    let text = std::fs::read_to_string(root().join("docs/schema/policy.schema.json")).expect("a schema");
    let schema: Value = from_str(&text).expect("JSON");
    for (place, file) in UNKNOWN {
        let error = Policy::parse(file).expect_err(file).to_string();
        let (_, known) = error.split_once("; it has ").unwrap_or_else(|| panic!("{error}"));
        let object = schema.pointer(place).expect("an object of the schema");
        let properties = object["properties"].as_object().expect("properties");
        let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(keys.join(", "), known, "{place}");
        assert_eq!(object["additionalProperties"], false, "{place}");
    }
}
