//! Tools whose work is a program of a text that the caller does not choose: exposed tools, and kept programs.

use std::borrow::Cow;
use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalOutcome, EvalRequest};
use ptc_mcp::json::{Kind, Raw, Value};

use super::evaluator::Evaluator;
use super::lisp_eval::EvalOptions;
use super::program_call::ProgramCall;
use super::shaping::{Shaper, shape};
use ptc_protocol::concurrency_limiter::CapacityError;
use ptc_protocol::principal::Principal;
use ptc_protocol::report::{CallReport, ErrorReason, Payload};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::reply::{busy_feedback, busy_message};
use ptc_protocol::tool::{CallContext, Preparation, ToolName, ToolReply};
use ptc_runs::{ResumableProgram, RunHandle, StoredCall};

/// What such tools share.
pub(crate) struct ToolParts {
    pub(crate) evaluator: Arc<dyn Evaluator>,
    pub(crate) options: EvalOptions,
    /// The most bytes of arguments.
    pub(crate) max_arguments: usize,
}

/// Makes the reply from an outcome.
pub(crate) type ShapedReply = Box<dyn FnOnce(EvalOutcome) -> ToolReply + Send>;

/// A tool whose work is a program of its own.
pub(crate) trait TextTool: Clone + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &ToolName;

    /// What it shares with others.
    fn parts(&self) -> &Arc<ToolParts>;

    /// The program of a call with these arguments, and what makes the reply of its outcome.
    ///
    /// # Errors
    /// The message that the arguments are wrong.
    fn program(
        &self,
        given: Option<Raw<'_>>,
        context: &CallContext,
    ) -> Result<(EvalRequest, ShapedReply), String>;

    /// Whether its results have a schema, as it is listed.
    fn has_output_schema(&self) -> bool;

    /// The shaper of answers about a program that has not ended well: text, whatever the schema of the tool's results is.
    fn shaper(&self) -> Shaper {
        text_shaper(&self.parts().options)
    }

    /// Prepares a call.
    fn prepare_call(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let parts = self.parts();
        let call = ProgramCall {
            tool: self.name().clone(),
            given,
            // The arguments are the program's.
            terms: None,
            context,
            asks: parts.options.asks.as_ref(),
            runs: parts.options.runs.as_ref(),
            shaper: Shaper { has_own_schema: self.has_output_schema(), ..self.shaper() },
            is_program: self.is_program(),
        };
        if let Some(first) = call.before(self, Self::prepare_call) {
            return first;
        }
        let refused = |message| Preparation::Done(self.refused(ErrorReason::ArgsError, message, None));
        match self.program(given, context) {
            Ok((request, shaped)) => call.prepared(&parts.evaluator, request, shaped).unwrap_or_else(refused),
            Err(message) => refused(message),
        }
    }

    /// As [`Tool::is_program`](ptc_protocol::tool::Tool::is_program).
    fn is_program(&self) -> bool {
        true
    }

    /// Prepares the program of a stored call again.
    fn prepare_again(
        &self,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        let context = call.context(principal)?;
        let given = call.arguments.as_deref().and_then(|text| Raw::parse(text).ok());
        let (request, shaped) = self.program(given, &context).ok()?;
        let asks = self.parts().options.asks.as_ref();
        let asker =
            asks.and_then(|asks| asks.asker_of_run(self.name().clone(), &context, run, call.round + 1));
        Some(ResumableProgram { request, asker, shaped, is_program: self.is_program() })
    }

    /// The answer to a call that is not admitted.
    fn busy_reply(&self, full: CapacityError) -> ToolReply {
        self.refused(ErrorReason::Busy, busy_message(full), Some(busy_feedback(full)))
    }

    /// The answer to a call that never ran.
    fn refused(&self, reason: ErrorReason, message: String, advice: Option<String>) -> ToolReply {
        let payload = Payload::refused(reason, message, advice);
        let reply = shape(&self.shaper(), &payload);
        reply.reporting(self.parts().options.reports.then(|| CallReport::refused(payload, false)))
    }
}

/// The shaper of answers that are text.
pub(crate) fn text_shaper(options: &EvalOptions) -> Shaper {
    Shaper { profile: Profile::Slim, ..options.shaper }
}

/// The text of a call's arguments.
///
/// # Errors
/// They are no object.
pub(crate) fn object_of<'a>(given: Option<Raw<'a>>) -> Result<&'a str, String> {
    match given.filter(|given| given.kind() != Kind::Null) {
        None => Ok("{}"),
        Some(given) if given.kind() == Kind::Object => Ok(given.text()),
        Some(given) => Err(format!("arguments must be an object, got {}", given.kind().name())),
    }
}

/// A JSON text on one line and without secrets.
#[expect(clippy::disallowed_methods, reason = "entry point: scrubbed()")]
pub(crate) fn scrubbed(json: &[u8], redactor: &Redactor) -> String {
    // Line breaks are between the tokens of JSON only, where any blank does.
    let text = String::from_utf8_lossy(json);
    let text = match text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        true => text.replace(['\n', '\r'], " "),
        false => text.into_owned(),
    };
    if let Cow::Borrowed(_) = redactor.scrub(&text) {
        return text;
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(mut value) => {
            redactor.scrub_json(&mut value);
            value.to_string()
        }
        Err(_) => "{}".to_owned(),
    }
}
