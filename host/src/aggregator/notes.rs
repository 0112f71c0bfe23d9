//! Notes on the calls behind an answer, one sentence each (rulings 51, 52 and 76).

use super::notes_on_pages::{MOST, notes_on_pages};
use std::fmt::Write as _;

use ptc_vm::value::{KeyName, MissedKey};

use ptc_base::text::string_literal;
use ptc_engine::{CallRecord, CallStatus, CatalogOp, EvalOutcome, ValueSource};
use ptc_schema::seen_shape::are_names;
use ptc_upstreams::upstream::FaultReason;

/// Keys that a note lists.
const MOST_KEYS: usize = 16;

/// The notes on an outcome. Names in them are the upstreams' own: a caller that shows them scrubs and escapes them like values.
pub fn notes(outcome: &EvalOutcome) -> Vec<String> {
    let calls = &outcome.upstream_calls;
    let mut notes = notes_on_calls(calls);
    notes.extend(outcome.notes.iter().cloned());
    notes.extend(notes_on_pages(calls));
    notes.extend(cut_lists(&outcome.catalog_ops));
    let failures = note_on_failures(calls);
    // A program that failed says itself why; what the cap took from it is no word of its own.
    notes.extend(failures.filter(|_| outcome.result.is_ok() || calls.iter().any(is_beyond_cap)));
    let misses: Vec<String> = outcome.missed_keys.iter().take(MOST).filter_map(miss).collect();
    // An error shows the shapes by itself.
    if !misses.is_empty() && outcome.result.is_ok() {
        notes.extend(misses);
        notes.extend(shapes(calls).into_iter().take(MOST));
    } else {
        notes.extend(misses);
    }
    notes
}

/// The notes on calls that hold independently of how the program used the answers.
pub fn notes_on_calls(calls: &[CallRecord]) -> Vec<String> {
    let mut notes = blocks(calls);
    notes.extend(arguments(calls));
    notes.extend(answers(calls));
    notes
}

/// `tickets.search ok {"count" int, "matches" [{"id" …}]}` for each tool whose answer was sampled.
fn shapes(calls: &[CallRecord]) -> Vec<String> {
    let shape = |call: &CallRecord| Some(format!("{}.{} ok {}", call.server, call.tool, call.shape()?));
    calls.iter().filter(|call| call.status == CallStatus::Ok).filter_map(shape).collect()
}

/// Answers of which `:value` is a part, once for each tool.
fn blocks(calls: &[CallRecord]) -> Vec<String> {
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut notes = Vec::new();
    for call in calls {
        let Some(blocks) = call.blocks.filter(|_| notes.len() < MOST) else { continue };
        let name = (call.server.as_str(), call.tool.as_str());
        if told.contains(&name) {
            continue;
        }
        told.push(name);
        let value = match blocks.value {
            ValueSource::FirstBlock => "the first",
            ValueSource::FirstText => "the first text",
            ValueSource::Structured => "its structured content",
            ValueSource::Nothing => "nil",
        };
        let (count, plural) = (blocks.count, if blocks.count == 1 { "" } else { "s" });
        notes.push(format!(
            "`{}.{}` answered {count} content block{plural}; `:value` is {value}, `:content` has all",
            name.0, name.1
        ));
    }
    notes
}

/// Answers that were read although something was wrong with them, each kind once.
fn answers(calls: &[CallRecord]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for call in calls {
        let Some(what) = call.answer_note.as_deref() else { continue };
        let note = format!("the answer of `{}.{}` {what}", call.server, call.tool);
        if notes.len() < MOST && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Arguments that tools do not describe, each kind once.
fn arguments(calls: &[CallRecord]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in calls.iter().filter_map(|call| call.argument_note.as_deref()) {
        if notes.len() == MOST {
            break;
        }
        if !notes.iter().any(|told| told == note) {
            notes.push(note.to_owned());
        }
    }
    notes
}

/// Lists of the catalog that say less than there is, once each.
fn cut_lists(asked: &[CatalogOp]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for note in asked.iter().filter_map(|asked| asked.note.as_ref()) {
        if told.len() < MOST && !told.contains(note) {
            told.push(note.clone());
        }
    }
    told
}

/// Whether a call was not sent because of the program's cap.
fn is_beyond_cap(call: &CallRecord) -> bool {
    call.reason.as_deref() == Some(FaultReason::CapExhausted.as_str())
}

/// Failed calls of a program that has a value, unless it looked at each of them. Calls refused by the cap are noted in any
/// case: their results may be missing from the value although the program has looked, as `(filter :ok …)` does.
pub fn note_on_failures(calls: &[CallRecord]) -> Option<String> {
    let mut failed: Vec<&CallRecord> = calls.iter().filter(|call| call.status == CallStatus::Error).collect();
    if failed.iter().all(|call| call.looked_at) {
        failed.retain(|call| is_beyond_cap(call));
    }
    if failed.is_empty() {
        return None;
    }
    let mut kinds: Vec<((&str, &str, &str), usize)> = Vec::new();
    for call in &failed {
        let kind =
            (call.server.as_str(), call.tool.as_str(), call.reason.as_deref().unwrap_or("upstream_error"));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let plural = if calls.len() == 1 { "" } else { "s" };
    let mut text = format!("{} of {} upstream call{plural} failed: ", failed.len(), calls.len());
    for (index, ((server, tool, reason), count)) in kinds.iter().take(MOST).enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{server}.{tool} {reason} ({count})");
    }
    if kinds.len() > MOST {
        let _ = write!(text, " and {} more kinds", kinds.len() - MOST);
    }
    // What a person has to do must not be lost with a result that the program did not look at.
    let needs_person =
        |call: &&&CallRecord| call.reason.as_deref() == Some(FaultReason::AuthRequired.as_str());
    if let Some(step) = failed.iter().find(needs_person).and_then(|call| call.error.as_deref()) {
        let _ = write!(text, "; {}", step.lines().next().unwrap_or_default());
    }
    let cap = failed.iter().find(|call| is_beyond_cap(call)).and_then(|call| call.error.as_deref());
    if let Some((cap, _)) = cap.and_then(|cap| cap.strip_prefix("cap_exhausted: ")?.rsplit_once(';')) {
        let _ = write!(text, "; {cap}");
    }
    Some(text)
}

/// `no key "tickets"; keys: "count", "matches"`; nothing where the keys are data.
fn miss(missed: &MissedKey) -> Option<String> {
    if missed.keys.is_empty() || !are_names(missed.keys.iter().map(|key| key.name.as_str())) {
        return None;
    }
    let shown: Vec<String> = missed.keys.iter().take(MOST_KEYS).map(key).collect();
    let more = missed.keys.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // A program may look for a string by a keyword: told as the map would spell it.
    let sought = KeyName { is_keyword: missed.keys[0].is_keyword, ..missed.key.clone() };
    Some(format!("no key {}; keys: {}{more}", key(&sought), shown.join(", ")))
}

fn key(key: &KeyName) -> String {
    if key.is_keyword { format!(":{}", key.name) } else { string_literal(&key.name) }
}
