//! What is said of a value of the language that does not fit.

use std::cell::RefCell;
use std::collections::HashMap;

use ptc_mcp::json::Value as Json;
use ptc_vm::value::{Regex, Temporal};
use ptc_vm::{Value, meter};

use super::subject::{MAX_DEPTH, float_of, json_of};
use crate::parsed::{
    BoundKeyword, Kind, MisfitList, ParsedSchema, PlaceStep, SchemaId, SchemaMisfit, SchemaNode,
    SchemaPattern, SchemaPlace, SchemaSubject as _, SchemaWording, ValidationLimit,
};
use ptc_base::text::literal::json_beginnings;
use ptc_base::text::{clip, string_literal};

/// Values looked at before the check gives up: a small value can be an enormous tree by sharing.
pub(super) const MAX_NODES: usize = 2_000_000;
/// Longest name that a place shows, in bytes.
const MAX_NAME: usize = 60;
/// Longest value or list of values that a complaint shows, in bytes.
const MAX_SHOWN: usize = 120;

/// The texts, and what they need.
pub(super) struct LanguageWording<'s> {
    schema: &'s ParsedSchema,
    /// The patterns that were needed, as the language reads them; nothing where it cannot.
    patterns: RefCell<HashMap<String, Option<Value>>>,
}

impl<'s> LanguageWording<'s> {
    pub(super) fn new(schema: &'s ParsedSchema) -> Self {
        LanguageWording { schema, patterns: RefCell::default() }
    }
}

impl SchemaWording for LanguageWording<'_> {
    type Value = Value;
    type Complaint = String;

    const MAX_DEPTH: usize = MAX_DEPTH;
    const MAX_COMPLAINTS: usize = 3;
    const WEIGHS_VALUES: bool = true;
    const BY_DECLARATION: bool = true;

    fn complaint(
        &self,
        misfit: &SchemaMisfit<'_>,
        node: &SchemaNode,
        value: &Value,
        place: &SchemaPlace<'_>,
    ) -> String {
        let (path, got) = (path(place), label(value));
        let listed = |keyword: &str, one_of: &str, values: &[Json]| {
            let list = json_beginnings(values, ", ", MAX_SHOWN);
            format!("expected {one_of}{list} at {path} ({keyword}), got {}", shown(value))
        };
        match misfit {
            SchemaMisfit::Never => format!("nothing is allowed at {path}, got {got}"),
            SchemaMisfit::Kind => format!("expected {} at {path}, got {got}", words(&node.kinds)),
            SchemaMisfit::Constant(constant) => listed("const", "", std::slice::from_ref(*constant)),
            SchemaMisfit::Choice(choices) => {
                listed("enum", if choices.len() == 1 { "" } else { "one of " }, choices)
            }
            SchemaMisfit::Bound(keyword, limit, count) => {
                let of = match keyword {
                    BoundKeyword::MinLength | BoundKeyword::MaxLength => " characters",
                    BoundKeyword::MinItems | BoundKeyword::MaxItems => " items",
                    BoundKeyword::MinProperties | BoundKeyword::MaxProperties => " properties",
                    _ => "",
                };
                let found = count.map(|count| count as f64).or_else(|| float_of(value)).unwrap_or(f64::NAN);
                let limit = limit.as_f64().unwrap_or(f64::NAN);
                format!(
                    "expected {} {limit}{of} at {path} ({}), got {found}",
                    keyword.words(),
                    keyword.name()
                )
            }
            SchemaMisfit::Pattern(pattern) => {
                let pattern = clip(pattern, MAX_SHOWN);
                format!("expected text that matches {pattern} at {path} (pattern), got {}", shown(value))
            }
            SchemaMisfit::Repeated(_) => format!("expected no item twice at {path} (uniqueItems)"),
            SchemaMisfit::Missing(schema) => {
                let kinds = schema.map_or(&[][..], |schema| &self.schema[schema].kinds);
                let expected = if kinds.is_empty() { "a value".into() } else { words(kinds) };
                format!("expected {expected} at {path}, got nothing: it is required")
            }
            SchemaMisfit::Unexpected => {
                format!("unexpected property at {path}: the schema allows no others")
            }
            SchemaMisfit::RuledOut(_) => {
                format!("{} at {path} is what must not be there (not)", shown(value))
            }
            SchemaMisfit::Several(fitting, of) => {
                format!("{fitting} of {} alternatives fit at {path} (oneOf): exactly one must", of.len())
            }
            // Keywords that are refused, and values that the language has not.
            SchemaMisfit::BeyondFloats
            | SchemaMisfit::Format(_)
            | SchemaMisfit::Contains(..)
            | SchemaMisfit::Name(_)
            | SchemaMisfit::Beside(..) => format!("unexpected {got} at {path}"),
        }
    }

    fn limit(&self, limit: ValidationLimit, place: &SchemaPlace<'_>) -> String {
        match limit {
            ValidationLimit::Work => format!("more than {MAX_NODES} values"),
            ValidationLimit::Depth => {
                format!("more than {MAX_DEPTH} schemas within each other at {}", path(place))
            }
            ValidationLimit::Pattern(detail) => detail,
        }
    }

    /// Describes the misfit of the alternative that was likely meant: alternatives that are null for a value that is not are
    /// out, and one whose complaint lies deeper came further.
    fn none_fits(
        &self,
        keyword: &'static str,
        mut failed: Vec<(SchemaId, MisfitList<String>)>,
        _: &SchemaNode,
        value: &Value,
        place: &SchemaPlace<'_>,
    ) -> MisfitList<String> {
        let kinds = |id: SchemaId| &self.schema[id].kinds[..];
        let admits = |id| kinds(id).is_empty() || kinds(id).iter().any(|kind| value.is_of(*kind));
        if !failed.iter().any(|(id, _)| admits(*id)) {
            let all: Vec<Kind> = failed.iter().flat_map(|(id, _)| kinds(*id)).copied().collect();
            let complaint = format!("expected {} at {}, got {}", words(&all), path(place), label(value));
            return MisfitList::one(place, complaint);
        }
        failed.retain(|(id, _)| admits(*id));
        let count = failed.len();
        let found = failed.into_iter().map(|(_, found)| found);
        let closest = found.max_by_key(|found| found.deepest.max(place.depth())).unwrap_or_default();
        let first = closest.spelled.into_iter().next().unwrap_or_default();
        let complaint = match count {
            1 => first,
            count => {
                format!(
                    "none of {count} alternatives fits at {} ({keyword}); the closest: {first}",
                    path(place)
                )
            }
        };
        MisfitList { deepest: closest.deepest.max(place.depth()), ..MisfitList::one(place, complaint) }
    }

    /// By the language's own engine, which is safe. Patterns that it cannot read are not checked.
    fn matches(&self, pattern: &SchemaPattern, text: &str) -> Result<bool, String> {
        let mut patterns = self.patterns.borrow_mut();
        let read = || Regex::literal(&pattern.text).ok();
        match patterns.entry(pattern.text.clone()).or_insert_with(read) {
            Some(Value::Regex(regex)) => regex.occurs_in(text).map_err(|error| error.message().to_owned()),
            _ => Ok(true),
        }
    }

    fn charge(&self, units: usize) {
        meter::uncharged(units);
    }
}

