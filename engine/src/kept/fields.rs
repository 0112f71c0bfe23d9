//! Reading the map at the head of a file, with the place of what is wrong.

use ptc_base::similar::most_similar;
use ptc_compiler::datum::{Datum, DatumContent};
use ptc_mcp::json::{Map, Number, Value as Json};

use super::fault::ProgramFault;

/// A map of the file, by its keys.
pub struct Fields<'a> {
    source: &'a str,
    whole: &'a Datum,
    entries: &'a [(Datum, Datum)],
}

impl<'a> Fields<'a> {
    /// The map that `datum` is, whose keys are among `keys`. `what` names it in messages: `the head of the file`.
    pub fn of(
        source: &'a str,
        datum: &'a Datum,
        what: &str,
        keys: &[&str],
    ) -> Result<Fields<'a>, ProgramFault> {
        let DatumContent::Map(entries) = &datum.content else {
            let text = format!("{what} must be a map, got {}", datum.kind());
            return Err(ProgramFault::at(datum.position(source), text));
        };
        for (key, _) in entries {
            let DatumContent::Keyword(name) = &key.content else {
                let text = format!("{what} has keywords as keys, got {}", key.kind());
                return Err(ProgramFault::at(key.position(source), text));
            };
            if !keys.contains(&name.as_str()) {
                let near =
                    most_similar(name, keys.iter().copied()).map(|near| format!("did you mean :{near}?"));
                let near = near.unwrap_or_else(|| {
                    let known: Vec<String> = keys.iter().map(|key| format!(":{key}")).collect();
                    format!("it has {}", known.join(", "))
                });
                let text = format!("{what} has no key :{name}; {near}");
                return Err(ProgramFault::at(key.position(source), text));
            }
        }
        Ok(Fields { source, whole: datum, entries })
    }

    /// The value of a key; `nil` is none.
    pub fn get(&self, key: &str) -> Option<&'a Datum> {
        let found = self.entries.iter().find(|(known, _)| known.name() == Some(key))?;
        Some(&found.1).filter(|value| value.content != DatumContent::Nil)
    }

    /// The value of a key, `nil` included.
    pub fn given(&self, key: &str) -> Option<&'a Datum> {
        self.entries.iter().find(|(known, _)| known.name() == Some(key)).map(|(_, value)| value)
    }

    /// The fault at a value.
    pub fn fault(&self, at: &Datum, text: impl Into<String>) -> ProgramFault {
        ProgramFault::at(at.position(self.source), text)
    }

    /// The fault of the map itself.
    pub fn lacks(&self, text: impl Into<String>) -> ProgramFault {
        self.fault(self.whole, text)
    }

    /// The fault at the value of a key, or of the map itself if it does not have that.
    pub(crate) fn fault_of(&self, key: &str, text: &str) -> ProgramFault {
        self.get(key).map_or_else(|| self.lacks(text), |value| self.fault(value, text))
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, ProgramFault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match &value.content {
            DatumContent::Text(text) => Ok(Some(text)),
            _ => Err(self.fault(value, format!(":{key} must be a string, got {}", value.kind()))),
        }
    }

    /// The items of the vector of a key; none if it is not there.
    pub fn items(&self, key: &str) -> Result<&'a [Datum], ProgramFault> {
        let Some(value) = self.get(key) else { return Ok(&[]) };
        match &value.content {
            DatumContent::Vector(items) => Ok(items),
            _ => Err(self.fault(value, format!(":{key} must be a vector, got {}", value.kind()))),
        }
    }

    /// The positive number of a key.
    pub fn count(&self, key: &str) -> Result<Option<u64>, ProgramFault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.content {
            DatumContent::Int(number) if number > 0 => Ok(Some(number.unsigned_abs())),
            _ => Err(self.fault(value, format!(":{key} must be a whole number above 0"))),
        }
    }

    /// The JSON object of a key: keywords are texts.
    pub fn object(&self, key: &str) -> Result<Option<Json>, ProgramFault> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match &value.content {
            DatumContent::Map(_) => json_of(value, self.source).map(Some),
            _ => Err(self.fault(value, format!(":{key} must be a map, got {}", value.kind()))),
        }
    }
}

/// A datum as JSON: keywords are texts, keys must be keywords or strings.
pub fn json_of(datum: &Datum, source: &str) -> Result<Json, ProgramFault> {
    Ok(match &datum.content {
        DatumContent::Nil => Json::Null,
        DatumContent::Bool(is) => Json::Bool(*is),
        DatumContent::Int(number) => Json::from(*number),
        DatumContent::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        DatumContent::Text(text) | DatumContent::Keyword(text) => Json::from(text.as_str()),
        DatumContent::Vector(items) => {
            Json::Array(items.iter().map(|item| json_of(item, source)).collect::<Result<_, _>>()?)
        }
        DatumContent::Map(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let Some(name) = key.name() else {
                    let text = format!("a key must be a keyword or a string, got {}", key.kind());
                    return Err(ProgramFault::at(key.position(source), text));
                };
                map.insert(name.to_owned(), json_of(value, source)?);
            }
            Json::Object(map)
        }
    })
}
