use super::{hint, preview};
use crate::tool::{JsonMap, NativeResult, ToolSpec};
use ptc_base::json::{Value as Json, json};
use std::sync::Arc;

fn tool() -> ToolSpec {
    ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::Null) })
}

fn body(kind: &NativeResult, value: &Json) -> Json {
    Json::Object(preview("t", &tool(), &JsonMap::new(), kind, value, false).body)
}

#[test]
fn metadata_shows_shapes_only() {
    let object = |properties: Json| json!({"type": "object", "properties": properties});
    for (value, expected) in [
        (json!([]), json!({"result_count": 0, "schema": {"type": "array", "items": {}}})),
        (
            json!([{"id": 1, "ok": false, "x": null}, {"id": 2, "ok": true, "x": 1.5}]),
            json!({"result_count": 2, "sample_keys": ["id", "ok", "x"], "schema": {"type": "array",
                "items": object(json!({"id": "integer", "ok": "boolean", "x": "number|null"}))}}),
        ),
        (
            json!([{"a": 1}, {"b": 1}]),
            json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "object"}}}),
        ),
        (
            json!([1, 2]),
            json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "integer"}}}),
        ),
        (json!([1, "a"]), json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "any"}}})),
        (json!({}), json!({"schema": {"type": "object"}, "sample_keys": []})),
        (json!({"a": [1]}), json!({"schema": object(json!({"a": "array"})), "sample_keys": ["a"]})),
        (json!("secret"), json!({"schema": {"type": "string"}})),
    ] {
        let mut expected = expected;
        expected["status"] = "ok".into();
        expected["full_result_cached"] = false.into();
        assert_eq!(body(&NativeResult::Metadata, &value), expected, "{value}");
    }
}

#[test]
fn the_sixth_item_is_not_looked_at() {
    let mut items = vec![json!({"a": 1}); 6];
    items[5] = json!({"b": 1});
    assert!(body(&NativeResult::Metadata, &json!(items))["sample_keys"].is_array());
    items[4] = json!({"b": 1});
    assert!(body(&NativeResult::Metadata, &json!(items))["sample_keys"].is_null());
}

#[test]
fn at_most_twenty_properties() {
    let wide: JsonMap = (0..21).map(|n| (format!("k{n:02}"), json!(n))).collect();
    let made = preview("t", &tool(), &JsonMap::new(), &NativeResult::Metadata, &json!([wide]), true);
    assert!(made.truncated);
    let schema = &made.body["schema"]["items"];
    assert_eq!(schema["truncated"], true);
    assert_eq!(schema["properties"].as_object().unwrap().len(), 20);
}

#[test]
fn rows_are_the_first_ones() {
    let made = body(&NativeResult::Rows { limit: 1 }, &json!([{"a": 1}, {"b": 2}]));
    assert_eq!(made["rows"], json!([{"a": 1}]));
    assert_eq!(made["result_count"], 2);
    assert_eq!(made["sample_keys"], json!(["a"]));
    assert_eq!(body(&NativeResult::Rows { limit: 1 }, &json!(1))["schema"], json!({"type": "integer"}));
}

#[test]
fn functions_are_not_trusted() {
    let custom = |f: fn(&Json) -> Result<Json, String>| NativeResult::Custom(Arc::new(f));
    let made = preview(
        "t",
        &tool(),
        &JsonMap::new(),
        &custom(|_| Ok(json!({"top": 1, "status": "mine"}))),
        &json!([]),
        true,
    );
    assert_eq!((&made.body["top"], &made.body["status"]), (&json!(1), &json!("ok")));
    for broken in [custom(|_| Err("no".into())), custom(|_| Ok(json!([]))), custom(|_| panic!("deliberate"))]
    {
        assert_eq!(body(&broken, &json!([]))["result_count"], 0);
    }
}

