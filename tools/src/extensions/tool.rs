//! A program of an extension as a tool of the server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ptc_host::engine::{EvalOutcome, EvalRequest, Render};
use ptc_mcp::json::Raw;

use super::asker::DialectAsker;
use super::{ExtensionProgram, ProgramTool};
use crate::channels::Asks;
use crate::evaluator::Evaluator;
use crate::lisp_eval::EvalOptions;
use crate::long;
use crate::shaping::{shape, waiting};
use ptc_protocol::report::Payload;
use ptc_protocol::tasks::undeclared;
use ptc_protocol::tool::{
    CallContext, Definition, Instead, Preparation, QuestionDialect, Tool, ToolName, ToolReply,
};
use ptc_runs::{ProgramEnd, RunView};

/// These tools or prompts, over this evaluator.
pub fn tools(
    extensions: &[Arc<dyn ProgramTool>],
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
) -> Vec<Box<dyn Tool>> {
    let parts = ToolDependencies { evaluator: evaluator.clone(), options: options.clone() };
    let tool = |tool: &Arc<dyn ProgramTool>| ExtensionTool::new(tool.clone(), parts.clone());
    extensions.iter().map(|extension| Box::new(tool(extension)) as Box<dyn Tool>).collect()
}

/// The shared dependencies of these tools.
#[derive(Clone)]
pub(super) struct ToolDependencies {
    pub(super) evaluator: Arc<dyn Evaluator>,
    pub(super) options: EvalOptions,
}

/// The tool.
pub(super) struct ExtensionTool {
    pub(super) name: ToolName,
    extension: Arc<dyn ProgramTool>,
    pub(super) parts: ToolDependencies,
}

impl ExtensionTool {
    pub(super) fn new(extension: Arc<dyn ProgramTool>, parts: ToolDependencies) -> Self {
        ExtensionTool { name: extension.definition().name, extension, parts }
    }

    /// The program of a call as an engine request, and how long the call waits.
    pub(super) fn request(
        &self,
        arguments: Option<&str>,
        context: &CallContext,
    ) -> (EvalRequest, Option<Duration>) {
        let options = &self.parts.options;
        let extras = context.asked.extras.clone().unwrap_or_default();
        let ExtensionProgram { text, data, upstreams, wait } = self.extension.program(arguments, &extras);
        let request = EvalRequest {
            context: Some(data),
            limits: options.limits,
            strict_data: true,
            render: Render { max_text_bytes: Some(options.shaper.max_result_bytes), json: false },
            upstreams,
            permit: Some(context.permit.shared()),
            principal: Some(context.owner.principal.shared_name()),
            authority: context.owner.principal.authority().cloned(),
            trace: context.trace.clone(),
            ..EvalRequest::with_id(text, context.eval_id)
        };
        (request, wait)
    }

    /// Makes the reply of an outcome.
    pub(super) fn shaped(&self, program: Arc<str>) -> impl FnOnce(EvalOutcome) -> ToolReply + Send + use<> {
        let (extension, shaper) = (self.extension.clone(), self.parts.options.shaper);
        move |outcome| extension.reply(shape(&shaper, &Payload::of(outcome, &program)))
    }

    /// The asker for the program of a call, and the context of the call as that asker sees it.
    fn asks(&self, asks: &Asks, context: &CallContext) -> (Asks, CallContext) {
        let mut context = context.clone();
        let Some(dialect) = self.extension.dialect() else { return (asks.clone(), context) };
        let (extension, extras) = (self.extension.clone(), context.asked.extras.clone().unwrap_or_default());
        let shows_forms = context.asked.modes.form;
        // A client that declares another way is asked at least in that way.
        context.asked.modes.form |= dialect.declares_more(&extras);
        let asks = asks.heard_by(Arc::new(move |_, _, asker| {
            let (extension, extras) = (extension.clone(), extras.clone());
            Arc::new(DialectAsker { asker, extension, extras, shows_forms })
        }));
        (asks, context)
    }
}

impl Tool for ExtensionTool {
    fn definition(&self) -> Definition {
        self.extension.definition()
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let ToolDependencies { evaluator, options } = &self.parts;
        let takes_tasks = context.asked.takes_tasks;
        if self.extension.needs_task() && !takes_tasks {
            return Preparation::Done(ToolReply::refused(undeclared()));
        }
        let arguments = arguments.map(Raw::text);
        let (mut request, wait) = self.request(arguments, context);
        let wait = wait.filter(|_| takes_tasks).map(|wait| format!("{{\"wait_ms\":{}}}", wait.as_millis()));
        let wait = wait.as_deref().and_then(|text| Raw::parse(text).ok());
        // With a time that the operator does not allow, the call waits until its program ends.
        let long_call = wait.and_then(|wait| {
            long::begin(options.runs.as_ref(), Some(wait), context, &mut request).ok().flatten()
        });
        let (shaper, shaped) = (options.shaper, self.shaped(request.program.clone()));
        let work = match &options.asks {
            Some(asks) => {
                let (asks, context) = self.asks(asks, context);
                let about = (&context, long_call.as_ref().map(long::Long::call));
                asks.eval(evaluator.clone(), request, (self.name.clone(), arguments), about, (shaper, shaped))
            }
            None => evaluator.eval(request).map(|outcome| ProgramEnd::Replied(shaped(outcome))).boxed(),
        };
        let work = match self.extension.dialect() {
            Some(_) => {
                let extension = self.extension.clone();
                work.map(move |ran| in_dialect(extension.dialect(), ran)).boxed()
            }
            None => work,
        };
        let told: long::WhenWaiting =
            Box::new(move |run: RunView| async move { waiting(&shaper, &run, None, &[]) }.boxed());
        long::prepared(
            long_call,
            self.name.clone(),
            &context.owner.principal,
            &context.permit,
            shaper,
            || told,
            work,
        )
    }

    fn dialect(&self) -> Option<&dyn QuestionDialect> {
        self.extension.dialect()
    }
}

/// Converts the questions of a reply to the form of clients.
fn in_dialect(dialect: Option<&dyn QuestionDialect>, mut ran: ProgramEnd) -> ProgramEnd {
    if let (Some(dialect), ProgramEnd::Replied(reply)) = (dialect, &mut ran)
        && let Some(Instead::Input { requests, .. }) = reply.instead.as_deref_mut()
    {
        *requests = dialect.requests(requests);
    }
    ran
}
