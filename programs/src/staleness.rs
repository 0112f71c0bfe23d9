//! Whether the tools of a program are still those that it was approved with.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ptc_host::config::ChangedTool;
use ptc_host::engine::kept::ProgramTools;

use crate::definition::{Definition, DefinitionChanges, Definitions};
use crate::lock::Approval;
use crate::name::ProgramName;

/// Most bytes of the diff of a tool.
const MAX_DIFF: usize = 4 << 10;

/// What is known of a tool now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresentTool {
    /// Nothing: its upstream has not been listed.
    Unknown,
    /// Its upstream does not have it, or is gone itself.
    Gone,
    /// Its definition.
    Defined(Definition),
}

/// A tool that is not as it was when a program was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleTool {
    /// `UPSTREAM/TOOL`
    pub tool: String,
    /// Whether there is none any more.
    pub is_gone: bool,
    /// What has changed of it, if that is known.
    pub change: Option<Arc<ChangedTool>>,
}

impl StaleTool {
    /// `the definition of billing/list has changed since it was approved (description and input_schema)`
    #[must_use]
    pub fn reason(&self) -> String {
        if self.is_gone {
            return format!("{}, which it was approved with, is gone", self.tool);
        }
        let facts =
            self.change.as_ref().map(|change| format!(" ({})", change.facts_text())).unwrap_or_default();
        format!("the definition of {} has changed since it was approved{facts}", self.tool)
    }

    /// The reason, with each changed line of the definition below it, indented.
    #[must_use]
    pub fn reason_with_diff(&self) -> String {
        let diff = self.change.iter().map(|change| change.diff(MAX_DIFF, true));
        diff.fold(self.reason(), |text, diff| text + "\n  " + &diff.replace('\n', "\n  "))
    }
}

/// The changes of tools that a report has shown, with the program at which each is.
#[derive(Default)]
pub struct ShownChanges(HashMap<(String, Arc<ChangedTool>), ProgramName>);

impl ShownChanges {
    /// The reason why a program is stale. Lines that have changed stand below it at the first program alone: others name that.
    pub fn reason(&mut self, program: &ProgramName, stale: &StaleTool) -> String {
        let Some(change) = &stale.change else { return stale.reason() };
        match self.0.entry((stale.tool.clone(), change.clone())) {
            Entry::Occupied(first) if first.get() != program => {
                format!("{}; {} has the lines", stale.reason(), first.get())
            }
            first => {
                first.or_insert_with(|| program.clone());
                stale.reason_with_diff()
            }
        }
    }
}

/// The tools of an approval that are not as they were then, in order. `present` says what each is now, by upstream and name.
pub fn stale_tools(
    approval: &Approval,
    changes: &mut DefinitionChanges,
    mut present: impl FnMut(&str, &str) -> PresentTool,
) -> Vec<StaleTool> {
    let judged = approval.tools.iter().filter_map(|(reference, approved)| {
        let (upstream, tool) = reference.split_once('/')?;
        let stale = |is_gone, change| Some(StaleTool { tool: reference.clone(), is_gone, change });
        match present(upstream, tool) {
            PresentTool::Unknown => None,
            PresentTool::Gone => stale(true, None),
            PresentTool::Defined(now) if now.digest == approved.digest => None,
            PresentTool::Defined(now) => stale(false, changes.between(approved, &now)),
        }
    });
    judged.collect()
}

/// Refuses an approval that would lack a tool which `:tools` names without `*`: whatever had that name later would be called, and
/// nobody has seen it. `approved`: the definitions that the approval is to have. `has_own_lists`: whether each person
/// signs in to an upstream, of which approvals hold no definitions (decision 252).
///
/// # Errors
/// A sentence about the first of them: `billing has no tool purge, …`.
pub fn check_named_tools(
    tools: &ProgramTools,
    approved: &Definitions,
    has_own_lists: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut lacking = tools.named().filter(|(upstream, tool)| !is_approved(approved, upstream, tool));
    match lacking.find(|(upstream, _)| !has_own_lists(upstream)) {
        None => Ok(()),
        Some((upstream, tool)) => Err(format!(
            "{upstream} has no tool {tool}, which its :tools name; correct the name, or approve it once the tool is there"
        )),
    }
}

/// Whether an approval with these definitions has the definition of a tool.
#[must_use]
pub fn is_approved(approved: &Definitions, upstream: &str, tool: &str) -> bool {
    approved.keys().any(|known| known.split_once('/') == Some((upstream, tool)))
}

