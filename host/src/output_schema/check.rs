//! Checks values against schemas.

use ptc_mcp::json::Value as Json;
use ptc_vm::value::{Map, Temporal};
use ptc_vm::{Value, json, meter};

use super::{ObjectSchema, OutputSchema, Property, spelling};
use crate::text::{clip, string_literal};
use std::fmt;

/// Values looked at before the check gives up: a small value can be an enormous tree by sharing.
const MAX_NODES: usize = 2_000_000;
/// Longest name that a place shows, in bytes.
const MAX_NAME: usize = 60;
/// Complaints that are spelled out.
const MAX_COMPLAINTS: usize = 3;

impl OutputSchema {
    /// Checks `value` and gives it as JSON that satisfies the schema: declared properties have their declared names,
    /// and optional ones that are nil are left out.
    ///
    /// # Errors
    /// All mismatches in one text, or the place of a value that has no JSON form.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.validate")]
    pub fn validate(&self, value: &Value) -> Result<String, String> {
        let mut check = Check { complaints: Vec::new(), more: 0, nodes: 0, respell: false };
        check.value(self, value, &mut Path { parts: Vec::new() });
        if check.nodes > MAX_NODES {
            return Err(format!("validated value: more than {MAX_NODES} values"));
        }
        if !check.complaints.is_empty() {
            let mut text = check.complaints.join("; ");
            if check.more > 0 {
                text.push_str(&format!("; and {} more", check.more));
            }
            return Err(text);
        }
        let mut bytes = Vec::new();
        json::write(value, &mut bytes).map_err(|error| format!("validated value: {}", error.message()))?;
        let text = String::from_utf8(bytes).map_err(|_| "validated value: not UTF-8".to_owned())?;
        if !check.respell {
            return Ok(text);
        }
        let mut tree: Json =
            serde_json::from_str(&text).map_err(|error| format!("validated value: {error}"))?;
        respell(self, &mut tree);
        Ok(tree.to_string())
    }
}

/// The way from the root to a value, shown as `$.rows[0].id`.
struct Path {
    parts: Vec<Step>,
}

enum Step {
    Property(String),
    Item(usize),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.parts.iter().try_for_each(|step| match step {
            Step::Item(at) => write!(f, "[{at}]"),
            Step::Property(name) if is_plain(name) => write!(f, ".{name}"),
            Step::Property(name) => write!(f, "[{}]", string_literal(clip(name, MAX_NAME))),
        })
    }
}

/// Whether a name can stand behind a dot.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain)
}

struct Check {
    complaints: Vec<String>,
    more: usize,
    nodes: usize,
    /// Whether some key is spelled otherwise than declared, or an optional property is nil.
    respell: bool,
}

impl Check {
    fn complain(&mut self, complaint: impl FnOnce() -> String) {
        if self.complaints.len() < MAX_COMPLAINTS {
            self.complaints.push(complaint());
        } else {
            self.more += 1;
        }
    }

    /// Recursion is as deep as the schema.
    fn value(&mut self, schema: &OutputSchema, value: &Value, path: &mut Path) {
        self.nodes += 1;
        meter::uncharged(1);
        if self.nodes > MAX_NODES {
            return;
        }
        match (schema, value) {
            (OutputSchema::String, Value::Str(_) | Value::Keyword(_)) => return,
            (OutputSchema::String, Value::Temporal(temporal)) if !is_duration(temporal) => return,
            (OutputSchema::Integer | OutputSchema::Number, Value::Int(_) | Value::BigInt(_)) => return,
            (OutputSchema::Number, Value::Float(_)) => return,
            (OutputSchema::Boolean, Value::True | Value::False) => return,
            (OutputSchema::Array(items), Value::Vector(elements)) => {
                return elements
                    .iter()
                    .enumerate()
                    .for_each(|(at, element)| self.element(items, at, &element, path));
            }
            (OutputSchema::Array(items), Value::Set(elements)) => {
                return elements
                    .iter()
                    .enumerate()
                    .for_each(|(at, element)| self.element(items, at, element, path));
            }
            (OutputSchema::Object(schema), Value::Map(map)) => return self.map(schema, map, path),
            _ => {}
        }
        self.complain(|| format!("expected {} at {path}, got {}", word(schema), label(value)));
    }

