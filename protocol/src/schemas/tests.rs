//! What a schema allows, each schema that clients are shown of it allows, too.

use proptest::prelude::*;
use ptc_mcp::json::{Map, Value, json};

use super::well_formed::{Use, mend};
use super::{SchemaDialect, change_parts, shown};

const NAMES: [&str; 4] = ["a", "b", "$k", "h\u{200b}"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn scalar() -> impl Strategy<Value = Value> {
    let all = [json!(null), json!(true), json!(1), json!(7.5), json!("a"), json!(""), json!("h\u{200b}")];
    prop::sample::select(all.to_vec())
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    prop::collection::vec((name(), inner), 0..4)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn types() -> impl Strategy<Value = Value> {
    let all = [
        json!("object"),
        json!("string"),
        json!("null"),
        json!(["string", "null"]),
        json!(["integer", "array"]),
        json!(["object", "number", "integer"]),
        json!("array"),
    ];
    prop::sample::select(all.to_vec())
}

/// A keyword with its value.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(&'static str, Value)> {
    let list = prop::collection::vec(inner.clone(), 1..3).prop_map(Value::Array);
    let names = prop::collection::vec(name(), 0..3).prop_map(|names| json!(names));
    prop_oneof![
        2 => types().prop_map(|types| ("type", types)),
        3 => object(inner.clone()).prop_map(|named| ("properties", named.into())),
        2 => names.prop_map(|names| ("required", names)),
        1 => scalar().prop_map(|value| ("const", value)),
        1 => prop::collection::vec(scalar(), 1..4).prop_map(|values| ("enum", values.into())),
        2 => (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]), list),
        2 => (prop::sample::select(vec!["not", "if", "then", "else", "items", "additionalProperties", "contains", "propertyNames"]), inner),
        1 => prop::sample::select(vec![
            ("additionalProperties", json!(false)), ("unevaluatedProperties", json!(false)), ("minLength", json!(1)), ("maxContains", json!(1)),
            ("minimum", json!(2)), ("nullable", json!(true)), ("pattern", json!("^(?i)A")), ("pattern", json!("a")), ("$ref", json!("#/$defs/x")),
            ("patternProperties", json!({"^[ab]": {"type": "string"}, "(?i)^B": {"minLength": 1}})), ("maxProperties", json!(2)),
            ("dependentRequired", json!({"a": ["$k"], "b": ["h\u{200b}"]})), ("format", json!("date-time")),
        ]),
    ]
    .boxed()
}

fn schema() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        types().prop_map(|types| json!({"type": types}))
    ];
    let inner = leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..4).prop_map(|members| {
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map>().into()
        })
    });
    inner.boxed()
}

/// A schema with definitions, which have no references.
fn document() -> impl Strategy<Value = Value> {
    (prop::collection::vec(keyword(schema()), 1..5), schema()).prop_map(|(members, mut target)| {
        change_parts(&mut target, &mut |part| {
            part.remove("$ref");
            true
        });
        let mut whole: Map = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        whole.insert("$defs".to_owned(), json!({"x": target}));
        Value::Object(whole)
    })
}

fn validator(schema: &Value) -> Option<jsonschema::Validator> {
    let schema = serde_json::from_str(&schema.to_string()).unwrap();
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).ok()
}

fn fits(validator: &jsonschema::Validator, value: &Value) -> bool {
    validator.is_valid(&serde_json::from_str(&value.to_string()).unwrap())
}

/// Gemini's `nullable` in JSON Schema.
fn without_nullable(schema: &mut Value) {
    change_parts(schema, &mut |part| {
        if part.remove("nullable") == Some(json!(true)) {
            let others = Value::Object(std::mem::take(part));
            part.insert("anyOf".to_owned(), json!([{"type": "null"}, others]));
        }
        true
    });
}

/// Each schema that is made of this one, with its name.
fn made_of(schema: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for purpose in [Use::Read, Use::Compiled] {
        let mut made = schema.clone();
        mend(&mut made, purpose);
        all.push((format!("{purpose:?}"), made.clone()));
        shown(&mut made);
        all.push((format!("{purpose:?} shown"), made));
    }
    for dialect in SchemaDialect::ALL {
        if let Some(text) = dialect.adapted(&schema.to_string()) {
            let mut made = serde_json::from_str(&text).unwrap();
            if dialect == SchemaDialect::Gemini {
                without_nullable(&mut made);
            }
            all.push((format!("{dialect:?}"), made));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_schema_that_clients_are_shown_forbids_what_the_original_allows(
        schema in document(), values in prop::collection::vec(prop_oneof![3 => object(value()).prop_map(Value::Object), 1 => value()], 12),
    ) {
        let Some(original) = validator(&schema) else { return Ok(()) };
        let values: Vec<_> = values.into_iter().filter(|value| fits(&original, value)).collect();
        for (name, made) in made_of(&schema) {
            let Some(adapted) = validator(&made) else { panic!("{name}: {schema} became {made}, which is none") };
            for value in &values {
                prop_assert!(fits(&adapted, value), "{}: {} became {}, which forbids {}", name, schema, made, value);
            }
        }
    }
}

#[test]
fn variants_and_types_of_common_schemas_stay_allowed() {
    let union = json!({"type": "object", "required": ["kind"], "oneOf": [
        {"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["x"]},
        {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}, "y": {"type": ["integer", "string"]}}}]});
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "list": {"type": "array"}, "pair": {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        "of": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}}});
    for (schema, values) in [
        (
            union,
            vec![
                json!({"kind": "a", "x": "s"}),
                json!({"kind": "b", "x": 1, "y": "s"}),
                json!({"kind": "b"}),
                json!({"kind": "a", "x": "s", "y": []}),
            ],
        ),
        (
            tree,
            vec![
                json!({"next": {"next": {"list": [1, {}]}}}),
                json!({"pair": ["a", 1]}),
                json!({"of": [[[1]], 2]}),
            ],
        ),
    ] {
        let original = validator(&schema).unwrap();
        for (name, made) in made_of(&schema) {
            let adapted = validator(&made).unwrap();
            for value in &values {
                assert!(fits(&original, value), "{value}");
                assert!(fits(&adapted, value), "{name}: {made} forbids {value}");
            }
        }
    }
}
