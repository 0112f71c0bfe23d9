//! Whether the tools of a program are still those that it was approved with.

use std::collections::BTreeMap;

use ptc_host::config::PinnedTool;
use ptc_host::digest::hex;
use ptc_host::engine::kept::ProgramTools;

use crate::lock::Approval;

/// What is known of a tool now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresentTool {
    /// Nothing: its upstream has not been listed.
    Unknown,
    /// Its upstream does not have it, or is gone itself.
    Gone,
    /// Its definition.
    Defined {
        /// The digest of the definition.
        digest: String,
        /// What differs from the definition that the upstream is pinned to, a line for each change; empty if that is not known.
        diff: String,
    },
}

impl PresentTool {
    /// A tool with this definition.
    #[must_use]
    pub fn defined(tool: &PinnedTool) -> PresentTool {
        PresentTool::Defined { digest: definition_digest(tool), diff: String::new() }
    }
}

/// A tool that is not as it was when a program was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleTool {
    /// `UPSTREAM/TOOL`
    pub tool: String,
    /// Whether there is none any more.
    pub is_gone: bool,
    /// What has changed of it, a line for each change; empty if that is not known.
    pub diff: String,
}

impl StaleTool {
    /// `the definition of billing/list has changed since it was approved`
    #[must_use]
    pub fn reason(&self) -> String {
        match self.is_gone {
            true => format!("{}, which it was approved with, is gone", self.tool),
            false => format!("the definition of {} has changed since it was approved", self.tool),
        }
    }
}

/// The digest of a tool's definition as locks of programs have it, in 64 hex digits.
#[must_use]
pub fn definition_digest(tool: &PinnedTool) -> String {
    hex(&tool.digest())
}

/// The tools of an approval that are not as they were then, in order. `present` says what each is now, by upstream and name.
pub fn stale_tools(
    approval: &Approval,
    mut present: impl FnMut(&str, &str) -> PresentTool,
) -> Vec<StaleTool> {
    let judged = approval.tools.iter().filter_map(|(reference, approved)| {
        let (upstream, tool) = reference.split_once('/')?;
        let stale = |is_gone, diff| Some(StaleTool { tool: reference.clone(), is_gone, diff });
        match present(upstream, tool) {
            PresentTool::Unknown => None,
            PresentTool::Gone => stale(true, String::new()),
            PresentTool::Defined { digest, .. } if digest == *approved => None,
            PresentTool::Defined { diff, .. } => stale(false, diff),
        }
    });
    judged.collect()
}

/// Refuses an approval that would lack a tool which `:tools` names without `*`: whatever had that name later would be called, and
/// nobody has seen it. `approved`: the digests that the approval is to have, by `UPSTREAM/TOOL`. `has_own_lists`: whether each person
/// signs in to an upstream, of which approvals hold no definitions (decision 252).
///
/// # Errors
/// A sentence about the first of them: `billing has no tool purge, …`.
pub fn check_named_tools(
    tools: &ProgramTools,
    approved: &BTreeMap<String, String>,
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

/// Whether an approval with these digests has the definition of a tool.
#[must_use]
pub fn is_approved(approved: &BTreeMap<String, String>, upstream: &str, tool: &str) -> bool {
    approved.keys().any(|known| known.split_once('/') == Some((upstream, tool)))
}

/// The entries of `:tools` of which an approval has no definition, as they were written: tools by name, and patterns that fit none.
#[must_use]
pub fn unheld(tools: &ProgramTools, approved: &BTreeMap<String, String>) -> Vec<String> {
    let named = tools.named().filter(|(upstream, tool)| !is_approved(approved, upstream, tool));
    let named = named.map(|(upstream, tool)| format!("{upstream}/{tool}"));
    named.chain(idle_patterns(tools, approved)).collect()
}

/// The entries of `:tools` with `*` that fit no tool of which the approval would have the definition, as they were written.
#[must_use]
pub fn idle_patterns(tools: &ProgramTools, approved: &BTreeMap<String, String>) -> Vec<String> {
    let references: Vec<_> = approved.keys().filter_map(|known| known.split_once('/')).collect();
    tools.unmatched_patterns(&references)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ProgramName;
    use crate::program::KeptProgram;

    fn tools(text: &str) -> ProgramTools {
        let text = format!("{{:description \"x\" :tools {text}}} 1");
        KeptProgram::read(ProgramName::new("x").unwrap(), &text).unwrap().head.tools.clone()
    }

    #[test]
    fn tools_that_are_named_exactly_must_be_in_the_approval() {
        let approved = [("billing/list", "1"), ("crm/a/b", "2")];
        let approved = approved.map(|(tool, digest)| (tool.to_owned(), digest.to_owned())).into();
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
        let tools = [("a/gone", "1"), ("a/new", "1"), ("a/same", "2"), ("b/x", "3")];
        let approval = Approval {
            digest: "".into(),
            calls: [].into(),
            language: 1,
            tools: tools.map(|(tool, digest)| (tool.to_owned(), digest.to_owned())).into(),
            by: String::new(),
            at: String::new(),
        };
        let stale = stale_tools(&approval, |upstream, tool| match (upstream, tool) {
            ("b", _) => PresentTool::Unknown,
            (_, "gone") => PresentTool::Gone,
            _ => PresentTool::Defined { digest: "2".to_owned(), diff: "+ x".to_owned() },
        });
        let reasons: Vec<_> = stale.iter().map(|stale| (stale.reason(), stale.diff.as_str())).collect();
        assert_eq!(
            reasons,
            [
                ("a/gone, which it was approved with, is gone".to_owned(), ""),
                ("the definition of a/new has changed since it was approved".to_owned(), "+ x")
            ]
        );
    }
}
