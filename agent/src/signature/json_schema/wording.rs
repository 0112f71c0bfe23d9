//! Checks values against schemas, in the words of signatures.

use super::super::check::{Mismatches, label};
use super::Schema;
use ptc_base::json::Value as Json;
use ptc_schema::parsed::{
    BoundKeyword, Kind, MisfitList, PlaceStep, SchemaId, SchemaMisfit, SchemaNode, SchemaPlace,
    SchemaSubject as _, SchemaWording, Validation, ValidationLimit, has_no_fraction,
};

/// How deep schemas within schemas are followed along one value.
const MAX_DEPTH: usize = 400;
/// Looks at schemas that a value is worth, and each value within it: alternatives that refer to each other multiply.
const MAX_LOOKS: usize = 10_000;
const MAX_LOOKS_EACH: usize = 64;
/// Bytes of a value that a message shows.
const MAX_SHOWN: usize = 60;

impl Schema {
    /// Checks a value strictly.
    ///
    /// # Errors
    /// All mismatches in the schema's order, as `l.0.n: expected int, got string`; the whole value is `root`.
    pub fn check(&self, value: &Json) -> Result<(), Mismatches> {
        match Validation::new(&self.0.parsed, &SignatureWording(self), looks(value)).check(value) {
            Ok(found) if found.is_empty() => Ok(()),
            Ok(found) => Err(Mismatches::new(found.spelled, found.more)),
            Err(limit) => Err(Mismatches::new(vec![limit], 0)),
        }
    }

    /// Whether a value fits a schema within the document. Takes its looks from `left`.
    pub(super) fn fits(&self, id: SchemaId, value: &Json, left: &mut usize) -> bool {
        Validation::fits(&self.0.parsed, &SignatureWording(self), id, value, left)
    }
}

/// How many looks at schemas a value is worth.
pub(super) fn looks(value: &Json) -> usize {
    let (mut nodes, mut rest) = (0_usize, vec![value]);
    while let Some(value) = rest.pop() {
        nodes += 1;
        match value {
            Json::Array(items) => rest.extend(items),
            Json::Object(map) => rest.extend(map.values()),
            _ => {}
        }
    }
    nodes.saturating_mul(MAX_LOOKS_EACH).saturating_add(MAX_LOOKS)
}

/// The texts, which show parts of the schema.
struct SignatureWording<'s>(&'s Schema);

