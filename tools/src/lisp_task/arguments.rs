//! The arguments of a task, checked in a fixed order with fixed messages.

use ptc_mcp::json::{Kind, Raw};
use ptc_mcp::json::{Map, Value};

use super::super::lisp_eval::{ArgumentCaps, Wording, context};
use super::super::unknown_arguments::heed_unknown;

/// Checked arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    /// The text of the task.
    pub(super) text: String,
    /// The data that programs read under `data/`.
    pub(super) context: Map,
    /// The constraints as given.
    pub(super) constraints: Map,
    /// The known constraints.
    pub(super) wishes: ReductionOptions,
    /// The names of the unknown constraints.
    pub(super) unsupported: Vec<String>,
}

/// How the answer is to be reduced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReductionOptions {
    /// Most items of a list.
    pub(super) max_items: Option<usize>,
    /// The relevant fields.
    pub(super) preferred_fields: Vec<String>,
}

/// Reads an arguments object.
///
/// # Errors
/// The `message` of the first check that fails.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub(super) fn read(arguments: Option<Raw<'_>>, caps: &ArgumentCaps) -> Result<Task, String> {
    let mut given: [Option<Raw<'_>>; 3] = [None; 3];
    for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
        let at = match &*key {
            "task" => 0,
            "context" => 1,
            "constraints" => 2,
            _ => continue,
        };
        if given[at].replace(value).is_some() {
            return Err(format!("argument `{key}` is given twice"));
        }
    }
    let keys = arguments.and_then(Raw::members).into_iter().flatten().map(|(key, _)| key);
    heed_unknown(keys, &["task", "context", "constraints"])?;
    let text = task(given[0])?;
    let context = context(given[1], caps.max_context_bytes, Wording::Unexplained)?;
    let context: Map = match context {
        None => Map::new(),
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| format!("argument `context` cannot be read: {error}"))?,
    };
    if context.contains_key("call") {
        return Err("argument `context` key `call` clashes with the tool `call`; use another name".into());
    }
    let constraints = constraints(given[2], caps.max_context_bytes)?;
    let (wishes, unsupported) = wishes(&constraints);
    Ok(Task { text, context, constraints, wishes, unsupported })
}

fn task(value: Option<Raw<'_>>) -> Result<String, String> {
    let kind = value.map_or(Kind::Null.name(), |value| value.kind().name());
    let Some(text) = value.and_then(Raw::as_str) else {
        return Err(format!("argument `task` must be a string, got {kind}"));
    };
    if text.trim().is_empty() {
        return Err("argument `task` must be a non-empty string".into());
    }
    Ok(text.into_owned())
}

#[expect(clippy::disallowed_methods, reason = "entry point: constraints()")]
fn constraints(value: Option<Raw<'_>>, max: usize) -> Result<Map, String> {
    let Some(value) = value.filter(|value| value.kind() != Kind::Null) else { return Ok(Map::new()) };
    let text = value.as_str().filter(|text| text.len() <= max.saturating_mul(2));
    let value = text.as_deref().and_then(Raw::object_of).unwrap_or(value);
    if value.kind() != Kind::Object {
        return Err(format!("argument `constraints` must be a JSON object, got {}", value.kind().name()));
    }
    let size = value.compact_len();
    if size > max {
        return Err(format!("argument `constraints` exceeds max_context_bytes ({size} > {max})"));
    }
    serde_json::from_str(value.text())
        .map_err(|error| format!("argument `constraints` cannot be read: {error}"))
}

/// The known constraints, and the names of the others.
fn wishes(constraints: &Map) -> (ReductionOptions, Vec<String>) {
    let (mut wishes, mut unsupported) = (ReductionOptions::default(), Vec::new());
    for (key, value) in constraints {
        match (key.as_str(), value) {
            ("max_items" | "preferred_fields", Value::Null) => {}
            ("max_items", Value::Number(number)) if number.as_u64().is_some_and(|n| n > 0) => {
                wishes.max_items = number.as_u64().and_then(|n| usize::try_from(n).ok());
            }
            ("preferred_fields", Value::Array(fields)) => {
                let fields = fields.iter().filter_map(Value::as_str).filter(|field| !field.is_empty());
                wishes.preferred_fields = fields.map(str::to_owned).collect();
            }
            _ => unsupported.push(key.clone()),
        }
    }
    (wishes, unsupported)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn checked(arguments: Value) -> Result<Task, String> {
        let text = arguments.to_string();
        read(Raw::parse(&text).ok(), &ArgumentCaps { max_program_bytes: 100, max_context_bytes: 60 })
    }

    #[test]
    fn the_first_mistake_is_told() {
        for (arguments, message) in [
            (json!({}), "argument `task` must be a string, got null"),
            (json!({"taks": "t"}), "argument `taks` is not known; did you mean `task`?"),
            (
                json!({"task": "t", "constrains": {}}),
                "argument `constrains` is not known; did you mean `constraints`?",
            ),
            (json!({"task": 5}), "argument `task` must be a string, got integer"),
            (json!({"task": " "}), "argument `task` must be a non-empty string"),
            (json!({"task": "t", "context": []}), "argument `context` must be a JSON object, got array"),
            (
                json!({"task": "t", "context": {"a/b": 1}}),
                "argument `context` keys may not contain `/`: \"a/b\"",
            ),
            (
                json!({"task": "t", "context": {"call": 1}}),
                "argument `context` key `call` clashes with the tool `call`; use another name",
            ),
            (
                json!({"task": "t", "constraints": 1}),
                "argument `constraints` must be a JSON object, got integer",
            ),
            (
                json!({"task": "t", "constraints": {"x": "y".repeat(60)}}),
                "argument `constraints` exceeds max_context_bytes (68 > 60)",
            ),
        ] {
            assert_eq!(checked(arguments), Err(message.into()));
        }
    }

    #[test]
    fn what_clients_add_is_ignored() {
        assert!(checked(json!({"task": "t", "wait_for_previous": true})).is_ok());
    }

    #[test]
    fn what_is_no_wish_is_unsupported() {
        let task = checked(
            json!({"task": "t", "constraints": {"max_items": 2, "tone": 1, "preferred_fields": ["a", ""]}}),
        );
        let task = task.unwrap();
        assert_eq!(task.wishes, ReductionOptions { max_items: Some(2), preferred_fields: vec!["a".into()] });
        assert_eq!(task.unsupported, ["tone"]);
        let odd = checked(json!({"task": "t", "constraints": {"max_items": 0, "preferred_fields": null}}));
        assert_eq!(odd.unwrap().unsupported, ["max_items"]);
    }
}
