//! The form of `:value`, as far as a tool's `outputSchema` describes it (ruling 50).

use ptc_mcp::json::Value;

use ptc_schema::json_schema::{properties, resolve};

/// The part of an answer's schema that describes `:value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PayloadSchema<'s> {
    /// `:value` is the structured content as it is described.
    Whole(Option<&'s Value>),
    /// It is the value under `result`.
    Inside(&'s Value),
    /// It is the text of the one property where the answer's text is the same, and the whole otherwise.
    TextOrWhole(&'s Value),
}

impl<'s> PayloadSchema<'s> {
    /// The schema of the usual `:value`: servers that describe a text send the same text beside it.
    pub(super) fn usual(self) -> Option<&'s Value> {
        match self {
            Self::Whole(schema) => schema,
            Self::Inside(schema) | Self::TextOrWhole(schema) => Some(schema),
        }
    }
}

/// Reads an `outputSchema`.
pub(super) fn payload_schema(output: Option<&Value>) -> PayloadSchema<'_> {
    let Some(root) = output else { return PayloadSchema::Whole(None) };
    let only = resolve(root, root).and_then(properties).filter(|properties| properties.len() == 1);
    match only.and_then(|properties| properties.iter().next()) {
        Some((name, inner)) if name == "result" => PayloadSchema::Inside(inner),
        Some((_, inner))
            if resolve(root, inner).and_then(|s| s.get("type")).is_some_and(|t| t == "string") =>
        {
            PayloadSchema::TextOrWhole(inner)
        }
        _ => PayloadSchema::Whole(output),
    }
}

/// Whether nothing is known against an answer whose payload lies under `result`.
pub(super) fn may_wrap(output: Option<&Value>) -> bool {
    output.is_none() || matches!(payload_schema(output), PayloadSchema::Inside(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn wrappers_are_told_by_their_one_property() {
        let list = json!({"type": "array"});
        let result = json!({"type": "object", "properties": {"result": list}, "required": ["result"]});
        assert_eq!(payload_schema(Some(&result)), PayloadSchema::Inside(&list));
        let referred =
            json!({"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"result": {"type": "string"}}}}});
        assert_eq!(payload_schema(Some(&referred)), PayloadSchema::Inside(&json!({"type": "string"})));
        let text = json!({"properties": {"content": {"type": "string"}}});
        assert_eq!(payload_schema(Some(&text)), PayloadSchema::TextOrWhole(&json!({"type": "string"})));
        let two = json!({"properties": {"result": {}, "total": {}}});
        assert_eq!(payload_schema(Some(&two)), PayloadSchema::Whole(Some(&two)));
        assert!(
            may_wrap(None) && may_wrap(Some(&result)) && !may_wrap(Some(&two)) && !may_wrap(Some(&json!({})))
        );
    }
}
