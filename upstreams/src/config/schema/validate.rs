//! A validator for the part of JSON Schema that the schema of the upstreams file uses. It reports the place of each fault and
//! the remedy.

use std::collections::HashMap;

use ptc_mcp::json::{Map, Value};
use regex_automata::meta::Regex;

use super::path::Path;
use ptc_base::similar::most_similar;
use ptc_schema::json_schema;

/// A place in the file that does not fit the schema.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Where it is; of a missing key, where it should be.
    pub(super) path: Path,
    /// Whether the key itself has no business there, rather than its value.
    pub(super) is_key: bool,
    /// `must be a string, got a number`
    pub(super) detail: String,
}

/// A schema with its patterns compiled.
pub(super) struct Validator<'s> {
    root: &'s Value,
    /// `None` for a pattern that is none: a mistake of the schema's, which a test finds.
    patterns: HashMap<&'s str, Option<Regex>>,
}

impl<'s> Validator<'s> {
    /// The validator of a schema.
    pub(super) fn new(root: &'s Value) -> Validator<'s> {
        let mut patterns = HashMap::new();
        compile_patterns(root, &mut patterns);
        Validator { root, patterns }
    }

    /// All misfits of `value`, in the order of the schema's keywords, from the outside in.
    pub(super) fn validate(&self, value: &Value) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        self.check(self.root, value, &Path::default(), &mut misfits);
        // Two parts of the schema may say the same of one place.
        let mut told: Vec<Misfit> = Vec::with_capacity(misfits.len());
        for misfit in misfits {
            if !told.contains(&misfit) {
                told.push(misfit);
            }
        }
        told
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.patterns.get(pattern).and_then(Option::as_ref).is_some_and(|regex| regex.is_match(text))
    }

    fn fits(&self, schema: &'s Value, value: &Value) -> bool {
        let mut misfits = Vec::new();
        self.check(schema, value, &Path::default(), &mut misfits);
        misfits.is_empty()
    }

    fn check(&self, schema: &'s Value, value: &Value, path: &Path, out: &mut Vec<Misfit>) {
        let keywords = match schema {
            Value::Bool(false) => {
                return out.push(Misfit {
                    path: path.clone(),
                    is_key: true,
                    detail: "has no use here".into(),
                });
            }
            Value::Object(keywords) => keywords,
            _ => return,
        };
        let mut misfit = |detail: String| out.push(Misfit { path: path.clone(), is_key: false, detail });
        if let Some(kinds) = keywords.get("type")
            && !words(kinds).any(|kind| is_kind(value, kind))
        {
            let wanted: Vec<&str> = words(kinds).map(article).collect();
            // Whatever else the schema says is about values of that kind.
            return misfit(format!("must be {}, got {}", listed(&wanted, "or"), kind_of(value)));
        }
        if let Some(choices) = keywords.get("enum").and_then(Value::as_array)
            && !choices.contains(value)
        {
            misfit(choice(choices, value));
        }
        if let Some(only) = keywords.get("const").filter(|only| *only != value) {
            misfit(choice(std::slice::from_ref(only), value));
        }
        if let Some(detail) = extent(keywords, value) {
            misfit(detail);
        }
        if let (Some(pattern), Some(text)) = (keywords.get("pattern").and_then(Value::as_str), value.as_str())
            && !self.matches(pattern, text)
        {
            misfit(if text.is_empty() {
                "must not be empty".into()
            } else {
                explained("is not of the form that it must have".into(), keywords)
            });
        }
        self.check_combinations(keywords, value, path, out);
        if let Value::Object(map) = value {
            self.check_object(keywords, map, path, out);
        }
        if let (Some(items), Value::Array(list)) = (keywords.get("items"), value) {
            for (index, item) in list.iter().enumerate() {
                self.check(items, item, &path.item(index), out);
            }
        }
    }

