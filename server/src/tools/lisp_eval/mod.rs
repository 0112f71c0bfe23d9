//! `lisp_eval`: one program, one answer, nothing kept.

mod arguments;
mod definition;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EvalId, EvalOutcome, EvalRequest, HostCalls, Limits, Render};

use super::reply::{busy_feedback, busy_message};
use super::shaping::{ErrorReason, Payload, Shaper, shape};
use super::{CallContext, Definition, Prepared, Tool, ToolReply};
use crate::protocol::json::Raw;

pub use arguments::{ArgumentCaps, Arguments};
pub(super) use definition::annotations;

/// Runs programs. An engine in the server, something predictable in tests.
pub trait Evaluator: Send + Sync {
    /// Runs one program; dropping the future cancels it.
    fn eval(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome>;
}

impl Evaluator for Engine {
    fn eval(&self, request: EvalRequest) -> BoxFuture<'static, EvalOutcome> {
        Engine::eval(self, request).boxed()
    }
}

/// What `lisp_eval` works with.
#[derive(Clone)]
pub struct EvalOptions {
    /// Limits of one program.
    pub limits: Limits,
    /// Bounds of arguments.
    pub caps: ArgumentCaps,
    /// How answers are shaped.
    pub shaper: Shaper,
    /// Answers `tool/call` and discovery; `None` without upstreams.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// The catalog text for the description; there if and only if upstreams are configured.
    pub catalog: Option<String>,
    /// The operator's claim about the upstreams.
    pub read_only: bool,
    /// Scrubs what leaves the process.
    pub redactor: Redactor,
}

/// The tool.
pub struct LispEval {
    evaluator: Arc<dyn Evaluator>,
    options: EvalOptions,
}

impl LispEval {
    /// The tool over this evaluator.
    pub fn new(evaluator: Arc<dyn Evaluator>, options: EvalOptions) -> Self {
        LispEval { evaluator, options }
    }

    fn request(&self, arguments: Arguments) -> EvalRequest {
        let options = &self.options;
        EvalRequest {
            context: arguments.context,
            output_schema: arguments.output_schema,
            limits: options.limits,
            strict_data: true,
            render: Render { max_text_bytes: Some(options.shaper.max_result_bytes), json: false },
            upstreams: options.upstreams.clone(),
            ..EvalRequest::new(arguments.program)
        }
    }
}

impl Tool for LispEval {
    fn definition(&self) -> Definition {
        definition::definition(&self.options)
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, _: &CallContext) -> Prepared {
        let arguments = match Arguments::read(arguments, &self.options.caps) {
            Ok(arguments) => arguments,
            Err(message) => {
                let payload = Payload::refused(ErrorReason::ArgsError, message, None);
                return Prepared::Done(shape(&self.options.shaper, &payload));
            }
        };
        let request = self.request(arguments);
        let (id, program) = (request.id, request.program.clone());
        let (shaper, redactor) = (self.options.shaper, self.options.redactor.clone());
        let eval = self.evaluator.eval(request);
        Prepared::Gated(async move { answer(eval.await, id, &program, &shaper, &redactor) }.boxed())
    }

    fn busy(&self, limit: usize) -> ToolReply {
        let payload = Payload::refused(ErrorReason::Busy, busy_message(limit), Some(busy_feedback(limit)));
        shape(&self.options.shaper, &payload)
    }
}

fn answer(
    outcome: EvalOutcome,
    id: EvalId,
    program: &str,
    shaper: &Shaper,
    redactor: &Redactor,
) -> ToolReply {
    let mut payload = Payload::of(outcome, program);
    payload.scrub(redactor);
    ToolReply { eval_id: Some(id.to_string()), ..shape(shaper, &payload) }
}
