//! Resumes programs of extensions.

use std::sync::Arc;

use super::tool::ExtensionTool;
use ptc_protocol::principal::Principal;
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};

/// Prepares programs of extensions, and passes those of other tools on.
pub(super) struct WithExtensions {
    pub(super) tools: Vec<ExtensionTool>,
    pub(super) others: Arc<dyn ProgramSource>,
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
