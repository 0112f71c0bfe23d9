use crate::builtins::support::testing::display;
use crate::value::Value;

fn s(text: &str) -> Value {
    Value::str(text)
}

#[test]
fn methods_raise_where_java_raises() {
    for (args, want) in [
        (vec![s("hello"), Value::Int(-1)], "start index -1 out of range for string of length 5"),
        (vec![s("hello"), Value::Int(6)], "start index 6 out of range for string of length 5"),
        (vec![s("hello"), Value::Int(0), Value::Int(9)], "end index 9 out of range for string of length 5"),
        (
            vec![s("hello"), Value::Int(3), Value::Int(1)],
            "start index 3 out of range (greater than end index 1)",
        ),
        (
            vec![s("hello"), Value::Int(1), Value::Int(-1)],
            "start index 1 out of range (greater than end index -1)",
        ),
        (vec![s("hello"), Value::Nil], "expected numeric start, got nil"),
        (vec![s("hello"), Value::Int(1), Value::Nil], "expected numeric stop, got nil"),
        (vec![Value::Int(5), Value::Int(1)], "expected string, got integer"),
    ] {
        assert_eq!(display(".substring", args), format!("! type_error: .substring: {want}"));
    }
    assert_eq!(
        display(".charAt", [s("abc"), Value::Int(3)]),
        "! type_error: .charAt: index 3 out of range for string of length 3"
    );
}

#[test]
fn kinds_are_named_as_for_dates() {
    for (value, kind) in [
        (Value::Nil, "nil"),
        (Value::True, "non-string"),
        (Value::float(1.5), "float"),
        (Value::vector([]), "list"),
        (Value::Map(crate::value::Map::new()), "map"),
    ] {
        assert_eq!(
            display(".length", [value.clone()]),
            format!("! type_error: .length: expected string, got {kind}")
        );
        assert_eq!(
            display(".contains", [s("ab"), value]),
            format!("! type_error: .contains: expected string argument, got {kind}")
        );
    }
}

#[test]
fn positions_are_graphemes_and_minus_one_says_absent() {
    assert_eq!(display(".indexOf", [s("é日😀"), s("😀")]), "2");
    assert_eq!(display(".indexOf", [s("hello"), s("l"), Value::Int(99)]), "-1");
    assert_eq!(display(".indexOf", [s("hello"), s("l"), Value::Int(-5)]), "2");
    assert_eq!(display(".lastIndexOf", [s("hello"), s("l"), Value::Int(2)]), "2");
    assert_eq!(display(".lastIndexOf", [s("hello"), s("h"), Value::Int(-1)]), "-1");
    assert_eq!(display(".substring", [s("é日😀"), Value::Int(1), Value::Int(3)]), "\"日😀\"");
}

#[test]
fn split_drops_what_java_drops() {
    assert_eq!(display(".split", [s(",a,,b,,"), s(",")]), r#"["" "a" "" "b"]"#);
    assert_eq!(display(".split", [s("a,b,,"), s(","), Value::Int(-1)]), r#"["a" "b" "" ""]"#);
    assert_eq!(display(".split", [s("a1b2c"), s("(\\d)"), Value::Int(2)]), r#"["a" "b2c"]"#);
    assert_eq!(display(".split", [s(""), s(",")]), r#"[""]"#);
    assert_eq!(display(".split", [s(","), s(",")]), "[]");
}
