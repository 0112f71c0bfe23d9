//! Pieces of the output schemas that tools advertise.
//!
//! The root is an object. The constant `status` distinguishes success from error. Other members are allowed, so that a
//! later version can add some.

use std::sync::Arc;

use ptc_mcp::json::{Object, Value, object_text, write_array};

use ptc_protocol::report::ErrorReason;
use ptc_protocol::schemas::change_parts;
use ptc_runs::Runs;

/// A string.
pub const STRING: &str = r#"{"type":"string"}"#;
/// Strings.
pub const STRINGS: &str = r#"{"type":"array","items":{"type":"string"}}"#;
/// Objects.
pub(crate) const OBJECTS: &str = r#"{"type":"array","items":{"type":"object"}}"#;
/// `wait_ms` among the arguments of an evaluation.
pub(crate) const WAIT_MS: &str = r#"{"type":"integer","minimum":0,"maximum":50000,"description":"Answer within so many ms. A program that still runs then goes on; call lisp_wait with the run_id for its result."}"#;
const BOOLEAN: &str = r#"{"type":"boolean"}"#;
const COUNT: &str = r#"{"type":"integer","minimum":0}"#;

/// Failed upstream calls as the structured profile shows them.
pub(crate) const FAILED_CALLS: &str = r#"{"type":"array","items":{"type":"object","required":["server","tool","status"],"properties":{"server":{"type":"string"},"tool":{"type":"string"},"status":{"const":"error"},"reason":{"type":"string"},"sent":{"type":"boolean"}}}}"#;

/// Open questions.
const QUESTIONS: &str = r#"{"type":"array","items":{"type":"object","required":["id","kind","message","answer"],"properties":{"id":{"type":"string"},"kind":{"enum":["ask","upstream","approval","sign_in"]},"message":{"type":"string"},"schema":{"type":"object"},"open":{"type":"string"},"answer":{"enum":["lisp_resume","console","operator"]},"url":{"type":"string"}}}}"#;

/// All upstream calls.
const CALLS: &str = r#"{"type":"array","items":{"type":"object","required":["server","tool","status","duration_ms"],"properties":{"server":{"type":"string"},"tool":{"type":"string"},"status":{"enum":["ok","error"]},"duration_ms":{"type":"integer","minimum":0},"reason":{"enum":["upstream_unavailable","tool_error","upstream_error","auth_failed","auth_required","rate_limited","timeout","response_too_large","cap_exhausted","declined","cancelled","unanswerable"]},"sent":{"type":"boolean"},"error":{"type":"string"},"result_bytes":{"type":["integer","null"],"minimum":0},"oversize":{"type":"boolean"},"auth":{"type":"object","required":["scheme","binding"],"properties":{"scheme":{"type":"string"},"binding":{"type":"string"}}},"http_status":{"type":"integer","minimum":100,"maximum":599}}}}"#;

/// An object that is one of `branches`.
pub fn union(branches: impl IntoIterator<Item = String>) -> String {
    object_text(|object| {
        object.string("type", "object");
        write_array(object.key("oneOf"), branches, |out, branch| out.extend_from_slice(branch.as_bytes()));
    })
}

