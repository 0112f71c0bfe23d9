//! Bends values to the form that a schema declares, before they are checked.

use super::super::coerce::{note, number};
use super::Schema;
use super::wording::looks;
use ptc_base::json::{Map, Value as Json};
use ptc_schema::parsed::{
    Kind, ParsedSchema, SchemaId, SchemaNode, SchemaSubject as _, has_no_fraction, integer_of,
};

/// How deep schemas within schemas are followed.
const MAX_DEPTH: usize = 200;

impl Schema {
    /// Renames the fields of objects to their declared names (`a_b` and `a-b` are the same), and takes a null for a field that
    /// may be absent but not null as absence: providers that enforce a schema require every field.
    #[must_use]
    pub fn bend(&self, value: Json) -> Json {
        Bender { schema: self, warnings: None, looks: looks(&value) }.value(ParsedSchema::ROOT, value, "", 0)
    }

    /// [`bend`](Schema::bend), and numbers and booleans given as text are read. Also returns the conversions made.
    pub(crate) fn coerce(&self, value: Json) -> (Json, Vec<String>) {
        let mut bender = Bender { schema: self, warnings: Some(Vec::new()), looks: looks(&value) };
        let value = bender.value(ParsedSchema::ROOT, value, "", 0);
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
    fn value(&mut self, id: SchemaId, value: Json, path: &str, depth: usize) -> Json {
        let node = self.schema.node(id);
        if node.verdict.is_some() || depth == MAX_DEPTH || self.looks == 0 {
            return value;
        }
        self.looks -= 1;
        let target = node.reference.as_ref().map(|(_, target)| target);
        let mut value = value;
        for id in target.into_iter().chain(&node.all_of) {
            value = self.value(*id, value, path, depth + 1);
        }
        for ids in [&node.any_of, &node.one_of] {
            value = self.alternative(ids, value, path, depth);
        }
        match value {
            Json::Array(items) => Json::Array(self.items(node, items, path, depth)),
            Json::Object(fields) => Json::Object(self.fields(node, fields, path, depth)),
            scalar => self.scalar(node, scalar, path),
        }
    }

    /// The value as the first alternative wants it that it then fits; one that it fits already comes first.
    fn alternative(&mut self, schemas: &'s [SchemaId], value: Json, path: &str, depth: usize) -> Json {
        let known = self.warnings.as_ref().map(Vec::len);
        let fitting = schemas.iter().find(|one| self.fits(**one, &value));
        for one in fitting.into_iter().chain(schemas) {
            let bent = self.value(*one, value.clone(), path, depth + 1);
            if self.fits(*one, &bent) {
                return bent;
            }
            if let (Some(warnings), Some(known)) = (&mut self.warnings, known) {
                warnings.truncate(known);
            }
        }
        value
    }

    fn fits(&mut self, id: SchemaId, value: &Json) -> bool {
        self.schema.fits(id, value, &mut self.looks)
    }

    fn items(&mut self, node: &'s SchemaNode, items: Vec<Json>, path: &str, depth: usize) -> Vec<Json> {
        let bent = items.into_iter().enumerate().map(|(at, item)| match node.element(at) {
            Some(id) => self.value(id, item, &join(path, &at.to_string()), depth + 1),
            None => item,
        });
        bent.collect()
    }

    fn fields(&mut self, node: &'s SchemaNode, fields: Map, path: &str, depth: usize) -> Map {
        let mut bent = Map::with_capacity(fields.len());
        for (key, value) in &fields {
            let property = node.properties.as_ref().and_then(|table| table.spelled(key));
            // Two spellings of one field: the declared one counts.
            if property.is_some_and(|property| property.name != *key && fields.contains_key(&property.name)) {
                continue;
            }
            let name = property.map_or(key, |property| &property.name);
            let schema = property.map(|property| property.schema).or(node.additional);
            let is_absent = value.is_null()
                && property.is_some_and(|property| {
                    !property.is_required && !self.fits(property.schema, &Json::Null)
                });
            if !is_absent {
                let value = match schema {
                    Some(id) => self.value(id, value.clone(), &join(path, name), depth + 1),
                    None => value.clone(),
                };
                bent.insert(name.clone(), value);
            }
        }
        bent
    }

    fn scalar(&mut self, node: &SchemaNode, value: Json, path: &str) -> Json {
        let Some(warnings) = &mut self.warnings else { return value };
        let [kind] = node.kinds[..] else { return value };
        if value.is_of(kind) {
            return value;
        }
        match (kind, &value) {
            (Kind::Integer, Json::String(text)) => match number(text).filter(has_no_fraction) {
                Some(found) => note(text.clone(), Json::Number(found), path, "int", warnings),
                None => value,
            },
            (Kind::Integer, Json::Number(float)) => match integer_of(float) {
                Some(int) => note(float.to_string(), int.into(), path, "int", warnings),
                None => value,
            },
            (Kind::Number, Json::String(text)) => match number(text) {
                Some(found) => note(text.clone(), Json::Number(found), path, "float", warnings),
                None => value,
            },
            (Kind::Boolean, Json::String(text)) if text == "true" || text == "false" => {
                note(text.clone(), Json::Bool(text == "true"), path, "bool", warnings)
            }
            _ => value,
        }
    }
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") }
}
