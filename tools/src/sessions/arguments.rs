//! Reads the arguments of the session tools.

use ptc_mcp::json::{Kind, Raw, Scanner};
use ptc_protocol::tool::ToolReply;

use crate::unknown_arguments::heed_unknown;

/// The members of an arguments object.
pub(super) struct Arguments<'a>(Vec<(String, Raw<'a>)>);

impl<'a> Arguments<'a> {
    /// Parses the object; a missing one means no arguments.
    ///
    /// # Errors
    /// If it is not an object, or a key occurs twice, which readers interpret differently.
    pub(super) fn read(arguments: Option<Raw<'a>>) -> Result<Self, String> {
        if let Some(other) = arguments.map(Raw::kind).filter(|kind| *kind != Kind::Object) {
            return Err(format!("arguments must be an object, got {}", other.name()));
        }
        let mut members: Vec<(String, Raw<'a>)> = Vec::new();
        for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
            if members.iter().any(|(known, _)| *known == key) {
                return Err(format!("argument `{key}` is given twice"));
            }
            members.push((key.into_owned(), value));
        }
        Ok(Arguments(members))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }

    /// Refuses a key that is similar to one of `known`; other unknown keys are ignored (ruling 74).
    ///
    /// # Errors
    /// The message that names both.
    pub(super) fn heed_unknown(&self, known: &[&str]) -> Result<(), String> {
        heed_unknown(self.0.iter().map(|(key, _)| key), known)
    }

    /// The first key outside `known`.
    pub(super) fn unexpected(&self, known: &[&str]) -> Option<&str> {
        self.0.iter().map(|(key, _)| key.as_str()).find(|key| !known.contains(key))
    }

    /// `session_id`; an empty one names no session and is rejected later.
    pub(super) fn session_id(&self) -> Result<String, String> {
        let text = self.get("session_id").and_then(Raw::as_str);
        text.map(String::from).ok_or_else(|| "session_id must be a non-empty string".into())
    }

    /// An optional string, which may be null.
    pub(super) fn optional_string(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key).filter(|value| value.kind() != Kind::Null) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.into_owned())),
                None => Err(format!("{key} must be a string")),
            },
        }
    }

    /// An optional list of strings, which may be null; `wrong` is the error for everything else.
    pub(super) fn optional_strings(&self, key: &str, wrong: &str) -> Result<Vec<String>, String> {
        match self.get(key).filter(|value| value.kind() != Kind::Null) {
            None => Ok(Vec::new()),
            Some(value) => strings(value).ok_or_else(|| wrong.to_owned()),
        }
    }
}

fn strings(value: Raw<'_>) -> Option<Vec<String>> {
    if value.kind() != Kind::Array {
        return None;
    }
    let mut scanner = Scanner::new(value.text());
    scanner.enter_array().ok()?;
    let (mut first, mut all) = (true, Vec::new());
    while scanner.next_element(&mut first).ok()? {
        all.push(scanner.value().ok()?.as_str()?.into_owned());
    }
    Some(all)
}

/// The failure of a call whose arguments are wrong.
pub(super) fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("session_args_error", message, message)
}
