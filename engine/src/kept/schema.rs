//! The schemas of a head: what a program takes and gives.

use std::sync::{Arc, OnceLock};

use ptc_mcp::json::{Map, Value as Json, from_str, json};
use ptc_schema::output_schema::OutputSchema;
use ptc_vm::{Value, meter};

use super::fault::ProgramFault;
use super::fields::Fields;

/// A JSON Schema of a program.
#[derive(Clone, Debug)]
pub struct ProgramSchema {
    /// Its text.
    pub json: Arc<str>,
    /// Whether it is one of objects: it says so itself.
    pub is_of_objects: bool,
    /// What checks values, read when there is a first one: most of many programs are not called.
    checks: OnceLock<Option<Arc<OutputSchema>>>,
    /// The properties that `:input` declares, each with its default as JSON; none of `:output`.
    pub declared: Vec<(Box<str>, Box<str>)>,
}

impl ProgramSchema {
    /// What checks values; `None` if the text is no schema that can be checked, which was refused when it was read.
    #[must_use]
    pub fn checks(&self) -> Option<&Arc<OutputSchema>> {
        let read = || OutputSchema::parse(&self.json).ok().map(Arc::new);
        self.checks.get_or_init(read).as_ref()
    }

    /// It as data.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: ProgramSchema.value")]
    pub fn value(&self) -> Json {
        from_str(&self.json).unwrap_or_default()
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Why it does not fit.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let checks = self.checks().ok_or_else(|| "its schema cannot be read".to_owned())?;
        checks.check(value).map(drop)
    }

    /// The arguments of a call as its program gets them: properties that are declared and not there have their default, or are
    /// `nil`, so that the program may ask for them. `key` makes a key of a name. Charges a step for each.
    ///
    /// # Errors
    /// A limit of the program.
    pub(crate) fn completed(&self, arguments: Value, key: impl Fn(&str) -> Value) -> ptc_vm::Result<Value> {
        let Value::Map(mut map) = arguments else { return Ok(arguments) };
        for (name, default) in &self.declared {
            meter::charge_steps(1)?;
            let key = key(name);
            if !map.has_flexible(&key) {
                let default = ptc_vm::json::parse(default.as_bytes())?.unwrap_or_default();
                map.insert(key, default);
            }
        }
        meter::check_memory()?;
        Ok(Value::Map(map))
    }

    /// `:input`, the schema of the arguments: an object, without other members than it declares unless it says so.
    ///
    /// # Errors
    /// It is none of an object, or none that can be checked.
    pub fn of_arguments(fields: &Fields<'_>) -> Result<ProgramSchema, ProgramFault> {
        let given = match fields.object("input")? {
            None => json!({"type": "object", "properties": {}}),
            Some(given) => given,
        };
        let Json::Object(mut map) = given else { return Err(fields.lacks(":input must be a map")) };
        match map.get("type").and_then(Json::as_str) {
            None => {
                map.insert("type".to_owned(), json!("object"));
            }
            Some("object") => {}
            Some(other) => {
                let text = format!(":input must be the schema of an object, got :type {other:?}");
                return Err(fields.fault_of("input", &text));
            }
        }
        if !map.contains_key("additionalProperties") {
            map.insert("additionalProperties".to_owned(), Json::Bool(false));
        }
        let declared = declared(&map);
        check_defaults(fields, &map)?;
        let schema = read(fields, "input", &Json::Object(map))?;
        Ok(ProgramSchema { declared, ..schema })
    }

    /// `:output`, the schema of the value.
    ///
    /// # Errors
    /// It is none that can be checked.
    pub fn of_value(fields: &Fields<'_>) -> Result<Option<ProgramSchema>, ProgramFault> {
        fields.object("output")?.map(|given| read(fields, "output", &given)).transpose()
    }
}

/// Checks that the defaults of properties fit them: whoever leaves a property out gets its default unchecked.
fn check_defaults(fields: &Fields<'_>, schema: &Map) -> Result<(), ProgramFault> {
    let properties = schema.get("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flat_map(Map::iter) {
        let Some(default) = property.get("default") else { continue };
        // One that leads elsewhere is no schema by itself.
        let Ok(checks) = OutputSchema::parse(&property.to_string()) else { continue };
        let value = ptc_vm::json::parse(default.to_string().as_bytes()).ok().flatten();
        if let Some(Err(why)) = value.map(|value| checks.check(&value)) {
            let text = format!(":input has a default of {name:?} that does not fit: {why}");
            return Err(fields.fault_of("input", &text));
        }
    }
    Ok(())
}

/// The properties of the schema of an object, each with its default; `null` where it has none.
fn declared(schema: &Map) -> Vec<(Box<str>, Box<str>)> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let default =
        |property: &Json| property.get("default").map_or_else(|| "null".to_owned(), Json::to_string);
    let declared = properties.into_iter().flat_map(Map::iter);
    declared.map(|(name, property)| (name.as_str().into(), default(property).into())).collect()
}

fn read(fields: &Fields<'_>, key: &str, schema: &Json) -> Result<ProgramSchema, ProgramFault> {
    let text = schema.to_string();
    match OutputSchema::parse(&text) {
        Ok(_) => {
            let is_of_objects = schema.get("type").is_some_and(|kind| kind == "object");
            let (checks, declared) = (OnceLock::new(), Vec::new());
            Ok(ProgramSchema { json: text.into(), is_of_objects, checks, declared })
        }
        Err(why) => {
            let text = format!(":{key} is no schema that ptc can check: {why}");
            Err(fields.fault_of(key, &text))
        }
    }
}
