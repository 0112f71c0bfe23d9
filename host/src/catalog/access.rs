//! Whether a tool reads or writes: by its annotations, which are hints of its upstream, else by the verb in its name.

use super::ToolEntry;
use ptc_vm::builtins::words::tokenize;

/// Verbs of tools that change nothing.
const READING: [&str; 24] = [
    "calculate",
    "check",
    "compare",
    "convert",
    "count",
    "describe",
    "diff",
    "fetch",
    "find",
    "get",
    "inspect",
    "list",
    "log",
    "lookup",
    "preview",
    "query",
    "read",
    "resolve",
    "retrieve",
    "search",
    "show",
    "status",
    "validate",
    "view",
];
/// Verbs of tools that change something.
const WRITING: [&str; 46] = [
    "acknowledge",
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "attach",
    "cancel",
    "clear",
    "close",
    "commit",
    "copy",
    "create",
    "delete",
    "deploy",
    "disable",
    "drop",
    "edit",
    "enable",
    "execute",
    "insert",
    "invite",
    "merge",
    "move",
    "mute",
    "patch",
    "pause",
    "post",
    "publish",
    "push",
    "put",
    "refund",
    "remove",
    "rename",
    "reply",
    "reset",
    "restart",
    "save",
    "send",
    "set",
    "trigger",
    "update",
    "upload",
    "upsert",
    "write",
];

/// The effect of a tool's call on its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It changes nothing.
    Reads,
    /// It may change something.
    Writes,
}

/// The known access; `None` if neither annotations nor the name say anything. Annotations decide: `readOnlyHint`, then a
/// `destructiveHint` that is true. Of the words of the name the first known verb decides.
pub(super) fn access(tool: &ToolEntry) -> Option<Access> {
    match (tool.hint("readOnlyHint"), tool.hint("destructiveHint")) {
        (Some(true), _) => return Some(Access::Reads),
        (Some(false), _) | (None, Some(true)) => return Some(Access::Writes),
        (None, _) => {}
    }
    tokenize(&tool.name).iter().find_map(|word| {
        let is_one_of = |verbs: &[&str]| verbs.binary_search(&word.as_str()).is_ok();
        if is_one_of(&READING) { Some(Access::Reads) } else { is_one_of(&WRITING).then_some(Access::Writes) }
    })
}

/// Whether it is known to write.
pub(super) fn writes(tool: &ToolEntry) -> bool {
    access(tool) == Some(Access::Writes)
}

/// Its name as lists of tools show it: `create_issue (writes)`.
pub(super) fn marked_name(tool: &ToolEntry) -> String {
    let mark = if writes(tool) { " (writes)" } else { "" };
    format!("{}{mark}", tool.name)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::{Value, json};

    use super::*;
    use crate::catalog::fixtures;

    #[test]
    fn annotations_decide_and_then_the_first_verb_of_the_name() {
        let of = |name: &str, annotations: Value| {
            let server = fixtures::server("s", vec![json!({"name": name, "annotations": annotations})]);
            access(&server.tools()[0])
        };
        assert_eq!(of("delete_all", json!({"readOnlyHint": true})), Some(Access::Reads));
        assert_eq!(of("get_all", json!({"readOnlyHint": false})), Some(Access::Writes));
        assert_eq!(of("get_all", json!({"destructiveHint": true})), Some(Access::Writes));
        assert_eq!(of("get_all", json!({"destructiveHint": false})), Some(Access::Reads));
        for (name, expected) in [
            ("list_issues", Some(Access::Reads)),
            ("issues.search", Some(Access::Reads)),
            ("createIssue", Some(Access::Writes)),
            ("issue-close", Some(Access::Writes)),
            ("get_update_history", Some(Access::Reads)),
            ("upsertRow", Some(Access::Writes)),
            ("whoami", None),
            ("think", None),
        ] {
            assert_eq!(of(name, json!({"title": "T", "readOnlyHint": "yes"})), expected, "{name}");
            assert_eq!(of(name, Value::Null), expected, "{name}");
        }
    }

    #[test]
    fn verbs_are_sorted() {
        assert!(READING.is_sorted() && WRITING.is_sorted());
    }
}
