use ptc_mcp::json::{Value as Json, json};
use ptc_vm::Value;
use ptc_vm::value::{Map, Set, Temporal};

use super::OutputSchema;

fn parse(schema: Json) -> Result<OutputSchema, String> {
    OutputSchema::parse(&schema.to_string())
}

fn refused(schema: Json) -> String {
    parse(schema).expect_err("refused")
}

fn validate(schema: Json, value: &Value) -> Result<Json, String> {
    parse(schema).unwrap().validate(value).map(|text| serde_json::from_str(&text).unwrap())
}

fn map(entries: Vec<(Value, Value)>) -> Value {
    Value::Map(Map::from_entries(entries))
}

fn kw(name: &str) -> Value {
    Value::keyword(name)
}

#[test]
fn schemas_outside_the_subset_are_refused() {
    for (schema, text) in [
        (json!({}), r#"schema must have a "type" key"#),
        (json!({"type": ["string", "null"]}), r#"schema must have a "type" key"#),
        (json!({"type": "null"}), r#"unsupported type: "null""#),
        (
            json!({"type": "string", "minLength": 1, "enum": []}),
            "unsupported JSON Schema key(s): enum, minLength",
        ),
        (json!({"type": "string", "items": {}}), "unsupported JSON Schema key(s): items"),
        (json!({"type": "array"}), r#"array type requires an "items" key"#),
        (json!({"type": "array", "items": []}), r#"array "items" must be a JSON object"#),
        (
            json!({"type": "object", "additionalProperties": {}}),
            r#""additionalProperties" must be true or false, got {}"#,
        ),
        (json!({"type": "object", "required": "a"}), r#""required" must be an array of strings"#),
        (json!({"type": "object", "required": [1]}), r#""required" entries must be strings, got 1"#),
        (json!({"type": "object", "required": ["a"]}), r#""required" entry "a" is not a declared property"#),
        (
            json!({"type": "object", "properties": {"b": {"type": "x"}, "a": {"type": "object", "properties": {"c": {}}}}}),
            r#"property "a": property "c": schema must have a "type" key"#,
        ),
    ] {
        assert_eq!(refused(schema.clone()), text, "{schema}");
    }
    assert!(
        OutputSchema::parse(&(r#"{"type":"array","items":"#.repeat(200) + "1" + &"}".repeat(200))).is_err()
    );
    assert!(parse(json!({"type": "object", "description": "d", "additionalProperties": false})).is_ok());
}

#[test]
fn mismatches_name_the_place_and_both_types() {
    let count =
        json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let of = |value: Value| validate(count.clone(), &map(vec![(kw("count"), value)])).expect_err("mismatch");
    assert_eq!(of(Value::str("x")), "expected integer at $.count, got a string");
    assert_eq!(of(kw("x")), "expected integer at $.count, got a keyword");
    assert_eq!(of(Value::float(1.0)), "expected integer at $.count, got a float");
    assert_eq!(of(Value::Nil), "expected integer at $.count, got nil");
    assert_eq!(validate(count.clone(), &Value::Nil).unwrap_err(), "expected object at $, got nil");
    let missing = map(vec![(kw("other"), Value::Int(1))]);
    assert_eq!(
        validate(count, &missing).unwrap_err(),
        "expected integer at $.count, got nothing: it is required"
    );
    let closed =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let extra = map(vec![(kw("extra"), Value::Nil), (kw("a"), Value::True)]);
    assert_eq!(
        validate(closed, &extra).unwrap_err(),
        "unexpected property at $.extra: the schema allows no others; expected string at $.a, got a boolean"
    );
    let rows = json!({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}});
    let value = Value::vector(vec![Value::vector(vec![Value::True, Value::Int(1)])]);
    assert_eq!(validate(rows, &value).unwrap_err(), "expected boolean at $[0][1], got an integer");
}

#[test]
fn names_that_are_no_words_are_quoted_in_places() {
    let schema =
        json!({"type": "object", "properties": {"a b.c\n": {"type": "array", "items": {"type": "number"}}}});
    let value = map(vec![(Value::str("a b.c\n"), map(vec![]))]);
    assert_eq!(validate(schema, &value).unwrap_err(), "expected array at $[\"a b.c\\n\"], got a map");
}

#[test]
fn complaints_are_bounded() {
    let value = Value::vector(vec![Value::Nil; 1000]);
    let text = validate(json!({"type": "array", "items": {"type": "string"}}), &value).unwrap_err();
    assert!(
        text.starts_with("expected string at $[0], got nil; ")
            && text.ends_with("at $[2], got nil; and 997 more")
    );
}
#[test]
fn a_value_that_fits_comes_back_under_declared_names() {
    let schema = json!({"type": "object", "properties": {
        "user_id": {"type": "integer"}, "state": {"type": "string"}, "when": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"},
        "score": {"type": "number"}}, "required": ["user_id"]});
    let mut tags = Set::new();
    tags.insert(kw("x"));
    let value = map(vec![
        (kw("user-id"), Value::Int(7)),
        (Value::str("state"), kw("open")),
        (kw("when"), Value::temporal(Temporal::date(0))),
        (kw("tags"), Value::Set(tags)),
        (kw("note"), Value::Nil),
        (kw("score"), Value::Int(3)),
        (kw("other"), Value::True),
    ]);
    assert_eq!(
        validate(schema, &value).unwrap(),
        json!({"user_id": 7, "state": "open", "when": "1970-01-01", "tags": ["x"], "score": 3, "other": true})
    );
    assert_eq!(validate(json!({"type": "object"}), &map(vec![])).unwrap(), json!({}));
}

#[test]
fn what_has_no_json_form_names_its_place() {
    let schema =
        json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "number"}}}});
    let value = map(vec![(kw("rows"), Value::vector(vec![Value::float(f64::NAN)]))]);
    assert_eq!(validate(schema, &value).unwrap_err(), "validated value: non-JSON-encodable value at rows[0]");
}
