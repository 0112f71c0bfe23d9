//! Reads schema documents: a keyword that cannot be checked is refused when an agent is built, not skipped when it runs.

use super::{Document, Schema};
use ptc_base::json::Value as Json;
use ptc_schema::parsed::{ParsedSchema, PatternEngine, ReadingProfile, SchemaReadError, SchemaReadProblem};
use std::sync::Arc;

const PROFILE: ReadingProfile = ReadingProfile {
    keywords: "$ref type enum const minContains maxContains uniqueItems nullable format pattern items \
        contains additionalProperties unevaluatedProperties propertyNames not if then else \
        prefixItems allOf anyOf oneOf properties patternProperties $defs definitions required \
        dependentRequired examples example",
    notes: "$schema $id $comment $defs definitions title description default examples example \
        deprecated readOnly writeOnly contentMediaType",
    reads_old_drafts: false,
    is_exact: true,
    sorts_properties: false,
    patterns: PatternEngine::Automaton,
    max_nodes: usize::MAX,
    max_levels: 64,
};

/// A schema that cannot be read. Its `Display` is the detail after `invalid signature: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSON Schema at {place}: {message}")]
pub struct SchemaError {
    /// A JSON pointer, `#` for the whole.
    pub place: String,
    /// The fault.
    pub message: String,
}

/// The sentence of a schema that is refused.
fn refusal(fault: SchemaReadError) -> SchemaError {
    let message = match *fault.problem {
        SchemaReadProblem::NoSchema(..) => "a schema is an object".into(),
        SchemaReadProblem::TooDeep(levels) => format!("deeper than {levels} levels"),
        SchemaReadProblem::TooMany(most) => format!("more than {most} schemas"),
        SchemaReadProblem::Unknown(keywords) => {
            format!(
                "`{}` is not supported and would not be checked",
                keywords.first().map_or("", String::as_str)
            )
        }
        SchemaReadProblem::Type(Json::String(word)) => format!("`type` `{word}` is not supported"),
        SchemaReadProblem::Type(_) => "`type` must be a word or a list of words".into(),
        SchemaReadProblem::ReferenceOutside(text) | SchemaReadProblem::ReferenceNowhere(text) => {
            format!("`$ref` leads nowhere in this document: {text}")
        }
        SchemaReadProblem::ReferenceCircle(text) => format!("`$ref` leads round in a circle: {text}"),
        SchemaReadProblem::Pattern(pattern, detail) => {
            format!("the pattern `{pattern}` cannot be checked: {detail}")
        }
        SchemaReadProblem::Undeclared(name) => {
            format!("`required` names `{name}`, which `properties` does not")
        }
        SchemaReadProblem::Content(keyword, wanted, _) => format!("`{keyword}` must be {wanted}"),
    };
    SchemaError { place: fault.pointer, message }
}

impl Schema {
    /// Reads a schema document of draft 2020-12, draft 7 included where both agree.
    ///
    /// # Errors
    /// The first place that could not be checked: an unknown keyword, a reference that leads out of the document, nowhere
    /// or round in a circle, a pattern that is no regular expression.
    pub fn new(root: &Json) -> Result<Schema, SchemaError> {
        let parsed = ParsedSchema::read(root, &PROFILE).map_err(refusal)?;
        Ok(Schema(Arc::new(Document { root: root.clone(), parsed })))
    }
}
