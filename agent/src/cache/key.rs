//! The cache key of a call.

use crate::tool::JsonMap;
use ptc_base::json::Value as Json;
use ptc_schema::parsed::{has_no_fraction, integer_of};
use ring::digest::{SHA256, digest};
use std::fmt::Write as _;

/// A tool's name and its arguments in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CacheKey {
    tool: String,
    /// Compact JSON with sorted keys.
    arguments: String,
}

impl CacheKey {
    /// The first 16 hex digits of SHA-256 over the canonical arguments, for telemetry.
    #[must_use]
    pub(crate) fn hash_text(&self) -> String {
        let hash = digest(&SHA256, self.arguments.as_bytes());
        hash.as_ref().iter().take(8).fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }
}

/// The key of a call, whichever side it comes from.
///
/// Names of fields are spelled with `_`, their order is irrelevant, a float that is an integer is that integer.
/// `None` if two fields of one object have the same name then: such a call is not cached.
#[must_use]
pub(crate) fn canonical_key(tool: &str, arguments: &JsonMap) -> Option<CacheKey> {
    let arguments = canonical_map(arguments)?;
    Some(CacheKey { tool: tool.to_owned(), arguments: Json::Object(arguments).to_string() })
}

/// Arguments in canonical form, keys sorted.
pub(crate) fn canonical_map(map: &JsonMap) -> Option<JsonMap> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map {
        entries.push((key.replace('-', "_"), canonical(value)?));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let distinct = entries.windows(2).all(|pair| pair[0].0 != pair[1].0);
    distinct.then(|| entries.into_iter().collect())
}

/// Recursion is as deep as JSON that was parsed or built by a handler's caller; both are bounded.
fn canonical(value: &Json) -> Option<Json> {
    Some(match value {
        Json::Object(map) => Json::Object(canonical_map(map)?),
        Json::Array(items) => Json::Array(items.iter().map(canonical).collect::<Option<_>>()?),
        Json::Number(number) if has_no_fraction(number) => match number.as_str() {
            "-0" => Json::from(0),
            _ => value.clone(),
        },
        // One number may be written in several ways (`1.50`, `15e-1`): its shortest form stands for all.
        Json::Number(number) => match (integer_of(number), number.as_f64()) {
            (Some(int), _) => int.into(),
            (None, Some(float)) => ptc_base::json::Number::from_f64(float).map(Json::Number)?,
            (None, None) => return None,
        },
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ptc_base::json::json;

    fn key(value: &Json) -> Option<CacheKey> {
        canonical_key("t", value.as_object().unwrap())
    }

    fn parsed(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_table() {
        for (a, b, same) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true),
            (r#"{"n":1}"#, r#"{"n":1.0}"#, true),
            (r#"{"n":0}"#, r#"{"n":-0.0}"#, true),
            (r#"{"n":1.50}"#, r#"{"n":15e-1}"#, true),
            (r#"{"was-improved":true}"#, r#"{"was_improved":true}"#, true),
            (r#"{"p":[1,{"a":2.0}]}"#, r#"{"p":[1,{"a":2}]}"#, true),
            (r#"{"n":1.5}"#, r#"{"n":1}"#, false),
            (r#"{"n":"1"}"#, r#"{"n":1}"#, false),
            (r#"{"xs":[1,2]}"#, r#"{"xs":[2,1]}"#, false),
            (r#"{"n":null}"#, r#"{}"#, false),
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#, false),
        ] {
            assert_eq!(key(&parsed(a)) == key(&parsed(b)), same, "{a} {b}");
        }
        assert_eq!(key(&json!({"x": {"a-b": 1, "a_b": 2}})), None);
        assert_ne!(canonical_key("a", &JsonMap::new()), canonical_key("b", &JsonMap::new()));
        assert_eq!(key(&json!({})).unwrap().hash_text(), "44136fa355b3678a");
    }

    fn json_values() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i32>().prop_map(Json::from),
            "[a-z ]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("[a-c][-_]?[a-c]", inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same value as another caller would write it: fields backwards, `-` for `_`, integers as floats.
    fn disguised(value: &Json) -> Json {
        match value {
            Json::Object(map) => {
                Json::Object(map.iter().rev().map(|(k, v)| (k.replace('_', "-"), disguised(v))).collect())
            }
            Json::Array(items) => items.iter().map(disguised).collect(),
            Json::Number(number) => parsed(&format!("{number}.0")),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn a_key_depends_on_the_meaning_only(value in json_values()) {
            let arguments = json!({"v": value}).as_object().unwrap().clone();
            if let Some(key) = canonical_key("t", &arguments) {
                let other = disguised(&Json::Object(arguments.clone()));
                prop_assert_eq!(Some(key), canonical_key("t", other.as_object().unwrap()));
                let canonical = canonical_map(&arguments).unwrap();
                prop_assert_eq!(canonical_map(&canonical).unwrap(), canonical);
            }
        }
    }
}
