//! Reads schema documents: a keyword that cannot be checked is refused when an agent is built, not skipped when it runs.

use super::{Document, Schema};
use ptc_base::json::{Map, Number, Value as Json};
use regex_automata::meta::Regex;
use std::collections::HashMap;
use std::sync::Arc;

/// Deepest nesting that is read.
const MAX_NESTING: usize = 64;
/// References that may lead to each other before there is a schema.
pub(super) const MAX_CHAIN: usize = 16;
/// Bytes that the automaton of one pattern may take.
const MAX_PATTERN: usize = 1 << 20;
/// Keywords that say nothing about which values are right.
const NOTES: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentMediaType",
];
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];

/// A schema that cannot be read. Its `Display` is the detail after `invalid signature: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSON Schema at {place}: {message}")]
pub struct SchemaError {
    /// A JSON pointer, `#` for the whole.
    pub place: String,
    /// The fault.
    pub message: String,
}

/// Whether a keyword is a note for readers.
pub(super) fn is_note(key: &str) -> bool {
    NOTES.contains(&key) || key.starts_with("x-")
}

/// The schema of a reference into the same document.
pub(super) fn target<'a>(root: &'a Json, reference: &str) -> Option<&'a Json> {
    let pointer = reference.strip_prefix('#')?;
    let plain = pointer.is_empty() || pointer.starts_with('/');
    if !plain {
        return None;
    }
    root.pointer(pointer).or_else(|| root.pointer(&decoded(pointer)?))
}

/// A URI fragment without its percent escapes.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

impl Schema {
    /// Reads a schema document of draft 2020-12, draft 7 included where both agree.
    ///
    /// # Errors
    /// The first place that could not be checked: an unknown keyword, a reference that leads out of the document, nowhere
    /// or round in a circle, a pattern that is no regular expression.
    pub fn new(root: &Json) -> Result<Schema, SchemaError> {
        let mut reader = Reader { root, patterns: HashMap::new() };
        reader.read(root, "#", 0)?;
        let patterns = reader.patterns;
        Ok(Schema(Arc::new(Document { root: root.clone(), patterns })))
    }
}

struct Reader<'a> {
    root: &'a Json,
    patterns: HashMap<String, Regex>,
}

fn error<T>(place: &str, message: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError { place: place.to_owned(), message: message.into() })
}

