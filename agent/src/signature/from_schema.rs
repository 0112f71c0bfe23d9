//! JSON Schema to types (agent.md 5), for the subset that types express.

use super::{Field, Type};
use ptc_host::json::{Map, Value as Json};

/// Deepest nesting that is read.
const MAX_NESTING: usize = 64;
/// Keywords that say nothing about which values are right.
const NOTES: [&str; 11] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// A schema that cannot be read as a type. Its `Display` is the detail behind `invalid signature: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSON Schema at {place}: {message}")]
pub struct SchemaError {
    /// A JSON pointer, `#` for the whole.
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

impl Type {
    /// Reads `type` (also a list with `null`), `properties`, `required`, `additionalProperties`, `items`, `enum` and `const`
    /// of strings, `format: date-time`, and `anyOf` or `oneOf` of one schema and `null`. Notes such as `description` are passed
    /// over; any other keyword is refused, for it would not be checked.
    ///
    /// # Errors
    /// The first place that no type stands for.
    pub fn from_json_schema(schema: &Json) -> Result<Type, SchemaError> {
        read(schema, "#", 0)
    }
}

fn error(place: &str, message: impl Into<String>) -> SchemaError {
    SchemaError { place: place.to_owned(), message: message.into() }
}

fn read(schema: &Json, place: &str, depth: usize) -> Result<Type, SchemaError> {
    let map = match schema {
        Json::Bool(true) => return Ok(Type::Any),
        Json::Object(map) => map,
        _ => return Err(error(place, "a schema is an object")),
    };
    if depth > MAX_NESTING {
        return Err(error(place, format!("deeper than {MAX_NESTING} levels")));
    }
    let deeper = |schema: &Json, key: &str| read(schema, &format!("{place}/{key}"), depth + 1);
    if let Some((key, value)) = map.iter().find(|(key, _)| matches!(key.as_str(), "anyOf" | "oneOf")) {
        let choices = value.as_array().map_or(&[][..], Vec::as_slice);
        let is_null = |schema: &&Json| schema.get("type").is_some_and(|ty| ty == "null");
        let others: Vec<&Json> = choices.iter().filter(|schema| !is_null(schema)).collect();
        allow(map, &[key], place)?;
        return match others[..] {
            [one] => deeper(one, key).map(|ty| if choices.len() > 1 { optional(ty) } else { ty }),
            _ => Err(error(place, format!("`{key}` may hold one schema and `null`"))),
        };
    }
    if let Some(words) =
        map.get("enum").cloned().or_else(|| map.get("const").map(|word| Json::from(vec![word.clone()])))
    {
        allow(map, &["enum", "const", "type"], place)?;
        let words: Option<Vec<String>> = words
            .as_array()
            .map(|words| words.iter().map(|word| word.as_str().map(str::to_owned)).collect())
            .unwrap_or_default();
        return match words {
            Some(words) if !words.is_empty() => Ok(Type::Enum(words)),
            _ => Err(error(place, "`enum` and `const` may hold strings only")),
        };
    }
    let (name, nullable) = type_name(map, place)?;
    let ty = match name {
        None if map.contains_key("properties") => object(map, place, depth)?,
        None => {
            allow(map, &[], place)?;
            Type::Any
        }
        Some("object") => object(map, place, depth)?,
        Some("array") => {
            allow(map, &["type", "items"], place)?;
            let item = map.get("items").map_or(Ok(Type::Any), |items| deeper(items, "items"))?;
            Type::List(Box::new(item))
        }
        Some("string") => {
            allow(map, &["type", "format"], place)?;
            if map.get("format").is_some_and(|format| format == "date-time") {
                Type::DateTime
            } else {
                Type::String
            }
        }
        Some(simple) => {
            allow(map, &["type", "format"], place)?;
            match simple {
                "integer" => Type::Int,
                "number" => Type::Float,
                "boolean" => Type::Bool,
                other => return Err(error(place, format!("`type` `{other}` is not supported"))),
            }
        }
    };
    Ok(if nullable { optional(ty) } else { ty })
}

/// The type's name and whether `null` may stand for a value.
fn type_name<'a>(map: &'a Map, place: &str) -> Result<(Option<&'a str>, bool), SchemaError> {
    match map.get("type") {
        None => Ok((None, false)),
        Some(Json::String(name)) => Ok((Some(name), false)),
        Some(Json::Array(names)) => {
            let others: Vec<&str> =
                names.iter().filter_map(Json::as_str).filter(|name| *name != "null").collect();
            match others[..] {
                [one] => Ok((Some(one), names.len() > 1)),
                _ => Err(error(place, "`type` may list one type and `null`")),
            }
        }
        Some(_) => Err(error(place, "`type` must be a string")),
    }
}

fn object(map: &Map, place: &str, depth: usize) -> Result<Type, SchemaError> {
    allow(map, &["type", "properties", "required", "additionalProperties"], place)?;
    let closed = match map.get("additionalProperties") {
        None | Some(Json::Bool(true)) => false,
        Some(Json::Bool(false)) => true,
        Some(_) => return Err(error(place, "`additionalProperties` must be true or false")),
    };
    let Some(properties) = map.get("properties") else {
        return Ok(if closed { Type::Closed(Vec::new()) } else { Type::Map });
    };
    let Json::Object(properties) = properties else {
        return Err(error(place, "`properties` must be an object"));
    };
    let required: Vec<&str> =
        map.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    if let Some(name) = required.iter().find(|name| !properties.contains_key(name)) {
        return Err(error(place, format!("`required` names `{name}`, which `properties` does not")));
    }
    let mut fields = Vec::with_capacity(properties.len());
    for (name, schema) in properties {
        let ty = read(schema, &format!("{place}/properties/{name}"), depth + 1)?;
        let ty = if required.contains(&name.as_str()) { ty } else { optional(ty) };
        fields.push(Field { name: name.clone(), ty });
    }
    Ok(if closed { Type::Closed(fields) } else { Type::Record(fields) })
}

fn optional(ty: Type) -> Type {
    if matches!(ty, Type::Optional(_)) { ty } else { Type::Optional(Box::new(ty)) }
}

fn allow(map: &Map, known: &[&str], place: &str) -> Result<(), SchemaError> {
    match map.keys().find(|key| !known.contains(&key.as_str()) && !NOTES.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(error(place, format!("`{key}` is not supported and would not be checked"))),
    }
}
