//! Options of the functions besides the text or the rows.

use crate::error::{Error, Result};
use crate::print;
use crate::value::Value;

/// Where the names of the columns come from.
#[derive(Debug)]
pub(super) enum Header {
    /// From the first line, or from the keys of the rows.
    Own,
    /// There are none.
    Without,
    /// From the call.
    Names(Vec<Value>),
}

/// The options of a call.
#[derive(Debug)]
pub(super) struct Options {
    /// The character between two cells.
    pub(super) separator: char,
    pub(super) header: Header,
}

impl Options {
    /// The arguments after the first one: a map, or keys and values in turn.
    pub(super) fn of(name: &str, args: &[Value], header: Header) -> Result<Options> {
        let mut options = Options { separator: ',', header };
        match args {
            [] | [Value::Nil] => {}
            [Value::Map(map)] => {
                for (key, value) in map.iter() {
                    options.set(name, key, value)?;
                }
            }
            pairs if pairs.len() % 2 == 0 => {
                for pair in pairs.chunks_exact(2) {
                    options.set(name, &pair[0], &pair[1])?;
                }
            }
            [other, ..] => return Err(Error::argument(name, 2, "map of options", other)),
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, key: &Value, value: &Value) -> Result<()> {
        let option = match key {
            Value::Keyword(key) => key.name(),
            Value::Str(key) => key.as_str(),
            _ => "",
        };
        match option {
            "separator" => self.separator = separator(name, value)?,
            "header" => self.header = header(name, value)?,
            _ => {
                let shown = print::readable_lossy(key);
                return Err(Error::type_error(format!(
                    "{name}: unknown option {shown}, expected :separator or :header"
                )));
            }
        }
        Ok(())
    }
}

fn separator(name: &str, value: &Value) -> Result<char> {
    if let Value::Str(text) = value
        && let [byte] = text.as_str().as_bytes()
        && byte.is_ascii()
        && !matches!(byte, b'"' | b'\n' | b'\r')
    {
        return Ok(char::from(*byte));
    }
    let shown = print::readable_lossy(value);
    Err(Error::type_error(format!(
        "{name}: :separator must be one ASCII character such as \";\", got {shown}"
    )))
}

fn header(name: &str, value: &Value) -> Result<Header> {
    match value {
        Value::True => Ok(Header::Own),
        Value::False | Value::Nil => Ok(Header::Without),
        Value::Vector(names) | Value::List(names)
            if names.all(|name| matches!(name, Value::Str(_) | Value::Keyword(_))) =>
        {
            Ok(Header::Names(names.to_vec()))
        }
        other => {
            let shown = print::readable_lossy(other);
            Err(Error::type_error(format!(
                "{name}: :header must be true, false or a vector of strings or keywords, got {shown}"
            )))
        }
    }
}
