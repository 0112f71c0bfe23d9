//! One upstream's tool as a tool of our own: a program that makes one call, and an answer that is the upstream's.

use std::sync::Arc;

use ptc_host::catalog::ToolEntry;
use ptc_host::engine::{EvalRequest, Render, ReplySlot};
use ptc_mcp::json::Raw;
use ptc_vm::machine::{ToolArguments, UpstreamCall};

use super::definition::{definition, output_schema, undescribed};
use super::reply;
use crate::lisp_eval::passed_arguments;
use crate::text_tool::{ShapedReply, TextTool, ToolParts};
use ptc_protocol::concurrency_limiter::CapacityError;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolName, ToolReply};

/// The program of each call. The call itself comes with the request, so that the program is compiled once and the arguments become
/// no values.
pub(super) const PROGRAM: &str = "(tool/call)";

/// The tool.
#[derive(Clone)]
pub(super) struct ExposedTool {
    name: ToolName,
    /// Its upstream.
    server: Arc<str>,
    /// Its name there.
    tool: Arc<str>,
    /// What the upstream says of it, if that is known.
    described: Option<Arc<ToolEntry>>,
    parts: Arc<ToolParts>,
}

impl ExposedTool {
    /// A tool that its upstream lists.
    pub(super) fn new(name: Arc<str>, server: Arc<str>, tool: Arc<ToolEntry>, parts: Arc<ToolParts>) -> Self {
        ExposedTool {
            name: name.into(),
            server,
            tool: tool.name.as_str().into(),
            described: Some(tool),
            parts,
        }
    }

    /// One of an upstream whose list is not known yet.
    pub(super) fn unlisted(name: &str, server: &str, tool: &str, parts: Arc<ToolParts>) -> Self {
        let name: Arc<str> = name.into();
        ExposedTool { name: name.into(), server: server.into(), tool: tool.into(), described: None, parts }
    }
}

impl TextTool for ExposedTool {
    fn name(&self) -> &ToolName {
        &self.name
    }

    fn parts(&self) -> &Arc<ToolParts> {
        &self.parts
    }

    fn has_output_schema(&self) -> bool {
        self.described.as_ref().is_some_and(|tool| output_schema(tool).is_some())
    }

    fn is_program(&self) -> bool {
        false
    }

    fn program(
        &self,
        given: Option<Raw<'_>>,
        context: &CallContext,
    ) -> Result<(EvalRequest, ShapedReply), String> {
        let parts = &self.parts;
        let json = passed_arguments(given, parts.max_arguments)?;
        let call = UpstreamCall {
            server: Ok((*self.server).to_owned()),
            tool: Ok((*self.tool).to_owned()),
            arguments: Ok(ToolArguments { json, hyphenated: Vec::new() }),
            by_pages: false,
        };
        let (options, slot) = (&parts.options, Arc::new(ReplySlot::default()));
        let render = Render { max_text_bytes: Some(0), json: false };
        let request = EvalRequest {
            prepared_call: Some(Arc::new(call)),
            reply_slot: Some(slot.clone()),
            ..options.request(PROGRAM, context, render)
        };
        let redactor = options.redactor.for_principal(request.principal.as_deref());
        let (id, reports) = (request.id, options.reports);
        Ok((request, Box::new(move |outcome| reply::answer(outcome, id, &slot, &redactor, reports))))
    }
}

impl Tool for ExposedTool {
    fn definition(&self) -> Definition {
        match &self.described {
            Some(tool) => definition(self.name.clone(), &self.server, tool, self.parts.options.runs.as_ref()),
            None => undescribed(self.name.clone()),
        }
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.prepare_call(given, context)
    }

    fn is_program(&self) -> bool {
        TextTool::is_program(self)
    }

    fn busy(&self, full: CapacityError) -> ToolReply {
        self.busy_reply(full)
    }
}