/// The entries of `:tools` of which an approval has no definition, as they were written: tools by name, and patterns that fit none.
#[must_use]
pub fn unheld(tools: &ProgramTools, approved: &Definitions) -> Vec<String> {
    let named = tools.named().filter(|(upstream, tool)| !is_approved(approved, upstream, tool));
    let named = named.map(|(upstream, tool)| format!("{upstream}/{tool}"));
    named.chain(idle_patterns(tools, approved)).collect()
}

/// The entries of `:tools` with `*` that fit no tool of which the approval would have the definition, as they were written.
#[must_use]
pub fn idle_patterns(tools: &ProgramTools, approved: &Definitions) -> Vec<String> {
    let references: Vec<_> = approved.keys().filter_map(|known| known.split_once('/')).collect();
    tools.unmatched_patterns(&references)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::KeptProgram;
    use ptc_host::config::{PinnedTool, ToolDefinition};
    use ptc_mcp::json::json;

    fn definition(name: &str, description: &str) -> Definition {
        Definition::of(PinnedTool::of(&ToolDefinition {
            name,
            title: None,
            description,
            input_schema: &json!({}),
            output_schema: None,
            annotations: None,
            operation: None,
        }))
    }

    fn tools(text: &str) -> ProgramTools {
        let text = format!("{{:description \"x\" :tools {text}}} 1");
        KeptProgram::read(ProgramName::new("x").unwrap(), &text).unwrap().head.tools.clone()
    }

    #[test]
    fn tools_that_are_named_exactly_must_be_in_the_approval() {
        let approved = ["billing/list", "crm/a/b"];
        let approved = approved.map(|tool| (tool.to_owned(), definition(tool, "x"))).into();
        let check = |text: &str| check_named_tools(&tools(text), &approved, |upstream| upstream == "own");
        for known in
            ["[]", "[\"billing/list\" \"crm/a/b\" \"own/x\"]", "[\"billing/purge*\" \"b*/purge\" \"none/*\"]"]
        {
            assert_eq!(check(known), Ok(()), "{known}");
        }
        for (unknown, told) in [
            ("[\"billing/*\" \"billing/purge\"]", "billing has no tool purge, which its :tools name; "),
            ("[\"none/list\"]", "none has no tool list, which its :tools name; "),
        ] {
            assert!(check(unknown).unwrap_err().starts_with(told), "{unknown}");
        }
        let idle = |text: &str| idle_patterns(&tools(text), &approved);
        assert_eq!(idle("[\"billing/purge\" \"billing/l*\" \"*/list\"]"), [""; 0]);
        assert_eq!(idle("[\"none/*\" \"billing/p*\" \"crm/*\"]"), ["none/*", "billing/p*"]);
        assert_eq!(unheld(&tools("[\"none/*\" \"own/x\" \"billing/list\"]"), &approved), ["own/x", "none/*"]);
    }

    #[test]
    fn a_program_is_stale_if_a_tool_is_gone_or_another_one() {
        let mut tools: Definitions = ["a/gone", "a/new", "a/old", "a/same", "b/x"]
            .map(|tool| (tool.to_owned(), definition(&tool[2..], "Lists.")))
            .into();
        // A lock that was written before it had definitions has a digest alone.
        tools.get_mut("a/old").unwrap().tool = None;
        let approval = Approval {
            digest: "".into(),
            calls: [].into(),
            language: 1,
            tools,
            by: String::new(),
            at: String::new(),
        };
        let mut changes = DefinitionChanges::default();
        let stale = stale_tools(&approval, &mut changes, |upstream, tool| match (upstream, tool) {
            ("b", _) => PresentTool::Unknown,
            (_, "gone") => PresentTool::Gone,
            (_, "same") => PresentTool::Defined(definition(tool, "Lists.")),
            _ => PresentTool::Defined(definition(tool, "Removes.")),
        });
        let reasons: Vec<_> = stale.iter().map(StaleTool::reason_with_diff).collect();
        assert_eq!(
            reasons,
            [
                "a/gone, which it was approved with, is gone",
                "the definition of a/new has changed since it was approved (description)\n  description:\n  - Lists.\n  + Removes.",
                "the definition of a/old has changed since it was approved",
            ]
        );
        // A report on several programs has the lines once.
        let mut shown = ShownChanges::default();
        let [one, two] = ["one", "two"].map(|name| ProgramName::new(name).unwrap());
        assert_eq!(shown.reason(&one, &stale[1]), stale[1].reason_with_diff());
        assert_eq!(
            shown.reason(&two, &stale[1]),
            "the definition of a/new has changed since it was approved (description); one has the lines"
        );
        assert_eq!(shown.reason(&two, &stale[2]), stale[2].reason());
    }
}
