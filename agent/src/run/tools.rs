//! App tools: native calls and programs share one path to the handler and the shared results.

use super::RunEvent;
use super::shared::RunScope;
use crate::cache::{CacheError, CacheLimits, canonical_key};
use crate::llm::{Image, lift, may_hold};
use crate::telemetry::{Event, OpenSpan, ToolCallEvent, args, summary};
use crate::tool::{JsonMap, Layer, ToolContext, ToolError, ToolSpec, fitted, invoke};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use ptc_base::json::Value as Json;
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Instant};
use ptc_engine::AppTools;
use ptc_vm::machine::{ForkNote, Payload, Reply};
use ptc_vm::{Error, Reason};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, SystemTime};

/// The result of a call from the model.
pub(super) struct ToolAnswer {
    /// The content of its tool message.
    pub(super) body: Json,
    pub(super) ok: bool,
    pub(super) began: SystemTime,
    pub(super) took: Duration,
    /// The images of the result, for a model that sees them.
    pub(super) images: Vec<Image>,
}

/// A result on its way to the model or a program.
pub(super) struct ToolResult {
    pub(super) json: Bytes,
    pub(super) hit: bool,
    /// Why it is not kept; `None` if it is.
    pub(super) refused: Option<CacheError>,
    /// Whether it was to be kept.
    pub(super) cacheable: bool,
    /// The arguments as the tool got them, where the result may be kept.
    pub(super) arguments: JsonMap,
    pub(super) key_hash: Option<String>,
}

impl ToolResult {
    /// A result with its content alone, all else at the defaults.
    pub(super) fn new(json: Bytes) -> ToolResult {
        ToolResult {
            json,
            hit: false,
            refused: None,
            cacheable: false,
            arguments: JsonMap::new(),
            key_hash: None,
        }
    }

    pub(super) fn kept(&self) -> bool {
        self.cacheable && self.refused.is_none()
    }
}

/// Runs a tool or takes its kept result; `cached` says whether this side may reuse results.
pub(super) async fn get(
    run: &Arc<RunScope>,
    name: &str,
    tool: &ToolSpec,
    arguments: JsonMap,
    layer: Layer,
    cached: bool,
) -> Result<ToolResult, ToolError> {
    let given = Json::Object(arguments.clone());
    let display = args(&given);
    let arguments = fitted(tool, arguments);
    // By what the tool gets: both sides may write one value in different ways.
    let fits = arguments.as_ref().ok().filter(|_| cached || tool.upstream.is_some());
    let key = fits.filter(|_| cached).and_then(|arguments| canonical_key(name, arguments));
    let kept_arguments = fits.cloned().unwrap_or_default();
    let limit = run.config.tool_timeout.min(run.left());
    let context = ToolContext {
        agent_id: run.emitter.agent_id.clone(),
        agent_name: run.config.name.clone(),
        turn: run.emitter.turn(),
        layer,
        deadline: Some(time::now() + limit),
        extensions: run.extensions.clone(),
        keeps: Arc::new(AtomicBool::new(true)),
        run: Some(run.clone()),
    };
    let keeps = context.keeps.clone();
    let call = async {
        let (tool_name, exposure_layer) = (name, layer.as_str());
        let span = run.emitter.begin(&Event::ToolStart { tool_name, exposure_layer, args: &display });
        run.watch(|| RunEvent::ToolStarted { name: name.to_owned(), args: given.clone(), layer });
        let made = match arguments {
            Ok(arguments) => invoke(&run.runtime, tool, arguments, context, limit).await,
            Err(error) => Err(error),
        };
        let made = made.and_then(|value| bounded(&value, run.config.max_tool_bytes));
        let duration = span.elapsed();
        run.watch(|| RunEvent::ToolEnded {
            name: name.to_owned(),
            layer,
            error: made.as_ref().err().map(|error| error.0.clone()),
            bytes: made.as_ref().map_or(0, Bytes::len),
            duration,
        });
        match &made {
            Ok(json) => {
                let text = told(json);
                let result = summary(&text);
                run.emitter.end(&span, &Event::ToolStop { tool_name, exposure_layer, result, duration });
            }
            Err(error) => {
                let message = error.0.as_str();
                let event = Event::ToolException { tool_name, exposure_layer, message, duration };
                run.emitter.end(&span, &event);
            }
        }
        made
    };
    match key {
        None => {
            let json = call.await?;
            let declined = (!keeps.load(Ordering::Relaxed)).then_some(CacheError::Declined);
            let refused = declined.or(cached.then_some(CacheError::Ambiguous));
            Ok(ToolResult { refused, cacheable: cached, arguments: kept_arguments, ..ToolResult::new(json) })
        }
        Some(key) => {
            let limits = CacheLimits { entry: tool.max_cached_bytes, total: run.config.tool_cache_limit };
            let fetched = run.kept.cache.fetch(&key, limits, &keeps, call).await?;
            Ok(ToolResult {
                json: fetched.json,
                hit: fetched.hit,
                refused: fetched.refused,
                cacheable: true,
                arguments: kept_arguments,
                key_hash: Some(key.hash_text()),
            })
        }
    }
}

