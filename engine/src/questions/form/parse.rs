//! Reads schemas. They come from programs and upstreams, and are read strictly: constructs that clients could not show are
//! refused.

use std::cmp::Ordering;

use ptc_mcp::json::{Map, Number, Value, parse_within, repeated_key};
use ptc_schema::parsed::order;

use super::secret_names::{asks_for_secret, title_asks_for_secret};
use super::{Choice, Field, Form, FormDialect, FormFault, Length, Range, StringFormat, Wanted};
use ptc_base::text::clip;
use ptc_base::visible::{has_hidden, visible, visible_line};

/// Levels of a schema's text: the deepest are the choices of a multi-select, and one more lets the message name the fault
/// there.
const MAX_LEVELS: usize = 16;
/// Bytes of an offending value that a fault shows.
const MAX_SHOWN: usize = 100;

impl TryFrom<String> for Form {
    type Error = FormFault;

    fn try_from(schema: String) -> Result<Form, FormFault> {
        Form::parse(&schema)
    }
}

impl Form {
    /// Reads the text of a schema.
    ///
    /// # Errors
    /// It is no flat form, is too big, or asks for a secret.
    pub fn parse(text: &str) -> Result<Form, FormFault> {
        Self::read(text).map(|(form, _)| form)
    }

    /// Reads the schema of a program, whose maps have no order: its required fields go first, in the order in which it requires
    /// them.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn of_program(text: &str) -> Result<Form, FormFault> {
        let (mut form, schema) = Self::read(text)?;
        let required = schema.get("required").and_then(strings).unwrap_or_default();
        let place = |field: &Field| required.iter().position(|name| *name == field.name);
        form.fields.sort_by_key(|field| place(field).unwrap_or(usize::MAX));
        Ok(form)
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Form.read")]
    fn read(text: &str) -> Result<(Form, Value), FormFault> {
        if text.len() > Form::MAX_BYTES {
            return Err(FormFault::NotFlat(too_big()));
        }
        let schema = parse_within(text, MAX_LEVELS)
            .map_err(|_| FormFault::NotFlat("it is not JSON, or nests too deeply".to_owned()))?;
        if let Some(name) = repeated_key(text) {
            return Err(FormFault::NotFlat(format!("the key {} stands twice", quoted(&name))));
        }
        let form = form(&schema)?;
        Ok((form, schema))
    }
}

fn form(schema: &Value) -> Result<Form, FormFault> {
    let not_flat = |detail: String| Err(FormFault::NotFlat(detail));
    let Value::Object(schema) = schema else {
        return not_flat(format!("it must be an object, got {}", shown(schema)));
    };
    // Generators of schemas add these to the outermost object; a client has no place for them.
    let known = ["$schema", "type", "title", "description", "properties", "required", "additionalProperties"];
    if let Err(detail) = only(schema, &known) {
        return not_flat(detail);
    }
    if !schema.get("type").is_some_and(|kind| kind == "object") {
        return not_flat(format!("\"type\" must be \"object\", got {}", found(schema.get("type"))));
    }
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return not_flat(format!(
            "\"properties\" must be an object, got {}",
            found(schema.get("properties"))
        ));
    };
    if !matches!(schema.get("additionalProperties"), None | Some(Value::Bool(_))) {
        return not_flat("\"additionalProperties\" must be true or false".to_owned());
    }
    if properties.len() > Form::MAX_FIELDS {
        return not_flat(format!("it has more than {} properties", Form::MAX_FIELDS));
    }
    let required = match required(schema.get("required"), properties) {
        Ok(required) => required,
        Err(detail) => return not_flat(detail),
    };
    let mut fields = Vec::with_capacity(properties.len());
    for (name, schema) in properties {
        let title = schema.get("title").and_then(Value::as_str).filter(|title| title_asks_for_secret(title));
        if let Some(asked) = title.or_else(|| asks_for_secret(name).then_some(name)) {
            return Err(FormFault::Secret(visible_line(clip(asked, MAX_SHOWN)).into_owned()));
        }
        match field(name, schema, required.contains(&name.as_str())) {
            Ok(field) => fields.push(field),
            Err(detail) => return not_flat(format!("property {}: {detail}", quoted(name))),
        }
    }
    let form = Form { fields };
    // Escapes of hidden characters are longer than these are.
    match form.to_json(FormDialect::Current).len() {
        0..=Form::MAX_BYTES => Ok(form),
        _ => not_flat(too_big()),
    }
}

