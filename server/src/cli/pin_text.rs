//! How tools differ from the lock, and what deserves a look in them: for people and as JSON.

use ptc_host::catalog::{Catalog, Mark, OtherTools, ServerEntry, ToolEntry, marks};
use ptc_host::config::{ChangedTool, PinReport};
use ptc_host::visible::visible_line;
use ptc_mcp::json::{Value, json};
use std::cell::Cell;
use std::fmt::Write as _;

/// Bytes of the diff of one tool.
const DIFF_BYTES: usize = 4096;
/// Bytes of the diffs of one upstream. Tools beyond it are named without their diff.
const ALL_DIFF_BYTES: usize = 256 << 10;
/// Marks of one upstream that are told.
const MAX_MARKS: usize = 100;

/// A tool with something that deserves a look.
pub(super) struct MarkedTool {
    tool: String,
    mark: Mark,
}

impl MarkedTool {
    /// A line for a person.
    pub(super) fn line(&self) -> String {
        let Mark { finding, excerpt, .. } = &self.mark;
        format!("{} {finding}: {excerpt:?}", visible_line(&self.tool)).replace("\\\\u", "\\u")
    }

    pub(super) fn json(&self) -> Value {
        let Mark { rule, finding, excerpt } = &self.mark;
        json!({"tool": self.tool, "rule": rule, "finding": finding, "excerpt": excerpt})
    }
}

/// What deserves a look in the tools of a server, those that are withheld included.
pub(super) fn marked(catalog: &Catalog, server: &ServerEntry) -> Vec<MarkedTool> {
    let others = OtherTools::of(catalog, &server.name);
    let budget = Cell::new(usize::MAX);
    let tools = server.tools_by_name().chain(server.withheld());
    let of_tool = |tool: &ToolEntry| {
        let found = marks(tool, &others, &budget);
        found.into_iter().map(|mark| MarkedTool { tool: tool.name.clone(), mark }).collect::<Vec<_>>()
    };
    tools.flat_map(of_tool).take(MAX_MARKS).collect()
}

/// The differences as lines for a person: `~` changed, `+` new, `-` gone, each tool with what changed of it. `whole` gives the
/// definition of a new tool, where that is to be shown.
pub(super) fn lines(report: &PinReport, whole: impl Fn(&str) -> Option<ChangedTool>) -> String {
    let mut text = String::new();
    let mut room = ALL_DIFF_BYTES;
    let mut push = |text: &mut String, changed: &ChangedTool| {
        let diff = changed.diff(DIFF_BYTES.min(room), true);
        room = room.saturating_sub(diff.len());
        for line in diff.lines() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "    {line}");
        }
    };
    for changed in &report.changed {
        let _ = writeln!(text, "  ~ {}: {}", visible_line(&changed.name), changed.facts_text());
        push(&mut text, changed);
    }
    for name in &report.new {
        let _ = writeln!(text, "  + {}", visible_line(name));
        if let Some(whole) = whole(name) {
            push(&mut text, &whole);
        }
    }
    for name in &report.gone {
        let _ = writeln!(text, "  - {}", visible_line(name));
    }
    text
}

/// The differences for programs.
pub(super) fn json(report: &PinReport) -> Value {
    let mut room = ALL_DIFF_BYTES;
    let changed = report.changed.iter().map(|changed| {
        let diff = changed.diff(DIFF_BYTES.min(room), true);
        room = room.saturating_sub(diff.len());
        let facts: Vec<&str> = changed.facts.iter().map(|(fact, _)| fact.as_str()).collect();
        json!({"tool": changed.name, "facts": facts, "diff": diff})
    });
    let changed: Vec<Value> = changed.collect();
    json!({
        "pinned": report.is_pinned, "refuses": report.refuses,
        "changed": changed, "new": report.new, "gone": report.gone,
    })
}
