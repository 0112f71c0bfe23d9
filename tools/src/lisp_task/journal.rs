//! The events of a task, reported as they happen to the log and to the call's trace (server.md 11.2, 11.5).
//!
//! Prompts and the model's answers are data. A trace holds them only if the operator asked for them and for whole
//! payloads, scrubbed like everything else. It always holds their sizes and hashes. The log never holds them.

use ptc_host::sync::Mutex;
use std::time::Duration;

use ptc_agent::telemetry::{Event, Scope};
use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Map, Value, json};
use tracing::info;

use ptc_host::digest::sha256_hex;
use ptc_protocol::report::TaskEvent;
use ptc_protocol::timestamp;

/// Maximum number of events kept per task.
const MAX_EVENTS: usize = 2000;
/// Fields of the loop's events that hold texts of models, programs and tools.
const TEXTS: [&str; 7] =
    ["program", "result_preview", "raw_response", "response", "args", "result", "message"];

/// The events of one task.
pub(super) struct TaskJournal {
    request_id: String,
    trace_id: String,
    redactor: Redactor,
    /// True if prompts and answers may be recorded.
    prompts: bool,
    /// Present if the call is traced.
    kept: Option<Mutex<Vec<TaskEvent>>>,
}

impl TaskJournal {
    /// The events of the task that `request_id` requested. They are kept if it is `traced`.
    pub(super) fn new(
        request_id: String,
        trace_id: String,
        redactor: Redactor,
        traced: bool,
        prompts: bool,
    ) -> TaskJournal {
        let kept = traced.then(Mutex::default);
        TaskJournal { request_id, trace_id, redactor, prompts, kept }
    }

    pub(super) fn task_starts(&self, model: &str) {
        info!(event = "ptc_lisp.agentic_task.start", rpc_id = %self.request_id, trace_id = %self.trace_id, model);
        self.keep("ptc_lisp.agentic_task.start", None, json!({"model": model}), Value::Null);
    }

    pub(super) fn task_stops(&self, reason: Option<&str>, took: Duration) {
        let (status, reason, duration_ms) = (status(reason), reason.unwrap_or_default(), millis(took));
        info!(event = "ptc_lisp.agentic_task.stop", rpc_id = %self.request_id, trace_id = %self.trace_id, status,
            reason, duration_ms);
        self.keep(
            "ptc_lisp.agentic_task.stop",
            Some(took),
            json!({"status": status, "reason": reason}),
            Value::Null,
        );
    }

    /// Reports that the model is asked; `messages` is its entire input, by role.
    pub(super) fn planner_starts(&self, model: &str, messages: &[(&str, &str)]) {
        let prompt: String = messages.iter().map(|(_, content)| *content).collect();
        let (bytes, hash) = (prompt.len(), sha256_hex(prompt.as_bytes()));
        info!(event = "ptc_lisp.agentic_planner.start", rpc_id = %self.request_id, trace_id = %self.trace_id, model,
            prompt_bytes = bytes, prompt_sha256 = %hash);
        let messages: Vec<Value> =
            messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        let metadata = json!({"model": model, "prompt_bytes": bytes, "prompt_sha256": hash});
        self.keep("ptc_lisp.agentic_planner.start", None, metadata, json!({"messages": messages}));
    }

    /// Reports that the model answered, or failed with this reason.
    pub(super) fn planner_stops(&self, model: &str, output: Result<&str, &str>, took: Duration) {
        let reason = output.err();
        let (status, output, duration_ms) = (status(reason), output.unwrap_or_default(), millis(took));
        let (bytes, hash) = (output.len(), sha256_hex(output.as_bytes()));
        let reason = reason.unwrap_or_default();
        info!(event = "ptc_lisp.agentic_planner.stop", rpc_id = %self.request_id, trace_id = %self.trace_id, model,
            status, reason, duration_ms, output_bytes = bytes, output_sha256 = %hash);
        let metadata = json!({
            "model": model, "status": status, "reason": reason, "output_bytes": bytes, "output_sha256": hash,
        });
        self.keep("ptc_lisp.agentic_planner.stop", Some(took), metadata, json!({"output": output}));
    }

    /// Reports an event of the agent's loop. The planner's own events describe its calls in more detail.
    pub(super) fn agent(&self, scope: &Scope, event: &Event<'_>) {
        if self.kept.is_none() || event.name().starts_with("llm.") {
            return;
        }
        let Value::Object(mut metadata) = event.fields() else { return };
        let took = metadata.shift_remove("duration_ms").and_then(|ms| ms.as_u64()).map(Duration::from_millis);
        let mut data = Map::new();
        for name in TEXTS {
            let Some(Value::String(text)) = metadata.get(name) else { continue };
            let size = json!({"bytes": text.len(), "sha256": sha256_hex(text.as_bytes())});
            if let Some(text) = metadata.insert(name.into(), size) {
                data.insert(name.into(), text);
            }
        }
        if let Some(Value::Array(prints)) = metadata.get("prints") {
            let count = json!({"count": prints.len()});
            if let Some(prints) = metadata.insert("prints".into(), count) {
                data.insert("prints".into(), prints);
            }
        }
        metadata.insert("agent_id".into(), scope.agent_id.clone().into());
        metadata.insert("span_id".into(), scope.span_id.clone().into());
        metadata.insert("parent_span_id".into(), scope.parent_span_id.clone().into());
        metadata.insert("turn".into(), scope.turn.into());
        let name = format!("ptc_runner.sub_agent.{}", event.name());
        self.keep(&name, took, Value::Object(metadata), Value::Object(data));
    }

    fn keep(&self, name: &str, took: Option<Duration>, mut metadata: Value, mut data: Value) {
        let Some(kept) = &self.kept else { return };
        self.redactor.scrub_json(&mut metadata);
        let filled = data.as_object().is_some_and(|data| !data.is_empty());
        let data = (self.prompts && filled).then(|| {
            self.redactor.scrub_json(&mut data);
            data.to_string()
        });
        let Value::Object(metadata) = metadata else { return };
        let mut kept = kept.lock();
        if kept.len() < MAX_EVENTS {
            let (at, duration_ms) = (timestamp::now(), took.map(millis));
            kept.push(TaskEvent { at, name: name.to_owned(), duration_ms, metadata, data });
        }
    }

    /// The events so far, for the trace.
    pub(super) fn take(&self) -> Vec<TaskEvent> {
        let kept = self.kept.as_ref();
        kept.map(|kept| std::mem::take(&mut *kept.lock())).unwrap_or_default()
    }
}

fn status(reason: Option<&str>) -> &'static str {
    if reason.is_some() { "error" } else { "ok" }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
