//! A stranger's program that embeds `ptc-agent` and has data of its own.
//!
//! Cargo builds each dependency once with the features that anybody asks for. A feature of `serde_json` that changes what a
//! number is, or how an object is ordered, would therefore reach into every program that depends on ours.

#![cfg(test)]

use ptc_agent::signature::Signature;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, from_str, from_value, json, to_string};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value")]
enum Reading {
    Celsius(f64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Price {
    Amount(f64),
    Range { low: f64, high: f64 },
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    #[serde(flatten)]
    line: Line,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    price: f64,
    weight: f32,
    count: i64,
}

/// Reads a value from text and from a tree, and writes it as it was.
fn goes_there_and_back<T>(text: &str, value: &T)
where
    T: std::fmt::Debug + PartialEq + Serialize + for<'a> Deserialize<'a>,
{
    assert_eq!(from_str::<T>(text).as_ref().ok(), Some(value), "{text}: {:?}", from_str::<T>(text).err());
    let tree: Json = from_str(text).expect("JSON");
    assert_eq!(
        from_value::<T>(tree.clone()).as_ref().ok(),
        Some(value),
        "{text}: {:?}",
        from_value::<T>(tree).err()
    );
    assert_eq!(to_string(value).expect("JSON"), text);
}

#[test]
fn tagged_types_hold_floats() {
    goes_there_and_back(r#"{"kind":"circle","radius":1.5}"#, &Shape::Circle { radius: 1.5 });
    goes_there_and_back(r#"{"kind":"square","side":1e+300}"#, &Shape::Square { side: 1e300 });
    goes_there_and_back(r#"{"type":"Celsius","value":-273.15}"#, &Reading::Celsius(-273.15));
}

#[test]
fn untagged_types_hold_floats() {
    goes_there_and_back("0.1", &Price::Amount(0.1));
    goes_there_and_back(r#"{"low":1.25,"high":2.5}"#, &Price::Range { low: 1.25, high: 2.5 });
    goes_there_and_back(r#""on request""#, &Price::Text("on request".into()));
}

#[test]
fn flattened_types_hold_floats() {
    let order = Order { id: 7, line: Line { price: 19.99, weight: 0.5, count: -3 } };
    goes_there_and_back(r#"{"id":7,"price":19.99,"weight":0.5,"count":-3}"#, &order);
}

#[test]
fn trees_of_json_are_what_serde_json_says_they_are() {
    // Without the feature that keeps every digit, a number of a tree is a machine number.
    assert_eq!(from_str::<Json>("1.0000000000000000000000001").expect("JSON"), json!(1.0));
    // Without the feature that keeps the order of keys, a tree sorts them.
    assert_eq!(from_str::<Json>(r#"{"b":1,"a":2}"#).expect("JSON").to_string(), r#"{"a":2,"b":1}"#);
}

#[test]
fn the_agent_is_there() {
    let signature = Signature::parse("(code :int) -> {total :float}").expect("a signature");
    assert_eq!(signature.to_string(), "(code :int) -> {total :float}");
}
