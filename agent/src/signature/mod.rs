//! Signatures: the input and output types of agents and tools (agent.md 5, language.md 9.6).
//!
//! [`Signature::parse`] reads `(query :string, limit :int?) -> [{id :int}]`, and its `Display` prints that text.
//! [`Type::coerce`] converts arguments to a type, [`Type::check`] validates JSON, [`Type::json_schema`] writes the
//! schema that providers expect, and a [`Schema`] is one as a type.

mod check;
mod coerce;
mod json_schema;
mod parse;
mod schema;

use std::fmt;

pub use check::Mismatches;
pub(crate) use check::{beyond_floats, check_fields};
pub use coerce::Coerced;
pub(crate) use coerce::{coerce_fields, coerce_in_place};
pub(crate) use json_schema::Shape;
pub use json_schema::{Schema, SchemaError};
pub use parse::{IntoSignature, SignatureError};

/// Parameters and the type of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The parameters, in declared order; empty for a bare type.
    pub params: Vec<Field>,
    /// The type of the result.
    pub returns: Type,
}

/// A named and typed place: a parameter or the field of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The declared name.
    pub name: String,
    /// The type. An [`Type::Optional`] field may be absent.
    pub ty: Type,
}

impl Field {
    /// Whether `name` means this field, with `-` and `_` for each other.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let is_dash = |byte: u8| matches!(byte, b'-' | b'_');
        self.name.len() == name.len()
            && self.name.bytes().zip(name.bytes()).all(|(a, b)| a == b || (is_dash(a) && is_dash(b)))
    }
}

/// A type of the signature language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `:string`
    String,
    /// `:int`: integers of any size; `1.0` is none.
    Int,
    /// `:float`: floats and integers.
    Float,
    /// `:bool`, also written `:boolean`.
    Bool,
    /// `:keyword`: text in JSON.
    Keyword,
    /// `:datetime`: a point in time, ISO 8601 with an offset.
    DateTime,
    /// `:any`
    Any,
    /// `:map`: an object of any fields.
    Map,
    /// `[T]`
    List(Box<Type>),
    /// `{name T, …}`: an object with at least the fields that are not optional.
    Record(Vec<Field>),
    /// A JSON Schema.
    Schema(Schema),
    /// `:name?`: the type, `nil` or nothing.
    Optional(Box<Type>),
}

impl Type {
    /// The type without its `?`.
    #[must_use]
    pub fn required(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner.required(),
            other => other,
        }
    }

    /// Whether an answer of this type is the text itself (agent.md 8.8).
    #[must_use]
    pub fn is_text(&self) -> bool {
        match self.required() {
            Type::Schema(schema) => schema.shape() == Shape::Text,
            other => matches!(other, Type::String | Type::Any),
        }
    }

    /// The type of the JSON that `T` is read from.
    ///
    /// # Errors
    /// A schema of the type's own that could not be checked.
    #[cfg(feature = "typed")]
    pub fn of<T: schemars::JsonSchema>() -> Result<Type, SchemaError> {
        let schema =
            schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        let json = ptc_base::json::to_value(&schema)
            .map_err(|error| SchemaError { place: "#".into(), message: error.to_string() })?;
        Type::from_json_schema(&json)
    }

    /// The type that a JSON Schema describes.
    ///
    /// # Errors
    /// The first place of the schema that could not be checked.
    pub fn from_json_schema(schema: &ptc_base::json::Value) -> Result<Type, SchemaError> {
        Schema::new(schema).map(Type::Schema)
    }

    /// Whether an answer of this type is looked for as a JSON object or array.
    #[must_use]
    pub(crate) fn is_structured(&self) -> bool {
        match self.required() {
            Type::Schema(schema) => matches!(schema.shape(), Shape::Object | Shape::List | Shape::Union),
            other => matches!(other, Type::List(_) | Type::Record(_) | Type::Map),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Type::String => ":string",
            Type::Int => ":int",
            Type::Float => ":float",
            Type::Bool => ":bool",
            Type::Keyword => ":keyword",
            Type::DateTime => ":datetime",
            Type::Any => ":any",
            Type::Map => ":map",
            Type::List(item) => return write!(f, "[{item}]"),
            Type::Schema(schema) => return schema.fmt(f),
            Type::Record(fields) => {
                f.write_str("{")?;
                write_fields(fields, f)?;
                return f.write_str("}");
            }
            Type::Optional(inner) => return write!(f, "{inner}?"),
        };
        f.write_str(word)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        write_fields(&self.params, f)?;
        write!(f, ") -> {}", self.returns)
    }
}

fn write_fields(fields: &[Field], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, Field { name, ty }) in fields.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{name} {ty}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