/// The part of a result that telemetry receives: its beginning, without images.
#[expect(clippy::disallowed_methods, reason = "entry point: told()")]
fn told(json: &[u8]) -> String {
    let value = if may_hold(json) { ptc_base::json::from_slice::<Json>(json).ok() } else { None };
    if let Some(mut value) = value {
        lift(&mut value, false);
        return value.to_string();
    }
    String::from_utf8_lossy(&json[..json.len().min(4096)]).into_owned()
}

/// Keeps a result of an upstream tool, of which the model is about to read a preview.
pub(super) fn keep(run: &RunScope, name: &str, tool: &ToolSpec, arguments: &JsonMap, got: &mut ToolResult) {
    got.cacheable = true;
    let Some(key) = canonical_key(name, arguments) else {
        got.refused = Some(CacheError::Ambiguous);
        return;
    };
    got.key_hash = Some(key.hash_text());
    if got.refused.is_none() {
        let limits = CacheLimits { entry: tool.max_cached_bytes, total: run.config.tool_cache_limit };
        got.refused = run.kept.cache.keep(key, got.json.clone(), limits).err();
    } else {
        run.kept.cache.forget(&key);
    }
}

/// The kept result of a call of an upstream tool.
pub(super) fn kept(run: &RunScope, name: &str, tool: &ToolSpec, arguments: &JsonMap) -> Option<ToolResult> {
    run.config.shared(tool)?;
    let key = canonical_key(name, arguments)?;
    let json = run.kept.cache.kept(&key)?;
    Some(ToolResult { hit: true, cacheable: true, key_hash: Some(key.hash_text()), ..ToolResult::new(json) })
}

/// A result that the model reads whole: a former one of the same call is no longer the last.
pub(super) fn read_whole(run: &RunScope, name: &str, arguments: &JsonMap) {
    if let Some(key) = canonical_key(name, arguments) {
        run.kept.cache.forget(&key);
    }
}

/// A value as JSON of at most `max` bytes. One that is larger is refused before anything is written.
fn bounded(value: &Json, max: usize) -> Result<Bytes, ToolError> {
    let too_large = || {
        ToolError(format!(
            "the result is larger than the {max} bytes of JSON that a tool may give; ask for less"
        ))
    };
    let least = least_length(value, max).ok_or_else(too_large)?;
    let mut out = BoundedBuffer { bytes: Vec::with_capacity(least), max };
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => Ok(out.bytes.into()),
        Err(error) if error.is_io() => Err(too_large()),
        Err(error) => Err(ToolError(error.to_string())),
    }
}

/// The length of a value's JSON, if no text in it needs escapes; `None` as soon as that is more than `max`.
fn least_length(value: &Json, max: usize) -> Option<usize> {
    let (mut length, mut rest) = (0_usize, vec![value]);
    while let Some(value) = rest.pop() {
        length += match value {
            Json::Null | Json::Bool(true) => 4,
            Json::Bool(false) => 5,
            Json::Number(number) => number.as_str().len(),
            Json::String(text) => text.len() + 2,
            Json::Array(items) => {
                rest.extend(items);
                items.len().saturating_sub(1) + 2
            }
            Json::Object(map) => {
                rest.extend(map.values());
                map.keys().map(|key| key.len() + 3).sum::<usize>() + map.len().saturating_sub(1) + 2
            }
        };
        if length > max {
            return None;
        }
    }
    Some(length)
}

/// Bytes that never become more than `max`.
struct BoundedBuffer {
    bytes: Vec<u8>,
    max: usize,
}

