//! Bends values to the form that a schema declares, before they are checked.

use super::super::check::is_integer;
use super::super::coerce::{note, number};
use super::super::integral;
use super::validate::{is_of, looks};
use super::{Schema, members};
use ptc_base::json::{Map, Value as Json};

/// How deep schemas within schemas are followed.
const MAX_DEPTH: usize = 200;

impl Schema {
    /// Renames the fields of objects to their declared names (`a_b` and `a-b` are the same), and takes a null for a field that
    /// may be absent but not null as absence: providers that enforce a schema require every field.
    #[must_use]
    pub fn bend(&self, value: Json) -> Json {
        Bender { schema: self, warnings: None, looks: looks(&value) }.value(&self.0.root, value, "", 0)
    }

    /// [`bend`](Schema::bend), and numbers and booleans given as text are read. Also returns the conversions made.
    pub(crate) fn coerce(&self, value: Json) -> (Json, Vec<String>) {
        let mut bender = Bender { schema: self, warnings: Some(Vec::new()), looks: looks(&value) };
        let value = bender.value(&self.0.root, value, "", 0);
        (value, bender.warnings.unwrap_or_default())
    }
}

struct Bender<'s> {
    schema: &'s Schema,
    /// Conversions to another type; `None` if none are allowed.
    warnings: Option<Vec<String>>,
    /// Looks at schemas that are left: alternatives that refer to each other multiply.
    looks: usize,
}

impl<'s> Bender<'s> {
    fn value(&mut self, schema: &'s Json, value: Json, path: &str, depth: usize) -> Json {
        let Json::Object(map) = schema else { return value };
        if depth == MAX_DEPTH || self.looks == 0 {
            return value;
        }
        self.looks -= 1;
        let mut value = match self.schema.reference(map) {
            Some(target) => self.value(target, value, path, depth + 1),
            None => value,
        };
        for schema in members(map, "allOf") {
            value = self.value(schema, value, path, depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            value = self.alternative(members(map, key), value, path, depth);
        }
        match value {
            Json::Array(items) => Json::Array(self.items(map, items, path, depth)),
            Json::Object(fields) => Json::Object(self.fields(map, fields, path, depth)),
            scalar => self.scalar(map, scalar, path),
        }
    }

    /// The value as the first alternative wants it that it then fits; one that it fits already comes first.
    fn alternative(&mut self, schemas: &'s [Json], value: Json, path: &str, depth: usize) -> Json {
        let known = self.warnings.as_ref().map(Vec::len);
        let fitting = schemas.iter().find(|one| self.fits(one, &value));
        for one in fitting.into_iter().chain(schemas) {
            let bent = self.value(one, value.clone(), path, depth + 1);
            if self.fits(one, &bent) {
                return bent;
            }
            if let (Some(warnings), Some(known)) = (&mut self.warnings, known) {
                warnings.truncate(known);
            }
        }
        value
    }

    fn fits(&mut self, schema: &'s Json, value: &Json) -> bool {
        self.schema.fits(schema, value, &mut self.looks)
    }

    fn items(&mut self, map: &'s Map, items: Vec<Json>, path: &str, depth: usize) -> Vec<Json> {
        let first = members(map, "prefixItems");
        let bent = items.into_iter().enumerate().map(|(at, item)| {
            match first.get(at).or_else(|| map.get("items")) {
                Some(schema) => self.value(schema, item, &join(path, &at.to_string()), depth + 1),
                None => item,
            }
        });
        bent.collect()
    }

    fn fields(&mut self, map: &'s Map, fields: Map, path: &str, depth: usize) -> Map {
        let declared = map.get("properties").and_then(Json::as_object);
        let required = |name: &str| members(map, "required").iter().any(|one| one == name);
        let mut bent = Map::with_capacity(fields.len());
        for (key, value) in &fields {
            let (name, schema) = match declared.and_then(|declared| spelled(declared, key)) {
                // Two spellings of one field: the declared one counts.
                Some((name, _)) if name != key && fields.contains_key(name) => continue,
                Some((name, schema)) => (name, Some(schema)),
                None => (key, map.get("additionalProperties").filter(|schema| schema.is_object())),
            };
            let absent = value.is_null()
                && !required(name)
                && declared.is_some_and(|declared| declared.contains_key(name))
                && !schema.is_some_and(|schema| self.takes_null(schema));
            if !absent {
                let value = match schema {
                    Some(schema) => self.value(schema, value.clone(), &join(path, name), depth + 1),
                    None => value.clone(),
                };
                bent.insert(name.clone(), value);
            }
        }
        bent
    }

    fn takes_null(&mut self, schema: &'s Json) -> bool {
        self.fits(schema, &Json::Null)
    }

    fn scalar(&mut self, map: &Map, value: Json, path: &str) -> Json {
        let Some(warnings) = &mut self.warnings else { return value };
        let Some(Json::String(word)) = map.get("type") else { return value };
        if is_of(word, &value) {
            return value;
        }
        match (word.as_str(), &value) {
            ("integer", Json::String(text)) => match number(text).filter(is_integer) {
                Some(found) => note(text.clone(), Json::Number(found), path, "int", warnings),
                None => value,
            },
            ("integer", Json::Number(float)) => match integral(float) {
                Some(int) => note(float.to_string(), int, path, "int", warnings),
                None => value,
            },
            ("number", Json::String(text)) => match number(text) {
                Some(found) => note(text.clone(), Json::Number(found), path, "float", warnings),
                None => value,
            },
            ("boolean", Json::String(text)) if text == "true" || text == "false" => {
                note(text.clone(), Json::Bool(text == "true"), path, "bool", warnings)
            }
            _ => value,
        }
    }
}

/// The declared property that `key` means.
fn spelled<'a>(declared: &'a Map, key: &str) -> Option<(&'a String, &'a Json)> {
    let other = |from: char, to: &str| key.replace(from, to);
    declared
        .get_key_value(key)
        .or_else(|| declared.get_key_value(&other('-', "_")))
        .or_else(|| declared.get_key_value(&other('_', "-")))
        .or_else(|| declared.iter().find(|(name, _)| name.replace('-', "_") == other('-', "_")))
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") }
}
