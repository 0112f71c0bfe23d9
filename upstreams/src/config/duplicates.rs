//! Detection of duplicate keys in an object. JSON readers silently keep the last one, which could drop an upstream or
//! undo a security setting.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Reads any JSON value, keeps nothing of it, and fails at the first key that stands twice in one object.
pub(super) struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

macro_rules! ignore_scalars {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<Self, E> { Ok(self) })*
    };
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    ignore_scalars! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice in one object")));
            }
            entries.next_value::<Self>()?;
            keys.insert(key);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        serde_json::from_str::<UniqueKeys>(text).map(drop).map_err(|e| e.to_string())
    }

    #[test]
    fn equal_keys_of_one_object_are_found() {
        check(r#"{"a": [1, 2.5, -3, 12345678901234567890123, true, null, "x"], "b": {"a": {}, "b": {}}}"#)
            .unwrap();
        let error = check(r#"{"x": [{"a": 1, "\u0061": 2}]}"#).unwrap_err();
        assert!(error.starts_with("the key \"a\" stands twice in one object at line 1"), "{error}");
    }
}
