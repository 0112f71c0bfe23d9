//! Checks values against schemas.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use ptc_mcp::json::Value as Json;
use ptc_vm::value::{Map, Regex, Temporal};
use ptc_vm::{Value, json, meter};

use super::numbers::{float_of, is_integer, is_multiple, is_same, json_of};
use super::respell::respell;
use super::{Bound, Id, Kind, OutputSchema, Property, Rules};
use ptc_base::text::literal::json_beginnings;
use ptc_base::text::{clip, string_literal};

/// Values looked at before the check gives up: a small value can be an enormous tree by sharing.
const MAX_NODES: usize = 2_000_000;
/// Schemas within each other that are applied. Recursion is as deep.
const MAX_DEPTH: usize = 64;
/// Longest name that a place shows, in bytes.
const MAX_NAME: usize = 60;
/// Longest value or list of values that a complaint shows, in bytes.
const MAX_SHOWN: usize = 120;
/// Complaints that are spelled out.
const MAX_COMPLAINTS: usize = 3;
/// Elements up to which it is looked whether one occurs twice.
const MAX_UNIQUE: usize = 10_000;
/// Bytes of a value up to which it is compared with listed objects and arrays.
const MAX_COMPARED: usize = 64 << 10;

impl OutputSchema {
    /// Checks `value` and returns it as JSON that satisfies the schema: declared properties have their declared names, and
    /// optional ones that are nil are left out if the schema does not admit null.
    ///
    /// # Errors
    /// All mismatches in one text, or the place of a value that has no JSON form.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.validate")]
    pub fn validate(&self, value: &Value) -> Result<String, String> {
        let mut check = Check::new(self);
        check.value(0, value, &mut Path { parts: Vec::new() }, 0);
        if let Some(limit) = check.limit {
            return Err(format!("validated value: {limit}"));
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
        respell(self, 0, &mut tree, MAX_DEPTH);
        Ok(tree.to_string())
    }

    /// Whether the schema admits null.
    pub(super) fn admits_null(&self, id: Id) -> bool {
        let mut check = Check::new(self);
        check.value(id, &Value::Nil, &mut Path { parts: Vec::new() }, 0);
        check.is_satisfied()
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

/// Whether a name can stand after a dot.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain)
}

struct Check<'s> {
    schema: &'s OutputSchema,
    complaints: Vec<String>,
    more: usize,
    /// The steps to the deepest place that a complaint is about.
    deepest: usize,
    nodes: usize,
    /// The patterns that were needed, as the language reads them; nothing where it cannot.
    patterns: Rc<RefCell<HashMap<Id, Option<Value>>>>,
    /// The limit that ended the check early.
    limit: Option<String>,
    /// Whether some key is spelled otherwise than declared, or an optional property is nil.
    respell: bool,
}

impl<'s> Check<'s> {
    fn new(schema: &'s OutputSchema) -> Self {
        Check {
            schema,
            complaints: Vec::new(),
            more: 0,
            deepest: 0,
            nodes: 0,
            patterns: Rc::default(),
            limit: None,
            respell: false,
        }
    }

    /// Notes work that is worth so many values. `false` if the check is over.
    fn work(&mut self, values: usize) -> bool {
        self.nodes = self.nodes.saturating_add(values);
        meter::uncharged(values);
        if self.nodes > MAX_NODES && self.limit.is_none() {
            self.limit = Some(format!("more than {MAX_NODES} values"));
        }
        self.limit.is_none()
    }

    fn is_satisfied(&self) -> bool {
        self.complaints.is_empty() && self.limit.is_none()
    }

    fn complain(&mut self, path: &Path, complaint: impl FnOnce() -> String) {
        self.deepest = self.deepest.max(path.parts.len());
        if self.complaints.len() < MAX_COMPLAINTS {
            self.complaints.push(complaint());
        } else {
            self.more += 1;
        }
    }

    /// Checks the same value against another schema. The work counts here.
    fn aside(&mut self, id: Id, value: &Value, path: &mut Path, depth: usize) -> Check<'s> {
        let patterns = self.patterns.clone();
        let mut aside = Check { nodes: self.nodes, patterns, ..Check::new(self.schema) };
        aside.value(id, value, path, depth);
        self.nodes = aside.nodes;
        self.limit = self.limit.take().or(aside.limit.take());
        aside
    }

