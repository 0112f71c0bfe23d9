//! The definition of a tool as it is pinned: a digest for each fact, and its text.

use ptc_mcp::json::Value;
use ptc_secret::canonical_json::canonical_value;
use ptc_secret::digest::{sha256, sha256_of_parts};
use std::collections::BTreeMap;

/// A part of a tool's definition. Their order is that of their names in the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolFact {
    /// MCP annotations: the hints on what it does.
    Annotations,
    /// Its description.
    Description,
    /// The JSON Schema of its arguments.
    InputSchema,
    /// The request that a REST tool is: method, path, default arguments.
    Operation,
    /// The JSON Schema of its result.
    OutputSchema,
    /// Its name for people.
    Title,
}

impl ToolFact {
    /// All of them, in order.
    pub const ALL: [ToolFact; 6] = [
        Self::Annotations,
        Self::Description,
        Self::InputSchema,
        Self::Operation,
        Self::OutputSchema,
        Self::Title,
    ];

    /// Its key in the lock.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Annotations => "annotations",
            Self::Description => "description",
            Self::InputSchema => "input_schema",
            Self::Operation => "operation",
            Self::OutputSchema => "output_schema",
            Self::Title => "title",
        }
    }

    pub(super) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fact| fact.as_str() == key)
    }

    /// Whether it is a text for readers, which is compared sentence by sentence.
    pub(super) const fn is_prose(self) -> bool {
        matches!(self, Self::Description | Self::Title)
    }
}

/// What an upstream says of a tool, as programs and models are shown it. Facts that a tool does not have are empty.
#[derive(Clone, Copy, Debug)]
pub struct ToolDefinition<'d> {
    /// The name that calls use.
    pub name: &'d str,
    /// Its name for people.
    pub title: Option<&'d str>,
    /// Its description; may be empty.
    pub description: &'d str,
    /// The JSON Schema of its arguments.
    pub input_schema: &'d Value,
    /// The JSON Schema of its result.
    pub output_schema: Option<&'d Value>,
    /// MCP annotations.
    pub annotations: Option<&'d Value>,
    /// The request that a REST tool is.
    pub operation: Option<&'d Value>,
}

/// A tool as it is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedTool {
    name: String,
    facts: BTreeMap<ToolFact, PinnedFact>,
}

/// One fact of a definition. Two are equal if their digests are.
#[derive(Clone, Debug, Eq)]
pub(super) struct PinnedFact {
    /// The SHA-256 of its canonical JSON (waiting.md 3.3).
    pub(super) digest: [u8; 32],
    /// Its canonical JSON; `None` if the lock does not have it.
    pub(super) json: Option<String>,
}

impl PartialEq for PinnedFact {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl PinnedFact {
    /// The fact of this value.
    pub(super) fn of(value: &Value) -> Self {
        // A number that nobody can read counts by its text.
        let text = canonical_value(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let json = text.unwrap_or_else(|| value.to_string());
        Self { digest: sha256(json.as_bytes()), json: Some(json) }
    }
}

impl PinnedTool {
    /// The tool of this definition.
    #[must_use]
    pub fn of(definition: &ToolDefinition<'_>) -> Self {
        let text = |text: &str| PinnedFact::of(&Value::from(text));
        let facts = [
            (ToolFact::Annotations, definition.annotations.map(PinnedFact::of)),
            (ToolFact::Description, Some(definition.description).filter(|t| !t.is_empty()).map(text)),
            (ToolFact::InputSchema, Some(PinnedFact::of(definition.input_schema))),
            (ToolFact::Operation, definition.operation.map(PinnedFact::of)),
            (ToolFact::OutputSchema, definition.output_schema.map(PinnedFact::of)),
            (ToolFact::Title, definition.title.map(text)),
        ];
        let facts = facts.into_iter().filter_map(|(fact, pinned)| Some((fact, pinned?))).collect();
        Self { name: definition.name.to_owned(), facts }
    }

    pub(super) fn new(name: &str, facts: BTreeMap<ToolFact, PinnedFact>) -> Self {
        Self { name: name.to_owned(), facts }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn fact(&self, fact: ToolFact) -> Option<&PinnedFact> {
        self.facts.get(&fact)
    }

    pub(super) fn facts(&self) -> impl ExactSizeIterator<Item = (ToolFact, &PinnedFact)> {
        self.facts.iter().map(|(fact, pinned)| (*fact, pinned))
    }

    /// The SHA-256 of the whole definition: of its name, and of the name and digest of each fact that it has. It is the same
    /// for two definitions if and only if none of their facts differs, however they are written.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut parts: Vec<&[u8]> = vec![self.name.as_bytes()];
        for (fact, pinned) in &self.facts {
            parts.extend([fact.as_str().as_bytes(), &pinned.digest[..]]);
        }
        sha256_of_parts(&parts)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ptc_mcp::json::json;

    /// A tool of this description and input schema.
    pub(crate) fn tool(name: &str, description: &str, input_schema: &Value) -> PinnedTool {
        PinnedTool::of(&ToolDefinition {
            name,
            title: None,
            description,
            input_schema,
            output_schema: None,
            annotations: None,
            operation: None,
        })
    }

    #[test]
    fn a_digest_is_of_the_value_and_not_of_its_spelling() {
        let one = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}});
        let other = r#"{"properties":{"a":{"minimum":1.0,"type":"integer"}}, "type":"object"}"#;
        let other = ptc_mcp::json::from_str::<Value>(other).unwrap();
        let digest = tool("t", "d", &one).digest();
        assert_eq!(digest, tool("t", "d", &other).digest());
        assert_ne!(digest, tool("u", "d", &one).digest());
        assert_ne!(digest, tool("t", "e", &one).digest());
        assert_ne!(digest, tool("t", "d", &json!({"type": "object"})).digest());
    }

    #[test]
    fn each_fact_counts_and_none_stands_for_another() {
        let value = json!({"x": 1});
        let plain = ToolDefinition {
            name: "t",
            title: None,
            description: "",
            input_schema: &value,
            output_schema: None,
            annotations: None,
            operation: None,
        };
        let all = [
            plain,
            ToolDefinition { title: Some("x"), ..plain },
            ToolDefinition { description: "x", ..plain },
            ToolDefinition { output_schema: Some(&value), ..plain },
            ToolDefinition { annotations: Some(&value), ..plain },
            ToolDefinition { operation: Some(&value), ..plain },
        ];
        let digests: std::collections::BTreeSet<_> =
            all.iter().map(|definition| PinnedTool::of(definition).digest()).collect();
        assert_eq!(digests.len(), all.len());
    }
}
