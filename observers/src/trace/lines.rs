//! The lines of a trace. Their order is fixed. Metadata holds counts and flags, never programs or data.

use super::call_facts::{CallFinish, CallStart};
use super::status::Status;
use std::sync::OnceLock;

use jiff::Timestamp;
use ptc_host::engine::{CallRecord, CallStatus};
use ptc_mcp::json::{Object, object_text, write_array};

use crate::recording::Recording;
use crate::recording::payloads;
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Clock, Instant};
use ptc_protocol::report::CallReport;
use ptc_protocol::report::Ending;
use ptc_protocol::report::TaskEvent;
use ptc_protocol::settings::PayloadPolicy;
use ptc_protocol::timestamp::instant;

/// Version of the lines.
const SCHEMA_VERSION: u64 = 2;

/// The state common to all lines of one trace.
pub(super) struct TraceHead {
    pub(super) trace_id: String,
    /// Number of the next line.
    pub(super) seq: u64,
    /// Metadata that the lines of each of its calls repeat, as the members of a JSON object.
    common: String,
    tool: String,
}

impl TraceHead {
    pub(super) fn new(trace_id: String, begun: &CallStart, recording: &Recording) -> Self {
        let redactor = &recording.redactor;
        let common = object_text(|object| {
            object.string("request_id", &redactor.scrub(&begun.request_id));
            if let Some(eval_id) = begun.eval_id {
                object.string("eval_id", &eval_id.to_string());
            }
            object.string("tool_name", &redactor.scrub(&begun.tool));
            object.string("protocol_version", begun.revision.name());
            object.string("owner_hash", begun.owner.principal.hash());
            object.string("transport", if begun.origin.is_some() { "http" } else { "stdio" });
            if let Some(origin) = &begun.origin {
                object.string("transport_request_id", &origin.request_id);
            }
            if let Some(session) = &begun.owner.http_session {
                object.string("mcp_session_hash", &short_hash(session.as_bytes()));
            }
        });
        TraceHead { trace_id, seq: 0, common, tool: begun.tool.clone() }
    }

