//! JSON arguments on the command line.

use ptc_mcp::json::repeated_key;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The text of a JSON object, unchanged.
///
/// # Errors
/// The fault, worded for the person who typed it.
#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
pub(super) fn object(text: &str) -> Result<Arc<str>, String> {
    match serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text) {
        Ok(_) => match repeated_key(text) {
            None => Ok(Arc::from(text)),
            Some(key) => Err(format!("the key {key:?} stands twice in one object")),
        },
        Err(error) => Err(format!("not a JSON object such as {{\"key\": 1}}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_pass_and_they_stay_as_they_are() {
        assert_eq!(&*object(" {\"a\": 1.0} ").unwrap(), " {\"a\": 1.0} ");
        for wrong in ["[]", "1", "", "{a: 1}", "{} {}", "null"] {
            assert!(object(wrong).unwrap_err().starts_with("not a JSON object"), "{wrong}");
        }
        let twice = object(r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
        assert_eq!(twice, "the key \"b\" stands twice in one object");
    }
}