/// The branch whose `status` is `ok`.
pub(crate) fn success_branch(required: &[&str], properties: impl FnOnce(&mut Object<'_>)) -> String {
    branch("ok", required, properties)
}

/// The branch whose `status` is `error`.
pub(crate) fn error_branch(required: &[&str], properties: impl FnOnce(&mut Object<'_>)) -> String {
    branch("error", required, properties)
}

fn branch(status: &str, required: &[&str], write: impl FnOnce(&mut Object<'_>)) -> String {
    object_text(|object| {
        object.string("type", "object");
        object.strings("required", required.iter().copied());
        let mut properties = Object::new(object.key("properties"));
        properties.raw("status", &format!("{{\"const\":\"{status}\"}}"));
        write(&mut properties);
        properties.end();
    })
}

/// The branch of a program that still runs (waiting.md 6.4).
fn running_branch() -> String {
    branch("running", &["status", "run_id", "upstream_calls"], |properties| {
        strings(properties, &["run_id"]);
        properties.raw("elapsed_ms", COUNT);
        properties.raw("upstream_calls", COUNT);
        properties.raw("prints", STRINGS);
        properties.raw("prints_omitted", COUNT);
    })
}

/// The branch of a program that waits for people (waiting.md 4.4).
fn waiting_branch() -> String {
    branch("waiting", &["status", "run_id", "questions", "expires_at"], |properties| {
        strings(properties, &["run_id", "expires_at"]);
        properties.raw("questions", QUESTIONS);
        properties.raw("notes", STRINGS);
    })
}

/// The branches of programs that become runs, if they may.
pub(crate) fn run_branches(runs: Option<&Arc<Runs>>) -> impl Iterator<Item = String> + use<> {
    let keeps = runs.is_some_and(|runs| runs.settings().keeps);
    runs.map(|_| running_branch()).into_iter().chain(keeps.then(waiting_branch))
}

/// What a tool with a schema of its own may answer before its program has ended: what waits, and what runs on.
const UNFINISHED: &str = r#"{"type":"object","required":["status","run_id"],"properties":{"status":{"enum":["waiting","running"]},"run_id":{"type":"string"}}}"#;
/// Where the schema of results stands beside that.
const OWN_BRANCH: &str = "#/anyOf/0";

/// The schema of a tool's results, an object, beside the answers of programs that become runs, if they may. Clients check every
/// answer that is no error.
pub(crate) fn or_unfinished(schema: &Value, runs: Option<&Arc<Runs>>) -> String {
    if runs.is_none() {
        return schema.to_string();
    }
    let mut own = schema.clone();
    // What has a name of its own is a resource of its own, in which references would lead elsewhere.
    if let Some(members) = own.as_object_mut() {
        members.remove("$id");
        members.remove("$schema");
    }
    rebase(&mut own);
    object_text(|object| {
        object.string("type", "object");
        write_array(object.key("anyOf"), [&own.to_string(), UNFINISHED], |out, branch| {
            out.extend_from_slice(branch.as_bytes());
        });
    })
}

/// Has the references of a schema lead to where it stands now. Those within a part that has a name lead into that part.
fn rebase(schema: &mut Value) {
    change_parts(schema, &mut |part| {
        if part.contains_key("$id") {
            return false;
        }
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(Value::String(reference)) = part.get_mut(keyword)
                && let Some(pointer) = reference.strip_prefix('#')
                && (pointer.is_empty() || pointer.starts_with('/'))
            {
                *reference = format!("{OWN_BRANCH}{pointer}");
            }
        }
        true
    });
}

/// The branch of a cancelled run.
pub(crate) fn cancelled_branch() -> String {
    branch("cancelled", &["status", "run_id"], |properties| strings(properties, &["run_id"]))
}

/// Members that are booleans.
pub fn flags(properties: &mut Object<'_>, names: &[&str]) {
    names.iter().for_each(|name| properties.raw(name, BOOLEAN));
}

/// Members that are strings.
pub fn strings(properties: &mut Object<'_>, names: &[&str]) {
    names.iter().for_each(|name| properties.raw(name, STRING));
}

/// `result`
pub fn result(properties: &mut Object<'_>) {
    properties.raw("result", STRING);
}

/// The checked value, or its replacement if it is too large.
pub fn validated(properties: &mut Object<'_>) {
    properties.raw("validated", "{}");
    properties.raw("validated_preview", STRING);
    properties.raw("validated_preview_truncated", BOOLEAN);
    properties.raw("validated_bytes", COUNT);
}

/// The prints, and further notes for the reader.
pub fn prints(properties: &mut Object<'_>) {
    properties.raw("prints", STRINGS);
    properties.raw("prints_shown", STRING);
    properties.raw("notes", STRINGS);
    flags(properties, &["prints_truncated"]);
}

/// The members that only the debug profile shows.
pub fn diagnostics(properties: &mut Object<'_>, has_upstreams: bool) {
    prints(properties);
    properties.raw("feedback", STRING);
    flags(properties, &["truncated", "output_truncated", "feedback_truncated"]);
    if has_upstreams {
        properties.raw("upstream_calls", CALLS);
        properties.raw("upstream_results", OBJECTS);
        properties.raw("ptc_metrics", r#"{"type":["object","null"]}"#);
    }
}

/// `reason`: one of all reasons.
pub fn reason() -> String {
    object_text(|object| object.strings("enum", ErrorReason::ALL.map(ErrorReason::name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn references_of_a_schema_lead_to_where_it_stands() {
        let mut schema = json!({"type": "object", "$defs": {"a": {"$ref": "#"}}, "properties": {
            "$ref": {"$ref": "#/$defs/a"}, "b": {"items": [{"$ref": "#named"}, {"$ref": "other.json#/x"}], "default": {"$ref": "#/data"}},
        }});
        rebase(&mut schema);
        let expected = json!({"type": "object", "$defs": {"a": {"$ref": "#/anyOf/0"}}, "properties": {
            "$ref": {"$ref": "#/anyOf/0/$defs/a"}, "b": {"items": [{"$ref": "#named"}, {"$ref": "other.json#/x"}], "default": {"$ref": "#/data"}},
        }});
        assert_eq!(schema, expected);
        assert_eq!(or_unfinished(&expected, None), expected.to_string(), "programs that become no runs");
        let mut named = json!({"properties": {"$id": {"$id": "part", "$ref": "#/x"}, "b": {"$ref": "#/x"}}});
        rebase(&mut named);
        let expected =
            json!({"properties": {"$id": {"$id": "part", "$ref": "#/x"}, "b": {"$ref": "#/anyOf/0/x"}}});
        assert_eq!(named, expected);
    }
}
