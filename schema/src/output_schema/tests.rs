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
        (json!({"type": "text"}), r#"unsupported type: "text""#),
        (json!({"type": ["string", 5]}), "unsupported type: 5"),
        (
            json!({"type": "string", "if": {}, "patternProperties": {}}),
            "unsupported JSON Schema key(s): if, patternProperties",
        ),
        (json!({"type": "array", "items": 5}), r#"array "items" must be a JSON object"#),
        (
            json!({"type": "object", "additionalProperties": 1}),
            r#""additionalProperties" must be true, false or a schema, got 1"#,
        ),
        (json!({"type": "object", "required": "a"}), r#""required" must be an array of strings"#),
        (json!({"type": "object", "required": [1]}), r#""required" entries must be strings, got 1"#),
        (json!({"anyOf": []}), r#""anyOf" must be an array of schemas"#),
        (json!({"enum": "a"}), r#""enum" must be an array, got "a""#),
        (json!({"minimum": "5"}), r#""minimum" must be a number"#),
        (json!({"multipleOf": 0}), r#""multipleOf" must be a number"#),
        (json!({"$ref": "#/$defs/None"}), r##""$ref" "#/$defs/None" leads nowhere"##),
        (
            json!({"$ref": "https://example.com/s.json"}),
            r##""$ref" must lead into the schema itself ("#/$defs/…"), got "https://example.com/s.json""##,
        ),
        (
            json!({"type": "object", "properties": {"b": {"type": "x"}, "a": {"type": "object", "properties": {"c": 5}}}}),
            r#"property "a": property "c": schema must be a JSON object"#,
        ),
    ] {
        assert_eq!(refused(schema.clone()), text, "{schema}");
    }
    assert!(
        OutputSchema::parse(&(r#"{"type":"array","items":"#.repeat(200) + "1" + &"}".repeat(200))).is_err()
    );
    let many: Vec<Json> = (0..5000).map(|_| json!({})).collect();
    assert_eq!(refused(json!({"anyOf": many})), "schema has more than 4096 parts");
    for fine in [json!({}), json!({"type": "array"}), json!({"x-order": 1, "title": "T", "type": "null"})] {
        assert!(parse(fine.clone()).is_ok(), "{fine}");
    }
}

/// As pydantic writes a model.
fn order() -> Json {
    json!({
        "$defs": {"Line": {"properties": {
            "sku": {"title": "Sku", "type": "string"},
            "qty": {"default": 1, "minimum": 1, "title": "Qty", "type": "integer"}
        }, "required": ["sku"], "title": "Line", "type": "object"}},
        "properties": {
            "id": {"title": "Id", "type": "integer"},
            "when": {"format": "date-time", "title": "When", "type": "string"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Note"},
            "state": {"enum": ["open", "closed"], "title": "State", "type": "string"},
            "lines": {"items": {"$ref": "#/$defs/Line"}, "minItems": 1, "title": "Lines", "type": "array"}
        },
        "required": ["id", "when", "state", "lines"], "title": "Order", "type": "object"
    })
}

fn ordered(state: Value, lines: Vec<Value>) -> Value {
    map(vec![
        (kw("id"), Value::float(7.0)),
        (kw("when"), Value::str("2026-11-26T10:00:00Z")),
        (kw("note"), Value::Nil),
        (kw("state"), state),
        (kw("lines"), Value::vector(lines)),
    ])
}

#[test]
fn generated_schemas_are_read_and_their_rules_are_checked() {
    let line = |sku: Value, qty: i64| map(vec![(kw("sku"), sku), (kw("qty"), Value::Int(qty))]);
    let of = |state: Value, lines: Vec<Value>| validate(order(), &ordered(state, lines));
    // 7.0 is an integer, a keyword is its name, and a null that the schema admits stays.
    assert_eq!(
        of(kw("open"), vec![line(Value::str("a"), 2)]).unwrap(),
        json!({"id": 7.0, "when": "2026-11-26T10:00:00Z", "note": null, "state": "open", "lines": [{"sku": "a", "qty": 2}]})
    );
    for (state, lines, text) in [
        (
            Value::str("lost"),
            vec![line(Value::str("a"), 2)],
            r#"expected one of "open", "closed" at $.state (enum), got "lost""#,
        ),
        (kw("open"), vec![], "expected at least 1 items at $.lines (minItems), got 0"),
        (kw("open"), vec![line(Value::Int(5), 2)], "expected string at $.lines[0].sku, got an integer"),
        (
            kw("open"),
            vec![line(Value::str("a"), 0)],
            "expected at least 1 at $.lines[0].qty (minimum), got 0",
        ),
    ] {
        assert_eq!(of(state, lines).unwrap_err(), text);
    }
    let note = map(vec![(kw("note"), Value::Int(5))]);
    let only_note = json!({"properties": {"note": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    assert_eq!(validate(only_note, &note).unwrap_err(), "expected string or null at $.note, got an integer");
}

#[test]
fn each_rule_names_its_keyword() {
    let text = |schema: Json, value: Value| validate(schema, &value).unwrap_err();
    let int = Value::Int;
    for (schema, value, complaint) in [
        (json!({"const": "order"}), Value::str("offer"), r#"expected "order" at $ (const), got "offer""#),
        (json!({"exclusiveMinimum": 0}), int(0), "expected more than 0 at $ (exclusiveMinimum), got 0"),
        (
            json!({"minimum": 0, "exclusiveMinimum": true}),
            int(0),
            "expected more than 0 at $ (exclusiveMinimum), got 0",
        ),
        (json!({"exclusiveMaximum": 5}), int(5), "expected less than 5 at $ (exclusiveMaximum), got 5"),
        (json!({"maximum": 5}), Value::float(5.5), "expected at most 5 at $ (maximum), got 5.5"),
        (
            json!({"multipleOf": 0.1}),
            Value::float(0.35),
            "expected a multiple of 0.1 at $ (multipleOf), got 0.35",
        ),
        (json!({"minLength": 2}), Value::str("é"), "expected at least 2 characters at $ (minLength), got 1"),
        (json!({"maxLength": 2}), kw("abc"), "expected at most 2 characters at $ (maxLength), got 3"),
        (
            json!({"pattern": "^a+$"}),
            Value::str("ab"),
            r#"expected text that matches ^a+$ at $ (pattern), got "ab""#,
        ),
        (
            json!({"uniqueItems": true}),
            Value::vector(vec![int(1), int(1)]),
            "expected no item twice at $ (uniqueItems)",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            Value::list(vec![Value::str("a"), int(1)]),
            "expected string at $[1], got an integer",
        ),
        (json!({"not": {"type": "integer"}}), int(1), "1 at $ is what must not be there (not)"),
        (
            json!({"oneOf": [{"minimum": 0}, {"maximum": 9}]}),
            int(5),
            "2 of 2 alternatives fit at $ (oneOf): exactly one must",
        ),
        (
            json!({"allOf": [{"minimum": 0}, {"maximum": 9}]}),
            int(-1),
            "expected at least 0 at $ (minimum), got -1",
        ),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            map(vec![(kw("a"), Value::str("x"))]),
            "expected integer at $.a, got a string",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            map(vec![(kw("ab"), int(1))]),
            "expected at most 1 characters at $.ab (maxLength), got 2",
        ),
        (json!({"required": ["a"]}), map(vec![]), "expected a value at $.a, got nothing: it is required"),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            Value::vector(vec![Value::str("a"), int(2)]),
            "nothing is allowed at $[1], got an integer",
        ),
        (
            json!({"enum": [1, [2]]}),
            Value::vector(vec![int(3)]),
            "expected one of 1, [2] at $ (enum), got a list",
        ),
    ] {
        assert_eq!(text(schema.clone(), value), complaint, "{schema}");
    }
    for (schema, value) in [
        (json!({"multipleOf": 0.1}), Value::float(0.3)),
        (json!({"enum": [1, [2]]}), Value::vector(vec![int(2)])),
        (json!({"type": "array", "maxItems": 1, "enum": [[2]]}), Value::list(vec![int(2)])),
        (json!({"enum": [1]}), Value::float(1.0)),
        (json!({"type": ["string", "null"]}), Value::Nil),
        (json!({"type": "string", "nullable": true}), Value::Nil),
        (json!({"format": "email", "pattern": "(unclosed"}), Value::str("anything")),
        (json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}), int(1)),
    ] {
        assert!(validate(schema.clone(), &value).is_ok(), "{schema}");
    }
}

#[test]
fn a_schema_may_refer_to_itself_and_neither_it_nor_the_value_runs_away() {
    let tree =
        json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    let leaf = || map(vec![(kw("children"), Value::vector(vec![]))]);
    let nested = |levels: usize| {
        (0..levels).fold(leaf(), |inner, _| map(vec![(kw("children"), Value::vector(vec![inner]))]))
    };
    assert!(validate(tree.clone(), &nested(20)).is_ok());
    let error = validate(tree, &nested(200)).unwrap_err();
    assert!(
        error.starts_with("validated value: more than 64 schemas within each other at $.children[0]"),
        "{error}"
    );
    let circle =
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    assert!(validate(circle, &Value::Nil).unwrap_err().contains("schemas within each other"));
    // A chain is read link by link.
    let link = |at: usize| {
        (format!("d{at}"), json!({"properties": {"next": {"$ref": format!("#/$defs/d{}", at + 1)}}}))
    };
    let mut links: ptc_mcp::json::Map = (0..2000).map(link).collect();
    links.insert("d2000".into(), json!({"type": "string"}));
    let chain = json!({"$defs": links, "$ref": "#/$defs/d0"});
    let pairs = (0..50).fold(Value::Nil, |inner, _| map(vec![(kw("next"), inner)]));
    assert!(validate(chain, &pairs).unwrap_err().contains("schemas within each other"));
    // Each level tries both branches: what is tried counts.
    let double = json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}, {"type": "string"}]});
    let value = (0..40).fold(Value::Nil, |inner, _| Value::vector(vec![inner]));
    assert!(validate(double, &value).unwrap_err().contains("validated value: more than"));
}

#[test]
fn alternatives_name_what_is_missing_to_the_closest() {
    let shape = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "the_radius": {"type": "number"}}, "required": ["kind", "the_radius"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "the_side": {"type": "number"}}, "required": ["kind", "the_side"]}
    ]});
    let of = |kind: &str, size: &str, value: Value| {
        validate(shape.clone(), &map(vec![(kw("kind"), Value::str(kind)), (kw(size), value)]))
    };
    // Names are respelled by the alternative that fits.
    assert_eq!(of("square", "the-side", Value::Int(2)).unwrap(), json!({"kind": "square", "the_side": 2}));
    let error = of("triangle", "the-side", Value::Int(2)).unwrap_err();
    assert!(error.starts_with("none of 2 alternatives fits at $ (anyOf); the closest: expected "), "{error}");
}

#[test]
fn mismatches_name_the_place_and_both_types() {
    let count =
        json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let of = |value: Value| validate(count.clone(), &map(vec![(kw("count"), value)])).expect_err("mismatch");
    assert_eq!(of(Value::str("x")), "expected integer at $.count, got a string");
    assert_eq!(of(kw("x")), "expected integer at $.count, got a keyword");
    assert_eq!(of(Value::float(1.5)), "expected integer at $.count, got a float");
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

#[test]
fn a_dear_check_ends_at_its_limit() {
    let words: Vec<String> = (0..3_000).map(|i| format!("w{i}")).collect();
    let names: ptc_mcp::json::Map = (0..3_000).map(|i| (format!("p{i}"), json!({}))).collect();
    let values = |value: Value| Value::vector(vec![value; 1_000]);
    for (rules, value) in [
        (json!({"enum": words}), values(Value::str("x"))),
        (json!({"properties": names}), values(map(vec![(kw("k"), Value::Int(1))]))),
        (json!({"enum": [[1], {"k": 2}]}), values(Value::vector(vec![Value::Int(1); 30_000]))),
    ] {
        let error = validate(json!({"items": rules}), &value).unwrap_err();
        assert!(error.ends_with("more than 2000000 values"), "{error}");
    }
    let required: Vec<String> = (0..200_000).map(|i| format!("r{}", i % 1_000)).collect();
    let schema = parse(json!({"properties": names, "required": required})).unwrap();
    assert!(schema.validate(&map(Vec::new())).unwrap_err().starts_with("expected a value at $.r0"));
}