    fn value(&mut self, id: Id, value: &Value, path: &mut Path, depth: usize) {
        if !self.work(1) {
            return;
        }
        if depth == MAX_DEPTH {
            self.limit = Some(format!("more than {MAX_DEPTH} schemas within each other at {path}"));
            return;
        }
        let rules = &self.schema.rules[id];
        if rules.never {
            return self.complain(path, || format!("nothing is allowed at {path}, got {}", label(value)));
        }
        if !rules.kinds.is_empty() && !rules.kinds.iter().any(|kind| is_of(*kind, value)) {
            let words = words(&rules.kinds);
            return self.complain(path, || format!("expected {words} at {path}, got {}", label(value)));
        }
        self.listed(rules, value, path);
        self.bounds(rules, value, path);
        self.pattern(id, rules, value, path);
        self.elements(rules, value, path, depth);
        if let Value::Map(map) = value {
            self.map(rules, map, path, depth);
        }
        for id in &rules.all_of {
            self.value(*id, value, path, depth + 1);
        }
        if let Some(alternatives) = &rules.any_of {
            self.alternatives("anyOf", alternatives, value, path, depth);
        }
        if let Some(alternatives) = &rules.one_of {
            self.alternatives("oneOf", alternatives, value, path, depth);
        }
        if let Some(not) = rules.not
            && self.aside(not, value, path, depth + 1).is_satisfied()
        {
            self.complain(path, || format!("{} at {path} is what must not be there (not)", shown(value)));
        }
    }

