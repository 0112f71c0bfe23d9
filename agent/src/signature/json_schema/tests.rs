use super::{Schema, Shape};
use ptc_base::json::{Value as Json, json};

fn read(schema: Json) -> Schema {
    Schema::new(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn check(schema: &Json, value: Json) -> Result<(), String> {
    read(schema.clone()).check(&value).map_err(|found| found.to_string())
}

/// The schema that `schemars` makes of a Rust type.
fn of<T: schemars::JsonSchema>() -> Schema {
    read(ptc_base::json::to_value(&schemars::schema_for!(T)).unwrap())
}

#[test]
fn schemas_read_as_signatures_do() {
    for (schema, text) in [
        (json!({"type": "integer", "description": "n"}), ":int"),
        (json!({"type": ["string", "null"], "format": "date-time"}), ":datetime?"),
        (json!({"anyOf": [{"type": "number"}, {"type": "null"}]}), ":float?"),
        (json!({"type": "array", "items": {"enum": ["a", "b"]}}), "[one of [\"a\", \"b\"]]"),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}}, "required": ["a"]}),
            "{a :bool, b :any?}",
        ),
        (json!({"type": "object"}), ":map"),
        (json!(true), ":any"),
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), "{* :int}"),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
            "[:string :int ...]",
        ),
        (json!({"type": "integer", "minimum": 1, "maximum": 9}), ":int (minimum 1, maximum 9)"),
        (json!({"oneOf": [{"const": "x"}, {"const": "y"}, {"type": "null"}]}), "one of [\"x\", \"y\"]?"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            "(:string | [:string])",
        ),
        (
            json!({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "required": ["v"], "properties":
                {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/T"}}}}}),
            "T {v :int, next T?}",
        ),
    ] {
        assert_eq!(read(schema.clone()).to_string(), text, "{schema}");
    }
}

#[test]
fn what_could_not_be_checked_is_refused() {
    let chain: Json =
        (0..3).map(|at| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", (at + 1) % 3)}))).collect();
    for (schema, text) in [
        (json!([]), "JSON Schema at #: a schema is an object"),
        (
            json!({"type": "string", "patern": "x"}),
            "JSON Schema at #: `patern` is not supported and would not be checked",
        ),
        (
            json!({"type": "array", "items": {"type": "tuple"}}),
            "JSON Schema at #/items: `type` `tuple` is not supported",
        ),
        (
            json!({"type": "object", "properties": {}, "required": ["x"]}),
            "JSON Schema at #: `required` names `x`, which `properties` does not",
        ),
        (
            json!({"$ref": "#/$defs/no"}),
            "JSON Schema at #: `$ref` leads nowhere in this document: #/$defs/no",
        ),
        (
            json!({"$ref": "https://h/s"}),
            "JSON Schema at #: `$ref` leads nowhere in this document: https://h/s",
        ),
        (
            json!({"$ref": "#/$defs/d0", "$defs": chain}),
            "JSON Schema at #: `$ref` leads round in a circle: #/$defs/d0",
        ),
        (json!({"minimum": "1"}), "JSON Schema at #: `minimum` must be a number"),
        (json!({"enum": []}), "JSON Schema at #: `enum` must be a list with at least one value"),
        (
            json!({"items": [{}]}),
            "JSON Schema at #: `items` must be one schema; write `prefixItems` for a tuple",
        ),
    ] {
        assert_eq!(Schema::new(&schema).unwrap_err().to_string(), text);
    }
    let lookahead = Schema::new(&json!({"type": "string", "pattern": "(?=a)"})).unwrap_err().to_string();
    assert!(
        lookahead.starts_with("JSON Schema at #: the pattern `(?=a)` cannot be checked: "),
        "{lookahead}"
    );
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(Schema::new(&deep).unwrap_err().to_string().ends_with("deeper than 64 levels"));
}

#[test]
fn every_bound_is_checked() {
    let fails = |schema: Json, good: Json, bad: Json, text: &str| {
        assert_eq!(check(&schema, good), Ok(()), "{schema}");
        assert_eq!(check(&schema, bad), Err(text.to_owned()), "{schema}");
    };
    fails(json!({"minimum": 1}), json!(1), json!(0), "root: expected at least 1, got 0");
    fails(json!({"maximum": 1.5}), json!(1.5), json!(2), "root: expected at most 1.5, got 2");
    fails(json!({"exclusiveMinimum": 0}), json!(0.1), json!(0), "root: expected more than 0, got 0");
    fails(json!({"exclusiveMaximum": 3}), json!(2), json!(3), "root: expected less than 3, got 3");
    fails(json!({"multipleOf": 0.1}), json!(0.3), json!(0.35), "root: expected a multiple of 0.1, got 0.35");
    fails(json!({"multipleOf": 7}), json!(14), json!(15), "root: expected a multiple of 7, got 15");
    fails(json!({"minLength": 2}), json!("éé"), json!("é"), "root: expected at least 2 characters, got 1");
    fails(json!({"maxLength": 1}), json!("é"), json!("ab"), "root: expected at most 1 characters, got 2");
    fails(
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        json!("abc"),
        json!("a1"),
        "root: expected text that matches /^[a-z]+$/, got \"a1\"",
    );
    fails(json!({"minItems": 1}), json!([1]), json!([]), "root: expected at least 1 items, got 0");
    fails(json!({"maxItems": 1}), json!([1]), json!([1, 2]), "root: expected at most 1 items, got 2");
    fails(
        json!({"uniqueItems": true}),
        json!([1, 2]),
        json!([1, 2, 1.0]),
        "root: expected unique items, got 1.0 twice",
    );
    fails(
        json!({"contains": {"const": 1}}),
        json!([0, 1]),
        json!([0]),
        "root: 0 items are 1, which is too few or too many",
    );
    fails(
        json!({"maxProperties": 1}),
        json!({"a": 1}),
        json!({"a": 1, "b": 2}),
        "root: expected at most 1 fields, got 2",
    );
    fails(
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"a": 1}),
        json!({"ab": 1}),
        "ab: the schema does not allow this name",
    );
    fails(
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"b": 1}),
        json!({"a": 1}),
        "root: `a` needs `b` beside it",
    );
    fails(
        json!({"not": {"type": "null"}}),
        json!(1),
        json!(null),
        "root: the value is one that the schema rules out",
    );
    fails(
        json!({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"maximum": 5}}),
        json!(20),
        json!(11),
        "root: expected a multiple of 10, got 11",
    );
    fails(
        json!({"patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": false}),
        json!({"n1": 1}),
        json!({"x": 1}),
        "x: unexpected field — schema disallows additional properties",
    );
    fails(
        json!({"type": "integer", "format": "uint8"}),
        json!(255),
        json!(256),
        "root: expected uint8 (0 to 255), got 256",
    );
    fails(
        json!({"type": "integer", "format": "int64"}),
        json!(i64::MAX),
        json!(u64::MAX),
        "root: expected int64 (-9223372036854775808 to 9223372036854775807), got 18446744073709551615",
    );
    fails(
        json!({"format": "uuid"}),
        json!("0a0a0a0a-0000-4000-8000-000000000000"),
        json!("x"),
        "root: expected uuid, got string",
    );
    fails(
        json!({"format": "date"}),
        json!("2026-02-28"),
        json!("2026-02-30"),
        "root: expected date, got string",
    );
    fails(
        json!({"const": {"a": 1}}),
        json!({"a": 1.0}),
        json!({"a": 2}),
        "root: expected {\"a\":1}, got map",
    );
    fails(
        json!({"oneOf": [{"minimum": 1}, {"maximum": 2}]}),
        json!(5),
        json!(2),
        "root: the value fits 2 alternatives where it must fit one",
    );
    let float: Json = serde_json::from_str("1e999").unwrap();
    let message = "root: expected float, got 1e+999, which is beyond the largest float";
    assert_eq!(check(&json!({"type": "number"}), float), Err(message.into()));
}

