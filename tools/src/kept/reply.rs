//! The answer of a call of a kept program: its value as JSON.

use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalId, EvalOutcome};
use ptc_vm::Reason;

use crate::shaping::{Shaper, shape};
use crate::text_tool::scrubbed;
use ptc_protocol::report::{CallReport, CallUsage, ErrorReason, Payload};
use ptc_protocol::tool::ToolReply;

/// What an answer needs besides the outcome.
pub(super) struct ReplyParts {
    pub(super) shaper: Shaper,
    pub(super) redactor: Redactor,
    /// Whether observers get a report.
    pub(super) reports: bool,
    /// The most bytes of a value.
    pub(super) max_bytes: usize,
    pub(super) id: EvalId,
    /// The text of the program.
    pub(super) text: Arc<str>,
}

/// Makes the reply of a call from the outcome of its program.
pub(super) fn answer(outcome: EvalOutcome, parts: &ReplyParts) -> ToolReply {
    let usage = CallUsage::of(&outcome);
    let value = match &outcome.result {
        Ok(value) => Some(match &value.json {
            Some(Ok(json)) if json.len() > parts.max_bytes => Err(format!(
                "the value has {} bytes as JSON, and an answer may have {} (--max-context-bytes): return less",
                json.len(),
                parts.max_bytes
            )),
            Some(Ok(json)) => Ok(scrubbed(json.as_bytes(), &parts.redactor)),
            Some(Err(why)) => Err(format!("the value has no JSON form: {why}")),
            None => Err("the value has no JSON form".to_owned()),
        }),
        Err(_) => None,
    };
    if let Err(failure) = &outcome.result
        && failure.reason == Reason::InvalidToolArgs
        && outcome.steps == 0
    {
        // Its arguments do not fit: it has not begun.
        let payload = Payload::refused(ErrorReason::ArgsError, failure.message.clone(), None);
        let reply = shape(&parts.shaper, &payload);
        return ToolReply { eval_id: Some(parts.id), ..reply }
            .reporting(parts.reports.then(|| CallReport::refused(payload, false)));
    }
    let mut payload = Payload::of(outcome, &parts.text);
    payload.scrub(&parts.redactor);
    let reply = match value {
        None => shape(&parts.shaper, &payload),
        Some(Ok(json)) => of_value(&json),
        Some(Err(message)) => {
            payload = Payload::refused(ErrorReason::ValidationError, message, None);
            shape(&parts.shaper, &payload)
        }
    };
    let report = parts.reports.then(|| CallReport::of_tool(payload, usage));
    ToolReply { eval_id: Some(parts.id), ..reply }.reporting(report)
}

/// The value as text, and as structured content if it is an object.
fn of_value(json: &str) -> ToolReply {
    match json.starts_with('{') {
        true => ToolReply::structured(false, json, json.to_owned()),
        false => ToolReply::text(false, json),
    }
}
