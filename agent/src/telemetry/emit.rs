//! Delivery of events to `tracing` and the observer.

use super::{Event, Observer, Scope, TARGET, ToolCallEvent};
use ptc_base::json::{Value as Json, json};
use ptc_base::time::{self, Instant};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Largest arguments that an event shows, in bytes of JSON.
const MAX_ARGS: usize = 1000;
/// Largest beginning of a result that an event shows, in bytes.
const MAX_RESULT: usize = 2000;

/// A text of random hex digits.
fn random_hex(bytes: usize) -> String {
    let mut random = vec![0; bytes];
    // Without randomness ids are equal, and that harms nobody but who reads them.
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The start of a text, for an event.
pub(crate) fn summary(text: &str) -> &str {
    ptc_base::text::clip(text, MAX_RESULT)
}

/// Arguments as an event shows them.
pub(crate) fn args(arguments: &Json) -> String {
    let text = arguments.to_string();
    if text.len() > MAX_ARGS { format!("({} bytes)", text.len()) } else { text }
}

/// Emits the events of one run.
pub(crate) struct Emitter {
    observer: Option<Arc<dyn Observer>>,
    pub(crate) agent_id: String,
    pub(crate) agent_name: Option<String>,
    pub(crate) trace_id: String,
    run_span: String,
    parent: Option<String>,
    turn_span: ptc_base::sync::Mutex<String>,
    turn: AtomicU32,
    started: Instant,
    stopped: AtomicBool,
}

/// A span that is open.
pub(crate) struct OpenSpan {
    span: String,
    started: Instant,
}

impl OpenSpan {
    pub(crate) fn elapsed(&self) -> Duration {
        time::since(self.started)
    }
}

impl Emitter {
    /// For a run within `outer` (trace and span), if there is one.
    pub(crate) fn new(
        agent_name: Option<String>,
        observer: Option<Arc<dyn Observer>>,
        trace_id: Option<String>,
        outer: Option<(String, String)>,
    ) -> Emitter {
        let (trace_id, parent) = match outer {
            Some((trace, span)) => (trace, Some(span)),
            None => (trace_id.unwrap_or_else(|| random_hex(16)), None),
        };
        Emitter {
            observer,
            agent_id: random_hex(4),
            agent_name,
            trace_id,
            run_span: random_hex(4),
            parent,
            turn_span: ptc_base::sync::Mutex::default(),
            turn: AtomicU32::new(0),
            started: time::now(),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.clone()
    }

    pub(crate) fn turn(&self) -> u32 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The trace and the span that things within the current turn belong to.
    pub(crate) fn outer(&self) -> (String, String) {
        (self.trace_id.clone(), self.turn_span())
    }

    fn turn_span(&self) -> String {
        let span = self.turn_span.lock().clone();
        if span.is_empty() { self.run_span.clone() } else { span }
    }

    /// Emits an event of the run itself.
    pub(crate) fn run(&self, event: &Event<'_>) {
        if matches!(event, Event::RunStop { .. }) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.tell(self.run_span.clone(), self.parent.clone(), event);
    }

    /// Begins a turn.
    pub(crate) fn begin_turn(&self, turn: u32, event: &Event<'_>) -> OpenSpan {
        self.turn.store(turn, Ordering::Relaxed);
        let span = random_hex(4);
        self.turn_span.lock().clone_from(&span);
        self.tell(span.clone(), Some(self.run_span.clone()), event);
        OpenSpan { span, started: time::now() }
    }

    /// Ends a turn.
    pub(crate) fn end_turn(&self, span: &OpenSpan, event: &Event<'_>) {
        self.tell(span.span.clone(), Some(self.run_span.clone()), event);
    }

    /// Begins something within the turn.
    pub(crate) fn begin(&self, event: &Event<'_>) -> OpenSpan {
        let span = random_hex(4);
        self.tell(span.clone(), Some(self.turn_span()), event);
        OpenSpan { span, started: time::now() }
    }

    /// Ends something within the turn.
    pub(crate) fn end(&self, span: &OpenSpan, event: &Event<'_>) {
        self.tell(span.span.clone(), Some(self.turn_span()), event);
    }

    /// Emits an event within the turn.
    pub(crate) fn note(&self, event: &Event<'_>) {
        self.tell(self.turn_span(), Some(self.run_span.clone()), event);
    }

    fn tell(&self, span_id: String, parent_span_id: Option<String>, event: &Event<'_>) {
        let turn = self.turn();
        if tracing::enabled!(target: TARGET, tracing::Level::INFO) {
            trace(self, &span_id, parent_span_id.as_deref().unwrap_or_default(), turn, event);
        }
        let Some(observer) = &self.observer else { return };
        let scope = Scope {
            agent_name: self.agent_name.clone(),
            agent_id: self.agent_id.clone(),
            trace_id: self.trace_id.clone(),
            span_id,
            parent_span_id,
            turn,
        };
        if std::panic::catch_unwind(AssertUnwindSafe(|| observer.event(&scope, event))).is_err() {
            tracing::warn!(target: TARGET, event = event.name(), "an observer panicked and was ignored");
        }
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        if !self.stopped.load(Ordering::Relaxed) {
            self.run(&Event::RunException { duration: time::since(self.started) });
        }
    }
}

/// Fields that hold texts of tools and models, with the word for their size. Contents that a preview withholds from the model
/// must not reach an operator's log either.
const CONTENTS: [(&str, &str); 7] = [
    ("args", "args_bytes"),
    ("result", "result_bytes"),
    ("program", "program_bytes"),
    ("result_preview", "result_preview_bytes"),
    ("prints", "prints"),
    ("raw_response", "raw_response_bytes"),
    ("response", "response_bytes"),
];

/// Takes the contents out of an event's fields and leaves their sizes. The message of a failed tool or program may repeat its
/// input.
fn take_contents(event: &Event<'_>, fields: &mut Json) -> Option<Json> {
    let Json::Object(fields) = fields else { return None };
    let message = matches!(event, Event::ToolException { .. }).then_some(("message", "message_bytes"));
    let mut contents = ptc_base::json::Map::new();
    for (key, size) in CONTENTS.into_iter().chain(message) {
        let Some(content) = fields.shift_remove(key).filter(|content| !content.is_null()) else { continue };
        let bytes = match &content {
            Json::String(text) => text.len(),
            Json::Array(items) => items.len(),
            other => other.to_string().len(),
        };
        fields.insert(size.into(), bytes.into());
        contents.insert(key.into(), content);
    }
    (!contents.is_empty()).then_some(Json::Object(contents))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `tool.call` has its fields one by one, as operators search for them; the others carry theirs as JSON. Contents are logged at
/// level DEBUG only, under the same span.
fn trace(emitter: &Emitter, span_id: &str, parent_span_id: &str, turn: u32, event: &Event<'_>) {
    let (agent_id, trace_id) = (emitter.agent_id.as_str(), emitter.trace_id.as_str());
    let agent_name = emitter.agent_name.as_deref().unwrap_or_default();
    match event {
        Event::ToolCall(call) => tracing::info!(
            target: TARGET, event = "tool.call", agent_id, agent_name, trace_id, span_id, parent_span_id, turn,
            tool_name = call.tool_name,
            exposure_layer = call.exposure_layer,
            cached = call.cached,
            error = call.error,
            duration_ms = millis(call.duration),
            result_preview_truncated = call.result_preview_truncated,
            full_result_cached = call.full_result_cached,
            cache_key_hash = call.cache_key_hash.unwrap_or_default(),
            retained_bytes = call.retained_bytes,
        ),
        other => {
            let mut fields = other.fields();
            let contents = take_contents(other, &mut fields);
            tracing::info!(
                target: TARGET, event = other.name(), agent_id, agent_name, trace_id, span_id, parent_span_id, turn,
                %fields,
            );
            if let Some(contents) = contents {
                tracing::debug!(target: TARGET, event = other.name(), trace_id, span_id, turn, %contents);
            }
        }
    }
}

impl Event<'_> {
    /// Its fields as JSON, durations in milliseconds.
    #[must_use]
    pub fn fields(&self) -> Json {
        match *self {
            Event::RunStart => json!({}),
            Event::RunStop { status, reason, duration } => {
                json!({"status": status, "reason": reason, "duration_ms": millis(duration)})
            }
            Event::RunException { duration } => json!({"status": "dropped", "duration_ms": millis(duration)}),
            Event::TurnStart { kind, tools_count } => json!({"type": kind, "tools_count": tools_count}),
            Event::TurnStop {
                kind,
                duration,
                input_tokens,
                output_tokens,
                program,
                result_preview,
                prints,
                raw_response,
            } => json!({
                "type": kind, "duration_ms": millis(duration), "tokens": input_tokens + output_tokens,
                "input_tokens": input_tokens, "output_tokens": output_tokens, "program": program,
                "result_preview": result_preview, "prints": prints, "raw_response": raw_response.map(summary),
            }),
            Event::LlmStart { model, messages } => json!({"model": model, "messages": messages}),
            Event::LlmStop { model, response, input_tokens, output_tokens, duration } => json!({
                "model": model,
                "response": summary(response), "tokens": input_tokens + output_tokens, "input_tokens": input_tokens,
                "output_tokens": output_tokens, "duration_ms": millis(duration),
            }),
            Event::LlmException { model, message, duration } => {
                json!({"model": model, "message": message, "duration_ms": millis(duration)})
            }
            Event::ToolStart { tool_name, exposure_layer, args } => {
                json!({"tool_name": tool_name, "exposure_layer": exposure_layer, "args": args})
            }
            Event::ToolStop { tool_name, exposure_layer, result, duration } => json!({
                "tool_name": tool_name, "exposure_layer": exposure_layer, "result": result,
                "duration_ms": millis(duration),
            }),
            Event::ToolException { tool_name, exposure_layer, message, duration } => json!({
                "tool_name": tool_name, "exposure_layer": exposure_layer, "message": message,
                "duration_ms": millis(duration),
            }),
            Event::ToolCall(ToolCallEvent {
                tool_name,
                exposure_layer,
                cached,
                error,
                duration,
                result_preview_truncated,
                full_result_cached,
                cache_key_hash,
                retained_bytes,
            }) => json!({
                "tool_name": tool_name, "exposure_layer": exposure_layer, "cached": cached, "error": error,
                "duration_ms": millis(duration), "result_preview_truncated": result_preview_truncated,
                "full_result_cached": full_result_cached, "cache_key_hash": cache_key_hash,
                "retained_bytes": retained_bytes,
            }),
            Event::ForkStart { kind: _, count } => json!({"count": count}),
            Event::ForkStop { kind: _, count, errors, duration } => {
                json!({"count": count, "errors": errors, "duration_ms": millis(duration)})
            }
            Event::CompactionTriggered { messages, tokens, strategy, reason } => json!({
                "messages_before": messages.0, "messages_after": messages.1, "tokens_before": tokens.0,
                "tokens_after": tokens.1, "strategy": strategy, "reason": reason,
            }),
        }
    }
}
