//! Signatures: the input and output types of agents and tools (agent.md 5, language.md 9.6).
//!
//! [`Signature::parse`] reads `(query :string, limit :int?) -> [{id :int}]`, and its `Display` prints that text.
//! [`Type::coerce`] converts arguments to a type, [`Type::check`] validates JSON, [`Type::json_schema`] writes the
//! schema that providers expect, and [`Type::from_json_schema`] reads one.

mod check;
mod coerce;
mod from_schema;
mod parse;
mod schema;

use std::fmt;

pub use check::Mismatches;
pub(crate) use check::is_integer;
pub use coerce::Coerced;
pub(crate) use coerce::{coerce_fields, integral};
pub use from_schema::SchemaError;
pub use parse::SignatureError;

/// Parameters and the type of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The parameters, in declared order; empty for a bare type.
    pub params: Vec<Field>,
    /// What comes out.
    pub returns: Type,
}

/// A named and typed place: a parameter or the field of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The declared name.
    pub name: String,
    /// What it holds. An [`Type::Optional`] field may be absent.
    pub ty: Type,
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
    /// The same without any other field; only from a JSON Schema.
    Closed(Vec<Field>),
    /// One of these texts; only from a JSON Schema.
    Enum(Vec<String>),
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

    /// Whether an answer of this type is the text as it stands (agent.md 8.8).
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.required(), Type::String | Type::Any)
    }

    /// Whether an answer of this type is looked for as a JSON object or array.
    #[must_use]
    pub(crate) fn is_structured(&self) -> bool {
        matches!(self.required(), Type::List(_) | Type::Record(_) | Type::Closed(_) | Type::Map)
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
            Type::Enum(words) => return write!(f, "one of {words:?}"),
            Type::Record(fields) | Type::Closed(fields) => {
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
