//! Schema parser.

use std::collections::HashMap;

use ahash::AHashSet;
use ptc_mcp::json::{Map, Value as Json};

use super::{Bound, Id, Kind, ObjectRules, OutputSchema, Property, Rules, spelling};

/// Most schemas in one, each once however often it is referred to.
const MAX_RULES: usize = 4096;
/// Longest `pattern`, in bytes.
const MAX_PATTERN: usize = 1024;

/// Keywords that demand nothing, or nothing that is checked.
const ANNOTATIONS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "format",
    "id",
    "readOnly",
    "title",
    "writeOnly",
    "xml",
];

impl OutputSchema {
    /// Reads the text of a JSON object.
    ///
    /// # Errors
    /// The construct outside the subset, as the text that follows `` argument `output_schema` is invalid: ``.
    #[expect(clippy::disallowed_methods, reason = "entry point: OutputSchema.parse")]
    pub fn parse(text: &str) -> Result<OutputSchema, String> {
        match ptc_mcp::json::from_str(text) {
            Ok(root @ Json::Object(_)) => {
                let mut parser = Parser { root: &root, rules: Vec::new(), targets: HashMap::new() };
                parser.reference("#")?;
                Ok(OutputSchema { rules: parser.rules })
            }
            Ok(_) => Err("schema must be a JSON object".into()),
            Err(error) if error.is_syntax() && error.to_string().contains("recursion") => {
                Err("schema is nested too deeply".into())
            }
            Err(error) => Err(format!("schema is not JSON: {error}")),
        }
    }
}

struct Parser<'s> {
    root: &'s Json,
    rules: Vec<Rules>,
    /// The targets of references.
    targets: HashMap<String, Id>,
}

impl<'s> Parser<'s> {
    fn place(&mut self) -> Result<Id, String> {
        if self.rules.len() == MAX_RULES {
            return Err(format!("schema has more than {MAX_RULES} parts"));
        }
        self.rules.push(Rules::default());
        Ok(self.rules.len() - 1)
    }

    /// The schema that a reference leads to, read once: it may refer to itself.
    fn reference(&mut self, reference: &str) -> Result<Id, String> {
        if let Some(id) = self.targets.get(reference) {
            return Ok(*id);
        }
        let shown = || Json::from(reference);
        let pointer = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let pointer = pointer
            .and_then(|pointer| percent_encoding::percent_decode_str(pointer).decode_utf8().ok())
            .ok_or_else(|| {
                format!("\"$ref\" must lead into the schema itself (\"#/$defs/…\"), got {}", shown())
            })?;
        let found = self.root.pointer(&pointer);
        let found = found.ok_or_else(|| format!("\"$ref\" {} leads nowhere", shown()))?;
        let id = self.place()?;
        self.targets.insert(reference.to_owned(), id);
        self.rules[id] = self.read(found)?;
        Ok(id)
    }

    /// A schema within another one. Recursion is bounded by the parser of the text, as each reference is followed once.
    fn schema(&mut self, schema: &'s Json) -> Result<Id, String> {
        let id = self.place()?;
        self.rules[id] = self.read(schema)?;
        Ok(id)
    }

    fn read(&mut self, schema: &'s Json) -> Result<Rules, String> {
        let schema = match schema {
            Json::Bool(any) => return Ok(Rules { never: !any, ..Rules::default() }),
            Json::Object(schema) => schema,
            _ => return Err("schema must be a JSON object".into()),
        };
        check_keys(schema)?;
        let mut all_of = self.list(schema, "allOf")?.unwrap_or_default();
        match schema.get("$ref") {
            None => {}
            Some(Json::String(reference)) => all_of.push(self.reference(reference)?),
            Some(other) => return Err(format!("\"$ref\" must be a string, got {other}")),
        }
        let (prefix, items) = self.items(schema)?;
        Ok(Rules {
            never: false,
            kinds: kinds(schema)?,
            values: values(schema)?,
            object: self.object(schema)?,
            prefix,
            items,
            bounds: bounds(schema)?,
            unique_items: flag(schema, "uniqueItems")?,
            pattern: pattern(schema)?,
            all_of,
            any_of: self.list(schema, "anyOf")?,
            one_of: self.list(schema, "oneOf")?,
            not: schema.get("not").map(|schema| self.schema(schema)).transpose()?,
        })
    }

