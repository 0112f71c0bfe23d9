//! `lisp_eval`: one program, one answer, no state kept.

mod arguments;
mod definition;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalId, EvalOutcome, EvalRequest, HostCalls, Limits, Render};
use ptc_mcp::json::Raw;

use super::asking::Asks;
use super::descriptions::SharedCard;
use super::long;
use super::shaping::{Shaper, shape};
use crate::concurrency_limiter::Full;
use crate::protocol::tool::reply::{busy_feedback, busy_message};
use crate::protocol::tool::{CallContext, Definition, Prepared, Tool, ToolReply};
use crate::report::{CallReport, Usage};
use crate::report::{ErrorReason, Payload};
use crate::runs::Runs;

pub use super::evaluator::Evaluator;
pub(crate) use arguments::Wording;
pub(super) use arguments::context;
pub use arguments::{ArgumentCaps, Arguments};
pub(super) use definition::{annotations, output_schema};

/// The options of `lisp_eval`.
#[derive(Clone)]
pub struct EvalOptions {
    /// Limits of one program.
    pub limits: Limits,
    /// Bounds of arguments.
    pub caps: ArgumentCaps,
    /// How answers are shaped.
    pub shaper: Shaper,
    /// Bytes of binary content that an answer may carry.
    pub max_attached_bytes: u64,
    /// Whether answers are shaped for what the client hands on.
    pub fits_client: bool,
    /// Answers `tool/call` and discovery; `None` without upstreams.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// What the description tells of the upstreams; present if and only if some are configured.
    pub card: Option<SharedCard>,
    /// Whether the operator declares the upstreams read-only.
    pub read_only: bool,
    /// Scrubs everything that leaves the process.
    pub redactor: Redactor,
    /// Whether replies carry a report for observers.
    pub reports: bool,
    /// How clients are asked what programs wait for; `None` if nobody is.
    pub asks: Option<Asks>,
    /// What becomes of programs that run for longer than their clients wait; `None` where that is off.
    pub runs: Option<Arc<Runs>>,
}

impl EvalOptions {
    /// How the answer to this call is shaped.
    pub(super) fn shaper_for(&self, context: &CallContext) -> Shaper {
        match context.result_room.filter(|_| self.fits_client) {
            Some(room) => self.shaper.fitting(room),
            None => self.shaper,
        }
    }
}

/// The tool.
pub(crate) struct LispEval {
    evaluator: Arc<dyn Evaluator>,
    options: EvalOptions,
}

impl LispEval {
    /// The tool over this evaluator.
    pub(crate) fn new(evaluator: Arc<dyn Evaluator>, options: EvalOptions) -> Self {
        LispEval { evaluator, options }
    }

    fn request(&self, arguments: Arguments, context: &CallContext) -> EvalRequest {
        let options = &self.options;
        EvalRequest {
            context: arguments.context,
            output_schema: arguments.output_schema,
            limits: options.limits,
            strict_data: true,
            render: Render {
                max_text_bytes: Some(options.shaper_for(context).max_result_bytes),
                json: false,
            },
            max_attached_bytes: options.max_attached_bytes,
            upstreams: options.upstreams.clone(),
            progress: context.progress.clone(),
            audience: context.audience.clone(),
            principal: Some(context.owner.principal.shared_name()),
            ..EvalRequest::with_id(arguments.program, context.eval_id)
        }
    }
}

impl Tool for LispEval {
    fn definition(&self) -> Definition {
        definition::definition(&self.options)
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Prepared {
        let refused = |message| {
            let payload = Payload::refused(ErrorReason::ArgsError, message, None);
            Prepared::Done(refuse(&self.options, payload, given))
        };
        let arguments = match Arguments::read(given, &self.options.caps) {
            Ok(arguments) => arguments,
            Err(message) => return refused(message),
        };
        let mut request = self.request(arguments, context);
        let long_call = match long::begin(self.options.runs.as_ref(), given, &mut request) {
            Ok(long_call) => long_call,
            Err(message) => return refused(message),
        };
        let asked = Asked::of(&request);
        let (shaper, redactor) = (self.options.shaper_for(context), self.options.redactor.clone());
        let reports = self.options.reports;
        let shaped = move |outcome| answer(outcome, asked, &shaper, &redactor, reports);
        let work = match &self.options.asks {
            Some(asks) => {
                let call = ("lisp_eval", given.map(Raw::text));
                asks.eval(self.evaluator.clone(), request, call, context, shaped)
            }
            None => {
                let eval = self.evaluator.eval(request);
                async move { shaped(eval.await) }.boxed()
            }
        };
        long::prepared(long_call, "lisp_eval", &context.owner.principal, shaper, work)
    }

    fn busy(&self, full: Full) -> ToolReply {
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
pub(super) struct Asked {
    id: EvalId,
    program: Arc<str>,
    context: Option<Arc<str>>,
    output_schema: bool,
}

impl Asked {
    pub(super) fn of(request: &EvalRequest) -> Self {
        Asked {
            id: request.id,
            program: request.program.clone(),
            context: request.context.clone(),
            output_schema: request.output_schema.is_some(),
        }
    }

    /// The evaluation's id.
    pub(super) fn eval_id(&self) -> EvalId {
        self.id
    }

    /// The program.
    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// The report of an evaluation with this `payload`.
    pub(super) fn report(self, payload: Payload, usage: Usage) -> CallReport {
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
    asked: Asked,
    shaper: &Shaper,
    redactor: &Redactor,
    reports: bool,
) -> ToolReply {
    let usage = Usage::of(&outcome);
    let mut payload = Payload::of(outcome, asked.program());
    payload.scrub(redactor);
    let reply = ToolReply { eval_id: Some(asked.eval_id()), ..shape(shaper, &payload) };
    reply.reporting(reports.then(|| asked.report(payload, usage)))
}
