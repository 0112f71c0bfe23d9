//! What does not fit the schema of the upstreams file: the place of each fault and the remedy.

use ptc_base::similar::most_similar;
use ptc_mcp::json::Value;
use ptc_schema::parsed::{
    BoundKeyword, Kind, MisfitList, ParsedSchema, PatternEngine, PlaceStep, ReadingProfile, SchemaId,
    SchemaMisfit, SchemaNode, SchemaPlace, SchemaReadError, SchemaWording, Validation, ValidationLimit,
};

use super::path::Path;

/// Deeper than the file nests, and more than it needs: the schema is ours.
const MAX_DEPTH: usize = 200;
const MAX_WORK: usize = 1 << 24;

const PROFILE: ReadingProfile = ReadingProfile {
    keywords: "$ref type enum const pattern uniqueItems items allOf oneOf not if then else properties \
        additionalProperties propertyNames required description",
    notes: "$schema $defs title description default",
    reads_old_drafts: false,
    is_exact: false,
    sorts_properties: false,
    patterns: PatternEngine::Automaton,
    max_nodes: usize::MAX,
    max_levels: usize::MAX,
};

/// A place in the file that does not fit the schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileMisfit {
    /// Where it is; of a missing key, where it should be.
    pub(super) path: Path,
    /// Whether the key itself has no business there, rather than its value.
    pub(super) is_key: bool,
    /// `must be a string, got a number`
    pub(super) detail: String,
    /// What was meant, or typed instead, as it stands in the question: `"command"`.
    pub(super) similar: Option<String>,
}

impl FileMisfit {
    /// The question at the end of the sentence.
    pub(super) fn hint(&self) -> String {
        self.similar.as_ref().map_or_else(String::new, |similar| format!("; did you mean {similar}?"))
    }
}

/// The schema of the file.
pub(super) struct FileSchema(ParsedSchema);

impl FileSchema {
    /// Reads its document.
    ///
    /// # Errors
    /// It is none, or has a keyword that is not checked: a mistake that a test finds.
    pub(super) fn read(document: &Value) -> Result<FileSchema, SchemaReadError> {
        ParsedSchema::read(document, &PROFILE).map(FileSchema)
    }

    /// All misfits of a value, in the order of the schema's keywords, from the outside in.
    pub(super) fn misfits(&self, value: &Value) -> Vec<FileMisfit> {
        let wording = FileWording { schema: &self.0 };
        let found = Validation::new(&self.0, &wording, MAX_WORK).check(value);
        let found = found.map_or_else(|limit| vec![limit], |found| found.spelled);
        // Two parts of the schema may say the same of one place.
        let mut told: Vec<FileMisfit> = Vec::with_capacity(found.len());
        for misfit in found {
            if !told.contains(&misfit) {
                told.push(misfit);
            }
        }
        told
    }
}

struct FileWording<'s> {
    schema: &'s ParsedSchema,
}

