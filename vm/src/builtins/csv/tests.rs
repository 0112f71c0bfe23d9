use crate::builtins::support::testing::{call, display};
use crate::value::Value;

fn rows(text: &str) -> String {
    display("csv/read-csv", [Value::str(text)])
}

fn maps(text: &str) -> String {
    display("csv/parse-string", [Value::str(text)])
}

#[test]
fn cells_are_read_as_rfc_4180_says() {
    for (text, want) in [
        ("", "[]"),
        ("\n\n", "[]"),
        ("a", r#"[["a"]]"#),
        ("a,b\n", r#"[["a" "b"]]"#),
        ("a,b\r\nc,d\r\n", r#"[["a" "b"] ["c" "d"]]"#),
        ("a\rb", r#"[["a"] ["b"]]"#),
        ("\u{feff}a,b", r#"[["a" "b"]]"#),
        (",", r#"[["" ""]]"#),
        ("a,\n,b", r#"[["a" ""] ["" "b"]]"#),
        ("a\n\n\nb", r#"[["a"] ["b"]]"#),
        ("\"a,b\",\"c\nd\"", r#"[["a,b" "c\nd"]]"#),
        ("\"a\r\nb\"\r\nc", r#"[["a\r\nb"] ["c"]]"#),
        ("\"\",\"\"\"\"", r#"[["" "\""]]"#),
        ("\"say \"\"hi\"\" now\",2", r#"[["say \"hi\" now" "2"]]"#),
        (" a , b ", r#"[[" a " " b "]]"#),
        ("é,\"ü\"\"😀\"", r#"[["é" "ü\"😀"]]"#),
    ] {
        assert_eq!(rows(text), want, "{text:?}");
    }
}

#[test]
fn what_is_not_as_it_should_be_is_read_all_the_same() {
    for (text, want) in [
        ("a\"b,c", r#"[["a\"b" "c"]]"#),
        ("\"a\"b,c", r#"[["ab" "c"]]"#),
        ("\"a\nb,c", r#"[["a\nb,c"]]"#),
        ("x,\"", r#"[["x" ""]]"#),
        ("\"a\"\"", r#"[["a\""]]"#),
    ] {
        assert_eq!(rows(text), want, "{text:?}");
    }
}

#[test]
fn rows_are_maps_by_the_first_line() {
    for (text, want) in [
        ("", "[]"),
        ("a,b\n", "[]"),
        ("b,a\n1,2\n", r#"[{"a" "2" "b" "1"}]"#),
        ("a,b\n1\n", r#"[{"a" "1" "b" nil}]"#),
        ("a,b\n1,2,3,4\n", r#"[{"_more" ["3" "4"] "a" "1" "b" "2"}]"#),
        (" id , , id,id\n1,2,3,4", r#"[{"column_2" "2" "id" "1" "id_2" "3" "id_3" "4"}]"#),
    ] {
        assert_eq!(maps(text), want, "{text:?}");
    }
}

#[test]
fn many_columns_are_columns_too() {
    let names: Vec<String> = (0..200).map(|n| format!("c{n}")).collect();
    let text = format!("{}\n{}\n", names.join(","), names.join(","));
    let rows = call("csv/parse-string", [Value::str(text)]).unwrap();
    let Value::Vector(rows) = rows else { panic!("rows") };
    let Some(Value::Map(row)) = rows.get(0) else { panic!("a map") };
    assert_eq!(row.len(), 200);
    assert!(row.iter().all(|(key, value)| crate::value::equal(key, value)));
}

#[test]
fn text_goes_both_ways() {
    for text in ["a,b\n1,\"x, y\"\n\"\"\"q\"\"\",\"l\nm\"\n", "a\n\"\"\n", "a,b\n,\n"] {
        let rows = call("csv/read-csv", [Value::str(text)]).unwrap();
        assert_eq!(display("csv/generate-string", [rows]), format!("{text:?}"));
    }
}

#[test]
fn what_is_no_text_and_no_rows() {
    let message = |name: &str, value: Value| call(name, [value]).unwrap_err().message().to_owned();
    assert_eq!(display("csv/parse-string", [Value::Nil]), "nil");
    assert_eq!(display("csv/generate-string", [Value::Nil]), "\"\"");
    assert_eq!(
        message("csv/parse-string", Value::Int(5)),
        "type_error: csv/parse-string: arg 1 expected string, got number"
    );
    assert_eq!(
        message("csv/generate-string", Value::vector([Value::vector([]), Value::Int(1)])),
        "type_error: csv/generate-string: row 2 must be a map or a vector, got number"
    );
    assert_eq!(
        message(
            "csv/generate-string",
            Value::vector([Value::vector([]), Value::Map(crate::value::Map::new())])
        ),
        "type_error: csv/generate-string: row 2 is a map, the rows before it are vectors"
    );
}

#[test]
fn options_are_checked() {
    let message = |options: Value| {
        let error = call("csv/parse-string", [Value::str("a"), options]).unwrap_err();
        error.message().trim_start_matches("type_error: csv/parse-string: ").to_owned()
    };
    let one = |key: &str, value: Value| {
        Value::Map(crate::value::Map::from_entries(vec![(Value::keyword(key), value)]))
    };
    assert_eq!(
        message(one("quote", Value::str("'"))),
        "unknown option :quote, expected :separator or :header"
    );
    assert_eq!(
        message(one("separator", Value::str("||"))),
        ":separator must be one ASCII character such as \";\", got \"||\""
    );
    assert_eq!(
        message(one("header", Value::Int(1))),
        ":header must be true, false or a vector of strings or keywords, got 1"
    );
    assert_eq!(message(Value::Int(1)), "arg 2 expected map of options, got number");
}
