//! What an agent is: its prompt, its tools and its limits, checked when it is built (agent.md 3).

mod builder;

pub use builder::{AgentBuilder, ConfigError};

use crate::signature::Signature;
use crate::tool::{Expose, NativeResult, ToolSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How an agent works (agent.md 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// It chats and calls native tools.
    #[default]
    Text,
    /// As text, and it may run programs with `lisp_eval`.
    Combined,
}

/// What is done with the agent's own system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemPrompt {
    /// This text takes its place. The reference card of combined mode still follows.
    Replace(String),
    /// Texts before and after it.
    Wrap {
        /// Before.
        prefix: String,
        /// After.
        suffix: String,
    },
}

/// An agent: unchangeable, cheap to clone, for any number of runs at a time.
#[derive(Debug, Clone)]
pub struct Agent(pub(crate) Arc<Config>);

/// What an agent was built of.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) prompt: String,
    pub(crate) name: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) signature: Option<Signature>,
    pub(crate) tools: BTreeMap<String, ToolSpec>,
    pub(crate) system_prompt: Option<SystemPrompt>,
    pub(crate) max_turns: u32,
    pub(crate) max_tool_calls: Option<u32>,
    pub(crate) timeout: Duration,
    pub(crate) tool_timeout: Duration,
    pub(crate) mission_timeout: Option<Duration>,
    pub(crate) max_heap: u64,
    pub(crate) max_result_bytes: usize,
    pub(crate) tool_cache_limit: Option<usize>,
}

impl Agent {
    /// Begins an agent with this prompt: a template in which `{{key}}` stands for a value of the context.
    pub fn builder(prompt: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(prompt.into())
    }
}

impl Config {
    /// Who may call a tool. Pure text mode offers every tool natively.
    pub(crate) fn exposure(&self, tool: &ToolSpec) -> Expose {
        match self.mode {
            Mode::Text => Expose::Native,
            Mode::Combined => tool.expose.unwrap_or(Expose::Native),
        }
    }

    /// The preview of a tool whose results both sides share; `None` for other tools.
    pub(crate) fn shared(&self, tool: &ToolSpec) -> Option<NativeResult> {
        let shared = self.mode == Mode::Combined && self.exposure(tool) == Expose::Both && tool.cache;
        shared.then(|| tool.native_result.clone().unwrap_or_default())
    }
}

/// A tool's name as providers accept it.
pub(crate) fn native_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
