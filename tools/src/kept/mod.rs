//! Kept programs as tools (`--programs`, server.md 4.9), and for the texts of callers.

mod approver;
mod call_check;
mod catalog;
mod directory;
mod judged;
mod reply;
mod set;
#[cfg(test)]
mod tests;
mod texts;
mod told;
mod tool;

use std::sync::Arc;

pub use approver::{Approved, Approver};
pub use directory::{KeptDirectory, KeptRules};
pub use judged::{approved_tools, present_tool, stale_programs};
pub use set::{CurrentPrograms, ProgramSet, ServedProgram, SetChanges};

use crate::evaluator::Evaluator;
use crate::lisp_eval::EvalOptions;
use crate::text_tool::{TextTool, ToolParts};
use judged::Hints;
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{SourceListing, Tool, ToolName, ToolSource};
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};
use tool::KeptTool;

/// The kept programs as tools.
pub struct KeptTools {
    directory: Arc<KeptDirectory>,
    parts: Arc<ToolParts>,
}

impl KeptTools {
    /// The programs of a directory.
    pub fn new(
        directory: Arc<KeptDirectory>,
        evaluator: Arc<dyn Evaluator>,
        options: EvalOptions,
    ) -> KeptTools {
        let max_arguments = options.caps.max_context_bytes;
        KeptTools { directory, parts: Arc::new(ToolParts { evaluator, options, max_arguments }) }
    }
}

impl KeptTools {
    /// The tool for runs that go on, whatever the upstreams have now.
    fn resuming(&self, served: Arc<ServedProgram>, approved: Option<Arc<ServedProgram>>) -> KeptTool {
        let (directory, parts) = (self.directory.clone(), self.parts.clone());
        KeptTool { served, approved, hints: Hints::UNKNOWN, directory, parts }
    }
}

impl ToolSource for KeptTools {
    fn listings(&self, caller: &Principal) -> Vec<Arc<SourceListing>> {
        self.directory.listing(caller, self.parts.options.runs.as_ref()).into_iter().collect()
    }

    fn find(&self, name: &str, caller: &Principal) -> Option<(ToolName, Arc<dyn Tool>)> {
        let judged = self.directory.judged();
        let program = judged.of_tool(name)?;
        if !self.directory.with_view(caller, |view| program.is_for(view)) {
            return None;
        }
        let (served, hints) = (program.served.clone(), program.hints);
        let (directory, parts) = (self.directory.clone(), self.parts.clone());
        let tool = KeptTool { approved: Some(served.clone()), served, hints, directory, parts };
        Some((tool.name().clone(), Arc::new(tool)))
    }

    fn revision(&self) -> u64 {
        self.directory.revision()
    }
}

impl ProgramSource for KeptTools {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        // Whether or not it would be listed now: its caller's rights hold for each call.
        let served = self.directory.programs.current().of_tool(tool)?.clone();
        self.resuming(served.clone(), Some(served)).prepare_again(call, principal, run)
    }

    fn prepare_text(
        &self,
        tool: &str,
        text: &Arc<str>,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        // What was approved when it began goes on, though it is served no more.
        let approved = self.directory.programs.current().of_tool(tool).cloned();
        let approved = approved.filter(|approved| approved.text == *text);
        let served = match &approved {
            Some(approved) => approved.clone(),
            None => Arc::new(ServedProgram::of_text(tool, text)?),
        };
        self.resuming(served, approved).prepare_again(call, principal, run)
    }
}
