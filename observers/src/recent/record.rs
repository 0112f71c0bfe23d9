//! The record of a finished call: plain data, already redacted.

use std::borrow::Cow;

use jiff::Timestamp;
use ptc_host::engine::{CallRecord, CallStatus, EvalId};
use ptc_mcp::Revision;
use ptc_mcp::json::{Object, object_text, write_array};

use crate::recording::Recording;
use crate::recording::payloads::{self, write_optional};
use ptc_protocol::observer::{AnswerSummary, CallEnd, ObservedCall};
use ptc_protocol::principal::Principal;
use ptc_protocol::report::ptc_metrics::PtcMetrics;
use ptc_protocol::report::{CallUsage, PlannerReport};
use ptc_protocol::settings::PayloadPolicy;
use ptc_protocol::timestamp::instant;
use ptc_protocol::tool::{KeptProgramName, Unfinished};

/// Longest request id that is stored whole, in bytes.
const MAX_ID_BYTES: usize = 256;
/// Characters that are stored of a longer one.
const ID_CHARS: usize = 64;

/// One finished call.
#[derive(Debug)]
pub struct RecentCall {
    /// Its principal.
    pub principal: Principal,
    /// Its JSON-RPC id as text; a long one is shortened.
    pub request_id: String,
    /// Its evaluation, if it was one.
    pub eval_id: Option<EvalId>,
    /// When it ended.
    pub at: Timestamp,
    /// The tool.
    pub tool: Cow<'static, str>,
    /// The protocol revision of the call.
    pub revision: Revision,
    /// How long it took; 0 if it never ran.
    pub duration_ms: u64,
    /// True if it failed.
    pub is_error: bool,
    /// What its program went on doing, if the call was answered before it ended.
    pub unfinished: Option<Unfinished>,
    /// The reason of the failure.
    pub reason: Option<String>,
    /// The program under the policy, as JSON.
    pub program: Option<String>,
    /// The kept program that ran, if one did.
    pub kept_program: Option<KeptProgramName>,
    /// The context under the policy, as JSON.
    pub context: Option<String>,
    /// True if it came with an output schema.
    pub output_schema: bool,
    /// Bytes of its result.
    pub result_bytes: Option<u64>,
    /// How many texts it printed.
    pub prints_count: Option<u64>,
    /// The resources that its program used.
    pub usage: Option<CallUsage>,
    /// Its upstream calls.
    pub upstream_calls: Vec<UpstreamCall>,
    /// The figures of its upstream calls, if there were any.
    pub metrics: Option<PtcMetrics>,
    /// The report of its planner.
    pub planner: Option<PlannerReport>,
}

/// One upstream call of a record. The upstream's answer is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamCall {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// True if it succeeded.
    pub ok: bool,
    /// When it was made, relative to the start of its program.
    pub offset_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// Why it failed.
    pub reason: Option<String>,
    /// The upstream's message about the failure under the policy, as JSON.
    pub error: Option<String>,
    /// Its arguments, as the text of a JSON object, if the policy lets them be recorded.
    pub arguments: Option<Box<str>>,
    /// Bytes of its result.
    pub result_bytes: Option<u64>,
    /// True if the answer exceeded the byte cap.
    pub oversize: bool,
}

impl UpstreamCall {
    /// Arguments are data, which only the full policy records, as it does in traces.
    fn of(call: &CallRecord, recording: &Recording) -> Self {
        let full = recording.policy == PayloadPolicy::Full;
        UpstreamCall {
            server: call.server.clone(),
            tool: call.tool.clone(),
            ok: call.status == CallStatus::Ok,
            offset_ms: call.offset_ms,
            duration_ms: call.duration_ms,
            reason: call.reason.clone(),
            error: call.error.as_deref().map(|error| payloads::result(recording, error)),
            arguments: call.args.clone().filter(|_| full),
            result_bytes: call.result_bytes,
            oversize: call.oversize,
        }
    }

    /// The call as JSON.
    pub fn json(&self) -> String {
        object_text(|object| {
            object.string("server", &self.server);
            object.string("tool", &self.tool);
            object.string("status", if self.ok { "ok" } else { "error" });
            object.integer("duration_ms", self.duration_ms);
            if let Some(reason) = &self.reason {
                object.string("reason", reason);
            }
            integer_or_null(object, "result_bytes", self.result_bytes);
            object.boolean("oversize", self.oversize);
        })
    }
}

