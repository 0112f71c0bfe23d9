//! `lisp_session_eval`: runs a program in a session.
//!
//! A call reserves the session, runs, stores everything or nothing, and releases the session. Calls do not queue for a
//! session: a second program on it is refused.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::{EvalOutcome, EvalRequest, Exceeded, Render};
use ptc_mcp::json::{Kind, Raw, object_text};

use super::arguments::{Arguments, args_error};
use super::record::Description;
use super::refusal::{CONFLICT, FULL, Refusal};
use super::reservation::Reservation;
use super::{Directory, schemas};
use crate::descriptions;
use crate::lisp_eval::{
    Arguments as EvalArguments, EvalOptions, RequestSummary, Wording, annotations, has_wait, program_of,
    refuse, without_fence,
};
use crate::long::{self, WhenWaiting};
use crate::schemas::WAIT_MS;
use crate::shaping::{Shaper, guard, shape, waiting};
use ptc_host::policy::Authority;
use ptc_protocol::concurrency_limiter::CapacityError;
use ptc_protocol::report::CallUsage;
use ptc_protocol::report::Ending;
use ptc_protocol::report::SessionPart;
use ptc_protocol::report::{ErrorReason, Payload};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::reply::{busy_feedback, busy_message};
use ptc_protocol::tool::{Annotations, CallContext, Definition, Preparation, Tool, ToolReply};
use ptc_runs::ProgramEnd;

/// The message if a store does not answer a commit.
const PERHAPS: &str = "the program ran, and its definitions may not have been kept";

/// The tool.
pub(super) struct Eval {
    directory: Arc<Directory>,
    options: Arc<EvalOptions>,
}

impl Eval {
    /// The tool under the options of `lisp_eval`.
    pub(super) fn new(directory: Arc<Directory>, options: EvalOptions) -> Self {
        Eval { directory, options: Arc::new(options) }
    }

    fn start(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        // As for `lisp_eval`, anything but an object counts as no arguments at all.
        let arguments = arguments.filter(|arguments| arguments.kind() == Kind::Object);
        let given = Arguments::read(arguments)?;
        given.heed_unknown(&["session_id", "program", "code", "context", "output_schema", "signature"])?;
        let id = given.session_id()?;
        let mut request = self.request(&given, arguments, context)?;
        let long_call = long::begin(self.options.runs.as_ref(), arguments, context, &mut request)?;
        let asks = self.options.asks.as_ref();
        let about = long_call.as_ref().map(long::Long::call);
        request.asker = asks.and_then(|asks| asks.asker_here("lisp_session_eval", context, about));
        let principal = &context.owner.principal;
        let reserved = match self.directory.reserve(&id, &context.owner, request.limits.timeout) {
            Ok(reserved) => reserved,
            Err(refusal) => return Ok(Preparation::Done(refusal.reply_to_eval(&id))),
        };
        let (options, shaper) = (self.options.clone(), self.options.shaper_for(context));
        let work = run(options, shaper, id, reserved, request).map(ProgramEnd::Replied).boxed();
        let (loan, waiting) = (&context.permit, || self.when_waiting(shaper));
        Ok(long::prepared(long_call, "lisp_session_eval", principal, loan, shaper, waiting, work))
    }

    /// The answer of a call whose run waits: its session stays busy.
    fn when_waiting(&self, shaper: Shaper) -> WhenWaiting {
        let asks = self.options.asks.clone();
        Box::new(move |run| {
            let told = match asks {
                Some(asks) => asks.told(&run, &shaper, &[]),
                None => waiting(&shaper, &run, None, &[]),
            };
            std::future::ready(told).boxed()
        })
    }

    /// Checks the arguments of `lisp_eval`, too, with the messages of this tool.
    fn request(
        &self,
        given: &Arguments<'_>,
        arguments: Option<Raw<'_>>,
        context: &CallContext,
    ) -> Result<EvalRequest, String> {
        let caps = &self.options.caps;
        let program = program_of(given.get("program"), given.get("code"));
        let program = program.and_then(Raw::as_str).filter(|text| !text.is_empty());
        let Some(program) = program else { return Err("program must be a non-empty string".into()) };
        if program.len() > caps.max_program_bytes {
            return Err("program exceeds max_program_bytes".into());
        }
        let checked = EvalArguments::read_around(without_fence(&program), arguments, caps, Wording::Short)?;
        let max_text_bytes = Some(self.options.shaper_for(context).max_result_bytes);
        let render = Render { max_text_bytes, json: false };
        Ok(EvalRequest {
            context: checked.context,
            output_schema: checked.output_schema,
            max_attached_bytes: self.options.max_attached_bytes,
            ..self.options.request(checked.program, context, render)
        })
    }
}