impl Reader<'_> {
    fn read(&mut self, schema: &Json, place: &str, depth: usize) -> Result<(), SchemaError> {
        let map = match schema {
            Json::Bool(_) => return Ok(()),
            Json::Object(map) => map,
            _ => return error(place, "a schema is an object"),
        };
        if depth > MAX_NESTING {
            return error(place, format!("deeper than {MAX_NESTING} levels"));
        }
        for (key, value) in map {
            let below = format!("{place}/{key}");
            let wrong = |wanted: &str| error(place, format!("`{key}` must be {wanted}"));
            match key.as_str() {
                "$ref" => self.reference(value, place)?,
                "type" => types(value, place)?,
                "enum" => match value.as_array() {
                    Some(values) if !values.is_empty() => {}
                    _ => return wrong("a list with at least one value"),
                },
                "const" => {}
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    if !value.as_number().is_some_and(is_finite) {
                        return wrong("a number");
                    }
                }
                "multipleOf" => {
                    if !value.as_f64().is_some_and(|step| step.is_finite() && step > 0.0) {
                        return wrong("a number greater than 0");
                    }
                }
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
                | "minContains" | "maxContains" => {
                    if value.as_u64().is_none() {
                        return wrong("a whole number");
                    }
                }
                "uniqueItems" | "nullable" => {
                    if value.as_bool().is_none() {
                        return wrong("true or false");
                    }
                }
                "format" => {
                    if value.as_str().is_none() {
                        return wrong("text");
                    }
                }
                "pattern" => match value.as_str() {
                    Some(pattern) => self.pattern(pattern, place)?,
                    None => return wrong("text"),
                },
                "items" if value.is_array() => {
                    return error(place, "`items` must be one schema; write `prefixItems` for a tuple");
                }
                "items"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else" => self.read(value, &below, depth + 1)?,
                "prefixItems" | "allOf" | "anyOf" | "oneOf" => match value.as_array() {
                    Some(schemas) if !schemas.is_empty() => {
                        for (at, schema) in schemas.iter().enumerate() {
                            self.read(schema, &format!("{below}/{at}"), depth + 1)?;
                        }
                    }
                    _ => return wrong("a list with at least one schema"),
                },
                "properties" | "patternProperties" | "$defs" | "definitions" => {
                    let Json::Object(schemas) = value else { return wrong("an object") };
                    for (name, schema) in schemas {
                        if key == "patternProperties" {
                            self.pattern(name, place)?;
                        }
                        self.read(schema, &format!("{below}/{name}"), depth + 1)?;
                    }
                }
                "required" => required(value, map, place)?,
                "dependentRequired" => {
                    let lists = value.as_object().map(|map| map.values().all(is_names));
                    if lists != Some(true) {
                        return wrong("an object of lists of names");
                    }
                }
                note if is_note(note) => {}
                other => {
                    return error(place, format!("`{other}` is not supported and would not be checked"));
                }
            }
        }
        Ok(())
    }

    fn reference(&self, reference: &Json, place: &str) -> Result<(), SchemaError> {
        let Some(text) = reference.as_str() else { return error(place, "`$ref` must be text") };
        let mut next = text;
        for _ in 0..MAX_CHAIN {
            let Some(schema) = target(self.root, next) else {
                return error(place, format!("`$ref` leads nowhere in this document: {text}"));
            };
            match schema.get("$ref").and_then(Json::as_str) {
                Some(further) => next = further,
                None => return Ok(()),
            }
        }
        error(place, format!("`$ref` leads round in a circle: {text}"))
    }

    fn pattern(&mut self, pattern: &str, place: &str) -> Result<(), SchemaError> {
        if self.patterns.contains_key(pattern) {
            return Ok(());
        }
        let config = Regex::config().nfa_size_limit(Some(MAX_PATTERN)).hybrid_cache_capacity(MAX_PATTERN);
        match Regex::builder().configure(config).build(pattern) {
            Ok(regex) => {
                self.patterns.insert(pattern.to_owned(), regex);
                Ok(())
            }
            Err(wrong) => {
                let detail = wrong
                    .syntax_error()
                    .map_or_else(|| wrong.to_string(), |syntax| syntax.to_string().replace('\n', " "));
                error(place, format!("the pattern `{pattern}` cannot be checked: {detail}"))
            }
        }
    }
}

fn types(value: &Json, place: &str) -> Result<(), SchemaError> {
    let words = match value {
        Json::String(_) => std::slice::from_ref(value),
        Json::Array(words) if !words.is_empty() => words.as_slice(),
        _ => return error(place, "`type` must be a word or a list of words"),
    };
    match words.iter().find(|word| !word.as_str().is_some_and(|word| TYPES.contains(&word))) {
        None => Ok(()),
        Some(Json::String(word)) => error(place, format!("`type` `{word}` is not supported")),
        Some(_) => error(place, "`type` must be a word or a list of words"),
    }
}

/// A name that no declared property has is most likely a slip of the pen.
fn required(value: &Json, map: &Map, place: &str) -> Result<(), SchemaError> {
    if !is_names(value) {
        return error(place, "`required` must be a list of names");
    }
    let Some(properties) = map.get("properties") else { return Ok(()) };
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
    if elsewhere.iter().any(|key| map.contains_key(key))
        || map.get("additionalProperties").is_some_and(Json::is_object)
    {
        return Ok(());
    }
    let mut names = value.as_array().into_iter().flatten().filter_map(Json::as_str);
    match names.find(|name| properties.get(*name).is_none()) {
        None => Ok(()),
        Some(name) => error(place, format!("`required` names `{name}`, which `properties` does not")),
    }
}

fn is_names(value: &Json) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Json::is_string))
}

fn is_finite(number: &Number) -> bool {
    number.as_f64().is_some_and(f64::is_finite)
}
