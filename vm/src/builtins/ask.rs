//! `ask`: a question of the program to a person (waiting.md 3.4).
//!
//! The machine checks the keys and the message. The host checks the form, and asks.

use super::Builtin;
use super::namespaces::EXTENSION;
use super::row::{frame, section};
use super::support::keys::{key_name, shown_key};
use crate::error::{Error, Reason, Result};
use crate::json::{self, ArgumentSendError};
use crate::machine::{Ctx, Flow, HostRequest};
use crate::print;
use crate::value::{Map, Value};

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("Questions", "Questions").of([
    frame("ask", EXTENSION, "{:message s :schema m}", ask)
        .doc("Ask the user and wait: {:ok true :value {…}}, or {:ok false :reason … :message …} if declined, dismissed, or nobody can be asked. :schema is a flat JSON Schema of the form; without it the answer is yes or no")
        .example("(first (split-lines (doc 'ask)))", r#""ask""#),
]);

/// Characters of a message.
const MAX_MESSAGE: usize = 2_000;

/// Bytes of a form: more than any that has few enough fields.
const MAX_SCHEMA: usize = 256 << 10;

/// The keys of `ask`.
const PARTS: [&str; 2] = ["message", "schema"];

const CALL: &str = "(ask {:message \"Which region?\" :schema {:type \"object\" :properties {:region {:type \"string\" :enum [\"eu\" \"us\"]}}}})";

#[cold]
fn fault(text: impl std::fmt::Display) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: ask{text}"))
}

#[cold]
fn no_message(got: &Value) -> Error {
    fault(format_args!(" requires a map with :message (string), got {}", print::literal(got)))
}

/// `(ask {:message … :schema …})`
fn ask(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let Value::Map(map) = &args[0] else {
        return Err(no_message(&args[0]).with_hint(format!(". Write {CALL}")));
    };
    let mut parts: [Option<&Value>; 2] = [None; 2];
    for (key, value) in map.iter() {
        let Some(part) = key_name(key).and_then(|name| PARTS.iter().position(|part| *part == name)) else {
            let shown = shown_key(key);
            return Err(fault(format_args!(" got unknown key {shown}")).with_hint(format!(". Write {CALL}")));
        };
        if parts[part].replace(value).is_some() {
            return Err(fault(format_args!(" got duplicate key :{}", PARTS[part])));
        }
    }
    let [message, schema] = parts;
    let message = match message {
        Some(Value::Str(text)) if !text.as_str().is_empty() => text.as_str(),
        _ => return Err(no_message(&args[0]).with_hint(format!(". Write {CALL}"))),
    };
    // The bytes first: nobody counts the characters of a text that is too long in any case.
    if message.len() > 4 * MAX_MESSAGE || message.chars().nth(MAX_MESSAGE).is_some() {
        let hint = format!(". A message has at most {MAX_MESSAGE} characters");
        return Err(no_message(&args[0]).with_hint(hint));
    }
    let schema = match schema {
        None | Some(Value::Nil) => None,
        Some(Value::Map(schema)) => Some(encoded(schema)?),
        Some(other) => {
            let got = print::literal(other);
            return Err(fault(format_args!(": schema is not a flat form: it must be a map, got {got}")));
        }
    };
    Ok(Flow::Host(HostRequest::Ask { message: message.to_owned(), schema }))
}

fn encoded(schema: &Map) -> Result<Vec<u8>> {
    match json::write_tool_arguments(schema, MAX_SCHEMA) {
        Ok(written) => Ok(written.json),
        Err(ArgumentSendError::NotEncodable(why)) => {
            Err(fault(format_args!(": schema is not a flat form: non-JSON-encodable {why}")))
        }
        Err(ArgumentSendError::TooLong(bytes)) => Err(fault(format_args!(
            ": schema is not a flat form: it is at least {bytes} bytes, the limit is {MAX_SCHEMA}"
        ))),
        Err(ArgumentSendError::Limit(limit)) => Err(limit),
    }
}