impl Eval {
    fn defined(&self, authority: Option<&Arc<Authority>>) -> Definition {
        let options = &self.options;
        let Annotations { read_only, destructive, open_world, .. } =
            annotations(options.card.is_some(), options.read_only);
        Definition {
            name: "lisp_session_eval".into(),
            title: Some("PTC-Lisp session: eval".into()),
            description: descriptions::lisp_session_eval(
                options.card.as_ref().map(|card| card.get(authority)).as_ref(),
                options.programs_alone().as_ref().map(|text| text.short.as_str()),
                options.limits.timeout,
                options.tells_of_ask,
            ),
            input_schema: input(has_wait(options.runs.as_ref())),
            output_schema: (options.shaper.profile != Profile::Slim)
                .then(|| schemas::output_of_eval(options.runs.as_ref())),
            annotations: Some(
                Annotations { read_only, destructive, idempotent: false, open_world }.to_json(),
            ),
            meta: None,
            long: None,
        }
    }
}

impl Tool for Eval {
    fn definition(&self) -> Definition {
        self.defined(None)
    }

    fn definition_for(&self, authority: &Arc<Authority>) -> Definition {
        self.defined(Some(authority))
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let refused = |message: String| Preparation::Done(guard(&self.options.shaper, args_error(&message)));
        self.start(arguments, context).unwrap_or_else(refused)
    }

    fn busy(&self, full: CapacityError) -> ToolReply {
        let payload = Payload::refused(ErrorReason::Busy, busy_message(full), Some(busy_feedback(full)));
        refuse(&self.options, payload, None)
    }
}

/// The schema of the arguments, without the end.
const INPUT: &str = r#"{"type":"object","required":["session_id","program"],"properties":{"session_id":{"type":"string"},"program":{"type":"string","description":"PTC-Lisp source; definitions stay in the session."},"context":{"type":"object","additionalProperties":true,"description":"Optional named JSON values of this call only, readable as data/<name>."},"output_schema":{"type":"object","description":"Optional JSON Schema the answer must satisfy; a mismatch rejects the eval and nothing is committed."}"#;

fn input(has_wait: bool) -> String {
    let wait = if has_wait { format!(",\"wait_ms\":{WAIT_MS}") } else { String::new() };
    format!("{INPUT}{wait}}},\"additionalProperties\":false}}")
}

/// Runs the program of `request` on the session `id`.
async fn run(
    options: Arc<EvalOptions>,
    shaper: Shaper,
    id: String,
    reserved: BoxFuture<'static, Result<Reservation, Refusal>>,
    request: EvalRequest,
) -> ToolReply {
    let asked = RequestSummary::of(&request);
    let eval_id = asked.eval_id();
    let ran = async {
        let mut reservation = reserved.await?;
        let mut outcome = reservation.eval(request).await?;
        let (session, refusal) = reservation.settle(outcome.session.as_deref_mut()).await?;
        Ok((outcome, session, refusal))
    };
    let reply = match ran.await {
        Ok((outcome, session, refusal)) => answer(outcome, session, refusal, asked, &options, &shaper),
        Err(refusal) => Refusal::reply_to_eval(refusal, &id),
    };
    ToolReply { eval_id: Some(eval_id), ..reply }
}

/// The answer to a program that has ended. `refusal` is that of a store which did not accept what it changed.
fn answer(
    mut outcome: EvalOutcome,
    session: Description,
    refusal: Option<Refusal>,
    asked: RequestSummary,
    options: &EvalOptions,
    shaper: &Shaper,
) -> ToolReply {
    let report = outcome.session.take();
    let kind = outcome.result.as_ref().err().map(|failure| failure.reason.as_str());
    let usage = CallUsage::of(&outcome);
    let mut payload = Payload::of(outcome, asked.program());
    let redactor = options.redactor.for_principal(asked.principal());
    payload.scrub(&redactor);
    let part = match (report, kind, refusal) {
        (Some(_), None, Some(refusal)) => {
            let (reason, message) = match refusal {
                Refusal::Conflict => (ErrorReason::SessionConflict, CONFLICT),
                Refusal::Full => (ErrorReason::SessionLimitExceeded, FULL),
                _ => (ErrorReason::StateUnavailable, PERHAPS),
            };
            payload.withhold(reason, message);
            SessionPart::not_stored(session.summary, detail(None, reason.name()))
        }
        (Some(report), None, None) => SessionPart::stored(session.brief, *report, &redactor),
        (report, kind, _) => {
            let exceeded = report.and_then(|report| report.exceeded);
            if exceeded.is_some()
                && let Ending::Error { reason, .. } = &mut payload.ending
            {
                *reason = ErrorReason::SessionLimitExceeded;
            }
            SessionPart::rolled_back(session.summary, detail(exceeded.as_ref(), kind.unwrap_or_default()))
        }
    };
    payload.session = Some(Box::new(part));
    let reply = shape(shaper, &payload);
    reply.reporting(options.reports.then(|| asked.report(payload, usage)))
}

/// `detail` of a failure: the limit exceeded, or the interpreter's own name for the error.
fn detail(exceeded: Option<&Exceeded>, kind: &str) -> String {
    object_text(|object| match exceeded {
        None => object.string("kind", kind),
        Some(exceeded) => {
            object.string("field", exceeded.field);
            object.string("limit", exceeded.limit);
            object.integer("actual", exceeded.actual);
            object.integer("max", exceeded.max);
            if let Some(name) = &exceeded.name {
                object.string("name", name);
            }
        }
    })
}
