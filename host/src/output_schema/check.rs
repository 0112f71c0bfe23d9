//! Checks values against schemas.

use ptc_mcp::json::Value as Json;
use ptc_vm::value::{Map, Temporal};
use ptc_vm::{Value, json, meter};

use super::{ObjectSchema, OutputSchema, Property, spelling};

/// Values looked at before the check gives up: a small value can be an enormous tree by sharing.
const MAX_NODES: usize = 2_000_000;
/// Complaints that are spelled out.
const MAX_COMPLAINTS: usize = 20;

impl OutputSchema {
    /// Checks `value` and gives it as JSON that satisfies the schema: declared properties have their declared names,
    /// and optional ones that are nil are left out.
    ///
    /// # Errors
    /// All mismatches in one text, or the place of a value that has no JSON form.
    pub fn validate(&self, value: &Value) -> Result<String, String> {
        let mut check = Check { complaints: Vec::new(), more: 0, nodes: 0, respell: false };
        check.value(self, value, &mut Path { parts: vec!["return".into()] });
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

/// The way from the root to a value, as `return.rows.0.id`.
struct Path {
    parts: Vec<String>,
}

struct Check {
    complaints: Vec<String>,
    more: usize,
    nodes: usize,
    /// Whether some key is spelled otherwise than declared, or an optional property is nil.
    respell: bool,
}

impl Check {
    fn complain(&mut self, path: &Path, detail: &str) {
        if self.complaints.len() < MAX_COMPLAINTS {
            self.complaints.push(format!("{}: {detail}", path.parts.join(".")));
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
        let expected = match (schema, value) {
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
            (OutputSchema::String, _) => "string",
            (OutputSchema::Integer, _) => "int",
            (OutputSchema::Number, _) => "float",
            (OutputSchema::Boolean, _) => "bool",
            (OutputSchema::Array(_), _) => "list",
            (OutputSchema::Object(_), _) => "map",
        };
        self.complain(path, &format!("expected {expected}, got {}", label(value)));
    }

    fn element(&mut self, schema: &OutputSchema, at: usize, element: &Value, path: &mut Path) {
        path.parts.push(at.to_string());
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
                    path.parts.push(name.to_owned());
                    self.complain(path, "unexpected field — schema disallows additional properties");
                    path.parts.pop();
                }
                None => {}
            }
        }
        for (property, entry) in schema.properties.iter().zip(found) {
            path.parts.push(property.name.clone());
            match entry {
                None if property.required => self.complain(path, "expected field, got nil"),
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

/// The name of a value's type in messages.
fn label(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::True | Value::False => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) => "string",
        Value::Keyword(_) => "keyword",
        Value::Vector(_) => "list",
        Value::Map(_) => "map",
        Value::Set(_) => "set",
        Value::Regex(_) => "regex",
        Value::Temporal(temporal) => match &**temporal {
            Temporal::Date(_) => "date",
            Temporal::Instant { .. } => "instant",
            Temporal::Duration(_) => "duration",
        },
        Value::Var(_) => "var",
        Value::Symbol(_) => "symbol",
        Value::Tool(_) => "tool",
        Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_) => "fn",
        Value::Cursor(_) => "cursor",
    }
}
