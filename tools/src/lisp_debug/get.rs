//! `op=get`: one call, from memory or from its trace file.

use std::sync::Arc;

use ptc_mcp::json::object_text;
use ptc_mcp::json::{Value, json};

use super::size::ResponseBudget;
use super::write_head;
use ptc_observers::recent::RecentCall;
use ptc_observers::recording::Recording;
use ptc_observers::trace::TraceFile;
use ptc_protocol::settings::PayloadPolicy;

const RING: &str = "ring_buffer";
const TRACE: &str = "trace_file";
const TOO_BIG: &str = "the record exceeds --max-debug-response-bytes; start the server with --trace-dir and \
    --trace-payloads full, and read the trace file directly";

/// A query for one call.
pub(super) struct Get {
    pub(super) id: String,
    /// Its record in memory.
    pub(super) record: Option<Arc<RecentCall>>,
    pub(super) room: ResponseBudget,
}

/// The content of the answer.
#[derive(Default)]
struct TraceContent {
    found: bool,
    source: &'static str,
    record: Option<String>,
    truncated: bool,
    note: Option<String>,
}

impl Get {
    /// The answer, given the trace file that was found.
    pub(super) fn answer(&self, recording: &Recording, trace: Option<TraceFile>) -> String {
        let told = match trace {
            Some(trace) => self.of_trace(recording, trace),
            None => self.of_record(),
        };
        let answer = self.text(recording.policy, &told);
        if self.room.holds(&answer) {
            return answer;
        }
        let note = told.note.unwrap_or_else(|| TOO_BIG.to_owned());
        self.text(recording.policy, &TraceContent { record: None, truncated: true, note: Some(note), ..told })
    }

    fn of_record(&self) -> TraceContent {
        let record = self.record.as_ref().map(|record| record.full_json());
        TraceContent { found: record.is_some(), source: RING, record, ..TraceContent::default() }
    }

    fn of_trace(&self, recording: &Recording, trace: TraceFile) -> TraceContent {
        let name = &trace.name;
        let too_big = format!(
            "trace file {name} exceeds --max-debug-response-bytes; read it directly under --trace-dir"
        );
        match (recording.policy, trace.text) {
            (PayloadPolicy::Full, Some(text)) => {
                let record = Some(lines(&text, recording));
                // The note is for an answer that turns out to be too large after all.
                let told = TraceContent { found: true, source: TRACE, record, ..TraceContent::default() };
                if self.room.holds(&self.text(recording.policy, &told)) {
                    return told;
                }
                TraceContent { record: None, truncated: true, note: Some(too_big), ..told }
            }
            (PayloadPolicy::Full, None) => TraceContent {
                found: true,
                source: TRACE,
                truncated: true,
                note: Some(too_big),
                ..TraceContent::default()
            },
            _ => {
                let note = format!(
                    "trace file {name} exists and was not inlined under this payload policy; read it directly under \
                     --trace-dir, or restart with --trace-payloads full"
                );
                let told = self.of_record();
                let source = if told.found { RING } else { TRACE };
                TraceContent { found: true, source, note: Some(note), ..told }
            }
        }
    }

    fn text(&self, policy: PayloadPolicy, told: &TraceContent) -> String {
        object_text(|object| {
            write_head(object, "get", policy);
            object.string("request_id", &self.id);
            object.boolean("found", told.found);
            object.string("source", told.source);
            if let Some(record) = &told.record {
                object.raw("record", record);
            }
            if told.truncated {
                object.boolean("truncated", true);
            }
            if let Some(note) = &told.note {
                object.string("note", note);
            }
        })
    }
}

/// The lines of a trace as an array, scrubbed once more: a secret may be newer than the file.
#[expect(clippy::disallowed_methods, reason = "entry point: lines()")]
fn lines(text: &str, recording: &Recording) -> String {
    let read = |line: &str| {
        let mut line = serde_json::from_str(line).unwrap_or_else(|_| json!({"_raw": line}));
        recording.redactor.scrub_json(&mut line);
        line
    };
    Value::Array(text.lines().map(read).collect()).to_string()
}
