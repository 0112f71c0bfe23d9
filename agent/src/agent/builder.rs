//! Builds agents.

use super::{Agent, Config, Mode, SystemPrompt, native_name};
use crate::signature::Signature;
use crate::tool::{Expose, NativeResult, ToolSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What is wrong with an agent's options: the exact texts of agent.md 3.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// Collects an agent's options; [`build`](AgentBuilder::build) checks them.
#[derive(Debug, Clone)]
pub struct AgentBuilder {
    config: Config,
    signature: Option<String>,
    tools: Vec<(String, ToolSpec)>,
}

impl AgentBuilder {
    pub(super) fn new(prompt: String) -> AgentBuilder {
        let config = Config {
            prompt,
            name: None,
            mode: Mode::Text,
            signature: None,
            tools: BTreeMap::new(),
            system_prompt: None,
            max_turns: 5,
            max_tool_calls: None,
            timeout: Duration::from_secs(5),
            tool_timeout: Duration::from_secs(60),
            mission_timeout: None,
            max_heap: 100 << 20,
            max_result_bytes: 1 << 20,
            tool_cache_limit: None,
        };
        AgentBuilder { config, signature: None, tools: Vec::new() }
    }

    /// How it works; [`Mode::Text`] by default.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.config.mode = mode;
        self
    }

    /// Its name, for telemetry.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = Some(name.into());
        self
    }

    /// The type of its answer, such as `() -> {total :int}`.
    #[must_use]
    pub fn signature(mut self, text: impl Into<String>) -> Self {
        self.signature = Some(text.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, spec: ToolSpec) -> Self {
        self.tools.push((name.into(), spec));
        self
    }

    /// Changes its system prompt.
    #[must_use]
    pub fn system_prompt(mut self, prompt: SystemPrompt) -> Self {
        self.config.system_prompt = Some(prompt);
        self
    }

    /// Responses of the model in one run; 5 by default.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.config.max_turns = turns;
        self
    }

    /// Native tool calls of one run, and tool calls of each program; unlimited by default.
    #[must_use]
    pub fn max_tool_calls(mut self, calls: u32) -> Self {
        self.config.max_tool_calls = Some(calls);
        self
    }

    /// Time of one program; 5 s by default.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.config.timeout = time;
        self
    }

    /// Time of one tool call; 60 s by default.
    #[must_use]
    pub fn tool_timeout(mut self, time: Duration) -> Self {
        self.config.tool_timeout = time;
        self
    }

    /// Time of a whole run; unlimited by default.
    #[must_use]
    pub fn mission_timeout(mut self, time: Duration) -> Self {
        self.config.mission_timeout = Some(time);
        self
    }

    /// Bytes of live values of one program; 100 MiB by default.
    #[must_use]
    pub fn max_heap(mut self, bytes: u64) -> Self {
        self.config.max_heap = bytes;
        self
    }

    /// Largest result of a tool, in bytes of JSON, that goes to the model as it is; 1 MiB by default.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.config.max_result_bytes = bytes;
        self
    }

    /// Bytes of results that one run keeps; unlimited by default. A result that does not fit is not kept.
    #[must_use]
    pub fn tool_cache_limit(mut self, bytes: usize) -> Self {
        self.config.tool_cache_limit = Some(bytes);
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// The first option that is wrong.
    pub fn build(self) -> Result<Agent, ConfigError> {
        let AgentBuilder { mut config, signature, tools } = self;
        let refuse = |wrong: bool, text: &str| {
            if wrong { Err(ConfigError(text.to_owned())) } else { Ok(()) }
        };
        refuse(config.prompt.trim().is_empty(), "prompt is required")?;
        config.signature = match signature {
            None => None,
            Some(text) => Some(
                Signature::parse(&text)
                    .map_err(|error| ConfigError(format!("invalid signature: {error}")))?,
            ),
        };
        refuse(config.max_turns == 0, "max_turns must be a positive integer")?;
        refuse(config.timeout.is_zero(), "timeout must be a positive integer")?;
        refuse(config.tool_timeout.is_zero(), "tool_timeout must be a positive integer")?;
        refuse(
            config.mission_timeout.is_some_and(|time| time.is_zero()),
            "mission_timeout must be a positive integer or nil",
        )?;
        refuse(config.max_tool_calls == Some(0), "max_tool_calls must be a positive integer")?;
        refuse(
            config.name.as_ref().is_some_and(|name| name.trim().is_empty()),
            "name must be a non-empty string or nil",
        )?;
        let mut natives: BTreeMap<String, String> = BTreeMap::new();
        for (name, tool) in tools {
            check_tool(&name, &tool)?;
            if config.exposure(&tool).native()
                && let Some(other) = natives.insert(native_name(&name), name.clone())
            {
                return Err(ConfigError(format!(
                    "tool \"{name}\": providers would see the same name as for tool \"{other}\" — rename one"
                )));
            }
            config.tools.insert(name, tool);
        }
        Ok(Agent(Arc::new(config)))
    }
}

fn check_tool(name: &str, tool: &ToolSpec) -> Result<(), ConfigError> {
    let refuse = |text: String| Err(ConfigError(text));
    if name.is_empty() {
        return refuse("tool name must be a non-empty string".into());
    }
    if native_name(name) == crate::run::LISP_EVAL {
        return refuse(format!("tool name \"{name}\" is reserved by PtcRunner — choose a different name"));
    }
    let Some(preview) = &tool.native_result else { return Ok(()) };
    if tool.expose != Some(Expose::Both) || !tool.cache {
        let expose = match tool.expose {
            None => "nil",
            Some(Expose::Native) => ":native",
            Some(Expose::PtcLisp) => ":ptc_lisp",
            Some(Expose::Both) => ":both",
        };
        let cache = tool.cache;
        return refuse(format!(
            "tool \"{name}\": native_result: requires expose: :both AND cache: true (got expose: {expose}, cache: {cache})"
        ));
    }
    if matches!(preview, NativeResult::Rows { limit: 0 }) {
        return refuse(format!("tool \"{name}\": native_result.limit: must be a positive integer, got 0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::JsonMap;
    use serde_json::Value as Json;

    fn tool() -> ToolSpec {
        ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::Null) })
    }

    #[test]
    fn texts_are_exact() {
        let agent = || Agent::builder("p");
        let both = || tool().expose(Expose::Both).cache(true);
        for (builder, text) in [
            (Agent::builder(""), "prompt is required"),
            (agent().max_turns(0), "max_turns must be a positive integer"),
            (agent().max_tool_calls(0), "max_tool_calls must be a positive integer"),
            (agent().name(" "), "name must be a non-empty string or nil"),
            (
                agent().tool("lisp_eval", tool()),
                "tool name \"lisp_eval\" is reserved by PtcRunner — choose a different name",
            ),
            (
                agent().tool("t", tool().native_result(NativeResult::Metadata)),
                "tool \"t\": native_result: requires expose: :both AND cache: true (got expose: nil, cache: false)",
            ),
            (
                agent().tool("t", both().native_result(NativeResult::Rows { limit: 0 })),
                "tool \"t\": native_result.limit: must be a positive integer, got 0",
            ),
        ] {
            assert_eq!(builder.build().unwrap_err().to_string(), text);
        }
        let clash = agent().tool("a-b", tool()).tool("a_b", tool()).build().unwrap_err().to_string();
        assert!(clash.contains("rename one"), "{clash}");
        let signature = agent().signature("oops").build().unwrap_err().to_string();
        assert!(signature.starts_with("invalid signature: parse error at line 1"), "{signature}");
    }
}
