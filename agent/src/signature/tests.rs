use super::{Signature, Type};
use ptc_base::json::json;

fn parse(text: &str) -> Signature {
    Signature::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn texts_read_and_print_alike() {
    for (text, printed) in [
        (":int", "() -> :int"),
        ("()->:boolean", "() -> :bool"),
        (
            "(q :string,limit :int?) -> [{id :int, tags [:string]}]",
            "(q :string, limit :int?) -> [{id :int, tags [:string]}]",
        ),
        ("( a-b :any? )\n -> { }", "(a-b :any?) -> {}"),
    ] {
        let signature = parse(text);
        assert_eq!(signature.to_string(), printed);
        assert_eq!(parse(printed), signature);
    }
}

#[test]
fn mistakes_name_place_and_remedy() {
    let error = |text: &str| Signature::parse(text).unwrap_err().to_string();
    assert_eq!(error("(a :int"), "parse error at line 1, column 7: \"expected `,` or `)`, got the end\"");
    assert_eq!(
        error("(a :int)"),
        "parse error at line 1, column 8: \"expected `->` and the type of the result, got the end\""
    );
    assert_eq!(
        error("[:int]?"),
        "parse error at line 1, column 6: \"expected the end of the signature, got `?`\""
    );
    assert!(error("(a\n :strng) -> :int").starts_with(
        "parse error at line 2, column 1: \"expected a type, got `:strng`\"\n\nHint: Valid types are"
    ));
    assert!(error("{a :int, a :int}").contains("`a` is there already"));
    assert!(error(&"[".repeat(100_000)).contains("at most 64 levels"));
    assert!(error("").contains("expected a type, got the end"));
}

#[test]
fn values_are_checked_strictly() {
    let check = |ty: &str, value| parse(ty).returns.check(&value).map_err(|found| found.to_string());
    assert_eq!(check(":int", json!(1)), Ok(()));
    assert_eq!(check(":int", json!(1.0)), Err("root: expected int, got float".into()));
    assert_eq!(check(":float", json!(1)), Ok(()));
    assert_eq!(check(":keyword", json!("a")), Ok(()));
    assert_eq!(check(":string?", json!(null)), Ok(()));
    assert_eq!(check(":datetime", json!("2026-01-02T03:04:05+02:00")), Ok(()));
    assert_eq!(check(":datetime", json!("2026-01-02")), Err("root: expected datetime, got string".into()));
    assert_eq!(
        check("{l [{n :int}]}", json!({"l": [{"n": "x"}]})),
        Err("l.0.n: expected int, got string".into())
    );
    assert_eq!(
        check("{a :int, b :string?, c [:int]}", json!({"c": 5, "d": 1})),
        Err("a: expected field, got nil; c: expected list, got int".into())
    );
    assert_eq!(check("{a-b :int}", json!({"a_b": 1})), Ok(()));
    let many = check("[:int]", json!(vec!["x"; 30])).unwrap_err();
    assert!(many.ends_with("19: expected int, got string; and 10 more"), "{many}");
}

#[test]
fn arguments_are_bent_where_that_loses_nothing() {
    let coerced = parse("{a :int, b :float, c :bool, d [:int], e :int}")
        .returns
        .coerce(json!({"a": "5", "b": "1.5", "c": "true", "d": [2.0, "x", 2.5], "e": "1.5"}));
    assert_eq!(coerced.value.to_string(), r#"{"a":5,"b":1.5,"c":true,"d":[2,"x",2.5],"e":"1.5"}"#);
    assert_eq!(coerced.warnings[0], "a: \"5\" was read as int");
    assert_eq!(coerced.warnings.len(), 4);
    assert_eq!(
        Type::Int.coerce(json!("123456789012345678901234567890")).value.to_string(),
        "123456789012345678901234567890"
    );
}

#[test]
fn floats_are_finite() {
    let check = |ty: &str, text: &str| parse(ty).returns.check(&serde_json::from_str(text).unwrap());
    let message = "root: expected float, got 1e+999, which is beyond the largest float";
    assert_eq!(check(":float", "1e999").unwrap_err().to_string(), message);
    assert!(
        check(":float", &"9".repeat(400)).unwrap_err().to_string().ends_with("is beyond the largest float")
    );
    assert_eq!(check(":int", &"9".repeat(400)), Ok(()));
    assert_eq!(check(":float", "-1.7e308"), Ok(()));
}

#[test]
fn an_example_is_of_its_type() {
    let example = parse("{a :int?, b [{at :datetime}]}").returns.example();
    assert_eq!(parse("{a :int?, b [{at :datetime}]}").returns.check(&example), Ok(()));
}

#[test]
fn schemas() {
    assert_eq!(
        parse("(q :string, n :int?) -> :any").parameters_schema(),
        json!({"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]})
    );
    assert_eq!(
        parse("[{at :datetime}]").returns.response_schema(),
        Some(json!({"type":"object","properties":{"items":{"type":"array","items":{"type":"object",
            "properties":{"at":{"type":"string","format":"date-time"}},"required":["at"],"additionalProperties":false}}},
            "required":["items"],"additionalProperties":false}))
    );
    assert_eq!(Type::Any.json_schema(), json!({}));
}
