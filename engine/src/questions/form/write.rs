//! Writes forms as clients read them.

use ptc_mcp::json::{Object, object_text, write_array};

use super::{Choice, Field, Form, FormDialect, Length, Range, Wanted};

impl From<Form> for String {
    fn from(form: Form) -> String {
        form.to_json(FormDialect::Current)
    }
}

impl Form {
    /// The form as a JSON Schema. Written for [`FormDialect::Current`], [`Form::parse`] reads the same form back. A
    /// multi-select is written for every dialect: [`Form::fits`] says who cannot show it.
    #[must_use]
    pub fn to_json(&self, dialect: FormDialect) -> String {
        object_text(|schema| {
            schema.string("type", "object");
            let mut properties = Object::new(schema.key("properties"));
            for field in &self.fields {
                write_field(field, dialect, properties.key(&field.name));
            }
            properties.end();
            let mut required = self.fields.iter().filter(|field| field.required).peekable();
            if required.peek().is_some() {
                schema.strings("required", required.map(|field| field.name.as_str()));
            }
        })
    }
}

fn write_field(field: &Field, dialect: FormDialect, out: &mut Vec<u8>) {
    let is_current = dialect == FormDialect::Current;
    let mut schema = Object::new(out);
    schema.string("type", kind(&field.wanted));
    for (key, text) in [("title", &field.title), ("description", &field.description)] {
        if let Some(text) = text {
            schema.string(key, text);
        }
    }
    match &field.wanted {
        Wanted::String { format, length, pattern, default } => {
            if let Some(format) = format {
                schema.string("format", format.name());
            }
            write_length(*length, "minLength", "maxLength", &mut schema);
            if let Some(pattern) = pattern.as_ref().filter(|_| is_current) {
                schema.string("pattern", pattern);
            }
            if let Some(default) = default.as_ref().filter(|_| is_current) {
                schema.string("default", default);
            }
        }
        Wanted::Number { range, default } | Wanted::Integer { range, default } => {
            let Range { min, max } = range;
            let default = default.as_ref().filter(|_| is_current);
            for (key, number) in [("minimum", min.as_ref()), ("maximum", max.as_ref()), ("default", default)]
            {
                if let Some(number) = number {
                    schema.raw(key, number.as_str());
                }
            }
        }
        Wanted::Boolean { default } => {
            if let Some(default) = default {
                schema.boolean("default", *default);
            }
        }
        Wanted::One { choices, default, has_enum_names } => {
            let is_titled = is_titled(choices);
            if is_titled && is_current && !has_enum_names {
                write_titled(choices, schema.key("oneOf"));
            } else {
                schema.strings("enum", values(choices));
                if is_titled {
                    schema.strings("enumNames", choices.iter().map(Choice::label));
                }
            }
            if let Some(default) = default.as_ref().filter(|_| is_current) {
                schema.string("default", default);
            }
        }
        Wanted::Some { choices, count, default } => {
            let mut items = Object::new(schema.key("items"));
            if is_titled(choices) {
                write_titled(choices, items.key("anyOf"));
            } else {
                items.string("type", "string");
                items.strings("enum", values(choices));
            }
            items.end();
            write_length(*count, "minItems", "maxItems", &mut schema);
            if let Some(default) = default {
                schema.strings("default", default.iter().map(String::as_str));
            }
        }
    }
    schema.end();
}

fn kind(wanted: &Wanted) -> &'static str {
    match wanted {
        Wanted::String { .. } | Wanted::One { .. } => "string",
        Wanted::Number { .. } => "number",
        Wanted::Integer { .. } => "integer",
        Wanted::Boolean { .. } => "boolean",
        Wanted::Some { .. } => "array",
    }
}

fn is_titled(choices: &[Choice]) -> bool {
    choices.iter().any(|choice| choice.title.is_some())
}

fn values(choices: &[Choice]) -> impl Iterator<Item = &str> {
    choices.iter().map(|choice| choice.value.as_str())
}

fn write_titled(choices: &[Choice], out: &mut Vec<u8>) {
    write_array(out, choices, |out, choice| {
        let mut item = Object::new(out);
        item.string("const", &choice.value);
        item.string("title", choice.label());
        item.end();
    });
}

fn write_length(length: Length, min: &str, max: &str, schema: &mut Object<'_>) {
    for (key, bound) in [(min, length.min), (max, length.max)] {
        if let Some(bound) = bound {
            schema.integer(key, bound);
        }
    }
}
