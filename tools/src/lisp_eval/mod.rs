//! `lisp_eval`: one program, one answer, no state.

mod arguments;
mod definition;

mod options;
#[cfg(test)]
mod tests;

pub use options::EvalOptions;
use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalId, EvalOutcome, EvalRequest, Render, pinned};
use ptc_host::policy::Authority;
use ptc_mcp::json::Raw;

use super::program_call::ProgramCall;
use super::recent_programs::{ProgramWatch, WatchedRun};
use super::shaping::{Shaper, shape};
use ptc_protocol::concurrency_limiter::CapacityError;
use ptc_protocol::principal::Principal;
use ptc_protocol::report::{CallReport, CallUsage};
use ptc_protocol::report::{ErrorReason, Payload};
use ptc_protocol::tool::reply::{busy_feedback, busy_message};
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};

pub use super::evaluator::Evaluator;
pub(super) use arguments::context;
pub use arguments::{ArgumentCaps, Arguments};
pub(crate) use arguments::{Wording, passed_arguments};
pub(crate) use arguments::{program_of, without_fence};
pub(super) use definition::{annotations, has_wait, output_schema};

/// The name of the tool.
const NAME: &str = "lisp_eval";

impl EvalOptions {
    /// The shaper for the answer to this call.
    pub(super) fn shaper_for(&self, context: &CallContext) -> Shaper {
        match context.result_room.filter(|_| self.fits_client) {
            Some(room) => self.shaper.fitting(room),
            None => self.shaper,
        }
    }

    /// The request of a call for this program, with the rights, the limits and the listeners of the call.
    pub(super) fn request(
        &self,
        program: impl Into<Arc<str>>,
        context: &CallContext,
        render: Render,
    ) -> EvalRequest {
        EvalRequest {
            limits: self.limits,
            strict_data: true,
            render,
            upstreams: self.upstreams.as_ref().map(pinned),
            programs: self.programs.clone().map(|kept| kept.served_to(&context.owner.principal)),
            progress: context.progress.clone(),
            audience: context.audience.clone(),
            permit: Some(context.permit.shared()),
            principal: Some(context.owner.principal.shared_name()),
            authority: context.owner.principal.authority().cloned(),
            trace: context.trace.clone(),
            ..EvalRequest::with_id(program, context.eval_id)
        }
    }
}

/// The tool. Clones are cheap.
#[derive(Clone)]
pub struct LispEval {
    evaluator: Arc<dyn Evaluator>,
    options: EvalOptions,
}

impl LispEval {
    /// The tool over this evaluator.
    pub fn new(evaluator: Arc<dyn Evaluator>, options: EvalOptions) -> Self {
        LispEval { evaluator, options }
    }

    /// The request of these arguments, with the watch of its run where drafts are offered.
    fn watched(
        &self,
        arguments: Arguments,
        context: &CallContext,
        is_resumed: bool,
    ) -> (EvalRequest, Option<ProgramWatch>) {
        let Some(recent) = &self.options.recent else { return (self.request(arguments, context), None) };
        let mut request = self.request(arguments.clone(), context);
        let run = WatchedRun {
            owner: &context.owner,
            program: &arguments.program,
            context: arguments.context.as_ref(),
            record: arguments.record,
            is_resumed,
        };
        let watch = ProgramWatch::begin(recent, &run, &self.options.redactor, &mut request);
        (request, Some(watch))
    }

    fn request(&self, arguments: Arguments, context: &CallContext) -> EvalRequest {
        let options = &self.options;
        let render =
            Render { max_text_bytes: Some(options.shaper_for(context).max_result_bytes), json: false };
        EvalRequest {
            context: arguments.context,
            output_schema: arguments.output_schema,
            max_attached_bytes: options.max_attached_bytes,
            ..options.request(arguments.program, context, render)
        }
    }
}

impl ProgramSource for LispEval {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        if tool != NAME {
            return None;
        }
        let given = call.arguments.as_deref().and_then(|text| Raw::parse(text).ok());
        let arguments = Arguments::read(given, &self.options.caps).ok()?;
        let context = call.context(principal)?;
        let (request, watch) = self.watched(arguments, &context, true);
        let shaped = shaping(&self.options, &request, self.options.shaper_for(&context), watch);
        let asks = self.options.asks.as_ref();
        let asker = asks.and_then(|asks| asks.asker_of_run(NAME, &context, run, call.round + 1));
        Some(ResumableProgram { request, asker, shaped: Box::new(shaped), is_program: true })
    }
}

