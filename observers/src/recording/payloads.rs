//! The recorded form of programs and data under each policy. Everything is JSON text. Secrets are removed before
//! anything is cut, so that no cut leaves part of one.

use std::borrow::Cow;

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Kind, Object, Raw, Scanner, object_text, write_array, write_string, write_strings};

use super::Recording;
use ptc_host::digest::sha256_hex;
use ptc_protocol::settings::PayloadPolicy;

/// Characters of a program or result in a summary.
const PREVIEW_CHARS: usize = 256;
/// Characters of a printed line in a summary.
const LINE_CHARS: usize = 80;
/// Entries of a context, prints or validated value in a summary.
const ENTRIES: usize = 64;

/// A program.
pub fn program(recording: &Recording, text: &str) -> String {
    if recording.policy == PayloadPolicy::Full {
        return string(&recording.redactor.scrub(text));
    }
    object_text(|object| {
        object.string("sha256", &sha256_hex(text.as_bytes()));
        if recording.policy == PayloadPolicy::Summary {
            object.string("preview", head(&recording.redactor.scrub(text), PREVIEW_CHARS));
        }
        object.integer("bytes", text.len() as u64);
    })
}

/// A context: the text of a JSON object.
pub fn context(recording: &Recording, json: &str) -> String {
    match recording.policy {
        PayloadPolicy::None => object_text(|object| object.integer("<bytes>", json.len() as u64)),
        PayloadPolicy::Full => scrubbed(json, &recording.redactor),
        PayloadPolicy::Summary => object_text(|object| {
            let members = Raw::parse(json).ok().and_then(Raw::members);
            let mut more = 0;
            for (at, (key, value)) in members.into_iter().flatten().enumerate() {
                if at >= ENTRIES {
                    more += 1;
                    continue;
                }
                let shape = object_text(|shape| {
                    shape.string("type", type_name(value.kind()));
                    match count(value) {
                        Some(count) => shape.integer("count", count),
                        None => shape.raw("count", "null"),
                    }
                });
                object.raw(&recording.redactor.scrub(&key), &shape);
            }
            if more > 0 {
                object.integer("<more>", more);
            }
        }),
    }
}

/// The text of a result.
pub fn result(recording: &Recording, text: &str) -> String {
    match recording.policy {
        PayloadPolicy::Full => string(&recording.redactor.scrub(text)),
        policy => object_text(|object| {
            if policy == PayloadPolicy::Summary {
                object.string("preview", head(&recording.redactor.scrub(text), PREVIEW_CHARS));
            }
            object.integer("bytes", text.len() as u64);
        }),
    }
}

/// A checked value: JSON text.
pub fn validated(recording: &Recording, json: &str) -> String {
    if recording.policy == PayloadPolicy::Full {
        return scrubbed(json, &recording.redactor);
    }
    let Ok(raw) = Raw::parse(json) else { return "null".into() };
    object_text(|object| {
        object.string("type", type_name(raw.kind()));
        match raw.kind() {
            Kind::Object => {
                let members = raw.members().into_iter().flatten();
                let mut keys: Vec<String> =
                    members.map(|(key, _)| recording.redactor.scrub(&key).into_owned()).collect();
                keys.sort();
                keys.truncate(ENTRIES);
                object.strings("keys", keys.iter().map(String::as_str));
            }
            Kind::Array => {
                object.integer("length", count(raw).unwrap_or(0));
                let first = first_element(raw).filter(|_| recording.policy == PayloadPolicy::Summary);
                if let Some(first) = first {
                    object.string("element_type", type_name(first.kind()));
                }
            }
            Kind::String => {
                object.integer("length", raw.as_str().map_or(0, |text| text.chars().count() as u64))
            }
            _ => {}
        }
    })
}

/// Printed texts.
pub fn prints(recording: &Recording, prints: &[String]) -> String {
    let redactor = &recording.redactor;
    if recording.policy == PayloadPolicy::Full {
        let mut out = Vec::new();
        write_array(&mut out, prints, |out, print| write_string(out, &redactor.scrub(print)));
        return String::from_utf8(out).unwrap_or_default();
    }
    object_text(|object| {
        object.integer("count", prints.len() as u64);
        if recording.policy == PayloadPolicy::Summary {
            let lines: Vec<String> = prints
                .iter()
                .take(ENTRIES)
                .map(|print| {
                    let clean = redactor.scrub(print);
                    head(clean.lines().next().unwrap_or_default(), LINE_CHARS).to_owned()
                })
                .collect();
            write_strings(object.key("items"), lines.iter().map(String::as_str));
        }
    })
}

/// The name of a JSON type as records spell it.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer | Kind::Number => "number",
        other => other.name(),
    }
}

/// How many entries a container has.
fn count(raw: Raw<'_>) -> Option<u64> {
    match raw.kind() {
        Kind::Object => raw.members().map(|members| members.count() as u64),
        Kind::Array => Some(elements(raw, u64::MAX).0),
        _ => None,
    }
}

fn first_element(raw: Raw<'_>) -> Option<Raw<'_>> {
    elements(raw, 1).1
}

/// Counts elements of an array up to `most`, and gives the first.
fn elements(raw: Raw<'_>, most: u64) -> (u64, Option<Raw<'_>>) {
    let mut scanner = Scanner::new(raw.text());
    let (mut is_first, mut count, mut first) = (true, 0, None);
    if scanner.enter_array().is_err() {
        return (0, None);
    }
    while count < most && matches!(scanner.next_element(&mut is_first), Ok(true)) {
        let Ok(value) = scanner.value() else { break };
        first = first.or(Some(value));
        count += 1;
    }
    (count, first)
}

/// JSON on one line, secrets removed.
#[expect(clippy::disallowed_methods, reason = "entry point: scrubbed()")]
fn scrubbed(json: &str, redactor: &Redactor) -> String {
    if let Cow::Owned(_) = redactor.scrub(json)
        && let Ok(mut tree) = serde_json::from_str(json)
    {
        redactor.scrub_json(&mut tree);
        return tree.to_string();
    }
    compact(json)
}

/// JSON without the whitespace between its tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|c| {
            if in_string {
                in_string = escaped || *c != '"';
                escaped = !escaped && *c == '\\';
                return true;
            }
            in_string = *c == '"';
            !c.is_ascii_whitespace()
        })
        .collect()
}

/// The first `chars` characters.
fn head(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes an optional member: JSON text, or null.
pub(crate) fn write_optional(object: &mut Object<'_>, name: &str, json: Option<&str>) {
    object.raw(name, json.unwrap_or("null"));
}
