//! The access hint for a kept result.

use crate::cache::canonical_map;
use crate::tool::JsonMap;
use ptc_base::json::Value as Json;
use std::fmt::Write as _;

/// Longest arguments that a hint spells out, in bytes.
const MAX_ARGUMENTS: usize = 500;
/// Longest single value in arguments that are too long.
const MAX_VALUE: usize = 60;

/// The sentence that tells a model how to reuse a result.
pub(crate) fn hint(tool: &str, upstream: Option<&(String, String)>, arguments: &JsonMap) -> String {
    let canonical = canonical_map(arguments).unwrap_or_else(|| arguments.clone());
    let mut literal = String::new();
    map_literal(&canonical, usize::MAX, &mut literal);
    let mut how = "";
    if literal.len() > MAX_ARGUMENTS {
        literal.clear();
        map_literal(&canonical, MAX_VALUE, &mut literal);
        if literal.len() > MAX_ARGUMENTS {
            literal = "{...}".into();
        }
        how = " with the same arguments (`...` stands for values left out here)";
    }
    let call = match upstream {
        None => format!("(tool/{tool} {literal})"),
        Some((server, tool)) => {
            let mut call = "(:value (tool/call {:server ".to_owned();
            string_literal(server, &mut call);
            call.push_str(" :tool ");
            string_literal(tool, &mut call);
            let _ = write!(call, " :args {literal}}}))");
            call
        }
    };
    format!("Call lisp_eval and then call {call}{how} to process the full cached result.")
}

fn map_literal(map: &JsonMap, max_value: usize, out: &mut String) {
    out.push('{');
    for (at, (key, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        if is_keyword(key) {
            let _ = write!(out, ":{key} ");
        } else {
            string_literal(key, out);
            out.push(' ');
        }
        let start = out.len();
        literal(value, out);
        if out.len() - start > max_value {
            out.truncate(start);
            out.push_str("...");
        }
    }
    out.push('}');
}

fn literal(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("nil"),
        Json::String(text) => string_literal(text, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                literal(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => map_literal(map, usize::MAX, out),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn string_literal(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Whether a key reads back as a keyword.
fn is_keyword(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
