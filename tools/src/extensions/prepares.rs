//! Resumes programs of extensions.

use std::sync::Arc;

use super::ProgramTool;
use super::tool::{ExtensionTool, ToolDependencies};
use crate::evaluator::Evaluator;
use crate::lisp_eval::EvalOptions;
use ptc_protocol::principal::Principal;
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};

/// Prepares the programs of these tools for resuming, and passes other programs to `others`.
pub fn prepares(
    extensions: &[Arc<dyn ProgramTool>],
    others: Arc<dyn ProgramSource>,
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
) -> Arc<dyn ProgramSource> {
    if extensions.is_empty() {
        return others;
    }
    let parts = ToolDependencies { evaluator: evaluator.clone(), options: options.clone() };
    let tools = extensions.iter().map(|tool| ExtensionTool::new(tool.clone(), parts.clone())).collect();
    Arc::new(WithExtensions { tools, others })
}

/// Prepares programs of extensions, and passes those of other tools on.
struct WithExtensions {
    tools: Vec<ExtensionTool>,
    others: Arc<dyn ProgramSource>,
}

impl ProgramSource for WithExtensions {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        let Some(extension) = self.tools.iter().find(|extension| extension.name == tool) else {
            return self.others.prepare_again(tool, call, principal, run);
        };
        let context = call.context(principal)?;
        let (request, _) = extension.request(call.arguments.as_deref(), &context);
        let asks = extension.parts.options.asks.as_ref();
        Some(ResumableProgram {
            asker: asks.and_then(|asks| asks.asker_of_run(extension.name, &context, run, call.round + 1)),
            shaped: Box::new(extension.shaped(request.program.clone())),
            request,
        })
    }
}