fn too_big() -> String {
    format!("it has more than {} bytes", Form::MAX_BYTES)
}

fn required<'s>(list: Option<&'s Value>, properties: &Map) -> Result<Vec<&'s str>, String> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let names = strings(list).ok_or_else(|| format!("\"required\" must be strings, got {}", shown(list)))?;
    match names.iter().find(|name| !properties.contains_key(name)) {
        Some(name) => Err(format!("\"required\" has {}, which is no property", quoted(name))),
        None => Ok(names),
    }
}

fn field(name: &str, schema: &Value, required: bool) -> Result<Field, String> {
    if has_hidden(name) {
        return Err("its name has hidden characters".to_owned());
    }
    let Value::Object(schema) = schema else {
        return Err(format!("its schema must be an object, got {}", shown(schema)));
    };
    let Some(Value::String(kind)) = schema.get("type") else {
        return Err(match schema.keys().find(|key| *key != "type" && !ANNOTATIONS.contains(&key.as_str())) {
            Some(key) if schema.get("type").is_none() => format!("it has no \"type\", but {}", quoted(key)),
            _ => format!("\"type\" must be a string, got {}", found(schema.get("type"))),
        });
    };
    let wanted = match kind.as_str() {
        "string" if schema.contains_key("enum") || schema.contains_key("oneOf") => one(schema)?,
        "string" => string(schema)?,
        "number" | "integer" => number(schema, kind == "integer")?,
        "boolean" => {
            of(schema, &["default"])?;
            let default = optional(schema, "default", "true or false", Value::as_bool)?;
            Wanted::Boolean { default }
        }
        "array" => some(schema)?,
        other => return Err(format!("unsupported type {}", quoted(other))),
    };
    Ok(Field {
        name: name.to_owned(),
        title: text(schema, "title")?,
        description: text(schema, "description")?,
        required,
        wanted,
    })
}

/// The keywords that each field may have besides its constraints.
const ANNOTATIONS: [&str; 2] = ["title", "description"];

/// Refuses keywords besides `type`, annotations and `allowed`.
fn of(schema: &Map, allowed: &[&str]) -> Result<(), String> {
    only(schema, &[&["type"], ANNOTATIONS.as_slice(), allowed].concat())
}

fn only(schema: &Map, known: &[&str]) -> Result<(), String> {
    match schema.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("unsupported keyword {}", quoted(key))),
        None => Ok(()),
    }
}

fn string(schema: &Map) -> Result<Wanted, String> {
    of(schema, &["format", "minLength", "maxLength", "pattern", "default"])?;
    let format = optional(schema, "format", "email, uri, date or date-time", |value| {
        StringFormat::ALL.into_iter().find(|format| value == format.name())
    })?;
    Ok(Wanted::String {
        format,
        length: length(schema, "minLength", "maxLength")?,
        pattern: optional(schema, "pattern", "a string", owned)?,
        default: optional(schema, "default", "a string", owned)?,
    })
}

fn number(schema: &Map, is_integer: bool) -> Result<Wanted, String> {
    of(schema, &["minimum", "maximum", "default"])?;
    let bound = |key: &str| optional(schema, key, "a number", finite);
    let range = Range { min: bound("minimum")?, max: bound("maximum")? };
    if let (Some(min), Some(max)) = (&range.min, &range.max)
        && order(min, max).is_some_and(Ordering::is_gt)
    {
        return Err("\"minimum\" is above \"maximum\"".to_owned());
    }
    if is_integer {
        let whole = |value: &Value| finite(value).filter(is_whole);
        return Ok(Wanted::Integer { range, default: optional(schema, "default", "an integer", whole)? });
    }
    Ok(Wanted::Number { range, default: bound("default")? })
}

fn one(schema: &Map) -> Result<Wanted, String> {
    let choices = match schema.get("oneOf") {
        Some(titled) => {
            of(schema, &["oneOf", "default"])?;
            titled_choices("oneOf", titled)?
        }
        None => {
            of(schema, &["enum", "enumNames", "default"])?;
            let mut choices = untitled_choices(schema)?;
            if let Some(names) = schema.get("enumNames") {
                let names = strings(names)
                    .filter(|names| names.len() == choices.len())
                    .ok_or("\"enumNames\" must be strings, one for each of \"enum\"")?;
                for (choice, name) in choices.iter_mut().zip(names) {
                    choice.title = Some(visible_line(name).into_owned());
                }
            }
            choices
        }
    };
    let has_enum_names = schema.contains_key("enumNames");
    Ok(Wanted::One { choices, default: optional(schema, "default", "a string", owned)?, has_enum_names })
}

