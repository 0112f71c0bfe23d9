//! What the log is told of programs that are not as they were approved.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use ptc_host::config::ChangedTool;
use ptc_programs::staleness::StaleTool;
use tracing::warn;

/// Tools of one report, and of the line of one program.
const MAX_TOOLS: usize = 8;
/// Bytes of the diff of one tool.
const DIFF_BYTES: usize = 800;

/// A tool `UPSTREAM/TOOL`, and how it has changed.
type ToolChange = (String, Arc<ChangedTool>);

/// What there is to tell of all programs: of two such reports the later one tells what the former did not.
#[derive(Default)]
pub(super) struct Told {
    /// A line for each program.
    programs: BTreeSet<String>,
    /// Programs share tools: each change is told once.
    changes: HashSet<ToolChange>,
}

impl Told {
    /// Notes the line of a program.
    pub(super) fn program(&mut self, line: String) {
        self.programs.insert(line);
    }

    /// Notes a program with these stale tools. `what` begins its line.
    pub(super) fn stale(&mut self, what: &str, stale: &[StaleTool]) {
        let mut reasons: Vec<String> = stale.iter().take(MAX_TOOLS).map(StaleTool::reason).collect();
        if stale.len() > MAX_TOOLS {
            reasons.push(format!("and {} more", stale.len() - MAX_TOOLS));
        }
        self.program(format!("{what}: {}", reasons.join("; ")));
        let changed = stale.iter().filter_map(|stale| Some((stale.tool.clone(), stale.change.clone()?)));
        self.changes.extend(changed);
    }

    /// The changes that were not told before: those that are shown, and the number of the others.
    fn changes_since(&self, before: &Told) -> (Vec<&ToolChange>, usize) {
        let mut fresh: Vec<_> =
            self.changes.iter().filter(|change| !before.changes.contains(*change)).collect();
        fresh.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let left_out = fresh.len().saturating_sub(MAX_TOOLS);
        fresh.truncate(MAX_TOOLS);
        (fresh, left_out)
    }

    /// Tells the log what was not told before.
    pub(super) fn log_since(&self, before: &Told) {
        let (changes, left_out) = self.changes_since(before);
        for (tool, change) in changes {
            warn!(event = "program_tool_changed", tool = %tool, changed = %change.facts_text(),
                diff = %change.diff(DIFF_BYTES, true));
        }
        if left_out > 0 {
            warn!(event = "program_tools_changed", left_out, "to look: ptc program diff --live");
        }
        for line in self.programs.difference(&before.programs) {
            warn!(event = "program_not_as_approved", reason = %line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::config::{PinnedTool, ToolDefinition};
    use ptc_mcp::json::json;

    fn tool(name: &str, description: &str) -> PinnedTool {
        PinnedTool::of(&ToolDefinition {
            name,
            title: None,
            description,
            input_schema: &json!({}),
            output_schema: None,
            annotations: None,
            operation: None,
        })
    }

    fn stale(count: usize, description: &str) -> Vec<StaleTool> {
        let of = |number: usize| {
            let name = format!("t{number:02}");
            let change =
                ChangedTool::of(&tool(&name, "Lists."), &tool(&name, description), &mut { usize::MAX });
            StaleTool { tool: format!("a/{name}"), is_gone: false, change: Some(change.into()) }
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn many_programs_with_many_changed_tools_are_told_in_a_line_each() {
        let mut told = Told::default();
        let tools = stale(50, &"Removes all. ".repeat(400));
        (0..1000).for_each(|number| told.stale(&format!("p{number} is stale"), &tools));
        assert_eq!(told.programs.len(), 1000);
        let line = told.programs.first().unwrap();
        assert!(line.starts_with("p0 is stale: the definition of a/t00 has changed since"), "{line}");
        assert!(line.contains("; the definition of a/t07 ") && line.ends_with("; and 42 more"), "{line}");
        let (changes, left_out) = told.changes_since(&Told::default());
        assert_eq!((changes.len(), left_out), (MAX_TOOLS, 42));
        assert!(changes.iter().all(|(_, change)| change.diff(DIFF_BYTES, true).len() < 2 * DIFF_BYTES));
    }

    #[test]
    fn nothing_is_told_twice() {
        let (mut told, mut next) = (Told::default(), Told::default());
        told.stale("p is stale", &stale(20, "Removes."));
        next.stale("p is stale", &stale(20, "Removes."));
        assert_eq!(next.changes_since(&told), (Vec::new(), 0), "not those that were left out, either");
        assert_eq!(next.programs.difference(&told.programs).count(), 0);
        // The same fact has changed again.
        next.stale("p is stale", &stale(1, "Buys."));
        let (changes, left_out) = next.changes_since(&told);
        assert_eq!((changes.len(), left_out, changes[0].0.as_str()), (1, 0, "a/t00"));
    }
}