impl RecentCall {
    pub(super) fn new(
        call: &ObservedCall,
        end: &CallEnd,
        answered: &AnswerSummary,
        recording: &Recording,
    ) -> Self {
        let redactor = &recording.redactor;
        let mut record = RecentCall {
            principal: call.owner.principal.clone(),
            request_id: shortened(&redactor.scrub(&call.request_id.to_string())),
            eval_id: answered.is_eval.then_some(call.eval_id),
            at: end.at,
            tool: call.tool.clone(),
            revision: call.revision,
            duration_ms: end.duration_ms,
            is_error: answered.is_error,
            unfinished: answered.unfinished,
            reason: answered.reason.clone(),
            program: call.program.as_deref().map(|program| payloads::program(recording, program)),
            kept_program: call.kept_program.clone(),
            context: None,
            output_schema: false,
            result_bytes: None,
            prints_count: None,
            usage: None,
            upstream_calls: Vec::new(),
            metrics: None,
            planner: None,
        };
        let Some(report) = &answered.report else { return record };
        let payload = &report.payload;
        if let Some(program) = &report.program {
            record.program = Some(payloads::program(recording, program));
        }
        record.context = report.context.as_deref().map(|context| payloads::context(recording, context));
        record.output_schema = report.output_schema;
        if report.program.is_some() {
            record.prints_count = Some(payload.prints.len() as u64);
        }
        if !payload.is_error() {
            record.result_bytes = Some(payload.final_result_bytes());
        }
        record.usage = report.usage;
        record.upstream_calls =
            payload.upstream_calls.iter().map(|call| UpstreamCall::of(call, recording)).collect();
        record.metrics = (!payload.upstream_calls.is_empty()).then(|| payload.ptc_metrics());
        record.planner = report.planner;
        record
    }

    /// True if `id` is the record's request id or the id of its evaluation.
    pub fn is(&self, id: &str) -> bool {
        self.request_id == id || self.eval_id.is_some_and(|eval_id| eval_id.to_string() == id)
    }

    /// Bytes that the record occupies, roughly.
    pub fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let call = |call: &UpstreamCall| {
            let arguments = call.arguments.as_ref().map_or(0, |arguments| arguments.len());
            size_of::<UpstreamCall>()
                + call.server.len()
                + call.tool.len()
                + text(&call.error)
                + arguments
                + 16
        };
        size_of::<RecentCall>()
            + self.request_id.len()
            + text(&self.program)
            + text(&self.context)
            + self.upstream_calls.iter().map(call).sum::<usize>()
    }

    /// The record with the number of its upstream calls.
    pub fn brief_json(&self) -> String {
        object_text(|object| {
            self.write_members(object);
            object.integer("upstream_calls", self.upstream_calls.len() as u64);
            self.write_optional_members(object);
        })
    }

    /// The record with its upstream calls.
    pub fn full_json(&self) -> String {
        object_text(|object| {
            self.write_members(object);
            write_array(object.key("upstream_calls"), &self.upstream_calls, |out, call| {
                out.extend_from_slice(call.json().as_bytes());
            });
            self.write_optional_members(object);
        })
    }

    fn write_members(&self, object: &mut Object<'_>) {
        object.string("request_id", &self.request_id);
        if let Some(eval_id) = self.eval_id {
            object.string("eval_id", &eval_id.to_string());
        }
        object.string("ts", &instant(self.at));
        object.string("tool", &self.tool);
        object.string("status", if self.is_error { "error" } else { "ok" });
        match &self.reason {
            Some(reason) => object.string("reason", reason),
            None => object.raw("reason", "null"),
        }
        object.integer("duration_ms", self.duration_ms);
        write_optional(object, "program", self.program.as_deref());
        if let Some(kept) = &self.kept_program {
            object.string("kept_program", &kept.name);
            object.string("program_digest", &kept.digest);
        }
        write_optional(object, "context", self.context.as_deref());
        integer_or_null(object, "result_bytes", self.result_bytes);
        integer_or_null(object, "prints_count", self.prints_count);
        object.boolean("output_schema_present", self.output_schema);
        object.string("protocol_version", self.revision.name());
    }

    fn write_optional_members(&self, object: &mut Object<'_>) {
        if let Some(planner) = &self.planner {
            object.raw("agentic", &planner_json(planner));
        }
        if let Some(metrics) = &self.metrics {
            object.raw("ptc_metrics", &metrics.json());
        }
    }
}

fn planner_json(planner: &PlannerReport) -> String {
    object_text(|object| {
        object.string("planner_status", if planner.ok { "ok" } else { "error" });
        object.integer("planner_duration_ms", planner.duration_ms);
        object.integer("planner_rejects", planner.calls.saturating_sub(planner.turns));
        object.integer("retries", planner.turns.saturating_sub(1));
        object.integer("program_bytes", planner.program_bytes);
    })
}

/// A request id as stored in records.
pub fn shortened(id: &str) -> String {
    if id.len() <= MAX_ID_BYTES {
        return id.to_owned();
    }
    let head: String = id.chars().take(ID_CHARS).collect();
    format!("{head}…({}B id, truncated)", id.len())
}

fn integer_or_null(object: &mut Object<'_>, name: &str, value: Option<u64>) {
    match value {
        Some(value) => object.integer(name, value),
        None => object.raw(name, "null"),
    }
}
