//! Signature parser.

use super::{Field, Signature, Type};

/// Deepest nesting of types that is read.
const MAX_NESTING: usize = 64;

/// An invalid signature. Its `Display` is the detail after `invalid signature: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse error at line {line}, column {column}: \"{message}\"{hint}")]
pub struct SignatureError {
    /// The line, from 1.
    pub line: usize,
    /// Characters before the place in its line.
    pub column: usize,
    /// The expected syntax, and the text found there.
    pub message: String,
    hint: &'static str,
}

const HINT: &str = "\n\nHint: Valid types are :string, :int, :float, :bool, :boolean, :keyword, :map, :any, \
                    :datetime. For lists use [:type], for maps use {field :type}.";

impl Signature {
    /// Reads `(p TYPE, …) -> TYPE` or a bare `TYPE`.
    ///
    /// # Errors
    /// An error names the place of the first mistake and the expected syntax.
    pub fn parse(text: &str) -> Result<Signature, SignatureError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        reader.space();
        let params = if reader.take('(') {
            let params = reader.fields(')')?;
            reader.space();
            if !reader.rest().starts_with("->") {
                return Err(reader.expected("`->` and the type of the result"));
            }
            reader.at += 2;
            params
        } else {
            Vec::new()
        };
        let returns = reader.ty()?;
        reader.space();
        if reader.rest().is_empty() {
            Ok(Signature { params, returns })
        } else {
            Err(reader.expected("the end of the signature"))
        }
    }
}

/// Accepted as a signature: a parsed one, or its text.
pub trait IntoSignature {
    /// The signature.
    ///
    /// # Errors
    /// The text is none.
    fn into_signature(self) -> Result<Signature, SignatureError>;
}

impl IntoSignature for Signature {
    fn into_signature(self) -> Result<Signature, SignatureError> {
        Ok(self)
    }
}

impl IntoSignature for &str {
    fn into_signature(self) -> Result<Signature, SignatureError> {
        Signature::parse(self)
    }
}

impl IntoSignature for String {
    fn into_signature(self) -> Result<Signature, SignatureError> {
        Signature::parse(&self)
    }
}

impl IntoSignature for &String {
    fn into_signature(self) -> Result<Signature, SignatureError> {
        Signature::parse(self)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn error(&self, message: String, hint: &'static str) -> SignatureError {
        let before = &self.text[..self.at];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SignatureError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count(),
            message,
            hint,
        }
    }

    fn expected(&self, what: &str) -> SignatureError {
        let found = match self.rest().chars().next() {
            None => "the end".to_owned(),
            Some(character) => format!("`{character}`"),
        };
        self.error(format!("expected {what}, got {found}"), "")
    }

    /// `name TYPE, …` up to and including `close`.
    fn fields(&mut self, close: char) -> Result<Vec<Field>, SignatureError> {
        let mut fields: Vec<Field> = Vec::new();
        self.space();
        if self.take(close) {
            return Ok(fields);
        }
        loop {
            self.space();
            let name = self.name()?;
            if fields.iter().any(|field| field.name == name) {
                return Err(self.error(format!("expected another name, `{name}` is there already"), ""));
            }
            let ty = self.ty()?;
            fields.push(Field { name, ty });
            self.space();
            if self.take(close) {
                return Ok(fields);
            }
            if !self.take(',') {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    fn name(&mut self) -> Result<String, SignatureError> {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(self.expected("a name"));
        }
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn ty(&mut self) -> Result<Type, SignatureError> {
        self.space();
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.error(format!("expected at most {MAX_NESTING} levels of types"), ""));
        }
        let ty = if self.take('[') {
            let item = self.ty()?;
            self.space();
            if !self.take(']') {
                return Err(self.expected("`]`"));
            }
            Type::List(Box::new(item))
        } else if self.take('{') {
            Type::Record(self.fields('}')?)
        } else if self.rest().starts_with(':') {
            self.word()?
        } else {
            return Err(self.expected("a type"));
        };
        self.depth -= 1;
        Ok(ty)
    }

    /// `:name` or `:name?`.
    fn word(&mut self) -> Result<Type, SignatureError> {
        let rest = &self.rest()[1..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        let ty = match &rest[..end] {
            "string" => Type::String,
            "int" => Type::Int,
            "float" => Type::Float,
            "bool" | "boolean" => Type::Bool,
            "keyword" => Type::Keyword,
            "datetime" => Type::DateTime,
            "any" => Type::Any,
            "map" => Type::Map,
            other => return Err(self.error(format!("expected a type, got `:{other}`"), HINT)),
        };
        self.at += 1 + end;
        Ok(if self.take('?') { Type::Optional(Box::new(ty)) } else { ty })
    }
}