impl io::Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.max - self.bytes.len() {
            return Err(io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reports one call to telemetry (agent.md 8.13).
pub(super) fn report(
    run: &RunScope,
    tool_name: &str,
    layer: Layer,
    started: Instant,
    got: Option<&ToolResult>,
    truncated: bool,
) {
    run.emitter.note(&Event::ToolCall(ToolCallEvent {
        tool_name,
        exposure_layer: layer.as_str(),
        cached: got.is_some_and(|got| got.hit),
        error: got.is_none(),
        duration: time::since(started),
        result_preview_truncated: truncated,
        full_result_cached: got.is_some_and(ToolResult::kept),
        cache_key_hash: got.and_then(|got| got.key_hash.as_deref()),
        retained_bytes: got.filter(|got| got.kept()).map_or(0, |got| got.json.len()),
    }));
}

/// The tools of one program.
pub(super) struct ProgramTools {
    run: Arc<RunScope>,
    /// Whether the program may call any.
    open: bool,
    calls: AtomicU32,
    /// Forks that have not ended.
    forks: Mutex<BTreeMap<u32, (OpenSpan, ForkNote)>>,
}

impl ProgramTools {
    pub(super) fn new(run: Arc<RunScope>, open: bool) -> ProgramTools {
        ProgramTools { run, open, calls: AtomicU32::new(0), forks: Mutex::default() }
    }

    /// Closes the spans that are still open: the program is over.
    pub(super) fn close(&self) {
        let open = std::mem::take(&mut *self.forks());
        for (span, note) in open.into_values() {
            self.fork_ended(&span, note, note.count);
        }
    }

    fn forks(&self) -> MutexGuard<'_, BTreeMap<u32, (OpenSpan, ForkNote)>> {
        self.forks.lock()
    }

    fn fork_ended(&self, span: &OpenSpan, ForkNote { kind, count, .. }: ForkNote, errors: usize) {
        let duration = span.elapsed();
        self.run.emitter.end(span, &Event::ForkStop { kind, count, errors, duration });
    }
}

impl AppTools for ProgramTools {
    fn watches_forks(&self) -> bool {
        true
    }

    fn forked(&self, note: ForkNote) {
        match note.errors {
            None => {
                let span = self.run.emitter.begin(&Event::ForkStart { kind: note.kind, count: note.count });
                self.forks().insert(note.number, (span, note));
            }
            Some(errors) => {
                let open = self.forks().remove(&note.number);
                if let Some((span, _)) = open {
                    self.fork_ended(&span, note, errors);
                }
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let tools = self.run.config.program_tools().filter(|_| self.open);
        tools.map(|(name, _)| name.clone()).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: ProgramTools.call")]
    fn call(&self, name: &str, arguments: Vec<u8>) -> BoxFuture<'static, Reply> {
        let raise = |reason, text: String| -> BoxFuture<'static, Reply> {
            Box::pin(async move { Reply::Raise(Error::verbatim(reason, text)) })
        };
        let tool = self.run.config.program_tools().find(|(known, _)| self.open && *known == name);
        let Some((_, tool)) = tool else {
            return raise(Reason::UnknownTool, format!("Unknown tool: {name}. No tools available."));
        };
        let taken = self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(max) = self.run.config.max_tool_calls.filter(|max| taken >= *max) {
            report(&self.run, name, Layer::PtcLisp, time::now(), None, false);
            return raise(Reason::ToolCallLimitExceeded, format!("tool call limit exceeded (max: {max})"));
        }
        let Ok(arguments) = serde_json::from_slice::<JsonMap>(&arguments) else {
            report(&self.run, name, Layer::PtcLisp, time::now(), None, false);
            return raise(Reason::InvalidToolArgs, format!("Tool '{name}' takes a map of arguments"));
        };
        let (run, name, tool) = (self.run.clone(), name.to_owned(), tool.clone());
        Box::pin(async move {
            let started = time::now();
            let own = tool.upstream.is_none();
            let kept = if own { None } else { kept(&run, &name, &tool, &arguments) };
            let got = match kept {
                Some(got) => Ok(got),
                None => get(&run, &name, &tool, arguments, Layer::PtcLisp, tool.cache && own).await,
            };
            report(&run, &name, Layer::PtcLisp, started, got.as_ref().ok(), false);
            match got {
                Ok(got) => Reply::Value(Payload::Json(got.json)),
                Err(error) => {
                    let text = format!("Tool '{name}' failed: {}", Json::from(error.0));
                    Reply::Raise(Error::verbatim(Reason::ToolError, text))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::json::json;

    #[test]
    fn results_are_as_long_as_they_may_be_and_no_longer() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!({"a": [1, -2.5, true, false, null], "bc": {"d": "text"}}),
            json!([[], [[]], "é"]),
        ] {
            let text = value.to_string();
            assert_eq!(least_length(&value, usize::MAX), Some(text.len()), "{text}");
            assert_eq!(bounded(&value, text.len()).unwrap(), text.as_bytes());
            assert!(bounded(&value, text.len() - 1).is_err(), "{text}");
        }
        // Escapes are found while writing.
        let escaped = json!("\u{1}\n\"");
        assert_eq!(least_length(&escaped, 100), Some(5));
        assert!(bounded(&escaped, 11).is_err() && bounded(&escaped, 12).is_ok());
    }
}
