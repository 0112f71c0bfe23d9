//! Coercion of tool arguments before validation (agent.md 5: input coercion is lenient).

use super::{Field, Type};
use ptc_base::json::{Number, Value as Json};
use ptc_schema::parsed::{has_no_fraction, integer_of};

/// A value after coercion.
#[derive(Debug, Clone, PartialEq)]
pub struct Coerced {
    /// The value; parts that could not be coerced are unchanged.
    pub value: Json,
    /// The changes made: `limit: "5" was read as int`.
    pub warnings: Vec<String>,
}

impl Type {
    /// Reads numeric text as numbers, integral floats as integers and `"true"`/`"false"` as booleans, where the
    /// type wants them.
    #[must_use]
    pub fn coerce(&self, value: Json) -> Coerced {
        let mut warnings = Vec::new();
        let value = coerce(self, value, "", &mut warnings);
        Coerced { value, warnings }
    }
}

/// [`Type::coerce`] for the fields of an object, such as the arguments of a tool.
pub(crate) fn coerce_fields(
    fields: &[Field],
    mut object: ptc_base::json::Map,
) -> (ptc_base::json::Map, Vec<String>) {
    let mut warnings = Vec::new();
    for Field { name, ty } in fields {
        let key = [name.clone(), name.replace('-', "_"), name.replace('_', "-")]
            .into_iter()
            .find(|key| object.contains_key(key));
        // The handler sees the declared name, however the caller spelled it.
        if let Some(value) = key.and_then(|key| object.shift_remove(&key)) {
            object.insert(name.clone(), coerce(ty, value, name, &mut warnings));
        }
    }
    (object, warnings)
}

/// [`Type::coerce`] for the fields of an object whose keys stay as they are written.
pub(crate) fn coerce_in_place(fields: &[Field], object: &mut ptc_base::json::Map) {
    let mut warnings = Vec::new();
    for (key, value) in object.iter_mut() {
        if let Some(field) = fields.iter().find(|field| field.is_called(key)) {
            *value = coerce(&field.ty, value.take(), key, &mut warnings);
        }
    }
}

fn coerce(ty: &Type, value: Json, path: &str, warnings: &mut Vec<String>) -> Json {
    match (ty, value) {
        (Type::Optional(_), Json::Null) => Json::Null,
        (Type::Optional(inner), value) => coerce(inner, value, path, warnings),
        (Type::Int, Json::String(text)) => match number(&text).filter(has_no_fraction) {
            Some(number) => note(text, Json::Number(number), path, "int", warnings),
            None => Json::String(text),
        },
        (Type::Int, Json::Number(float)) if !has_no_fraction(&float) => match integer_of(&float) {
            Some(int) => note(float.to_string(), int.into(), path, "int", warnings),
            None => Json::Number(float),
        },
        (Type::Float, Json::String(text)) => match number(&text) {
            Some(number) => note(text, Json::Number(number), path, "float", warnings),
            None => Json::String(text),
        },
        (Type::Bool, Json::String(text)) if text == "true" || text == "false" => {
            let value = Json::Bool(text == "true");
            note(text, value, path, "bool", warnings)
        }
        (Type::List(item), Json::Array(items)) => Json::Array(
            items
                .into_iter()
                .enumerate()
                .map(|(at, value)| coerce(item, value, &join(path, &at.to_string()), warnings))
                .collect(),
        ),
        (Type::Record(fields), Json::Object(mut object)) => {
            for Field { name, ty } in fields {
                if let Some(place) = object.get_mut(name) {
                    *place = coerce(ty, place.take(), &join(path, name), warnings);
                }
            }
            Json::Object(object)
        }
        (Type::Schema(schema), value) => {
            let (value, found) = schema.coerce(value);
            warnings.extend(found.into_iter().map(|text| join(path, &text)));
            value
        }
        (_, value) => value,
    }
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") }
}

pub(super) fn note(from: String, value: Json, path: &str, ty: &str, warnings: &mut Vec<String>) -> Json {
    let path = if path.is_empty() { "root" } else { path };
    warnings.push(format!("{path}: {} was read as {ty}", Json::from(from)));
    value
}

/// The number that a text is, exactly as JSON writes numbers.
#[expect(clippy::disallowed_methods, reason = "entry point: number()")]
pub(super) fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim()).ok()
}