fn some(schema: &Map) -> Result<Wanted, String> {
    of(schema, &["items", "minItems", "maxItems", "default"])?;
    let Some(Value::Object(items)) = schema.get("items") else {
        return Err(format!("\"items\" must be an object, got {}", found(schema.get("items"))));
    };
    let choices = match items.get("anyOf") {
        Some(titled) => {
            only(items, &["anyOf"]).map_err(|detail| format!("items: {detail}"))?;
            titled_choices("anyOf", titled)?
        }
        None => {
            only(items, &["type", "enum"]).map_err(|detail| format!("items: {detail}"))?;
            if !items.get("type").is_some_and(|kind| kind == "string") {
                return Err(format!("items: \"type\" must be \"string\", got {}", found(items.get("type"))));
            }
            untitled_choices(items)?
        }
    };
    let default = optional(schema, "default", "strings", |value| {
        strings(value).map(|values| values.into_iter().map(str::to_owned).collect())
    })?;
    Ok(Wanted::Some { choices, count: length(schema, "minItems", "maxItems")?, default })
}

fn untitled_choices(schema: &Map) -> Result<Vec<Choice>, String> {
    let values = schema.get("enum").and_then(strings).filter(|values| !values.is_empty());
    let values =
        values.ok_or_else(|| format!("\"enum\" must be strings, got {}", found(schema.get("enum"))))?;
    // A value that a person could not read is shown by its escapes, and answered as it is.
    let titled = values.iter().any(|value| has_hidden(value));
    Ok(values.into_iter().map(|value| choice(value, titled.then_some(value))).collect())
}

fn titled_choices(key: &str, list: &Value) -> Result<Vec<Choice>, String> {
    let wrong = || format!("\"{key}\" must be objects with \"const\" and \"title\", got {}", shown(list));
    let list = list.as_array().filter(|list| !list.is_empty()).ok_or_else(wrong)?;
    let choice = |item: &Value| match item.as_object()? {
        item if item.len() == 2 => {
            Some(choice(item.get("const")?.as_str()?, Some(item.get("title")?.as_str()?)))
        }
        _ => None,
    };
    list.iter().map(choice).collect::<Option<_>>().ok_or_else(wrong)
}

fn choice(value: &str, title: Option<&str>) -> Choice {
    Choice { value: value.to_owned(), title: title.map(|title| visible_line(title).into_owned()) }
}

fn length(schema: &Map, min: &str, max: &str) -> Result<Length, String> {
    let bound = |key| optional(schema, key, "an integer that is not negative", Value::as_u64);
    let length = Length { min: bound(min)?, max: bound(max)? };
    match length {
        Length { min: Some(least), max: Some(most) } if least > most => {
            Err(format!("\"{min}\" is above \"{max}\""))
        }
        length => Ok(length),
    }
}

fn text(schema: &Map, key: &str) -> Result<Option<String>, String> {
    optional(schema, key, "a string", |value| value.as_str().map(|text| visible(text).into_owned()))
}

fn optional<T>(
    schema: &Map,
    key: &str,
    wanted: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(value) = schema.get(key) else { return Ok(None) };
    read(value).map(Some).ok_or_else(|| format!("\"{key}\" must be {wanted}, got {}", shown(value)))
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn finite(value: &Value) -> Option<Number> {
    value.as_number().filter(|number| number.as_f64().is_some()).cloned()
}

fn strings(list: &Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

fn found(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), shown)
}

/// Whether a number has no fraction. JSON Schema counts `1.0` as an integer.
pub(super) fn is_whole(number: &Number) -> bool {
    number.as_str().parse::<i128>().is_ok() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// The JSON of a value, cut, with hidden characters escaped.
pub(super) fn shown(value: &Value) -> String {
    ptc_base::text::with_dots(&visible_line(&value.to_string()), MAX_SHOWN)
}

pub(super) fn quoted(name: &str) -> String {
    shown(&Value::from(name))
}
