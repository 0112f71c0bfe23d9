//! The end of an eval: the value is rendered and checked, and the session is updated.

use super::call_log::CallLog;
use super::explain::explained;
use super::outcome::{Attachments, EvalOutcome, Failure, FinalValue};
use super::request::EvalRequest;
use super::running_turn::is_wanted;
use super::session::SessionLock;
use ptc_base::memory::{HeldMemory, MemoryBudget};
use ptc_base::text::clip;
use ptc_base::time::{self, Instant};
use ptc_vm::value::Blob;
use ptc_vm::{Error, Machine, Reason, Value, json, print};
use std::rc::Rc;

/// Renders the value of a program that has ended, checks it, and commits to the session. `budget`: the memory of all programs.
pub(super) fn conclude(
    mut machine: Machine,
    request: &EvalRequest,
    mut lock: Option<SessionLock>,
    log: &CallLog,
    budget: Option<&MemoryBudget>,
    started: Instant,
) -> EvalOutcome {
    let has_missed = machine.has_missed_keys();
    let mut is_hollow = false;
    let answer = match machine.inspect(|value| {
        is_hollow = has_missed && hollow(value);
        Ok(render(value, request))
    }) {
        Some(rendered) => rendered.and_then(|answer| answer),
        None => match machine.result() {
            Some(Err(error)) => Err(error.clone()),
            _ => Err(Error::verbatim(Reason::Cancelled, "the program was cancelled")),
        },
    };
    let text = machine.program().and_then(|program| program.text.clone());
    let text = text.unwrap_or_else(|| request.program.clone());
    let mut answer = answer
        .map_err(|error| Failure::from(&explained(error, &text, request, budget, started)).placed(&text));
    let upstream_calls = log.settle();
    if !is_wanted() {
        // Given up in the middle of the lines above: nothing of it stays.
        answer = Err(Failure::new(Reason::Cancelled, "the program was cancelled"));
    }
    let gave_up = answer.as_ref().is_err_and(|failure| failure.payload.is_some());
    let keeps = gave_up && lock.as_ref().is_some_and(SessionLock::keeps_after_fail);
    let outcome = machine.finish(answer.is_ok() || keeps);
    let notes: Vec<String> = outcome.notes.iter().map(|note| note.as_str().to_owned()).collect();
    let prints: Vec<String> = outcome.prints.iter().map(|print| print.as_str().to_owned()).collect();
    let mut attachments = Attachments::default();
    if answer.is_ok() && !outcome.attached.is_empty() {
        match take_out(&outcome.attached, budget) {
            Ok(taken) => attachments = taken,
            Err(error) => answer = Err(Failure::from(&error)),
        }
    }
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
    let failed = answer.is_err();
    EvalOutcome {
        result: answer,
        prints,
        attachments: if failed { Attachments::default() } else { attachments },
        steps: outcome.steps,
        memory_peak_bytes: outcome.memory_peak,
        returned: outcome.returned,
        upstream_calls,
        catalog_ops: Vec::new(),
        changed: outcome.changed.iter().map(|name| name.to_string()).collect(),
        session,
        session_fault: None,
        suspended: None,
        resume_fault: None,
        // What was missed matters where it led to an error, or to nothing; elsewhere only what no reply has.
        missed_keys: if failed || is_hollow { outcome.missed_keys } else { outcome.unknown_keys },
        notes: if failed { Vec::new() } else { notes },
        duration: time::since(started),
    }
}

/// The program's attachments, detached from its machine.
fn take_out(attached: &[Rc<Blob>], budget: Option<&MemoryBudget>) -> Result<Attachments, Error> {
    let contents: Vec<_> = attached.iter().map(|blob| blob.content().clone()).collect();
    let bytes = contents.iter().map(|content| content.base64.len() as u64).sum();
    let held = budget.map(|budget| HeldMemory::take(budget, bytes)).transpose()?;
    Ok(Attachments::new(contents, held))
}

/// Whether a value is made of `nil`s, zeros and empties only. A large one is not.
fn hollow(value: &Value) -> bool {
    const MOST: usize = 1000;
    let mut waiting = vec![value.clone()];
    let mut seen = 0;
    while let Some(value) = waiting.pop() {
        seen += 1;
        match value {
            Value::Nil | Value::Int(0) => {}
            Value::Str(text) if text.as_str().is_empty() => {}
            Value::Vector(items) | Value::List(items) | Value::Queue(items)
                if seen + waiting.len() + items.len() <= MOST =>
            {
                waiting.extend(items);
            }
            Value::Map(map) if seen + waiting.len() + map.len() <= MOST => {
                waiting.extend(map.into_iter().map(|(_, value)| value));
            }
            Value::Set(set) if seen + waiting.len() + set.len() <= MOST => waiting.extend(set),
            _ => return false,
        }
    }
    true
}

/// The value as text and JSON, as far as it is wanted.
fn render(value: &Value, request: &EvalRequest) -> ptc_vm::Result<FinalValue> {
    let (text, cut, lines) = match request.render.max_text_bytes {
        max_bytes if request.shown_items.is_some() => {
            let items = request.shown_items.unwrap_or(usize::MAX);
            let text = print::preview(value, print::Preview { items, characters: None, counts: true });
            let shown = max_bytes.map_or(text.as_str(), |max| clip(&text, max));
            (shown.to_owned(), None, None)
        }
        None => (print::readable(value)?, None, None),
        // The JSON alone is wanted.
        Some(0) if request.render.json => (String::new(), None, None),
        Some(max_bytes) => {
            let rendered = print::render_capped(value, max_bytes, print::Budget::default());
            let lines = match (value, rendered.string_bytes) {
                (Value::Str(string), Some(shown)) => string.as_str().get(..shown),
                _ => None,
            };
            let lines = lines.filter(|text| text.contains('\n')).map(str::to_owned);
            (rendered.text, rendered.truncated, lines)
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
            let refused = |text| Error::verbatim(Reason::ValidationError, text);
            match (schema.check(value).map_err(refused)?, &json) {
                // It is spelled as the schema has it.
                (false, Some(Ok(json))) => Some(json.clone()),
                _ => Some(schema.validate(value).map_err(refused)?),
            }
        }
        None => None,
    };
    Ok(FinalValue { text, cut, lines, is_nil: value.is_nil(), json, validated })
}
