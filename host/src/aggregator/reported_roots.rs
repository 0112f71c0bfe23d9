//! The folders that a file server says it serves, for the catalog: without them a program begins by asking where it is.

use super::configured_upstream::ConfiguredUpstream;
use std::time::Duration;

use ptc_mcp::json::Value;

use crate::catalog::ServerEntry;
use ptc_base::text::clip;
use ptc_base::visible::visible_line;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::upstream::{Call, CallLimits, Caller, ResendMembers, Upstream};

/// The tool with which file servers tell it.
const TELLS: &str = "list_allowed_directories";
/// How long that may take, and the bytes of the answer.
const LIMITS: (Duration, usize) = (Duration::from_secs(2), 16 << 10);
/// The most folders that are kept, and the bytes of each.
const MAX_ROOTS: usize = 8;
const MAX_ROOT: usize = 256;

/// The server's answer, if it has such a tool that takes no arguments, only reads and needs no approval.
pub(super) async fn reported_roots(
    member: &ConfiguredUpstream,
    upstream: &dyn Upstream,
    caller: Caller<'_>,
    entry: &ServerEntry,
    redactor: &Redactor,
) -> Vec<String> {
    let Some(tool) = entry.tool(TELLS).filter(|tool| tool.only_reads() && tool.needs_nothing()) else {
        return Vec::new();
    };
    if member.config.approval.needs(TELLS, tool.annotations.as_ref()).is_some() {
        return Vec::new();
    }
    let call = Call {
        tool: TELLS,
        arguments: b"{}",
        again: ResendMembers::default(),
        limits: CallLimits::within(LIMITS.0, LIMITS.1),
        arrivals: None,
        caller,
        may_wrap: true,
        judged_by: None,
    };
    let replied = upstream.call(call).await;
    let Some(text) = replied.as_ref().ok().and_then(|reply| reply.payload.text()) else { return Vec::new() };
    roots_in(&String::from_utf8_lossy(text)).into_iter().map(|root| redactor.scrub_string(root)).collect()
}

/// The folders of an answer: a path on each line of its texts.
#[expect(clippy::disallowed_methods, reason = "entry point: roots_in()")]
fn roots_in(answer: &str) -> Vec<String> {
    let texts: Vec<String> = match serde_json::from_str(answer) {
        Ok(Value::String(text)) => vec![text],
        Ok(Value::Array(items)) => texts_of(items.iter()),
        Ok(Value::Object(map)) => map
            .values()
            .flat_map(|value| match value {
                Value::Array(items) => texts_of(items.iter()),
                value => texts_of(std::iter::once(value)),
            })
            .collect(),
        Ok(_) | Err(_) => vec![answer.to_owned()],
    };
    let mut roots: Vec<String> = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let path = line.trim().trim_start_matches("- ").trim_matches(['"', '\'', '`']);
        let is_drive = path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && path.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
        let path = visible_line(clip(path, MAX_ROOT));
        if (path.starts_with('/') || is_drive || path.starts_with("file://"))
            && !roots.iter().any(|root| *root == path)
        {
            roots.push(path.into_owned());
        }
        if roots.len() == MAX_ROOTS {
            break;
        }
    }
    roots
}

fn texts_of<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<String> {
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_from_whatever_form_the_answer_has() {
        for (answer, roots) in [
            ("Allowed directories:\n/srv/files\n/tmp/x y", vec!["/srv/files", "/tmp/x y"]),
            (r#"{"content": "Allowed directories:\n/srv/files"}"#, vec!["/srv/files"]),
            (r#""Allowed directories:\n- C:\\work\n- /srv""#, vec!["C:\\work", "/srv"]),
            (r#"["file:///srv", "/srv", "/srv"]"#, vec!["file:///srv", "/srv"]),
            (r#"{"roots": ["/a", 5], "n": 1}"#, vec!["/a"]),
            ("none", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(roots_in(answer), roots, "{answer}");
        }
        let many: String = (0..50).map(|i| format!("/{i}\n")).collect();
        assert_eq!(roots_in(&many).len(), MAX_ROOTS);
        assert_eq!(roots_in("/a\u{202e}b"), ["/a\\u202eb"]);
        assert_eq!(roots_in(&format!("/{}", "x".repeat(1000)))[0].len(), MAX_ROOT);
    }
}
