//! The part of JSON Schema that callers may require of a program's value (server.md 5.1, 5.5), as pydantic and zod write it.
//!
//! [`OutputSchema::parse`] reads a schema, [`OutputSchema::validate`] checks a value and returns its JSON. Validation works on
//! values of the language, so its messages say keyword and nil; the JSON uses the schema's own names.

mod respell;
mod subject;
mod wording;

use ptc_mcp::json::Value as Json;
use ptc_vm::Value;

use self::wording::{LanguageWording, MAX_NODES};
use crate::parsed::{
    ParsedSchema, PatternEngine, ReadingProfile, SchemaReadError, SchemaReadProblem, SchemaWording as _,
    Validation,
};

/// Longest `pattern`, in bytes.
const MAX_PATTERN: usize = 1024;

const PROFILE: ReadingProfile = ReadingProfile {
    keywords: "$ref additionalItems additionalProperties allOf anyOf const enum items not nullable \
        oneOf pattern prefixItems properties propertyNames required type uniqueItems",
    notes: "$anchor $comment $defs $id $schema contentEncoding contentMediaType default definitions \
        deprecated description discriminator example examples externalDocs format id readOnly \
        title writeOnly xml",
    reads_old_drafts: true,
    is_exact: false,
    sorts_properties: true,
    patterns: PatternEngine::Caller(MAX_PATTERN),
    max_nodes: 4096,
    // The parser of the text bounds it.
    max_levels: usize::MAX,
};

/// A schema.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    parsed: ParsedSchema,
}

impl OutputSchema {
    /// Reads the text of a JSON object.
    ///
    /// # Errors
    /// The construct outside the subset, as the text that follows `` argument `output_schema` is invalid: ``.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.parse")]
    pub fn parse(text: &str) -> Result<OutputSchema, String> {
        match ptc_mcp::json::from_str(text) {
            Ok(root @ Json::Object(_)) => match ParsedSchema::read(&root, &PROFILE) {
                Ok(parsed) => Ok(OutputSchema { parsed }),
                Err(fault) => Err(refusal(&fault)),
            },
            Ok(_) => Err("schema must be a JSON object".into()),
            Err(error) if error.is_syntax() && error.to_string().contains("recursion") => {
                Err("schema is nested too deeply".into())
            }
            Err(error) => Err(format!("schema is not JSON: {error}")),
        }
    }

    /// Checks `value`: whether its JSON differs from that of [`validate`](Self::validate), which is spelled as the schema has it.
    ///
    /// # Errors
    /// All mismatches in one text.
    pub fn check(&self, value: &Value) -> Result<bool, String> {
        let wording = LanguageWording::new(&self.parsed);
        let found = Validation::new(&self.parsed, &wording, MAX_NODES)
            .check(value)
            .map_err(|limit| format!("validated value: {limit}"))?;
        if found.is_empty() {
            return Ok(found.is_respelled);
        }
        let mut text = found.spelled.join("; ");
        if found.more > 0 {
            text.push_str(&format!("; and {} more", found.more));
        }
        Err(text)
    }

    /// Checks `value` and returns it as JSON that satisfies the schema: declared properties have their declared names, and
    /// optional ones that are nil are left out if the schema does not admit null.
    ///
    /// # Errors
    /// All mismatches in one text, or the place of a value that has no JSON form.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.validate")]
    pub fn validate(&self, value: &Value) -> Result<String, String> {
        let is_respelled = self.check(value)?;
        let mut bytes = Vec::new();
        ptc_vm::json::write(value, &mut bytes)
            .map_err(|error| format!("validated value: {}", error.message()))?;
        let text = String::from_utf8(bytes).map_err(|_| "validated value: not UTF-8".to_owned())?;
        if !is_respelled {
            return Ok(text);
        }
        let mut tree: Json =
            serde_json::from_str(&text).map_err(|error| format!("validated value: {error}"))?;
        respell::respell(&self.parsed, ParsedSchema::ROOT, &mut tree, LanguageWording::MAX_DEPTH);
        Ok(tree.to_string())
    }
}

/// The sentence of a schema that is refused.
fn refusal(fault: &SchemaReadError) -> String {
    let quoted = |text: &str| Json::from(text).to_string();
    let detail = match &*fault.problem {
        SchemaReadProblem::NoSchema(keyword, value) => match keyword.as_deref() {
            Some("items" | "additionalItems") => "array \"items\" must be a JSON object".into(),
            Some(keyword @ "additionalProperties") => {
                format!("\"{keyword}\" must be true, false or a schema, got {value}")
            }
            _ => "schema must be a JSON object".into(),
        },
        SchemaReadProblem::TooDeep(levels) => format!("schema nests deeper than {levels} levels"),
        SchemaReadProblem::TooMany(most) => format!("schema has more than {most} parts"),
        SchemaReadProblem::Unknown(keywords) => {
            let mut keywords = keywords.clone();
            keywords.sort_unstable();
            format!("unsupported JSON Schema key(s): {}", keywords.join(", "))
        }
        SchemaReadProblem::Type(word) => format!("unsupported type: {word}"),
        SchemaReadProblem::ReferenceOutside(text) => {
            format!("\"$ref\" must lead into the schema itself (\"#/$defs/…\"), got {}", quoted(text))
        }
        SchemaReadProblem::ReferenceNowhere(text) => format!("\"$ref\" {} leads nowhere", quoted(text)),
        SchemaReadProblem::ReferenceCircle(text) => {
            format!("\"$ref\" {} leads round in a circle", quoted(text))
        }
        SchemaReadProblem::Pattern(pattern, detail) => format!("\"pattern\" {}: {detail}", quoted(pattern)),
        SchemaReadProblem::Undeclared(name) => {
            format!("\"required\" names {}, which is no property", quoted(name))
        }
        SchemaReadProblem::Content(keyword, wanted, value) => match keyword.as_str() {
            "required" => {
                match value.as_array().and_then(|names| names.iter().find(|name| !name.is_string())) {
                    Some(entry) => format!("\"required\" entries must be strings, got {entry}"),
                    None => "\"required\" must be an array of strings".into(),
                }
            }
            "enum" => format!("\"enum\" must be an array, got {value}"),
            "pattern" => format!("\"pattern\" must be a string of at most {MAX_PATTERN} bytes"),
            "properties" => "\"properties\" must be a JSON object".into(),
            "$ref" => format!("\"$ref\" must be a string, got {value}"),
            "uniqueItems" | "nullable" => format!("\"{keyword}\" must be {wanted}, got {value}"),
            "multipleOf" => "\"multipleOf\" must be a number".into(),
            "allOf" | "anyOf" | "oneOf" | "items" | "prefixItems" => {
                format!("\"{keyword}\" must be an array of schemas")
            }
            _ => format!("\"{keyword}\" must be {wanted}"),
        },
    };
    fault.properties.iter().rev().fold(detail, |detail, name| format!("property {}: {detail}", quoted(name)))
}

#[cfg(test)]
mod tests;