#[test]
fn hints_are_programs() {
    let arguments = |value: Json| value.as_object().unwrap().clone();
    assert_eq!(
        hint(
            "search_logs",
            None,
            &arguments(json!({"query": "error \"42\"", "a-b": [1.0, null], "x y": {"k": true}}))
        ),
        "Call lisp_eval and then call (tool/search_logs {:a_b [1 nil] :query \"error \\\"42\\\"\" \"x y\" {:k true}}) \
         to process the full cached result."
    );
    let long = hint("t", None, &arguments(json!({"n": 1, "text": "x".repeat(600)})));
    assert!(long.contains("(tool/t {:n 1 :text ...}) with the same arguments"), "{long}");
    let upstream = ("my-fs".to_owned(), "read".to_owned());
    assert_eq!(
        hint("my_fs__read", Some(&upstream), &arguments(json!({"path": "a"}))),
        "Call lisp_eval and then call (:value (tool/call {:server \"my-fs\" :tool \"read\" :args {:path \"a\"}})) to process \
         the full cached result."
    );
}

#[test]
fn a_long_text_shows_its_beginning() {
    let kind = NativeResult::WholeUpTo { bytes: 10 };
    let made = preview("t", &tool(), &JsonMap::new(), &kind, &json!("é".repeat(1001)), true);
    assert!(made.truncated);
    assert_eq!((&made.body["characters"], &made.body["beginning"]), (&json!(1001), &json!("é".repeat(1000))));
    assert_eq!(body(&kind, &json!([1]))["schema"], json!({"type": "array", "items": {"type": "integer"}}));
}

#[test]
fn keys_that_are_data_are_counted() {
    let schema = |value: Json| {
        let made = body(&NativeResult::Metadata, &value);
        let text = made.to_string();
        for data in ["ann@x.org", "2024-01-02", "550e8400", "17", "u-3"] {
            assert!(!text.contains(data), "{data}: {text}");
        }
        (made["schema"].clone(), made["sample_keys"].clone())
    };
    assert_eq!(
        schema(json!({"ann@x.org": {"n": 1}, "bob@x.org": {"n": 2}})),
        (json!({"type": "object", "data_keys": 2, "data_values": "object"}), json!([]))
    );
    assert_eq!(
        schema(json!({"2024-01-02": 1, "2024-01-03": 2.5, "total": 3})),
        (
            json!({"type": "object", "properties": {"total": "integer"}, "data_keys": 2, "data_values": "number"}),
            json!(["total"])
        )
    );
    assert_eq!(
        schema(json!({"550e8400-e29b-41d4-a716-446655440000": null})).0,
        json!({"type": "object", "data_keys": 1, "data_values": "null"})
    );
    // Keys that only count are ids, unless rows share them.
    assert_eq!(schema(json!({"u-3": 1, "u-4": 1, "u-5": 1, "17": 1})).0["data_keys"], 4);
    let rows = schema(json!([{"q1": 1, "q2": 1, "q3": 1}, {"q1": 2, "q2": 2, "q3": 2}]));
    assert_eq!(rows.1, json!(["q1", "q2", "q3"]));
    let made = preview("t", &tool(), &JsonMap::new(), &NativeResult::Metadata, &json!({"a@b": 1}), true);
    assert!(made.truncated);
}

#[test]
fn types_come_from_all_items() {
    let items = |value: Json| body(&NativeResult::Metadata, &value)["schema"]["items"].clone();
    let mut rows = vec![json!({"a": 1, "b": null, "c": "x", "d": true}); 6];
    rows[5] = json!({"a": 1.5, "b": "late", "c": 1});
    assert_eq!(
        items(json!(rows)),
        json!({"type": "object", "properties": {"a": "number", "b": "string|null", "c": "any", "d": "boolean"}})
    );
    assert_eq!(items(json!([1, 2.5])), json!({"type": "number"}));
    assert_eq!(items(json!([null, "a"])), json!({"type": "string|null"}));
}
