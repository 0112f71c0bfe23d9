//! The checks of arguments that only operations of REST services have (ruling 60): no URL carries an unknown name, so a
//! mistyped filter would give unfiltered data, and a value of another type cannot be written.

use super::unknown_arguments::MAX_HINTED;
use std::fmt::Write as _;

use ptc_mcp::json::{Map, Value};

use super::arguments::SpelledArguments;
use super::{ServerEntry, ToolEntry};
use ptc_base::similar::most_similar;
use ptc_base::text::literal::literal;
use ptc_base::text::{argument_key, bounded_line, clip, string_literal};
use ptc_schema::json_schema::properties;
use ptc_upstreams::openapi::misfit;

/// Longest value that a message shows, in bytes.
const MAX_SHOWN: usize = 120;

/// Bytes of arguments beyond which their URL is longer than any client sends.
const MAX_IN_URL: usize = 65_536;

/// Checks the names and kinds of arguments that are about to be sent.
///
/// # Errors
/// The message with which the program ends.
#[expect(clippy::disallowed_methods, reason = "entry point: check_rest_arguments()")]
pub(super) fn check_rest_arguments(
    server: &ServerEntry,
    tool: &ToolEntry,
    spelled: &SpelledArguments<'_>,
) -> Result<(), String> {
    let rejected = format!("tool '{}.{}' rejected args:", server.name, tool.name);
    let no_properties = Map::new();
    let properties = properties(&tool.input_schema).unwrap_or(&no_properties);
    let look = format!("Look at (doc {}).", string_literal(&format!("{}/{}", server.name, tool.name)));
    if !spelled.unexpected.is_empty() {
        let shown: Vec<&str> =
            spelled.unexpected.iter().take(MAX_HINTED).map(|name| clip(name, MAX_SHOWN)).collect();
        let plural = if spelled.unexpected.len() == 1 { "" } else { "s" };
        let mut text =
            format!("{rejected} unknown arg{plural} {}", bounded_line(&shown.join(", "), MAX_SHOWN));
        for name in shown {
            if is_omitted(tool, name) {
                let _ = write!(
                    text,
                    "\n{} is left out of this tool: no URL can carry its values.",
                    argument_key(name)
                );
            } else if let Some(similar) = most_similar(name, properties.keys().map(String::as_str)) {
                let _ = write!(text, "\nDid you mean {}?", argument_key(similar));
            }
        }
        let known: Vec<String> = properties.keys().take(MAX_HINTED).map(|name| argument_key(name)).collect();
        let known = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
        let more = if properties.len() > MAX_HINTED { " and others" } else { "" };
        let _ = write!(text, "\nIt takes {known}{more}. {look}");
        return Err(text);
    }
    if spelled.json.len() > MAX_IN_URL {
        let bytes = spelled.json.len();
        return Err(format!(
            "{rejected} they are {bytes} bytes of JSON, and no URL carries more than {MAX_IN_URL}\n{look}"
        ));
    }
    let given: Map = ptc_mcp::json::from_slice(&spelled.json).unwrap_or_default();
    for (name, value) in &given {
        if let Some(wanted) = properties.get(name).and_then(|schema| misfit(schema, value)) {
            let shown = bounded_line(&literal(value, MAX_SHOWN), MAX_SHOWN);
            return Err(format!("{rejected} {} must be {wanted}, got {shown}\n{look}", argument_key(name)));
        }
    }
    Ok(())
}

/// Whether the service has a parameter of this name whose values cannot be sent.
fn is_omitted(tool: &ToolEntry, name: &str) -> bool {
    let omitted = tool.meta.get("omittedParameters").and_then(Value::as_array);
    omitted.is_some_and(|omitted| omitted.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;

    fn check(arguments: &str, unexpected: &[&str]) -> Result<(), String> {
        let server = fixtures::server(
            "api",
            vec![json!({"name": "list_traces", "inputSchema": {"type": "object", "properties": {
                "limit": {"type": "integer"}, "status": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}}}}})],
        );
        let mut tool = (*server.tools()[0]).clone();
        tool.meta.insert("omittedParameters".to_owned(), json!(["filter"]));
        let unexpected = unexpected.iter().map(|&name| name.to_owned()).collect();
        let json = Cow::Borrowed(arguments.as_bytes());
        check_rest_arguments(&server, &tool, &SpelledArguments { json, missing: Vec::new(), unexpected })
    }

    #[test]
    fn unknown_names_are_told_with_what_was_meant() {
        assert_eq!(
            check("{}", &["Status", "zzz"]).unwrap_err(),
            "tool 'api.list_traces' rejected args: unknown args Status, zzz\nDid you mean :status?\n\
             It takes :limit, :status, :tags. Look at (doc \"api/list_traces\")."
        );
        assert_eq!(
            check("{}", &["filter"]).unwrap_err().lines().nth(1),
            Some(":filter is left out of this tool: no URL can carry its values.")
        );
    }

    #[test]
    fn arguments_that_no_url_carries_are_refused_before_they_are_read() {
        let of = |bytes: usize| format!(r#"{{"status":"{}"}}"#, "x".repeat(bytes - 13));
        assert!(check(&of(MAX_IN_URL), &[]).is_ok());
        assert_eq!(
            check(&of(MAX_IN_URL + 1), &[]).unwrap_err().lines().next(),
            Some(
                "tool 'api.list_traces' rejected args: they are 65537 bytes of JSON, and no URL carries more than 65536"
            )
        );
    }

    #[test]
    fn wrong_kinds_are_told() {
        assert!(check(r#"{"limit":"10","status":5,"tags":["a",1]}"#, &[]).is_ok());
        assert_eq!(
            check(r#"{"limit":"ten"}"#, &[]).unwrap_err(),
            "tool 'api.list_traces' rejected args: :limit must be an integer, got \"ten\"\nLook at (doc \"api/list_traces\")."
        );
        assert_eq!(
            check(r#"{"tags":"a"}"#, &[]).unwrap_err().lines().next(),
            Some("tool 'api.list_traces' rejected args: :tags must be a list of strings, got \"a\"")
        );
    }
}
