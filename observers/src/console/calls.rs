//! The running and the latest calls, searched on the server: the page gets what it shows and no more.

use std::borrow::Cow;
use std::sync::Arc;

use ptc_host::engine::EvalId;
use ptc_host::pace::Pace;
use ptc_host::time;
use ptc_mcp::json::{Kind, Raw, object_text, write_array};

use super::Console;
use super::live::{LiveCall, LiveUpstreamCall};
use crate::recent::record::UpstreamCall;
use crate::recent::{RecentCall, Ring};
use ptc_protocol::principal::Principal;
use ptc_protocol::settings::PayloadPolicy;
use ptc_protocol::timestamp::instant;
use ptc_protocol::tool::Unfinished;

/// Running calls that are shown.
const LIVE: usize = 100;
/// Ended calls on one page.
const PAGE: usize = 50;
/// Records that are taken out of the ring at a time.
const PIECE: usize = 64;
/// Bytes that one request searches; the next one goes on from there.
const SEARCHED_BYTES: usize = 8 << 20;
/// Bytes of one page of ended calls, which has at least one.
const PAGE_BYTES: usize = 1 << 20;

/// The viewer.
#[derive(Debug, Clone, Copy)]
pub struct CallsFacts<'f> {
    /// The caller.
    pub caller: &'f Principal,
    /// True if it sees the calls of all callers.
    pub operator: bool,
}

/// Which calls are sought: those that fit every member that is not empty. Upper and lower case are the same.
#[derive(Debug, Clone, Default)]
pub struct CallQuery {
    principal: String,
    upstream: String,
    tool: String,
    outcome: String,
    text: String,
    /// The number below which the page begins.
    before: u64,
}

impl CallQuery {
    /// A query. `principal`, `upstream` and `tool` (of this server or of an upstream) are parts of names; `outcome` is `ok`, `error`,
    /// `waiting`, `running`, `upstream_error` or the reason of a failure; `text` is a part of the program or of an upstream's message.
    /// `before` is what the page before named as `next`.
    pub fn new(
        [principal, upstream, tool, outcome, text]: [Option<&str>; 5],
        before: Option<u64>,
    ) -> CallQuery {
        let small = |text: Option<&str>| text.unwrap_or_default().trim().to_lowercase();
        CallQuery {
            principal: small(principal),
            upstream: small(upstream),
            tool: small(tool),
            outcome: small(outcome),
            text: small(text),
            before: before.unwrap_or(u64::MAX),
        }
    }

    /// True if a running call fits.
    fn fits_live(&self, call: &LiveCall) -> bool {
        let calls = call.upstream_calls.lock();
        let failed = |call: &LiveUpstreamCall| call.end.is_some_and(|end| end.fault.is_some());
        (self.upstream.is_empty() || calls.newest.iter().any(|call| has(&call.upstream, &self.upstream)))
            && match &*self.outcome {
                "" | "running" => true,
                "upstream_error" => calls.newest.iter().any(failed),
                _ => false,
            }
            && has(call.principal.name(), &self.principal)
            && (has(&call.tool, &self.tool) || calls.newest.iter().any(|call| has(&call.tool, &self.tool)))
            && (self.text.is_empty() || has(&recorded_text(call.program.as_deref()), &self.text))
    }

    /// True if a call that has ended fits.
    fn fits(&self, call: &RecentCall) -> bool {
        let upstream_calls = &call.upstream_calls;
        let of_tool = || upstream_calls.iter().any(|call| has(&call.tool, &self.tool));
        let of_upstream = || upstream_calls.iter().any(|call| has(&call.server, &self.upstream));
        let said = |call: &UpstreamCall| has(&recorded_text(call.error.as_deref()), &self.text);
        has(call.principal.name(), &self.principal)
            && (self.upstream.is_empty() || of_upstream())
            && (has(&call.tool, &self.tool) || of_tool())
            && self.is_outcome(call)
            && (self.text.is_empty()
                || has(&recorded_text(call.program.as_deref()), &self.text)
                || upstream_calls.iter().any(said))
    }

    fn is_outcome(&self, call: &RecentCall) -> bool {
        let failed = |call: &UpstreamCall| !call.ok;
        match &*self.outcome {
            "" => true,
            "upstream_error" => call.upstream_calls.iter().any(failed),
            outcome => outcome == status(call) || call.reason.as_deref() == Some(outcome),
        }
    }
}

/// True if `text` has this part, which is in lower case.
fn has(text: &str, part: &str) -> bool {
    part.is_empty() || text.to_lowercase().contains(part)
}

/// The text of a program or of a message as far as it was recorded: a string, or its beginning.
fn recorded_text(json: Option<&str>) -> Cow<'_, str> {
    let Some(recorded) = json.and_then(|json| Raw::parse(json).ok()) else { return Cow::Borrowed("") };
    let text = match recorded.kind() {
        Kind::String => recorded.as_str(),
        _ => {
            let mut members = recorded.members().into_iter().flatten();
            members.find(|(key, _)| key == "preview").and_then(|(_, preview)| preview.as_str())
        }
    };
    text.unwrap_or_default()
}

/// How a call has ended, in one word.
fn status(call: &RecentCall) -> &'static str {
    match call.unfinished {
        Some(Unfinished::Waiting) => "waiting",
        Some(Unfinished::Running) => "running",
        None if call.is_error => "error",
        None => "ok",
    }
}