    /// One line. The owner comes early, so that a reader finds it without reading further.
    fn line(&mut self, event: &str, at: Timestamp, write: impl FnOnce(&mut Object<'_>)) -> String {
        let seq = self.seq;
        self.seq += 1;
        let mut line = object_text(|object| {
            object.integer("schema_version", SCHEMA_VERSION);
            object.string("event", event);
            object.string("trace_id", &self.trace_id);
            object.string("timestamp", &instant(at));
            object.integer("seq", seq);
            write(object);
        });
        line.push('\n');
        line
    }

    /// The metadata of a call: the common members and those that `write` adds.
    fn metadata(&self, write: impl FnOnce(&mut Object<'_>)) -> String {
        let more = object_text(write);
        let common = self.common.strip_suffix('}').unwrap_or_default();
        match more.strip_prefix('{') {
            Some("}") | None => format!("{common}}}"),
            Some(rest) => format!("{common},{rest}"),
        }
    }

    /// The first lines of a trace.
    pub(super) fn begin(&mut self, begun: &CallStart, recording: &Recording) -> String {
        let label = recording.redactor.scrub(&begun.request_id).into_owned();
        let query = begun.program.as_deref().map(|program| match recording.policy {
            PayloadPolicy::Full => recording.redactor.scrub(program).into_owned(),
            _ => payloads::program(recording, program),
        });
        let owner_hash = begun.owner.principal.hash();
        let mut out = self.line("trace.start", begun.at, |object| {
            object.string("owner_hash", owner_hash);
            object.string("trace_kind", "mcp_call");
            object.string("producer", "ptc_lisp");
            object.string("trace_label", &label);
            object.string("query", query.as_deref().unwrap_or_default());
            object.raw("data", "null");
        });
        let metadata = self.metadata(|object| {
            object.integer("program_bytes", begun.program.as_ref().map_or(0, |program| program.len()) as u64);
            object.integer("context_bytes", begun.context_bytes as u64);
            object.boolean("signature_present?", false);
        });
        let times = object_text(|object| {
            object.integer("monotonic_time", monotonic());
            let nanoseconds = u64::try_from(begun.at.as_nanosecond()).unwrap_or(0);
            object.integer("system_time", nanoseconds);
        });
        out.push_str(&self.line("ptc_lisp.call.start", begun.at, |object| {
            object.raw("measurements", &times);
            object.raw("metadata", &metadata);
        }));
        out
    }

    /// The last lines of a trace.
    pub(super) fn end(&mut self, ended: &CallFinish, recording: &Recording, aggregator: bool) -> String {
        let mut out = String::new();
        let ran = ended.report.as_deref().filter(|report| report.usage.is_some());
        for event in ended.report.iter().flat_map(|report| &report.events) {
            out.push_str(&self.task_event(event));
        }
        if let Some(report) = ran {
            out.push_str(&self.execution(ended, report, aggregator));
        }
        let measurements = object_text(|object| object.integer("duration", ended.duration_ms));
        let (status, reason) = (ended.status, ended.reason.as_deref());
        if status == Status::Crashed {
            let metadata = self.metadata(|object| {
                object.string("kind", "error");
                object.string("reason", &recording.redactor.scrub(reason.unwrap_or_default()));
                object.string("stacktrace", "");
            });
            out.push_str(&self.line("ptc_lisp.call.exception", ended.at, |object| {
                object.integer("duration_ms", ended.duration_ms);
                object.raw("measurements", &measurements);
                object.raw("metadata", &metadata);
            }));
        } else {
            let validated = ended.report.as_deref().and_then(validated).is_some();
            let metadata = self.metadata(|object| {
                object.string("status", status.name());
                object.boolean("is_error", status != Status::Ok);
                object.boolean("validated_present?", validated);
                if let Some(reason) = reason {
                    object.string("reason", reason);
                }
            });
            let data = ended.report.as_deref().map(|report| data(report, recording));
            out.push_str(&self.line("ptc_lisp.call.stop", ended.at, |object| {
                object.integer("duration_ms", ended.duration_ms);
                object.raw("measurements", &measurements);
                object.raw("metadata", &metadata);
                payloads::write_optional(object, "data", data.as_deref());
            }));
        }
        out.push_str(&self.line("trace.stop", ended.at, |object| {
            object.integer("duration_ms", ended.duration_ms);
        }));
        out
    }

    /// An event within a task.
    fn task_event(&mut self, event: &TaskEvent) -> String {
        let metadata = self.metadata(|object| {
            for (name, value) in &event.metadata {
                object.raw(name, &value.to_string());
            }
        });
        let measurements = object_text(|object| {
            if let Some(duration) = event.duration_ms {
                object.integer("duration", duration);
            }
        });
        self.line(&event.name, event.at, |object| {
            if let Some(duration) = event.duration_ms {
                object.integer("duration_ms", duration);
            }
            object.raw("measurements", &measurements);
            object.raw("metadata", &metadata);
            payloads::write_optional(object, "data", event.data.as_deref());
        })
    }

    /// The two lines about the program itself.
    fn execution(&mut self, ended: &CallFinish, report: &CallReport, aggregator: bool) -> String {
        let usage = report.usage.unwrap_or_default();
        let metadata = object_text(|object| {
            object.string("caller", if self.tool == "lisp_task" { "agent" } else { "mcp" });
            object.string("profile", if aggregator { "mcp_aggregator" } else { "mcp_no_tools" });
            object
                .integer("program_bytes", report.program.as_ref().map_or(0, |program| program.len() as u64));
            object.boolean("signature_supplied?", report.output_schema);
        });
        let started = ended.at.checked_sub(usage.duration).unwrap_or(ended.at);
        let mut out = self.line("ptc_runner.lisp.execute.start", started, |object| {
            object.raw("measurements", "{}");
            object.raw("metadata", &metadata);
        });
        let measurements = object_text(|object| {
            object.integer("duration", usage.duration.as_millis() as u64);
            object.integer("result_bytes", report.payload.final_result_bytes());
            object.integer("prints_count", report.payload.prints.len() as u64);
            object.integer("steps", usage.steps);
            object.integer("memory_peak_bytes", usage.memory_peak_bytes);
        });
        out.push_str(&self.line("ptc_runner.lisp.execute.stop", ended.at, |object| {
            object.integer("duration_ms", usage.duration.as_millis() as u64);
            object.raw("measurements", &measurements);
            object.raw("metadata", &metadata);
        }));
        out
    }
}

fn validated(report: &CallReport) -> Option<&str> {
    match &report.payload.ending {
        Ending::Ok { validated, .. } => validated.as_deref(),
        Ending::Error { .. } => None,
    }
}

/// `data` of the end of a call: each payload under the policy.
fn data(report: &CallReport, recording: &Recording) -> String {
    let payload = &report.payload;
    object_text(|object| {
        let context = report.context.as_deref().map(|context| payloads::context(recording, context));
        payloads::write_optional(object, "context", context.as_deref());
        let result = payload.result().map(|result| payloads::result(recording, &result));
        payloads::write_optional(object, "result", result.as_deref());
        object.raw("prints", &payloads::prints(recording, &payload.prints));
        let validated = validated(report).map(|json| payloads::validated(recording, json));
        payloads::write_optional(object, "validated", validated.as_deref());
        if let Ending::Error { message, .. } = &payload.ending {
            object.string("message", &recording.redactor.scrub(message));
        }
        write_array(object.key("upstream_calls"), &payload.upstream_calls, |out, call| {
            out.extend_from_slice(call_json(call, recording).as_bytes());
        });
        let metrics = (!payload.upstream_calls.is_empty()).then(|| payload.ptc_metrics().json());
        payloads::write_optional(object, "ptc_metrics", metrics.as_deref());
    })
}

/// An upstream call. Arguments and the upstream's answer are data, which only the full policy records.
fn call_json(call: &CallRecord, recording: &Recording) -> String {
    let full = recording.policy == PayloadPolicy::Full;
    object_text(|object| {
        object.string("server", &call.server);
        object.string("tool", &call.tool);
        object.string("status", if call.status == CallStatus::Ok { "ok" } else { "error" });
        object.integer("offset_ms", call.offset_ms);
        object.integer("duration_ms", call.duration_ms);
        if let Some(reason) = &call.reason {
            object.string("reason", reason);
        }
        if let Some(sent) = call.sent {
            object.boolean("sent", sent);
        }
        if let Some(error) = call.error.as_deref().filter(|_| full) {
            object.string("error", &recording.redactor.scrub(error));
        }
        if let Some(args) = call.args.as_deref().filter(|_| full) {
            object.raw("args", args);
        }
        match call.result_bytes {
            Some(bytes) => object.integer("result_bytes", bytes),
            None => object.raw("result_bytes", "null"),
        }
        object.boolean("oversize", call.oversize);
        if let Some(status) = call.http_status {
            object.integer("http_status", u64::from(status));
        }
    })
}

/// Nanoseconds since the first trace of the process.
fn monotonic() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    // By the system's clock, which no later reading precedes.
    let first = FIRST.get_or_init(|| Clock::default().now());
    u64::try_from(time::since(*first).as_nanos()).unwrap_or(u64::MAX)
}