impl SchemaWording for FileWording<'_> {
    type Value = Value;
    type Complaint = FileMisfit;

    const MAX_DEPTH: usize = MAX_DEPTH;
    const MAX_COMPLAINTS: usize = usize::MAX;

    fn complaint(
        &self,
        misfit: &SchemaMisfit<'_>,
        node: &SchemaNode,
        value: &Value,
        place: &SchemaPlace<'_>,
    ) -> FileMisfit {
        let mut similar = None;
        let detail = match misfit {
            SchemaMisfit::Never => "has no use here".into(),
            SchemaMisfit::Kind => {
                let wanted: Vec<&str> = node.kinds.iter().copied().map(article).collect();
                format!("must be {}, got {}", listed(&wanted, "or"), kind_of(value))
            }
            SchemaMisfit::Constant(only) => choice(std::slice::from_ref(*only), value, &mut similar),
            SchemaMisfit::Choice(choices) => choice(choices, value, &mut similar),
            SchemaMisfit::Bound(BoundKeyword::Minimum, least, _) => format!("must be at least {least}"),
            SchemaMisfit::Bound(BoundKeyword::MinLength | BoundKeyword::MinItems, ..) => {
                "must not be empty".into()
            }
            SchemaMisfit::Repeated(at) => format!("has the same item twice, at {at}"),
            SchemaMisfit::Pattern(_) if *value == "" => "must not be empty".into(),
            SchemaMisfit::Missing(_) => {
                similar = missing(node, value, place);
                "is missing".into()
            }
            SchemaMisfit::Unexpected => {
                if let Some(PlaceStep::Member(key)) = place.last() {
                    let known = node.properties.iter().flatten().map(|property| property.name.as_str());
                    similar = most_similar(key, known).map(str::to_owned);
                }
                "is no key that is known here".into()
            }
            SchemaMisfit::RuledOut(not) => {
                format!(
                    "must not have {}; keep one of them",
                    listed(&self.required(std::iter::once(not)), "and")
                )
            }
            SchemaMisfit::Several(_, of) => self.not_one_of(of.iter(), node),
            SchemaMisfit::Name(_) if matches!(place.last(), Some(PlaceStep::Member(""))) => {
                "must not be empty".into()
            }
            SchemaMisfit::Name(names) => not_of_form(&self.schema[*names]),
            SchemaMisfit::Pattern(_)
            | SchemaMisfit::Bound(..)
            | SchemaMisfit::BeyondFloats
            | SchemaMisfit::Format(_)
            | SchemaMisfit::Contains(..)
            | SchemaMisfit::Beside(..) => not_of_form(node),
        };
        let is_key = matches!(
            misfit,
            SchemaMisfit::Never | SchemaMisfit::Missing(_) | SchemaMisfit::Unexpected | SchemaMisfit::Name(_)
        );
        FileMisfit { path: Path::of(place), is_key, detail, similar }
    }

    fn limit(&self, _: ValidationLimit, place: &SchemaPlace<'_>) -> FileMisfit {
        FileMisfit { path: Path::of(place), is_key: false, detail: "nests too deeply".into(), similar: None }
    }

    fn none_fits(
        &self,
        _: &'static str,
        failed: Vec<(SchemaId, MisfitList<FileMisfit>)>,
        node: &SchemaNode,
        _: &Value,
        place: &SchemaPlace<'_>,
    ) -> MisfitList<FileMisfit> {
        let detail = self.not_one_of(failed.iter().map(|(id, _)| id), node);
        MisfitList::one(place, FileMisfit { path: Path::of(place), is_key: false, detail, similar: None })
    }

    /// Names for readers only.
    fn is_exempt(&self, name: &str) -> bool {
        name.starts_with('$')
    }
}

impl FileWording<'_> {
    /// The keys that schemas require.
    fn required<'i>(&self, ids: impl IntoIterator<Item = &'i SchemaId>) -> Vec<&str> {
        ids.into_iter().flat_map(|id| &self.schema[*id].required).map(String::as_str).collect()
    }

    fn not_one_of<'i>(&self, branches: impl IntoIterator<Item = &'i SchemaId>, node: &SchemaNode) -> String {
        let keys = self.required(branches);
        match keys.as_slice() {
            [] => not_of_form(node),
            keys => format!("must have exactly one of {}", listed(keys, "and")),
        }
    }
}

/// The key that was most likely typed for the one at this place.
fn missing(node: &SchemaNode, value: &Value, place: &SchemaPlace<'_>) -> Option<String> {
    let Some(PlaceStep::Member(key)) = place.last() else { return None };
    let is_known = |key: &str| node.properties.as_ref().is_some_and(|table| table.get(key).is_some());
    let typed = value.as_object()?.keys().map(String::as_str).filter(|other| !is_known(other));
    most_similar(key, typed).map(|_| format!("{key:?}"))
}

/// The values to choose from. The value itself is not shown: it may be a secret in the wrong place.
fn choice(choices: &[Value], value: &Value, similar: &mut Option<String>) -> String {
    let shown: Vec<String> = choices.iter().map(Value::to_string).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let word = value.as_str().and_then(|text| most_similar(text, choices.iter().filter_map(Value::as_str)));
    *similar = word.map(|word| format!("{word:?}"));
    format!("must be {}", listed(&shown, "or"))
}

/// With the schema's description of the place.
fn not_of_form(node: &SchemaNode) -> String {
    let detail = "is not of the form that it must have";
    match &node.description {
        Some(text) => format!("{detail}: {}", text.trim_end_matches('.')),
        None => detail.to_owned(),
    }
}

fn article(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "true or false",
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "a list",
        Kind::Object => "an object",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `a, b or c`
fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}