#[test]
fn hostile_schemas_and_values_end() {
    let bomb = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}});
    assert!(check(&bomb, json!(1)).is_err());
    let twins = read(json!({"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["x"]},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["x"], "minProperties": 1}]}}}));
    let deep = (0..60).fold(json!("leaf"), |inner, _| json!({"x": inner}));
    assert!(twins.check(&deep).is_err());
    assert_eq!(twins.bend(deep.clone()), deep);
    assert!(twins.example().is_none());
}

#[test]
fn values_take_the_form_of_the_schema() {
    let schema = read(json!({"type": "object", "required": ["kept"], "properties": {
        "a-b": {"type": "integer"}, "n": {"type": "integer"}, "maybe": {"type": ["string", "null"]}, "kept": {},
        "in": {"anyOf": [{"type": "object", "properties": {"p": {"type": "string"}}}, {"type": "null"}]}}}));
    let bent = schema
        .bend(json!({"a_b": 1, "n": null, "maybe": null, "kept": null, "in": {"p": null}, "other": null}));
    assert_eq!(bent, json!({"a-b": 1, "maybe": null, "kept": null, "in": {}, "other": null}));
    assert_eq!(schema.check(&bent), Ok(()));
    let (value, warnings) = schema.coerce(json!({"n": "5", "a_b": 2.0, "kept": "5"}));
    assert_eq!(value, json!({"n": 5, "a-b": 2, "kept": "5"}));
    assert_eq!(warnings, ["n: \"5\" was read as int", "a-b: \"2.0\" was read as int"]);
}

#[test]
fn constraints_of_providers_have_an_object_at_their_root() {
    let whole = |schema: Json| read(schema).response();
    assert_eq!(whole(json!({"type": "string", "enum": ["a"]})), None);
    assert_eq!(
        whole(json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}))
            .unwrap(),
        json!({"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
            "required": ["items"], "additionalProperties": false, "$defs": {"n": {"type": "integer"}}})
    );
    let tree =
        whole(json!({"oneOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "integer"}]})).unwrap();
    assert_eq!(tree["properties"]["answer"], json!({"$ref": "#/$defs/answer"}));
    assert_eq!(tree["$defs"]["answer"]["oneOf"][0]["items"], json!({"$ref": "#/$defs/answer"}));
    assert!(Schema::new(&tree).is_ok());
}

mod rust_types {
    #![expect(dead_code, reason = "the types are looked at by schemars only")]

    use super::*;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    #[derive(Deserialize, JsonSchema)]
    enum Level {
        Low,
        /// As high as it gets.
        High,
    }

    #[derive(Deserialize, JsonSchema)]
    enum External {
        Unit,
        Newtype(u8),
        Tuple(i32, String),
        Struct { a: f64 },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    enum Internal {
        OneThing { n: u32 },
        Other(Inner),
        Nothing,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        A(i64),
        B { x: bool },
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Untagged {
        Number(f64),
        Text(String),
        Pair { low: f64, high: f64 },
    }

    #[derive(Deserialize, JsonSchema)]
    struct Inner {
        id: u64,
        note: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Tree {
        value: i8,
        #[serde(default)]
        children: Vec<Tree>,
        parent: Option<Box<Tree>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Everything {
        level: Level,
        levels: Option<Vec<Level>>,
        inner: Inner,
        maybe: Option<Inner>,
        counts: HashMap<String, u32>,
        by_number: BTreeMap<u16, bool>,
        set: BTreeSet<String>,
        pair: (i32, f32),
        fixed: [u8; 2],
        any: serde_json::Value,
        #[serde(rename = "kebab-name")]
        named: char,
        #[schemars(range(min = 1, max = 5), extend("x-unit" = "stars"))]
        stars: u8,
        #[schemars(length(min = 1, max = 3), regex(pattern = r"^\w+$"))]
        word: String,
        #[serde(default)]
        unit: (),
        big: i128,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Flat {
        id: u64,
        #[serde(flatten)]
        inner: Level2,
        #[serde(flatten)]
        kind: Internal,
        #[serde(flatten)]
        rest: BTreeMap<String, serde_json::Value>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Level2 {
        x: Option<f32>,
    }

    fn agrees<T: JsonSchema + for<'a> Deserialize<'a>>(good: &[Json], bad: &[Json]) {
        let schema = of::<T>();
        for value in good {
            let bent = schema.bend(value.clone());
            assert_eq!(schema.check(&bent), Ok(()), "{value} of {schema:?}");
            assert!(serde_json::from_str::<T>(&bent.to_string()).is_ok(), "{value}");
        }
        for value in bad {
            assert!(schema.check(&schema.bend(value.clone())).is_err(), "{value} of {schema:?}");
        }
        // What is shown and sent is there for every type.
        assert!(!schema.to_string().is_empty());
        if let Some(example) = schema.example() {
            assert!(serde_json::from_str::<T>(&example.to_string()).is_ok(), "{example}");
        }
        let shape = schema.shape();
        assert_eq!(schema.response().is_some(), !matches!(shape, Shape::Text | Shape::Scalar), "{schema:?}");
    }

    #[test]
    fn enums_of_every_tagging() {
        agrees::<Level>(&[json!("Low"), json!("High")], &[json!("low"), json!(1), json!(null)]);
        agrees::<External>(
            &[
                json!("Unit"),
                json!({"Newtype": 255}),
                json!({"Tuple": [1, "x"]}),
                json!({"Struct": {"a": 1}}),
            ],
            &[
                json!("Newtype"),
                json!({"Newtype": 256}),
                json!({"Tuple": [1]}),
                json!({"Struct": {}}),
                json!({"No": 1}),
            ],
        );
        agrees::<Internal>(
            &[
                json!({"kind": "one-thing", "n": 1}),
                json!({"kind": "other", "id": 1, "note": null}),
                json!({"kind": "nothing"}),
            ],
            &[
                json!({"kind": "one-thing", "n": -1}),
                json!({"kind": "other"}),
                json!({"kind": "no"}),
                json!({}),
            ],
        );
        agrees::<Adjacent>(
            &[json!({"t": "A", "c": 1}), json!({"t": "B", "c": {"x": true}})],
            &[json!({"t": "A", "c": "1"}), json!({"t": "B", "c": {}}), json!({"t": "C", "c": 1})],
        );
        agrees::<Untagged>(
            &[json!(1.5), json!("x"), json!({"low": 1, "high": 2})],
            &[json!(true), json!({"low": 1}), json!([])],
        );
        let message = of::<Internal>().check(&json!({"kind": "other", "id": "x"})).unwrap_err().to_string();
        assert_eq!(message, "id: expected int, got string");
        let message = of::<Level>().check(&json!("Middle")).unwrap_err().to_string();
        assert_eq!(message, "root: expected one of [\"Low\", \"High\"], got \"Middle\"");
    }

    #[test]
    fn types_within_themselves() {
        let leaf = json!({"value": 1, "parent": null});
        agrees::<Tree>(
            &[
                leaf.clone(),
                json!({"value": -128, "children": [leaf.clone()], "parent": {"value": 2, "children": null}}),
            ],
            &[
                json!({"value": 128}),
                json!({"value": 1, "children": [{"value": "x"}]}),
                json!({"value": 1, "parent": 5}),
            ],
        );
        assert_eq!(
            of::<Tree>()
                .check(&json!({"value": 1, "children": [leaf, {"value": "x"}]}))
                .unwrap_err()
                .to_string(),
            "children.1.value: expected int, got string"
        );
    }

    #[test]
    fn everything_in_one_struct() {
        let good = json!({"level": "Low", "levels": ["High"], "inner": {"id": 1}, "maybe": {"id": 2, "note": "n"},
            "counts": {"a-b": 1}, "by_number": {"7": true}, "set": ["a", "b"], "pair": [1, 2.5], "fixed": [1, 2],
            "any": {"x": [null]}, "kebab-name": "c", "stars": 5, "word": "abc", "unit": null, "big": 1});
        let with = |key: &str, value: Json| {
            let mut changed = good.clone();
            changed[key] = value;
            changed
        };
        agrees::<Everything>(
            &[good.clone(), with("maybe", Json::Null), with("levels", Json::Null)],
            &[
                with("level", json!("Middle")),
                with("levels", json!(["Middle"])),
                with("inner", json!({"id": -1})),
                with("counts", json!({"a": -1})),
                with("set", json!(["a", "a"])),
                with("pair", json!([1])),
                with("fixed", json!([1, 2, 3])),
                with("stars", json!(6)),
                with("word", json!("")),
                with("word", json!("a b")),
                with("kebab-name", json!("cc")),
                with("unknown", json!(1)),
            ],
        );
        agrees::<Flat>(
            &[json!({"id": 1, "x": 2.5, "kind": "nothing", "more": [1]})],
            &[json!({"id": 1, "kind": "no"}), json!({"x": 1, "kind": "nothing"})],
        );
    }
}