impl SchemaWording for SignatureWording<'_> {
    type Value = Json;
    type Complaint = String;

    const MAX_DEPTH: usize = MAX_DEPTH;
    const MAX_COMPLAINTS: usize = super::super::check::MAX_DISPLAYED;
    const KINDS_FIRST: bool = false;

    fn complaint(
        &self,
        misfit: &SchemaMisfit<'_>,
        node: &SchemaNode,
        value: &Json,
        place: &SchemaPlace<'_>,
    ) -> String {
        let text = match misfit {
            SchemaMisfit::Never => "no value is allowed here".into(),
            SchemaMisfit::Kind => {
                let expected: Vec<&str> = node.kinds.iter().map(|kind| word_of(*kind, node)).collect();
                format!("expected {}, got {}", expected.join(" or "), label(value))
            }
            SchemaMisfit::Constant(constant) => format!("expected {constant}, got {}", shown(value)),
            SchemaMisfit::Choice(choices) => {
                format!("expected one of {}, got {}", list(*choices), shown(value))
            }
            SchemaMisfit::Bound(keyword, limit, count) => {
                let of = match keyword {
                    BoundKeyword::MinLength | BoundKeyword::MaxLength => " characters",
                    BoundKeyword::MinItems | BoundKeyword::MaxItems => " items",
                    BoundKeyword::MinProperties | BoundKeyword::MaxProperties => " fields",
                    _ => "",
                };
                let found = count.map_or_else(|| value.to_string(), |count| count.to_string());
                format!("expected {} {limit}{of}, got {found}", keyword.words())
            }
            SchemaMisfit::BeyondFloats => {
                value.as_number().map(super::super::check::out_of_range).unwrap_or_default()
            }
            SchemaMisfit::Pattern(pattern) => {
                format!("expected text that matches /{pattern}/, got {}", shown(value))
            }
            SchemaMisfit::Format(expected) => match value {
                Json::String(_) => format!("expected {expected}, got string"),
                _ => format!("expected {expected}, got {value}"),
            },
            SchemaMisfit::Repeated(at) => format!("expected unique items, got {} twice", shown(&value[*at])),
            SchemaMisfit::Contains(found, schema) => {
                format!("{found} items are {}, which is too few or too many", self.0.text_of(*schema))
            }
            SchemaMisfit::Missing(_) => "expected field, got nil".into(),
            SchemaMisfit::Unexpected => "unexpected field — schema disallows additional properties".into(),
            SchemaMisfit::Name(_) => "the schema does not allow this name".into(),
            SchemaMisfit::Beside(name, other) => format!("`{name}` needs `{other}` beside it"),
            SchemaMisfit::RuledOut(_) => "the value is one that the schema rules out".into(),
            SchemaMisfit::Several(fitting, _) => {
                format!("the value fits {fitting} alternatives where it must fit one")
            }
        };
        with_place(place, &text)
    }

    fn limit(&self, _: ValidationLimit, place: &SchemaPlace<'_>) -> String {
        with_place(place, "the schema is followed too deep to be checked")
    }

    /// The one that the value was most likely meant for says why.
    fn none_fits(
        &self,
        _: &'static str,
        failed: Vec<(SchemaId, MisfitList<String>)>,
        _: &SchemaNode,
        value: &Json,
        place: &SchemaPlace<'_>,
    ) -> MisfitList<String> {
        let all: Vec<SchemaId> = failed.iter().map(|(id, _)| *id).collect();
        let is_meant = |found: &MisfitList<String>| found.outermost_kind.is_none_or(|at| at > place.depth());
        let mut meant = failed.into_iter().map(|(_, found)| found).filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(found), None) => found,
            _ => {
                let text = format!("expected {}, got {}", self.0.text_of_any(&all), shown(value));
                MisfitList::one(place, with_place(place, &text))
            }
        }
    }

    fn missed_format(&self, node: &SchemaNode, value: &Json) -> Option<String> {
        let format = node.format.as_deref()?;
        match value {
            Json::String(text) => {
                let is_right = match format {
                    "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
                    "date" => text.parse::<jiff::civil::Date>().is_ok(),
                    "uuid" => is_uuid(text),
                    "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
                    "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
                    "ip" => text.parse::<std::net::IpAddr>().is_ok(),
                    _ => true,
                };
                let name = if format == "date-time" { "datetime" } else { format };
                (!is_right).then(|| name.to_owned())
            }
            Json::Number(number) if has_no_fraction(number) => {
                let (least, most) = range(format)?;
                let is_within =
                    number.as_str().parse::<i128>().is_ok_and(|whole| (least..=most).contains(&whole));
                (!is_within && !value.is_beyond_floats()).then(|| format!("{format} ({least} to {most})"))
            }
            _ => None,
        }
    }
}

fn with_place(place: &SchemaPlace<'_>, text: &str) -> String {
    let steps: Vec<String> = place
        .steps()
        .into_iter()
        .map(|step| match step {
            PlaceStep::Member(name) => name.to_owned(),
            PlaceStep::Element(at) => at.to_string(),
        })
        .collect();
    let path = if steps.is_empty() { "root".to_owned() } else { steps.join(".") };
    format!("{path}: {text}")
}

/// The word of the signature language for a type.
fn word_of(kind: Kind, node: &SchemaNode) -> &'static str {
    match kind {
        Kind::Integer => "int",
        Kind::Number => "float",
        Kind::Boolean => "bool",
        Kind::Object => "map",
        Kind::Array => "list",
        Kind::Null => "nil",
        Kind::String if node.format.as_deref() == Some("date-time") => "datetime",
        Kind::String => "string",
    }
}

/// The range of an integer format.
fn range(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int" | "int64" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint" | "uint64" => (0, u64::MAX.into()),
        _ => return None,
    })
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.len() == 5
        && groups.iter().zip([8, 4, 4, 4, 12]).all(|(group, length)| {
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// A scalar as it is, cut short; other values by their kind.
fn shown(value: &Json) -> String {
    match value {
        Json::Array(_) | Json::Object(_) | Json::Null => label(value).to_owned(),
        scalar => ptc_base::text::with_dots(&scalar.to_string(), MAX_SHOWN),
    }
}

/// A list of values as messages show it.
pub(super) fn list<'v>(values: impl IntoIterator<Item = &'v Json>) -> String {
    format!("[{}]", values.into_iter().map(Json::to_string).collect::<Vec<_>>().join(", "))
}
