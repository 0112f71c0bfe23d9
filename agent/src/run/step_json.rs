//! Steps as JSON, by the names of agent.md 13.

use super::{Journal, Step, StepUsage, ToolCallRecord, Turn};
use ptc_engine::CatalogOp;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use std::time::{Duration, SystemTime};

/// Whole milliseconds.
fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

/// Pairs as an object.
struct Pairs<'a>(&'a [(String, String)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

struct CatalogOps<'a>(&'a [CatalogOp]);

impl Serialize for CatalogOps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for op in self.0 {
            list.serialize_element(&ptc_base::json::json!({"operation": op.operation, "args": op.args.clone(),
                "outcome": op.outcome(), "reason": op.reason, "note": op.note.clone(), "duration_ms": millis(op.duration)}))?;
        }
        list.end()
    }
}

impl Serialize for Journal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Journal", 2)?;
        object.serialize_field("tasks", &Pairs(&self.tasks))?;
        object.serialize_field("summaries", &Pairs(&self.summaries))?;
        object.end()
    }
}

impl Serialize for ToolCallRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since = self.timestamp.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let timestamp = jiff::Timestamp::from_millisecond(millis(since).try_into().unwrap_or(i64::MAX));
        let mut object = serializer.serialize_struct("ToolCallRecord", 6)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("args", &self.args)?;
        object.serialize_field("result", &self.result)?;
        object.serialize_field("error", &self.error)?;
        object.serialize_field("timestamp", &timestamp.map(|time| time.to_string()).ok())?;
        object.serialize_field("duration_ms", &millis(self.duration))?;
        object.end()
    }
}

impl Serialize for Turn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Turn", 16)?;
        object.serialize_field("number", &self.number)?;
        object.serialize_field("retry", &self.retry)?;
        object.serialize_field("raw_response", &self.raw_response)?;
        object.serialize_field("stop", &self.stop)?;
        object.serialize_field("program", &self.program)?;
        object.serialize_field("result", &self.result)?;
        object.serialize_field("success", &self.success())?;
        object.serialize_field("error", &self.error)?;
        object.serialize_field("reason", &self.reason)?;
        object.serialize_field("prints", &self.prints)?;
        object.serialize_field("upstream_calls", &self.upstream_calls)?;
        object.serialize_field("catalog_ops", &CatalogOps(&self.catalog_ops))?;
        object.serialize_field("tool_calls", &self.tool_calls)?;
        object.serialize_field("memory", &Pairs(&self.memory))?;
        object.serialize_field("steps", &self.steps)?;
        object.serialize_field("duration_ms", &millis(self.duration))?;
        object.end()
    }
}

impl Serialize for StepUsage {
    /// The fields of tokens are there only if every answer came with its tokens.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("duration_ms", &millis(self.duration))?;
        object.serialize_entry("memory_bytes", &self.memory_bytes)?;
        object.serialize_entry("retained_bytes", &self.retained_bytes)?;
        object.serialize_entry("turns", &self.turns)?;
        object.serialize_entry("llm_requests", &self.llm_requests)?;
        object.serialize_entry("system_prompt_tokens", &self.system_prompt_tokens)?;
        if self.tokens_reported && self.turns > 0 {
            let tokens = &self.tokens;
            object.serialize_entry("input_tokens", &tokens.input)?;
            object.serialize_entry("output_tokens", &tokens.output)?;
            object.serialize_entry("total_tokens", &tokens.input.saturating_add(tokens.output))?;
            object.serialize_entry("cache_creation_tokens", &tokens.cache_creation)?;
            object.serialize_entry("cache_read_tokens", &tokens.cache_read)?;
            if let Some(cost) = tokens.total_cost {
                object.serialize_entry("total_cost", &cost)?;
            }
        }
        object.serialize_entry("schema_used", &self.schema_used)?;
        object.serialize_entry("schema_bytes", &self.schema_bytes)?;
        object.serialize_entry("fallback_used", &self.fallback_used)?;
        object.serialize_entry("compactions", &self.compactions)?;
        object.end()
    }
}

impl Serialize for Step {
    /// Everything but the [`state`](Step::state), whose values live in the engine.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Step", 20)?;
        object.serialize_field("return", &self.value)?;
        object.serialize_field("fail", &self.fail)?;
        object.serialize_field("stop", &self.stop)?;
        object.serialize_field("images", &self.images)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("signature", &self.signature)?;
        object.serialize_field("field_descriptions", &self.field_descriptions)?;
        object.serialize_field("original_prompt", &self.original_prompt)?;
        object.serialize_field("prompt", &self.prompt)?;
        object.serialize_field("tools", &self.tools)?;
        object.serialize_field("messages", &self.messages)?;
        object.serialize_field("turns", &self.turns)?;
        object.serialize_field("tool_calls", &self.tool_calls)?;
        object.serialize_field("prints", &self.prints)?;
        object.serialize_field("memory", &Pairs(&self.memory))?;
        object.serialize_field("journal", &self.journal)?;
        object.serialize_field("child_steps", &self.child_steps)?;
        object.serialize_field("trace_id", &self.trace_id)?;
        object.serialize_field("parent_trace_id", &self.parent_trace_id)?;
        object.serialize_field("usage", &self.usage)?;
        object.end()
    }
}