    /// `enum` and `const`.
    fn listed(&mut self, rules: &Rules, value: &Value, path: &Path) {
        let Some((keyword, values)) = &rules.values else { return };
        let is_tree = matches!(
            value,
            Value::Map(_) | Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_)
        ) && values.iter().any(|listed| matches!(listed, Json::Array(_) | Json::Object(_)));
        let mut room = MAX_COMPARED;
        let is_small = is_tree && is_small(value, &mut room, MAX_DEPTH);
        if !self.work(values.len() + (MAX_COMPARED - room) / 8) {
            return;
        }
        let tree = if is_small { tree_of(value) } else { None };
        if values.iter().any(|listed| is_listed(value, tree.as_ref(), listed)) {
            return;
        }
        let one_of = if values.len() == 1 { "" } else { "one of " };
        self.complain(path, || {
            let list = json_beginnings(values, ", ", MAX_SHOWN);
            format!("expected {one_of}{list} at {path} ({keyword}), got {}", shown(value))
        });
    }

    fn bounds(&mut self, rules: &Rules, value: &Value, path: &Path) {
        for (bound, limit) in &rules.bounds {
            let found = match bound {
                Bound::Minimum
                | Bound::Maximum
                | Bound::ExclusiveMinimum
                | Bound::ExclusiveMaximum
                | Bound::MultipleOf => float_of(value),
                Bound::MinLength | Bound::MaxLength => text_of(value).map(|text| {
                    self.work(text.len() / 64);
                    text.chars().count() as f64
                }),
                Bound::MinItems | Bound::MaxItems => match value {
                    Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) => {
                        Some(elements.len() as f64)
                    }
                    Value::Set(elements) => Some(elements.len() as f64),
                    _ => None,
                },
                Bound::MinProperties | Bound::MaxProperties => match value {
                    Value::Map(map) => Some(map.len() as f64),
                    _ => None,
                },
            };
            let Some(found) = found else { continue };
            let fits = match bound {
                Bound::Minimum | Bound::MinLength | Bound::MinItems | Bound::MinProperties => found >= *limit,
                Bound::Maximum | Bound::MaxLength | Bound::MaxItems | Bound::MaxProperties => found <= *limit,
                Bound::ExclusiveMinimum => found > *limit,
                Bound::ExclusiveMaximum => found < *limit,
                Bound::MultipleOf => is_multiple(found, *limit),
            };
            if !fits {
                let (words, of) = bound.words();
                let keyword = bound.keyword();
                self.complain(path, || {
                    format!("expected {words} {limit}{of} at {path} ({keyword}), got {found}")
                });
            }
        }
    }

    /// `pattern`, where the language's own engine can read it: that one is safe. Others are not checked.
    fn pattern(&mut self, id: Id, rules: &Rules, value: &Value, path: &Path) {
        let (Some(pattern), Some(text)) = (&rules.pattern, text_of(value)) else { return };
        if !self.work(1 + text.len() / 16) {
            return;
        }
        let read = || Regex::literal(pattern).ok();
        let Some(Value::Regex(regex)) = self.patterns.borrow_mut().entry(id).or_insert_with(read).clone()
        else {
            return;
        };
        match regex.occurs_in(&text) {
            Ok(true) => {}
            Ok(false) => self.complain(path, || {
                let pattern = clip(pattern, MAX_SHOWN);
                format!("expected text that matches {pattern} at {path} (pattern), got {}", shown(value))
            }),
            Err(error) => self.limit = Some(error.message().to_owned()),
        }
    }

    fn elements(&mut self, rules: &Rules, value: &Value, path: &mut Path, depth: usize) {
        let has_rules = !rules.prefix.is_empty() || rules.items.is_some();
        if has_rules {
            match value {
                Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) => elements
                    .iter()
                    .enumerate()
                    .for_each(|(at, element)| self.element(rules, at, &element, path, depth)),
                Value::Set(elements) => elements
                    .iter()
                    .enumerate()
                    .for_each(|(at, element)| self.element(rules, at, element, path, depth)),
                _ => {}
            }
        }
        if let Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) = value
            && rules.unique_items
            && elements.len() <= MAX_UNIQUE
        {
            let mut set = ptc_vm::value::Set::new();
            elements.iter().for_each(|element| set.insert(element));
            if set.len() < elements.len() {
                self.complain(path, || format!("expected no item twice at {path} (uniqueItems)"));
            }
        }
    }

    fn element(&mut self, rules: &Rules, at: usize, element: &Value, path: &mut Path, depth: usize) {
        let Some(schema) = rules.prefix.get(at).copied().or(rules.items) else { return };
        path.parts.push(Step::Item(at));
        self.value(schema, element, path, depth + 1);
        path.parts.pop();
    }

    fn map(&mut self, rules: &Rules, map: &Map, path: &mut Path, depth: usize) {
        let object = &rules.object;
        if !self.work(object.properties.len()) {
            return;
        }
        // For each property the entry that spells it best.
        let mut found: Vec<Option<(bool, &Value)>> = vec![None; object.properties.len()];
        for (key, value) in map.iter() {
            let name = match key {
                Value::Str(text) => text.as_str(),
                Value::Keyword(keyword) => keyword.name(),
                // Other keys are nobody's property; whether they have a JSON form is for the writer to say.
                _ => continue,
            };
            if let Some(names) = object.names {
                path.parts.push(Step::Property(name.to_owned()));
                self.value(names, &Value::str(name), path, depth + 1);
                path.parts.pop();
            }
            match (object.place(name), object.others) {
                (Some(at), _) => {
                    let exact = object.properties[at].name == name;
                    self.respell |= !exact || value.is_nil();
                    if found[at].is_none_or(|(before, _)| exact && !before) {
                        found[at] = Some((exact, value));
                    }
                }
                (None, Some(others)) => {
                    path.parts.push(Step::Property(name.to_owned()));
                    self.value(others, value, path, depth + 1);
                    path.parts.pop();
                }
                (None, None) if object.closed => {
                    path.parts.push(Step::Property(name.to_owned()));
                    self.complain(path, || {
                        format!("unexpected property at {path}: the schema allows no others")
                    });
                    path.parts.pop();
                }
                (None, None) => {}
            }
        }
        for (property, entry) in object.properties.iter().zip(found) {
            path.parts.push(Step::Property(property.name.clone()));
            self.property(property, entry.map(|(_, value)| value), path, depth);
            path.parts.pop();
        }
    }

    fn property(&mut self, property: &Property, value: Option<&Value>, path: &mut Path, depth: usize) {
        match value {
            None if property.required => {
                let kinds = &self.schema.rules[property.schema].kinds;
                let expected = if kinds.is_empty() { "a value".into() } else { words(kinds) };
                self.complain(path, || format!("expected {expected} at {path}, got nothing: it is required"));
            }
            Some(value) if property.required || !value.is_nil() => {
                self.value(property.schema, value, path, depth + 1);
            }
            _ => {}
        }
    }

    /// `anyOf` and `oneOf`.
    fn alternatives(
        &mut self,
        keyword: &'static str,
        ids: &[Id],
        value: &Value,
        path: &mut Path,
        depth: usize,
    ) {
        let (mut fitting, mut failed) = (0, Vec::new());
        for id in ids {
            let aside = self.aside(*id, value, path, depth + 1);
            if self.limit.is_some() {
                return;
            }
            if aside.is_satisfied() {
                fitting += 1;
                self.respell |= aside.respell;
                if keyword == "anyOf" {
                    return;
                }
            } else {
                failed.push((*id, aside));
            }
        }
        match fitting {
            1 => {}
            0 => self.none_fits(keyword, failed, value, path),
            many => self.complain(path, || {
                format!("{many} of {} alternatives fit at {path} (oneOf): exactly one must", ids.len())
            }),
        }
    }

    /// Describes the misfit of the alternative that was likely meant: alternatives that are null for a value that is not are
    /// out, and one whose complaint lies deeper came further.
    fn none_fits(&mut self, keyword: &str, mut failed: Vec<(Id, Check<'s>)>, value: &Value, path: &Path) {
        let here = path.parts.len();
        let kinds = failed.iter().map(|(id, _)| &self.schema.rules[*id].kinds[..]);
        let admits = |kinds: &[Kind]| kinds.is_empty() || kinds.iter().any(|kind| is_of(*kind, value));
        if failed.iter().all(|(id, _)| !admits(&self.schema.rules[*id].kinds)) {
            let words = words(&kinds.flatten().copied().collect::<Vec<_>>());
            return self.complain(path, || format!("expected {words} at {path}, got {}", label(value)));
        }
        failed.retain(|(id, _)| admits(&self.schema.rules[*id].kinds));
        let count = failed.len();
        let Some((_, closest)) = failed.into_iter().max_by_key(|(_, check)| check.deepest.max(here)) else {
            return;
        };
        self.deepest = self.deepest.max(closest.deepest);
        let first = closest.complaints.into_iter().next().unwrap_or_default();
        self.complain(path, || match count {
            1 => first,
            count => format!("none of {count} alternatives fits at {path} ({keyword}); the closest: {first}"),
        });
    }
}

