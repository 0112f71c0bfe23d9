//! The end of an eval: the value is rendered and checked, and the session is updated.

use super::call_log::CallLog;
use super::outcome::{EvalOutcome, Failure, FinalValue};
use super::request::EvalRequest;
use super::session::SessionLock;
use super::stack;
use crate::text::clip;
use ptc_vm::{Error, Machine, Reason, Value, json, print};
use tokio::time::Instant;

/// Renders the value of a program that has ended, checks it, and commits to the session.
pub(super) fn conclude(
    mut machine: Machine,
    request: &EvalRequest,
    mut lock: Option<SessionLock>,
    log: &CallLog,
    started: Instant,
) -> EvalOutcome {
    let answer = match machine.inspect(|value| Ok(render(value, request))) {
        Some(rendered) => rendered.and_then(|answer| answer),
        None => match machine.result() {
            Some(Err(error)) => Err(error.clone()),
            _ => Err(Error::verbatim(Reason::Cancelled, "the program was cancelled")),
        },
    };
    let mut answer = answer.map_err(|error| Failure::from(&error));
    let upstream_calls = log.settle();
    if !stack::is_wanted() {
        // Given up in the middle of the lines above: nothing of it stays.
        answer = Err(Failure::new(Reason::Cancelled, "the program was cancelled"));
    }
    let gave_up = answer.as_ref().is_err_and(|failure| failure.payload.is_some());
    let keeps = gave_up && lock.as_ref().is_some_and(SessionLock::keeps_after_fail);
    let outcome = machine.finish(answer.is_ok() || keeps);
    let prints: Vec<String> = outcome.prints.iter().map(|print| print.as_str().to_owned()).collect();
    let mut session = None;
    if let Some(lock) = &mut lock {
        lock.note(outcome.journal, outcome.summaries);
    }
    match (lock, outcome.result) {
        (Some(lock), result) if answer.is_ok() || keeps => {
            let value = result.ok().filter(|_| lock.remembers(outcome.returned));
            match lock.commit(outcome.namespace, &outcome.changed, value, &prints, &upstream_calls) {
                Ok(report) => session = report,
                Err(refused) => {
                    let (failure, report) = *refused;
                    answer = Err(failure);
                    session = Some(Box::new(report));
                }
            }
        }
        (Some(lock), _) => lock.roll_back(outcome.namespace),
        (None, _) => {}
    }
    EvalOutcome {
        result: answer,
        prints,
        steps: outcome.steps,
        memory_peak_bytes: outcome.memory_peak,
        returned: outcome.returned,
        upstream_calls,
        catalog_ops: Vec::new(),
        changed: outcome.changed.iter().map(|name| name.to_string()).collect(),
        session,
        duration: started.elapsed(),
    }
}

/// The value as text and JSON, as far as it is wanted.
fn render(value: &Value, request: &EvalRequest) -> ptc_vm::Result<FinalValue> {
    let (text, cut) = match request.render.max_text_bytes {
        max_bytes if request.shown_items.is_some() => {
            let items = request.shown_items.unwrap_or(usize::MAX);
            let text = print::preview(value, print::Preview { items, characters: None, counts: true });
            let shown = max_bytes.map_or(text.as_str(), |max| clip(&text, max));
            (shown.to_owned(), None)
        }
        None => (print::readable(value)?, None),
        Some(max_bytes) => {
            let rendered = print::render_capped(value, max_bytes, print::Budget::default());
            (rendered.text, rendered.truncated)
        }
    };
    let json = request.render.json.then(|| {
        let mut out = Vec::new();
        match json::write(value, &mut out) {
            Ok(()) => String::from_utf8(out).map_err(|_| "not UTF-8".to_owned()),
            Err(error) => Err(error.message().to_owned()),
        }
    });
    let validated = match &request.output_schema {
        Some(schema) => {
            let checked = schema.validate(value);
            Some(checked.map_err(|text| Error::verbatim(Reason::ValidationError, text))?)
        }
        None => None,
    };
    Ok(FinalValue { text, cut, is_nil: value.is_nil(), json, validated })
}
