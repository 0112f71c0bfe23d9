//! Schema parser.

use ptc_mcp::json::{Map, Value as Json};

use super::{ObjectSchema, OutputSchema, Property, spelling};

impl OutputSchema {
    /// Reads the text of a JSON object.
    ///
    /// # Errors
    /// What is outside the subset, as the text that follows `` argument `output_schema` is invalid: ``.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.parse")]
    pub fn parse(text: &str) -> Result<OutputSchema, String> {
        match ptc_mcp::json::from_str(text) {
            Ok(Json::Object(schema)) => node(&schema),
            Ok(_) => Err("schema must be a JSON object".into()),
            Err(error) if error.is_syntax() && error.to_string().contains("recursion") => {
                Err("schema is nested too deeply".into())
            }
            Err(error) => Err(format!("schema is not JSON: {error}")),
        }
    }
}

/// Recursion is bounded by the parser of the text.
fn node(schema: &Map) -> Result<OutputSchema, String> {
    let Some(Json::String(kind)) = schema.get("type") else {
        return Err("schema must have a \"type\" key".into());
    };
    let scalar = |found: OutputSchema| only(schema, &[]).map(|()| found);
    match kind.as_str() {
        "string" => scalar(OutputSchema::String),
        "integer" => scalar(OutputSchema::Integer),
        "number" => scalar(OutputSchema::Number),
        "boolean" => scalar(OutputSchema::Boolean),
        "array" => {
            only(schema, &["items"])?;
            match schema.get("items") {
                None => Err("array type requires an \"items\" key".into()),
                Some(Json::Object(items)) => Ok(OutputSchema::Array(Box::new(node(items)?))),
                Some(_) => Err("array \"items\" must be a JSON object".into()),
            }
        }
        "object" => {
            only(schema, &["properties", "required", "additionalProperties"])?;
            object(schema).map(OutputSchema::Object)
        }
        other => Err(format!("unsupported type: {}", Json::from(other))),
    }
}

/// Refuses keys besides `type`, `description` and `allowed`.
fn only(schema: &Map, allowed: &[&str]) -> Result<(), String> {
    let mut others: Vec<_> = schema
        .keys()
        .map(String::as_str)
        .filter(|key| !matches!(*key, "type" | "description") && !allowed.contains(key))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    others.sort_unstable();
    Err(format!("unsupported JSON Schema key(s): {}", others.join(", ")))
}

fn object(schema: &Map) -> Result<ObjectSchema, String> {
    let closed = match schema.get("additionalProperties") {
        None | Some(Json::Bool(true)) => false,
        Some(Json::Bool(false)) => true,
        Some(other) => return Err(format!("\"additionalProperties\" must be true or false, got {other}")),
    };
    let declared = match schema.get("properties") {
        None => &Map::new(),
        Some(Json::Object(declared)) => declared,
        Some(_) => return Err("\"properties\" must be a JSON object".into()),
    };
    let required = required(schema.get("required"), declared)?;
    let mut names: Vec<_> = declared.keys().collect();
    names.sort_unstable();
    let mut properties = Vec::with_capacity(names.len());
    for name in names {
        let of = |detail: &str| format!("property {}: {detail}", Json::from(name.as_str()));
        let Json::Object(schema) = &declared[name] else {
            return Err(of("schema must be a JSON object"));
        };
        let schema = node(schema).map_err(|detail| of(&detail))?;
        properties.push(Property { name: name.clone(), schema, required: required.contains(&name.as_str()) });
    }
    let mut by_spelling = ahash::AHashMap::new();
    for (at, property) in properties.iter().enumerate() {
        by_spelling.entry(spelling(&property.name)).or_insert(at);
    }
    Ok(ObjectSchema { properties, by_spelling, closed })
}

fn required<'a>(list: Option<&'a Json>, declared: &Map) -> Result<Vec<&'a str>, String> {
    let entries = match list {
        None => return Ok(Vec::new()),
        Some(Json::Array(entries)) => entries,
        Some(_) => return Err("\"required\" must be an array of strings".into()),
    };
    entries
        .iter()
        .map(|entry| match entry {
            Json::String(name) if declared.contains_key(name) => Ok(name.as_str()),
            Json::String(_) => Err(format!("\"required\" entry {entry} is not a declared property")),
            other => Err(format!("\"required\" entries must be strings, got {other}")),
        })
        .collect()
}
