//! Resumes programs of extensions.

use std::sync::Arc;

use super::ProgramTool;
use super::tool::{ExtensionTool, ToolDependencies};
use crate::evaluator::Evaluator;
use crate::lisp_eval::EvalOptions;
use ptc_protocol::principal::Principal;
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};

/// Prepares the programs of these tools for resuming.
pub fn prepares(
    extensions: &[Arc<dyn ProgramTool>],
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
) -> Arc<dyn ProgramSource> {
    let parts = ToolDependencies { evaluator: evaluator.clone(), options: options.clone() };
    let tools = extensions.iter().map(|tool| ExtensionTool::new(tool.clone(), parts.clone())).collect();
    Arc::new(ExtensionTools(tools))
}

/// The tools of extensions.
struct ExtensionTools(Vec<ExtensionTool>);

impl ProgramSource for ExtensionTools {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        let extension = self.0.iter().find(|extension| extension.name == *tool)?;
        let context = call.context(principal)?;
        let (request, _) = extension.request(call.arguments.as_deref(), &context);
        let asks = extension.parts.options.asks.as_ref();
        Some(ResumableProgram {
            asker: asks
                .and_then(|asks| asks.asker_of_run(extension.name.clone(), &context, run, call.round + 1)),
            shaped: Box::new(extension.shaped(request.program.clone())),
            request,
            is_program: true,
        })
    }
}