/// The JSON of the calls that fit `query`: its viewer's own, or those of all callers for an operator. Between pieces of work other
/// tasks have a turn.
pub async fn calls(console: &Console, ring: &Ring, facts: CallsFacts<'_>, query: &CallQuery) -> String {
    let whose = (!facts.operator).then_some(facts.caller);
    let mut pace = Pace::default();
    let (mut live, mut live_count) = (Vec::new(), 0_u64);
    let running = console.live.lock().of(whose);
    for (eval_id, call) in running {
        pace.worked(call.program.as_ref().map_or(0, String::len) + size_of::<LiveCall>()).await;
        if query.fits_live(&call) {
            live_count += 1;
            if live.len() < LIVE {
                live.push(live_json(eval_id, &call));
            }
        }
    }
    let (mut page, mut page_bytes, mut searched) = (Vec::new(), 0, 0);
    let (mut before, mut next) = (query.before, None);
    'pieces: loop {
        let piece = ring.before(whose, before, PIECE);
        if piece.is_empty() {
            break;
        }
        for (number, call) in piece {
            if page.len() >= PAGE || page_bytes >= PAGE_BYTES || searched >= SEARCHED_BYTES {
                next = Some(before);
                break 'pieces;
            }
            before = number;
            let size = call.size();
            searched += size;
            pace.worked(size).await;
            if query.fits(&call) {
                let json = call_json(number, &call);
                page_bytes += json.len();
                page.push(json);
            }
        }
        pace.worked(PIECE).await;
    }
    object_text(|object| {
        object.boolean("operator", facts.operator);
        let kept = match console.recording.policy {
            PayloadPolicy::None => "none",
            PayloadPolicy::Summary => "summary",
            PayloadPolicy::Full => "full",
        };
        object.string("payloads", kept);
        object.integer("live_count", live_count);
        write_array(object.key("live"), &live, |out, call| out.extend_from_slice(call.as_bytes()));
        write_array(object.key("calls"), &page, |out, call| out.extend_from_slice(call.as_bytes()));
        match next {
            Some(next) => object.integer("next", next),
            None => object.raw("next", "null"),
        }
    })
}

fn live_json(eval_id: EvalId, call: &Arc<LiveCall>) -> String {
    object_text(|object| {
        object.string("eval_id", &eval_id.to_string());
        object.string("principal", call.principal.name());
        object.string("request_id", &call.request_id);
        object.string("tool", &call.tool);
        object.integer("running_ms", time::since(call.started).as_millis() as u64);
        object.raw("program", call.program.as_deref().unwrap_or("null"));
        let calls = call.upstream_calls.lock();
        object.integer("upstream_call_count", calls.sent);
        write_array(object.key("upstream_calls"), &calls.newest, |out, call| {
            let json = object_text(|object| {
                object.string("server", &call.upstream);
                object.string("tool", &call.tool);
                match call.end {
                    None => object.raw("ok", "null"),
                    Some(end) => object.boolean("ok", end.fault.is_none()),
                }
                object.integer("offset_ms", call.offset_ms);
                object.integer("duration_ms", call.duration_ms());
                if let Some(fault) = call.end.and_then(|end| end.fault) {
                    object.string("reason", fault);
                }
            });
            out.extend_from_slice(json.as_bytes());
        });
    })
}

/// A call that has ended, with the data for its waterfall.
fn call_json(number: u64, record: &RecentCall) -> String {
    object_text(|object| {
        object.integer("number", number);
        object.string("principal", record.principal.name());
        object.string("request_id", &record.request_id);
        match record.eval_id {
            Some(eval_id) => object.string("eval_id", &eval_id.to_string()),
            None => object.raw("eval_id", "null"),
        }
        object.string("ts", &instant(record.at));
        object.string("tool", &record.tool);
        object.string("status", status(record));
        match &record.reason {
            Some(reason) => object.string("reason", reason),
            None => object.raw("reason", "null"),
        }
        object.integer("duration_ms", record.duration_ms);
        object.raw("program", record.program.as_deref().unwrap_or("null"));
        if let Some(kept) = &record.kept_program {
            object.string("kept_program", &kept.name);
            object.string("program_digest", &kept.digest);
        }
        if let Some(usage) = &record.usage {
            object.integer("steps", usage.steps);
            object.integer("memory_peak_bytes", usage.memory_peak_bytes);
            object.integer("run_us", usage.duration.as_micros() as u64);
        }
        if let Some(bytes) = record.result_bytes {
            object.integer("result_bytes", bytes);
        }
        if let Some(metrics) = &record.metrics {
            object.integer("fetched_bytes", metrics.result_bytes);
            object.raw("ratio", &metrics.ratio_json());
        }
        write_array(object.key("upstream_calls"), &record.upstream_calls, |out, call| {
            out.extend_from_slice(upstream_json(call).as_bytes());
        });
    })
}

fn upstream_json(call: &UpstreamCall) -> String {
    object_text(|object| {
        object.string("server", &call.server);
        object.string("tool", &call.tool);
        object.boolean("ok", call.ok);
        object.integer("offset_ms", call.offset_ms);
        object.integer("duration_ms", call.duration_ms);
        if let Some(reason) = &call.reason {
            object.string("reason", reason);
        }
        if let Some(error) = &call.error {
            object.raw("error", error);
        }
        if let Some(arguments) = &call.arguments {
            // As text: many readers of JSON round numbers.
            object.string("arguments", arguments);
        }
        if let Some(bytes) = call.result_bytes {
            object.integer("result_bytes", bytes);
        }
    })
}
