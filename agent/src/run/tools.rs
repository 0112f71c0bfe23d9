//! App tools, called natively or by a program: one path to the handler and the shared results.

use super::Shared;
use crate::cache::canonical_key;
use crate::tool::{JsonMap, Layer, ToolContext, ToolError, ToolSpec, invoke};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use ptc_host::engine::AppTools;
use ptc_vm::machine::{Payload, Reply};
use ptc_vm::{Error, Reason};
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// A result on its way to the model or a program.
pub(super) struct Got {
    pub(super) json: Bytes,
    pub(super) hit: bool,
    pub(super) kept: bool,
    pub(super) key_hash: Option<String>,
}

/// Runs a tool or takes its kept result; `cached` says whether this side may reuse results.
pub(super) async fn get(
    run: &Shared,
    name: &str,
    tool: &ToolSpec,
    arguments: JsonMap,
    layer: Layer,
    cached: bool,
) -> Result<Got, ToolError> {
    let key = if cached { canonical_key(name, &arguments) } else { None };
    let context = ToolContext {
        agent_id: run.agent_id.clone(),
        agent_name: run.config.name.clone(),
        turn: run.turn.load(Ordering::Relaxed),
        layer,
    };
    let limit = run.config.tool_timeout.min(run.left());
    let call = async {
        let value = invoke(&run.runtime, tool, arguments, context, limit).await?;
        serde_json::to_vec(&value).map(Bytes::from).map_err(|error| ToolError(error.to_string()))
    };
    match key {
        None => Ok(Got { json: call.await?, hit: false, kept: false, key_hash: None }),
        Some(key) => {
            let fetched = run.cache.fetch(&key, tool.max_cached_bytes, call).await?;
            Ok(Got {
                json: fetched.json,
                hit: fetched.hit,
                kept: fetched.kept,
                key_hash: Some(key.hash_text()),
            })
        }
    }
}

/// Tells telemetry of one call (agent.md 8.13).
pub(super) fn report(
    run: &Shared,
    name: &str,
    layer: Layer,
    started: Instant,
    got: Option<&Got>,
    truncated: bool,
) {
    tracing::info!(
        target: "ptc_runner.sub_agent",
        event = "tool.call",
        agent_id = %run.agent_id,
        tool_name = name,
        exposure_layer = layer.as_str(),
        cached = got.is_some_and(|got| got.hit),
        error = got.is_none(),
        duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        result_preview_truncated = truncated,
        full_result_cached = got.is_some_and(|got| got.kept),
        cache_key_hash = got.and_then(|got| got.key_hash.as_deref()).unwrap_or_default(),
        retained_bytes = got.filter(|got| got.kept).map_or(0, |got| got.json.len()),
    );
}

/// The tools of one program.
pub(super) struct ProgramTools {
    run: Arc<Shared>,
    calls: AtomicU32,
}

impl ProgramTools {
    pub(super) fn new(run: Arc<Shared>) -> ProgramTools {
        ProgramTools { run, calls: AtomicU32::new(0) }
    }
}

impl AppTools for ProgramTools {
    fn names(&self) -> Vec<String> {
        let config = &self.run.config;
        let callable = config.tools.iter().filter(|(_, tool)| config.exposure(tool).programs());
        callable.map(|(name, _)| name.clone()).collect()
    }

    fn call(&self, name: &str, arguments: Vec<u8>) -> BoxFuture<'static, Reply> {
        let raise = |reason, text| -> BoxFuture<'static, Reply> {
            Box::pin(async move { Reply::Raise(Error::verbatim(reason, text)) })
        };
        let taken = self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(max) = self.run.config.max_tool_calls.filter(|max| taken >= *max) {
            return raise(Reason::ToolCallLimitExceeded, format!("tool call limit exceeded (max: {max})"));
        }
        let tool = self.run.config.tools.get(name).filter(|tool| self.run.config.exposure(tool).programs());
        let Some(tool) = tool.cloned() else {
            return raise(Reason::UnknownTool, format!("Unknown tool: {name}. No tools available."));
        };
        let Ok(arguments) = serde_json::from_slice::<JsonMap>(&arguments) else {
            return raise(Reason::InvalidToolArgs, format!("Tool '{name}' takes a map of arguments"));
        };
        let (run, name) = (self.run.clone(), name.to_owned());
        Box::pin(async move {
            let started = Instant::now();
            let got = get(&run, &name, &tool, arguments, Layer::PtcLisp, tool.cache).await;
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