    fn check_combinations(&self, keywords: &'s Map, value: &Value, path: &Path, out: &mut Vec<Misfit>) {
        if let Some(Value::String(_)) = keywords.get("$ref") {
            let reference =
                keywords.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
            if let Some(target) = reference.and_then(|pointer| self.root.pointer(pointer)) {
                self.check(target, value, path, out);
            }
        }
        for all in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.check(all, value, path, out);
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.fits(condition, value) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.check(schema, value, path, out);
            }
        }
        let mut misfit = |detail: String| out.push(Misfit { path: path.clone(), is_key: false, detail });
        if let Some(not) = keywords.get("not").filter(|not| self.fits(not, value)) {
            misfit(format!("must not have {}; keep one of them", listed(&json_schema::required(not), "and")));
        }
        if let Some(branches) = keywords.get("oneOf").and_then(Value::as_array) {
            let fitting = branches.iter().filter(|branch| self.fits(branch, value)).count();
            let keys: Vec<&str> = branches.iter().flat_map(json_schema::required).collect();
            match fitting {
                1 => {}
                _ if !keys.is_empty() => misfit(format!("must have exactly one of {}", listed(&keys, "and"))),
                _ => misfit(explained("is not of the form that it must have".into(), keywords)),
            }
        }
    }

    fn check_object(&self, keywords: &'s Map, map: &Map, path: &Path, out: &mut Vec<Misfit>) {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let known = |key: &str| properties.is_some_and(|properties| properties.contains_key(key));
        for key in
            keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !map.contains_key(key) {
                let typed = most_similar(key, map.keys().map(String::as_str).filter(|other| !known(other)));
                let hint = typed.map_or_else(String::new, |typed| format!("; did you mean it by {typed:?}?"));
                out.push(Misfit { path: path.key(key), is_key: true, detail: format!("is missing{hint}") });
            }
        }
        for (key, value) in map {
            let inside = path.key(key);
            if let Some(names) = keywords.get("propertyNames") {
                let mut misfits = Vec::new();
                self.check(names, &Value::String(key.clone()), &inside, &mut misfits);
                out.extend(misfits.into_iter().map(|misfit| Misfit { is_key: true, ..misfit }));
            }
            let further = keywords.get("additionalProperties");
            match (properties.and_then(|properties| properties.get(key)), further) {
                (Some(schema), _) => self.check(schema, value, &inside, out),
                (None, Some(Value::Bool(false))) if !key.starts_with('$') => {
                    let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
                    let similar = most_similar(key, known);
                    let hint = similar.map_or_else(String::new, |known| format!("; did you mean {known}?"));
                    out.push(Misfit {
                        path: inside,
                        is_key: true,
                        detail: format!("is no key that is known here{hint}"),
                    });
                }
                (None, Some(schema)) => self.check(schema, value, &inside, out),
                (None, None) => {}
            }
        }
    }
}

/// The violated bounds of a number, text or list.
fn extent(keywords: &Map, value: &Value) -> Option<String> {
    let bound = |key: &str| keywords.get(key).and_then(Value::as_u64);
    match value {
        Value::Number(number) => {
            let least = bound("minimum")?;
            number.as_u64().is_none_or(|number| number < least).then(|| format!("must be at least {least}"))
        }
        Value::String(text) => {
            let least = bound("minLength")?;
            ((text.chars().count() as u64) < least).then(|| "must not be empty".into())
        }
        Value::Array(items) => {
            if bound("minItems").is_some_and(|least| (items.len() as u64) < least) {
                return Some("must not be empty".into());
            }
            let unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
            let twice = items.iter().enumerate().find(|(at, item)| items[..*at].contains(item));
            twice.filter(|_| unique).map(|(at, _)| format!("has the same item twice, at {at}"))
        }
        _ => None,
    }
}

/// The values to choose from. The value itself is not shown: it may be a secret in the wrong place.
fn choice(choices: &[Value], value: &Value) -> String {
    let shown: Vec<String> = choices.iter().map(Value::to_string).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let similar =
        value.as_str().and_then(|text| most_similar(text, choices.iter().filter_map(Value::as_str)));
    let hint = similar.map_or_else(String::new, |word| format!("; did you mean {word:?}?"));
    format!("must be {}{hint}", listed(&shown, "or"))
}

/// The detail with the schema's description of the place.
fn explained(detail: String, keywords: &Map) -> String {
    match keywords.get("description").and_then(Value::as_str) {
        Some(text) => format!("{detail}: {}", text.trim_end_matches('.')),
        None => detail,
    }
}

/// Compiles the patterns in a part of a schema.
fn compile_patterns<'s>(part: &'s Value, patterns: &mut HashMap<&'s str, Option<Regex>>) {
    match part {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("pattern", Value::String(pattern)) => {
                        patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
                    }
                    _ => compile_patterns(value, patterns),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| compile_patterns(part, patterns)),
        _ => {}
    }
}

fn words(kinds: &Value) -> impl Iterator<Item = &str> {
    let several = kinds.as_array().map(Vec::as_slice).unwrap_or_default();
    kinds.as_str().into_iter().chain(several.iter().filter_map(Value::as_str))
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

fn article(kind: &str) -> &str {
    match kind {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        "object" => "an object",
        other => other,
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
