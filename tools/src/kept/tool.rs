//! A kept program as a tool.

use std::sync::Arc;

use ptc_host::engine::{EvalRequest, Render};
use ptc_mcp::json::Raw;

use super::directory::KeptDirectory;
use super::judged::{Hints, definition, output_schema};
use super::reply::{ReplyParts, answer};
use super::set::ServedProgram;
use super::texts::served_to;
use crate::lisp_eval::{Wording, context as checked_context};
use crate::text_tool::{ShapedReply, TextTool, ToolParts, object_of};
use ptc_protocol::concurrency_limiter::CapacityError;
use ptc_protocol::tool::{CallContext, Definition, KeptProgramName, Preparation, Tool, ToolName, ToolReply};

/// The tool.
#[derive(Clone)]
pub(super) struct KeptTool {
    pub(super) served: Arc<ServedProgram>,
    /// The same, where it is known what was approved of it.
    pub(super) approved: Option<Arc<ServedProgram>>,
    pub(super) directory: Arc<KeptDirectory>,
    pub(super) hints: Hints,
    pub(super) parts: Arc<ToolParts>,
}

impl TextTool for KeptTool {
    fn name(&self) -> &ToolName {
        self.served.tool()
    }

    fn parts(&self) -> &Arc<ToolParts> {
        &self.parts
    }

    fn has_output_schema(&self) -> bool {
        output_schema(&self.served).is_some()
    }

    fn program(
        &self,
        given: Option<Raw<'_>>,
        context: &CallContext,
    ) -> Result<(EvalRequest, ShapedReply), String> {
        let (parts, program) = (&self.parts, &self.served.program);
        object_of(given)?;
        let given = checked_context(given, parts.max_arguments, Wording::Arguments)?;
        let arguments = given.unwrap_or_else(|| "{}".into());
        let options = &parts.options;
        let render = Render { max_text_bytes: Some(0), json: true };
        let template = options.request("", context, render);
        // A run that waits ends with the text that it began with.
        let request = EvalRequest {
            text_travels: true,
            programs: Some(served_to(&self.directory, &context.owner.principal, self.approved.clone())),
            ..program.request(self.served.text.clone(), arguments, template)
        };
        let reply = ReplyParts {
            shaper: self.shaper(),
            redactor: options.redactor.for_principal(request.principal.as_deref()),
            reports: options.reports,
            max_bytes: options.caps.max_context_bytes,
            id: request.id,
            text: request.program.clone(),
        };
        Ok((request, Box::new(move |outcome| answer(outcome, &reply))))
    }
}

impl Tool for KeptTool {
    fn definition(&self) -> Definition {
        definition(&self.served, self.hints, self.parts.options.runs.as_ref())
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.prepare_call(given, context)
    }

    fn busy(&self, full: CapacityError) -> ToolReply {
        self.busy_reply(full)
    }

    fn kept_program(&self) -> Option<KeptProgramName> {
        Some(self.served.name())
    }
}