/// A place as `$.rows[0].id`.
fn path(place: &SchemaPlace<'_>) -> String {
    let mut path = String::from("$");
    for step in place.steps() {
        path.push_str(&match step {
            PlaceStep::Element(at) => format!("[{at}]"),
            PlaceStep::Member(name) if is_plain(name) => format!(".{name}"),
            PlaceStep::Member(name) => format!("[{}]", string_literal(clip(name, MAX_NAME))),
        });
    }
    path
}

/// Whether a name can stand after a dot.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain)
}

/// `string`, `string or null`.
fn words(kinds: &[Kind]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for kind in kinds {
        if !words.contains(&kind.name()) {
            words.push(kind.name());
        }
    }
    words.join(" or ")
}

/// A value in a complaint about it: itself if it is short, else its kind.
fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) if text.as_str().len() <= MAX_NAME => string_literal(text.as_str()),
        Value::Keyword(keyword) if keyword.name().len() <= MAX_NAME => format!(":{}", keyword.name()),
        Value::Int(number) => number.to_string(),
        Value::Float(_) => json_of(value).unwrap_or_else(|| label(value).to_owned()),
        Value::True => "true".to_owned(),
        Value::False => "false".to_owned(),
        _ => label(value).to_owned(),
    }
}

/// The kind of a value of the language, in messages.
fn label(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::True | Value::False => "a boolean",
        Value::Int(_) | Value::BigInt(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Str(_) => "a string",
        Value::Keyword(_) => "a keyword",
        Value::Vector(_) | Value::List(_) | Value::Queue(_) => "a list",
        Value::Map(_) => "a map",
        Value::Set(_) => "a set",
        Value::Regex(_) => "a regex",
        Value::Blob(_) => "a reference",
        Value::Temporal(temporal) => match &**temporal {
            Temporal::Date(_) => "a date",
            Temporal::Instant { .. } => "an instant",
            Temporal::Duration(_) => "a duration",
            Temporal::Local { .. } => "a date and time without a zone",
            Temporal::Zoned { .. } => "a date and time in a zone",
        },
        Value::Var(_) => "a var",
        Value::Symbol(_) => "a symbol",
        Value::Tool(_) => "a tool",
        Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_) => "a function",
        Value::Cursor(_) => "a cursor",
    }
}
