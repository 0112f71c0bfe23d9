//! The agent and its configuration.

use super::progress::{Progress, checklist};
use super::{CompletionMode, FormatOptions, MemoryStrategy, Mode, ProgressFn, SystemPrompt};
use crate::compaction::Compaction;
use crate::llm::{LlmRef, LlmRegistry, RetryPolicy};
use crate::signature::Signature;
use crate::template::Template;
use crate::tool::{Expose, Extensions, NativeResult, ToolSpec};
use ptc_base::json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// An agent: unchangeable, cheap to clone, for any number of runs at a time.
#[derive(Clone)]
pub struct Agent(pub(crate) Arc<Config>);

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.0.name)
            .field("mode", &self.0.mode)
            .field("signature", &self.0.signature.as_ref().map(ToString::to_string))
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}

/// Accepts an answer, or returns its fault for the model.
pub(crate) type Validator = dyn Fn(&Json) -> Result<(), String> + Send + Sync;

/// An agent's configuration.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) prompt: Template,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) signature: Option<Signature>,
    pub(crate) tools: BTreeMap<String, ToolSpec>,
    pub(crate) llm: Option<LlmRef>,
    pub(crate) llm_registry: LlmRegistry,
    pub(crate) llm_retry: Option<RetryPolicy>,
    pub(crate) system_prompt: Option<SystemPrompt>,
    pub(crate) prompt_limit: Option<usize>,
    pub(crate) max_turns: u32,
    pub(crate) retry_turns: u32,
    pub(crate) turn_budget: u32,
    pub(crate) max_depth: u32,
    pub(crate) max_tool_calls: Option<u32>,
    pub(crate) parallel_tool_calls: usize,
    pub(crate) timeout: Duration,
    pub(crate) tool_timeout: Duration,
    pub(crate) mission_timeout: Option<Duration>,
    pub(crate) max_heap: u64,
    pub(crate) max_steps: Option<u64>,
    pub(crate) max_program_bytes: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) memory_strategy: MemoryStrategy,
    pub(crate) max_result_bytes: usize,
    pub(crate) max_tool_bytes: usize,
    pub(crate) tool_cache_limit: Option<usize>,
    pub(crate) completion: CompletionMode,
    pub(crate) journaling: bool,
    pub(crate) plan: Vec<String>,
    pub(crate) progress: Option<Arc<ProgressFn>>,
    pub(crate) thinking: bool,
    pub(crate) compaction: Option<Compaction>,
    pub(crate) format: FormatOptions,
    pub(crate) context_descriptions: BTreeMap<String, String>,
    pub(crate) field_descriptions: BTreeMap<String, String>,
    pub(crate) validators: Vec<Arc<Validator>>,
    pub(crate) extensions: Extensions,
}

/// Bytes of an upstream's result up to which the model reads it whole: a program that fetches it from the cache costs a
/// turn, which is about as much.
const WHOLE_UPSTREAM_RESULT: usize = 4 << 10;

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("name", &self.name).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Agent {
    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// How it works.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.mode
    }

    /// Its input and output types, if declared.
    #[must_use]
    pub fn signature(&self) -> Option<&Signature> {
        self.0.signature.as_ref()
    }
}

impl Config {
    /// Takes over the descriptions of a schema's properties.
    pub(crate) fn describe(&mut self, schema: &Json) {
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            if let Some(text) = property.get("description").and_then(Json::as_str) {
                self.field_descriptions.entry(name.clone()).or_insert_with(|| text.to_owned());
            }
        }
    }

    /// Whether all validators accept an answer of the right type. One that panics does not.
    pub(crate) fn accepts(&self, value: &Json) -> Result<(), String> {
        self.validators.iter().try_for_each(|validator| {
            catch_unwind(AssertUnwindSafe(|| validator(value))).unwrap_or_else(|panic| {
                Err(format!("the check of the answer panicked: {}", crate::tool::panic_text(&*panic)))
            })
        })
    }

    /// The permitted callers of a tool. Pure text mode offers every tool natively; with `lisp_eval` as the only native tool
    /// none.
    pub(crate) fn exposure(&self, tool: &ToolSpec) -> Expose {
        match self.mode {
            Mode::Text => Expose::Native,
            Mode::Combined => tool.expose.unwrap_or(Expose::Native),
            // There is no native side but `lisp_eval`: an explicit `native` keeps a tool out of programs.
            Mode::Lisp | Mode::LispTool => tool.expose.unwrap_or(Expose::PtcLisp),
        }
    }

    /// The tools offered to the provider, besides `lisp_eval`.
    pub(crate) fn native_tools(&self) -> impl Iterator<Item = (&String, &ToolSpec)> {
        let offered = matches!(self.mode, Mode::Text | Mode::Combined);
        self.tools.iter().filter(move |(_, tool)| offered && self.exposure(tool).native())
    }

    /// The tools that programs may call.
    pub(crate) fn program_tools(&self) -> impl Iterator<Item = (&String, &ToolSpec)> {
        self.tools.iter().filter(|(_, tool)| self.mode != Mode::Text && self.exposure(tool).programs())
    }

    /// The preview of a tool whose results both sides share; `None` for other tools.
    pub(crate) fn shared(&self, tool: &ToolSpec) -> Option<NativeResult> {
        let shared = self.mode == Mode::Combined && self.exposure(tool) == Expose::Both && tool.cache;
        let default = || match tool.upstream {
            Some(_) => NativeResult::WholeUpTo { bytes: WHOLE_UPSTREAM_RESULT },
            None => NativeResult::default(),
        };
        shared.then(|| tool.native_result.clone().unwrap_or_else(default))
    }

    /// The tool that stands for one of an upstream.
    pub(crate) fn tool_of_upstream(&self, server: &str, tool: &str) -> Option<(&String, &ToolSpec)> {
        let stands = |spec: &ToolSpec| spec.upstream.as_ref().is_some_and(|(s, t)| s == server && t == tool);
        self.tools.iter().find(|(_, spec)| stands(spec))
    }

    /// Whether any text of the model is the answer, so that it may be streamed as it arrives: there is nothing to check and no
    /// tool in between.
    pub(crate) fn streams_text(&self) -> bool {
        let text = self.signature.as_ref().is_none_or(|signature| signature.returns.is_text());
        self.mode == Mode::Text && self.tools.is_empty() && text
    }

    /// Whether models read the progress: there is a plan, or a function that makes the text.
    pub(crate) fn tells_progress(&self) -> bool {
        !self.plan.is_empty() || self.progress.is_some()
    }

    /// The text on the progress after the program of this turn.
    pub(crate) fn progress_text(&self, done: &[(String, String)], turn: u32) -> String {
        let progress = Progress { plan: &self.plan, done, turn, max_turns: self.max_turns };
        let Some(function) = &self.progress else { return checklist(progress) };
        catch_unwind(AssertUnwindSafe(|| function(&progress))).unwrap_or_else(|_| {
            tracing::warn!(target: crate::telemetry::TARGET, "progress_fn panicked and was ignored");
            checklist(progress)
        })
    }

    /// Whether an agent of one turn that only computes: its last value is its answer.
    pub(crate) fn single_shot(&self) -> bool {
        self.completion == CompletionMode::Implicit
            && self.max_turns == 1
            && self.program_tools().next().is_none()
    }
}

/// A tool's name as providers accept it.
pub(crate) fn native_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
