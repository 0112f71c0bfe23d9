//! Forms: the restricted JSON Schema of elicitation (waiting.md 3.2), as the published revisions of MCP define it in
//! `PrimitiveSchemaDefinition`.
//!
//! A form is a flat list of fields. [`Form::parse`] refuses anything else, [`Form::check`] says whether an answer fits,
//! [`Form::to_json`] writes it for a client. Texts that people read lose their hidden characters when a form is read.

mod check;
mod formats;
mod parse;
mod secret_names;
mod write;

use ptc_mcp::Revision;
use ptc_mcp::json::Number;
use serde::{Deserialize, Serialize};

/// The fields that a person is asked to fill in. Without fields it is a question that is answered with yes or no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Form {
    fields: Vec<Field>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The property's name in the answer. It has no hidden characters.
    pub name: String,
    /// How it is labelled.
    pub title: Option<String>,
    /// The explanation for the person.
    pub description: Option<String>,
    /// Whether an answer must have it.
    pub required: bool,
    /// The values that fit.
    pub wanted: Wanted,
}

/// The values that fit into a field, and its initial value. A default is of the field's type; its other constraints are checked
/// only when it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Text.
    String {
        /// The required format.
        format: Option<StringFormat>,
        /// How many characters it may have.
        length: Length,
        /// A regular expression for clients to check. It is handed on and never run here.
        pattern: Option<String>,
        /// The default.
        default: Option<String>,
    },
    /// A number.
    Number {
        /// The bounds.
        range: Range,
        /// The default.
        default: Option<Number>,
    },
    /// A number without fraction.
    Integer {
        /// The bounds.
        range: Range,
        /// The default.
        default: Option<Number>,
    },
    /// Yes or no.
    Boolean {
        /// The default.
        default: Option<bool>,
    },
    /// One of several texts.
    One {
        /// At least one.
        choices: Vec<Choice>,
        /// The default's value.
        default: Option<String>,
        /// Whether titles were given as `enumNames`, and are written so: the deprecated way, which later revisions still have.
        has_enum_names: bool,
    },
    /// Some of several texts.
    Some {
        /// At least one.
        choices: Vec<Choice>,
        /// How many of them may be picked.
        count: Length,
        /// The default's values.
        default: Option<Vec<String>>,
    },
}

/// One of the texts to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value in an answer.
    pub value: String,
    /// The text that a person reads instead. A value with hidden characters always has a title.
    pub title: Option<String>,
}

impl Choice {
    /// The text that a person reads.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

/// Bounds of a length or a count, both included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// The least.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

/// Bounds of a number, both included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: Option<Number>,
    /// The most.
    pub max: Option<Number>,
}

/// The required format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringFormat {
    /// `user@example.com`
    Email,
    /// A URI with its scheme (RFC 3986).
    Uri,
    /// `2026-07-28`
    Date,
    /// `2026-07-28T12:00:00Z` (RFC 3339).
    DateTime,
}

impl StringFormat {
    const ALL: [StringFormat; 4] =
        [StringFormat::Email, StringFormat::Uri, StringFormat::Date, StringFormat::DateTime];

    /// Its name in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StringFormat::Email => "email",
            StringFormat::Uri => "uri",
            StringFormat::Date => "date",
            StringFormat::DateTime => "date-time",
        }
    }
}

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormFault {
    /// It is no flat form; where and why.
    #[error("schema is not a flat form: {0}")]
    NotFlat(String),
    /// A field of this name would ask for a secret.
    #[error("a form must not ask for secrets ({})", ptc_base::text::string_literal(.0))]
    Secret(String),
}

/// The two sets of features that clients understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormDialect {
    /// 2025-06-18: no multi-select, titles of choices as `enumNames`, defaults of booleans only.
    V2025_06_18,
    /// From 2025-11-25 on.
    Current,
}

impl FormDialect {
    /// The dialect of a client of `revision`.
    #[must_use]
    pub fn of(revision: Revision) -> FormDialect {
        match revision {
            Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 => FormDialect::V2025_06_18,
            Revision::V2025_11_25 | Revision::V2026_07_28 => FormDialect::Current,
        }
    }
}

impl Form {
    /// Fields of a form.
    pub const MAX_FIELDS: usize = 64;
    /// Bytes of a schema.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// The form without fields.
    #[must_use]
    pub fn yes_or_no() -> Form {
        Form::default()
    }

    /// The fields, in the order in which the schema has them.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether a client that understands `dialect` can show it.
    #[must_use]
    pub fn fits(&self, dialect: FormDialect) -> bool {
        dialect == FormDialect::Current
            || !self.fields.iter().any(|field| matches!(field.wanted, Wanted::Some { .. }))
    }
}

#[cfg(test)]
mod tests;