/// Whether a value is of a kind.
fn is_of(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Null => value.is_nil(),
        Kind::Boolean => matches!(value, Value::True | Value::False),
        Kind::Integer => is_integer(value),
        Kind::Number => matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Float(_)),
        Kind::String => match value {
            Value::Str(_) | Value::Keyword(_) => true,
            Value::Temporal(temporal) => !is_duration(temporal),
            _ => false,
        },
        Kind::Array => matches!(value, Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_)),
        Kind::Object => matches!(value, Value::Map(_)),
    }
}

/// The text that a value becomes, if it becomes one.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Str(text) => Some(text.as_str().into()),
        Value::Keyword(keyword) => Some(keyword.name().into()),
        Value::Temporal(temporal) if !is_duration(temporal) => {
            json_of(value).map(|text| text.trim_matches('"').to_owned().into())
        }
        _ => None,
    }
}

/// Whether a value is one that a schema lists. `tree`: the value as JSON, if it is a collection that is not too large.
fn is_listed(value: &Value, tree: Option<&Json>, listed: &Json) -> bool {
    match listed {
        Json::Null => value.is_nil(),
        Json::Bool(listed) => matches!((value, listed), (Value::True, true) | (Value::False, false)),
        Json::Number(_) => is_same(value, listed),
        Json::String(listed) => text_of(value).is_some_and(|text| text == *listed),
        Json::Array(_) | Json::Object(_) => tree == Some(listed),
    }
}

/// A small collection as JSON; nothing if it has none.
#[expect(clippy::disallowed_methods, reason = "entry point: tree_of()")]
fn tree_of(value: &Value) -> Option<Json> {
    serde_json::from_str(&json_of(value)?).ok()
}

/// Whether a value takes no more than `room` bytes as JSON, roughly, and nests no deeper than `depth`. Its size is subtracted.
fn is_small(value: &Value, room: &mut usize, depth: usize) -> bool {
    let bytes = match value {
        Value::Str(text) => text.as_str().len(),
        _ => 0,
    };
    let fits = *room > bytes && depth > 0;
    *room = room.saturating_sub(bytes + 1);
    fits && match value {
        Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) => {
            elements.iter().all(|element| is_small(&element, room, depth - 1))
        }
        Value::Set(elements) => elements.iter().all(|element| is_small(element, room, depth - 1)),
        Value::Map(map) => {
            map.iter().all(|(key, value)| is_small(key, room, depth - 1) && is_small(value, room, depth - 1))
        }
        _ => true,
    }
}

fn is_duration(temporal: &Temporal) -> bool {
    matches!(temporal, Temporal::Duration(_))
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