    fn element(&mut self, schema: &OutputSchema, at: usize, element: &Value, path: &mut Path) {
        path.parts.push(Step::Item(at));
        self.value(schema, element, path);
        path.parts.pop();
    }

    fn map(&mut self, schema: &ObjectSchema, map: &Map, path: &mut Path) {
        // For each property the entry that spells it best.
        let mut found: Vec<Option<(bool, &Value)>> = vec![None; schema.properties.len()];
        for (key, value) in map.iter() {
            let name = match key {
                Value::Str(text) => text.as_str(),
                Value::Keyword(keyword) => keyword.name(),
                // Other keys are nobody's property; whether they have a JSON form is for the writer to say.
                _ => continue,
            };
            match schema.place(name) {
                Some(at) => {
                    let exact = schema.properties[at].name == name;
                    self.respell |= !exact || value.is_nil();
                    if found[at].is_none_or(|(before, _)| exact && !before) {
                        found[at] = Some((exact, value));
                    }
                }
                None if schema.closed => {
                    path.parts.push(Step::Property(name.to_owned()));
                    self.complain(|| format!("unexpected property at {path}: the schema allows no others"));
                    path.parts.pop();
                }
                None => {}
            }
        }
        for (property, entry) in schema.properties.iter().zip(found) {
            path.parts.push(Step::Property(property.name.clone()));
            match entry {
                None if property.required => {
                    let expected = word(&property.schema);
                    self.complain(|| format!("expected {expected} at {path}, got nothing: it is required"));
                }
                Some((_, value)) if property.required || !value.is_nil() => {
                    self.value(&property.schema, value, path)
                }
                _ => {}
            }
            path.parts.pop();
        }
    }
}

impl ObjectSchema {
    /// The place of the property that `name` spells.
    fn place(&self, name: &str) -> Option<usize> {
        let exact = self.properties.binary_search_by(|property| property.name.as_str().cmp(name)).ok();
        exact.or_else(|| self.by_spelling.get(&spelling(name)).copied())
    }

    fn property(&self, name: &str) -> Option<&Property> {
        self.place(name).map(|at| &self.properties[at])
    }
}

/// Gives declared properties their declared names and drops optional ones that are null.
fn respell(schema: &OutputSchema, tree: &mut Json) {
    match (schema, tree) {
        (OutputSchema::Array(items), Json::Array(elements)) => {
            elements.iter_mut().for_each(|element| respell(items, element));
        }
        (OutputSchema::Object(schema), Json::Object(map)) => {
            let mut renamed = ptc_mcp::json::Map::new();
            for (key, mut value) in std::mem::take(map) {
                match schema.property(&key) {
                    Some(property) if value.is_null() && !property.required => {}
                    Some(property) => {
                        respell(&property.schema, &mut value);
                        // Two spellings of one property: the exact one counts.
                        if key == property.name || !renamed.contains_key(&property.name) {
                            renamed.insert(property.name.clone(), value);
                        }
                    }
                    None => {
                        renamed.insert(key, value);
                    }
                }
            }
            *map = renamed;
        }
        _ => {}
    }
}

fn is_duration(temporal: &Temporal) -> bool {
    matches!(temporal, Temporal::Duration(_))
}

/// The word of a schema for what it admits.
fn word(schema: &OutputSchema) -> &'static str {
    match schema {
        OutputSchema::String => "string",
        OutputSchema::Integer => "integer",
        OutputSchema::Number => "number",
        OutputSchema::Boolean => "boolean",
        OutputSchema::Array(_) => "array",
        OutputSchema::Object(_) => "object",
    }
}

/// What a value of the language is, in messages.
fn label(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::True | Value::False => "a boolean",
        Value::Int(_) | Value::BigInt(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Str(_) => "a string",
        Value::Keyword(_) => "a keyword",
        Value::Vector(_) => "a list",
        Value::Map(_) => "a map",
        Value::Set(_) => "a set",
        Value::Regex(_) => "a regex",
        Value::Blob(_) => "a reference",
        Value::Temporal(temporal) => match &**temporal {
            Temporal::Date(_) => "a date",
            Temporal::Instant { .. } => "an instant",
            Temporal::Duration(_) => "a duration",
        },
        Value::Var(_) => "a var",
        Value::Symbol(_) => "a symbol",
        Value::Tool(_) => "a tool",
        Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_) => "a function",
        Value::Cursor(_) => "a cursor",
    }
}