/// Makes the reply from the outcome of `request`.
fn shaping(
    options: &EvalOptions,
    request: &EvalRequest,
    shaper: Shaper,
    watch: Option<ProgramWatch>,
) -> impl FnOnce(EvalOutcome) -> ToolReply + Send + use<> {
    let redactor = options.redactor.for_principal(request.principal.as_deref());
    let (asked, reports) = (RequestSummary::of(request), options.reports);
    move |mut outcome| {
        if let Some(watch) = watch {
            watch.ended(&mut outcome);
        }
        answer(outcome, asked, &shaper, &redactor, reports)
    }
}

impl Tool for LispEval {
    fn definition(&self) -> Definition {
        definition::definition(&self.options, None)
    }

    fn definition_for(&self, authority: &Arc<Authority>) -> Definition {
        definition::definition(&self.options, Some(authority))
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let shaper = self.options.shaper_for(context);
        let call = ProgramCall {
            tool: NAME.into(),
            given,
            terms: given,
            context,
            asks: self.options.asks.as_ref(),
            runs: self.options.runs.as_ref(),
            shaper,
            is_program: true,
        };
        if let Some(first) = call.before(self, LispEval::prepare) {
            return first;
        }
        let refused = |message| {
            let payload = Payload::refused(ErrorReason::ArgsError, message, None);
            Preparation::Done(refuse(&self.options, payload, given))
        };
        let arguments = match Arguments::read(given, &self.options.caps) {
            Ok(arguments) => arguments,
            Err(message) => return refused(message),
        };
        let (request, watch) = self.watched(arguments, context, context.asked.retry.is_some());
        let recording = watch.as_ref().map(|watch| watch.evaluator(&self.evaluator));
        let shaped = shaping(&self.options, &request, shaper, watch);
        call.prepared(recording.as_ref().unwrap_or(&self.evaluator), request, shaped).unwrap_or_else(refused)
    }

    fn busy(&self, full: CapacityError) -> ToolReply {
        let payload = Payload::refused(ErrorReason::Busy, busy_message(full), Some(busy_feedback(full)));
        refuse(&self.options, payload, None)
    }
}

/// The reply to a call that never ran.
pub(super) fn refuse(options: &EvalOptions, payload: Payload, given: Option<Raw<'_>>) -> ToolReply {
    let reply = shape(&options.shaper, &payload);
    let has_schema = || {
        given.and_then(Raw::members).is_some_and(|mut members| members.any(|(key, _)| key == "output_schema"))
    };
    reply.reporting(options.reports.then(|| CallReport::refused(payload, has_schema())))
}

/// The parts of an evaluation's request that its answer and its report need.
pub(super) struct RequestSummary {
    id: EvalId,
    principal: Option<Arc<str>>,
    program: Arc<str>,
    context: Option<Arc<str>>,
    output_schema: bool,
}

impl RequestSummary {
    pub(super) fn of(request: &EvalRequest) -> Self {
        RequestSummary {
            id: request.id,
            principal: request.principal.clone(),
            program: request.program.clone(),
            context: request.context.clone(),
            output_schema: request.output_schema.is_some(),
        }
    }

    /// The evaluation's id.
    pub(super) fn eval_id(&self) -> EvalId {
        self.id
    }

    /// The principal on whose behalf it runs.
    pub(super) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// The program.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// The report of an evaluation with this `payload`.
    pub(super) fn report(self, payload: Payload, usage: CallUsage) -> CallReport {
        CallReport {
            reason: None,
            program: Some(self.program),
            context: self.context,
            output_schema: self.output_schema,
            payload,
            usage: Some(usage),
            planner: None,
            events: Vec::new(),
        }
    }
}

fn answer(
    outcome: EvalOutcome,
    asked: RequestSummary,
    shaper: &Shaper,
    redactor: &Redactor,
    reports: bool,
) -> ToolReply {
    let usage = CallUsage::of(&outcome);
    let mut payload = Payload::of(outcome, asked.program());
    payload.scrub(redactor);
    let reply = ToolReply { eval_id: Some(asked.eval_id()), ..shape(shaper, &payload) };
    reply.reporting(reports.then(|| asked.report(payload, usage)))
}