    fn list(&mut self, schema: &'s Map, key: &str) -> Result<Option<Vec<Id>>, String> {
        match schema.get(key) {
            None => Ok(None),
            Some(Json::Array(list)) if !list.is_empty() => {
                list.iter().map(|schema| self.schema(schema)).collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(format!("{} must be an array of schemas", Json::from(key))),
        }
    }

    /// `prefixItems` and `items`; in older drafts a list of `items`, and `additionalItems`.
    fn items(&mut self, schema: &'s Map) -> Result<(Vec<Id>, Option<Id>), String> {
        let (prefix, rest) = match schema.get("items") {
            Some(Json::Array(_)) => (self.list(schema, "items")?, schema.get("additionalItems")),
            rest => (self.list(schema, "prefixItems")?, rest),
        };
        let rest = match rest {
            Some(rest @ (Json::Object(_) | Json::Bool(_))) => Some(self.schema(rest)?),
            Some(_) => return Err("array \"items\" must be a JSON object".into()),
            None => None,
        };
        Ok((prefix.unwrap_or_default(), rest))
    }

    fn object(&mut self, schema: &'s Map) -> Result<ObjectRules, String> {
        let (closed, others) = match schema.get("additionalProperties") {
            None | Some(Json::Bool(true)) => (false, None),
            Some(Json::Bool(false)) => (true, None),
            Some(others @ Json::Object(_)) => (false, Some(self.schema(others)?)),
            Some(other) => {
                return Err(format!("\"additionalProperties\" must be true, false or a schema, got {other}"));
            }
        };
        let names = schema.get("propertyNames").map(|names| self.schema(names)).transpose()?;
        let declared = match schema.get("properties") {
            None => None,
            Some(Json::Object(declared)) => Some(declared),
            Some(_) => return Err("\"properties\" must be a JSON object".into()),
        };
        let required = required(schema.get("required"))?;
        let is_required: AHashSet<&str> = required.iter().copied().collect();
        let mut properties = Vec::new();
        let mut sorted: Vec<_> = declared.into_iter().flatten().collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        for (name, schema) in sorted {
            let of = |detail: String| format!("property {}: {detail}", Json::from(name.as_str()));
            let schema = self.schema(schema).map_err(of)?;
            let required = is_required.contains(name.as_str());
            properties.push(Property { name: name.clone(), schema, required });
        }
        for name in is_required {
            // Declared elsewhere, or anything.
            if declared.is_none_or(|declared| !declared.contains_key(name)) {
                let schema = self.place()?;
                properties.push(Property { name: name.to_owned(), schema, required: true });
            }
        }
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        properties.dedup_by(|a, b| a.name == b.name);
        let mut by_spelling = ahash::AHashMap::new();
        for (at, property) in properties.iter().enumerate() {
            by_spelling.entry(spelling(&property.name)).or_insert(at);
        }
        Ok(ObjectRules { properties, by_spelling, closed, others, names })
    }
}

/// Refuses keywords whose rules are not checked.
fn check_keys(schema: &Map) -> Result<(), String> {
    const RULES: &[&str] = &[
        "$ref",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "enum",
        "items",
        "not",
        "nullable",
        "oneOf",
        "pattern",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "type",
        "uniqueItems",
    ];
    let is_bound = |key: &str| Bound::ALL.iter().any(|bound| bound.keyword() == key);
    let is_known = |key: &str| {
        RULES.contains(&key) || ANNOTATIONS.contains(&key) || is_bound(key) || key.starts_with("x-")
    };
    let mut others: Vec<_> = schema.keys().map(String::as_str).filter(|key| !is_known(key)).collect();
    if others.is_empty() {
        return Ok(());
    }
    others.sort_unstable();
    Err(format!("unsupported JSON Schema key(s): {}", others.join(", ")))
}

fn kinds(schema: &Map) -> Result<Vec<Kind>, String> {
    let kind = |word: &Json| {
        let found = word.as_str().and_then(|word| Kind::ALL.into_iter().find(|kind| kind.name() == word));
        found.ok_or_else(|| format!("unsupported type: {word}"))
    };
    let mut kinds = match schema.get("type") {
        None => return Ok(Vec::new()),
        Some(Json::Array(words)) if !words.is_empty() => words.iter().map(kind).collect::<Result<_, _>>()?,
        Some(word) => vec![kind(word)?],
    };
    // OpenAPI 3.0 has no `null` among the types.
    if flag(schema, "nullable")? {
        kinds.push(Kind::Null);
    }
    Ok(kinds)
}

fn values(schema: &Map) -> Result<Option<(&'static str, Vec<Json>)>, String> {
    match (schema.get("const"), schema.get("enum")) {
        (None, None) => Ok(None),
        (Some(only), None) => Ok(Some(("const", vec![only.clone()]))),
        (only, Some(Json::Array(values))) => {
            let of_both = |value: &&Json| only.is_none_or(|only| only == *value);
            Ok(Some(("enum", values.iter().filter(of_both).cloned().collect())))
        }
        (_, Some(other)) => Err(format!("\"enum\" must be an array, got {other}")),
    }
}

fn bounds(schema: &Map) -> Result<Vec<(Bound, f64)>, String> {
    let mut bounds = Vec::new();
    for bound in Bound::ALL {
        let (key, exclusive) = match bound {
            Bound::Minimum => (bound.keyword(), Some(Bound::ExclusiveMinimum)),
            Bound::Maximum => (bound.keyword(), Some(Bound::ExclusiveMaximum)),
            _ => (bound.keyword(), None),
        };
        let number = match schema.get(key) {
            None => continue,
            // In older drafts it says how the other bound is meant.
            Some(Json::Bool(_)) if matches!(bound, Bound::ExclusiveMinimum | Bound::ExclusiveMaximum) => {
                continue;
            }
            Some(value) => value.as_f64().filter(|number| number.is_finite()),
        };
        let number = number.filter(|number| bound != Bound::MultipleOf || *number > 0.0);
        let number = number.ok_or_else(|| format!("{} must be a number", Json::from(key)))?;
        let is_exclusive = exclusive.filter(|other| schema.get(other.keyword()) == Some(&Json::Bool(true)));
        bounds.push((is_exclusive.unwrap_or(bound), number));
    }
    Ok(bounds)
}

fn flag(schema: &Map, key: &str) -> Result<bool, String> {
    match schema.get(key) {
        None => Ok(false),
        Some(Json::Bool(value)) => Ok(*value),
        Some(other) => Err(format!("{} must be true or false, got {other}", Json::from(key))),
    }
}

fn pattern(schema: &Map) -> Result<Option<String>, String> {
    match schema.get("pattern") {
        None => Ok(None),
        Some(Json::String(pattern)) if pattern.len() <= MAX_PATTERN => Ok(Some(pattern.clone())),
        Some(_) => Err(format!("\"pattern\" must be a string of at most {MAX_PATTERN} bytes")),
    }
}

fn required(list: Option<&Json>) -> Result<Vec<&str>, String> {
    let entries = match list {
        None => return Ok(Vec::new()),
        // Draft 3 and some generators mark the property itself.
        Some(Json::Bool(_)) => return Ok(Vec::new()),
        Some(Json::Array(entries)) => entries,
        Some(_) => return Err("\"required\" must be an array of strings".into()),
    };
    let text = |entry: &'_ Json| format!("\"required\" entries must be strings, got {entry}");
    entries.iter().map(|entry| entry.as_str().ok_or_else(|| text(entry))).collect()
}
