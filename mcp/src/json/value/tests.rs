use super::*;
use crate::json::{json, string_len};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn order_and_digits_are_kept() {
    let text =
        r#"{"z":1.10,"a":[123456789012345678901234567890,-0,1e+5,0.1,{"b":null}],"m":"é\n","a\"b":true}"#;
    let value = parsed(text);
    assert_eq!(value.to_string(), text);
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    assert_eq!(to_value(&value).unwrap().to_string(), text);
    assert_eq!(format!("{value:#}"), serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(parsed("[1E5,1e-7,2.50e+3]").to_string(), "[1e+5,1e-7,2.50e+3]");
}

#[test]
fn of_a_repeated_member_the_last_counts_in_the_place_of_the_first() {
    assert_eq!(parsed(r#"{"a":1,"b":2,"a":3}"#).to_string(), r#"{"a":3,"b":2}"#);
}

#[test]
fn what_is_no_json_is_refused_in_the_words_of_serde_json() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\":[{\"b\":1,}]}",
        &"[".repeat(200),
        "nul",
        "{\"a\":1}}",
        "\"\\x\"",
        "01",
        "{\"a\" 1}",
    ] {
        let ours = from_str::<Value>(text).unwrap_err().to_string();
        assert_eq!(ours, serde_json::from_str::<serde_json::Value>(text).unwrap_err().to_string(), "{text}");
    }
    assert!(serde_json::from_str::<Value>(r#""\ud800""#).is_err());
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    for levels in [127, 128] {
        let ours = serde_json::from_str::<Value>(&nested(levels)).is_ok();
        assert_eq!(ours, serde_json::from_str::<serde_json::Value>(&nested(levels)).is_ok(), "{levels}");
    }
    assert!(parse_within(&nested(500), 500).is_ok() && parse_within(&nested(501), 500).is_err());
    let not_a_map = serde_json::from_str::<Map>("[1]").unwrap_err().to_string();
    assert_eq!(
        not_a_map,
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>("[1]").unwrap_err().to_string()
    );
}

#[test]
fn values_are_written_out_and_compared() {
    let name = "x".to_owned();
    let value = json!({
        "a": [1, 2.5, null, {"b": []}, [true,], name,],
        (name.clone()): {},
        "nan": f64::NAN,
        "some": Some(-7i8),
        "none": None::<u8>,
        "nested": json!({"n": u64::MAX}),
    });
    let text = r#"{"a":[1,2.5,null,{"b":[]},[true],"x"],"x":{},"nan":null,"some":-7,"none":null,"nested":{"n":18446744073709551615}}"#;
    assert_eq!(value.to_string(), text);
    assert!(value["a"][0] == 1 && value["a"][1] == 2.5 && value["a"][5] == "x" && value["q"]["r"].is_null());
    assert_eq!(value, parsed(text));
    assert_eq!(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}));
    assert_ne!(json!(1), json!(1.0));
    assert_eq!(json!(1e16).to_string(), serde_json::to_string(&1e16).unwrap());
    assert_eq!(value.pointer("/a/3/b"), Some(&json!([])));
    assert_eq!((value.pointer("/a/03"), value.pointer("")), (None, Some(&value)));
}

#[test]
fn members_are_made_and_taken() {
    let mut value = json!(null);
    value["a"]["b"] = json!(1);
    value["c"] = json!("d");
    assert_eq!(value.to_string(), r#"{"a":{"b":1},"c":"d"}"#);
    assert_eq!(value["c"].take(), "d");
    assert_eq!(value.as_object_mut().unwrap().remove("a"), Some(json!({"b": 1})));
    assert_eq!(value.to_string().len(), r#"{"c":null}"#.len());
    assert_eq!(json!("é\"").to_string().len(), string_len("é\""));
}

#[test]
fn numbers_are_asked_for_in_the_types_that_hold_them() {
    let number = |text: &str| parsed(text).as_number().cloned().unwrap();
    assert_eq!(
        (number("7").as_i64(), number("7").as_u64(), number("7").as_f64()),
        (Some(7), Some(7), Some(7.0))
    );
    assert_eq!((number("-7").as_u64(), number("7.0").as_i64()), (None, None));
    assert_eq!((number("1e5").as_f64(), number("1e999").as_f64()), (Some(1e5), None));
    assert!(
        serde_json::from_str::<Number>("\"1\"").is_err() && serde_json::from_str::<Number>("1.50").is_ok()
    );
}
