//! The builder of an agent.

use crate::compaction::Compaction;
use crate::llm::{LlmRef, LlmRegistry, RetryPolicy};
use crate::settings::{
    Agent, CompletionMode, Config, FormatOptions, MemoryStrategy, Mode, Output, Progress, PtcReference,
    SystemPrompt, Transport,
};
use crate::signature::{IntoSignature, Signature, SignatureError};
use crate::template::Template;
use crate::tool::{Extensions, ToolSpec};
use ptc_base::json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

impl Agent {
    /// Starts a builder with this prompt: a template in which `{{key}}` is replaced by a value of the context.
    pub fn builder(prompt: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(prompt.into())
    }
}

/// Collects an agent's options; [`build`](AgentBuilder::build) checks them.
#[derive(Debug, Clone)]
pub struct AgentBuilder {
    pub(super) prompt: String,
    /// Whether braces in the prompt are plain text.
    pub(super) literal: bool,
    pub(super) output: Output,
    pub(super) transport: Option<Transport>,
    pub(super) signature: Option<Result<Signature, SignatureError>>,
    pub(super) json_schema: Option<Json>,
    pub(super) tools: Vec<(Option<String>, ToolSpec)>,
    pub(super) self_tools: bool,
    pub(super) grep: bool,
    pub(super) llm_query: bool,
    pub(super) config: Config,
}

impl AgentBuilder {
    fn new(prompt: String) -> AgentBuilder {
        let config = Config {
            prompt: Template::literal(""),
            name: None,
            description: None,
            mode: Mode::default(),
            signature: None,
            tools: BTreeMap::new(),
            llm: None,
            llm_registry: LlmRegistry::new(),
            llm_retry: None,
            system_prompt: None,
            prompt_limit: None,
            max_turns: 5,
            retry_turns: 0,
            turn_budget: 20,
            max_depth: 3,
            max_tool_calls: None,
            parallel_tool_calls: 1,
            timeout: Duration::from_secs(5),
            tool_timeout: Duration::from_secs(60),
            mission_timeout: None,
            max_heap: 100 << 20,
            max_steps: None,
            max_program_bytes: 65_536,
            memory_limit: Some(1 << 20),
            memory_strategy: MemoryStrategy::default(),
            max_result_bytes: 1 << 20,
            max_tool_bytes: 64 << 20,
            tool_cache_limit: None,
            completion: CompletionMode::default(),
            journaling: false,
            plan: Vec::new(),
            progress: None,
            thinking: false,
            compaction: None,
            format: FormatOptions::default(),
            context_descriptions: BTreeMap::new(),
            field_descriptions: BTreeMap::new(),
            validators: Vec::new(),
            extensions: Extensions::default(),
        };
        AgentBuilder {
            prompt,
            literal: false,
            output: Output::default(),
            transport: None,
            signature: None,
            json_schema: None,
            tools: Vec::new(),
            self_tools: false,
            grep: false,
            llm_query: false,
            config,
        }
    }

    /// The form of the model's output; PTC-Lisp by default.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// The form in which the model writes programs. With text output [`Transport::ToolCall`] means combined mode, and `None`
    /// (the default) no programs.
    #[must_use]
    pub fn transport(mut self, transport: impl Into<Option<Transport>>) -> Self {
        self.transport = transport.into();
        self
    }

    /// How much of the language the system prompt of combined mode explains.
    #[must_use]
    pub fn ptc_reference(self, reference: PtcReference) -> Self {
        let PtcReference::Compact = reference;
        self
    }

    /// Takes the prompt literally: `{{key}}` is not replaced.
    #[must_use]
    pub fn literal_prompt(mut self) -> Self {
        self.literal = true;
        self
    }

    /// Its name, for telemetry.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = Some(name.into());
        self
    }

    /// Its description for other agents that have it as a tool.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.config.description = Some(text.into());
        self
    }

    /// The types of its context and its answer, such as `(code :int) -> {total :int}`; [`build`](AgentBuilder::build) reports a
    /// text that is not a signature.
    #[must_use]
    pub fn signature(mut self, signature: impl IntoSignature) -> Self {
        self.signature = Some(signature.into_signature());
        self
    }

    /// The type of its answer as JSON Schema, instead of a signature; see [`Schema`]. The answer's names are those of the
    /// schema. Descriptions of the root's properties count as [`field_description`](AgentBuilder::field_description)s.
    ///
    /// [`Schema`]: crate::signature::Schema
    #[must_use]
    pub fn json_schema(mut self, schema: Json) -> Self {
        self.json_schema = Some(schema);
        self
    }

    /// The meaning of a field of the answer.
    #[must_use]
    pub fn field_description(mut self, field: impl Into<String>, text: impl Into<String>) -> Self {
        self.config.field_descriptions.insert(field.into(), text.into());
        self
    }

    /// The content of a key of the context.
    #[must_use]
    pub fn context_description(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.config.context_descriptions.insert(key.into(), text.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, spec: ToolSpec) -> Self {
        self.tools.push((Some(name.into()), spec));
        self
    }

    /// Adds a tool that has its name itself, as those of [`ToolSpec::typed`] do.
    #[must_use]
    pub fn add_tool(mut self, spec: ToolSpec) -> Self {
        self.tools.push((None, spec));
        self
    }

    /// Adds a value of the host for its tools' handlers, which read it with [`ToolContext::get`]; one for each type. A run's
    /// own value ([`RunOptions::extension`](crate::run::RunOptions::extension)) takes precedence.
    ///
    /// [`ToolContext::get`]: crate::tool::ToolContext::get
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.config.extensions.insert(value);
        self
    }

    /// Checks an answer that is of the right type. The text of an `Err` goes to the model, which answers again while turns
    /// remain; then the run fails with `validation_error`. Several validators run in order.
    #[must_use]
    pub fn validate(
        mut self,
        validator: impl Fn(&Json) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.config.validators.push(Arc::new(validator));
        self
    }

    /// Adds a tool that is this agent itself; it needs a signature then.
    #[must_use]
    pub fn self_tool(mut self, name: impl Into<String>) -> Self {
        self.self_tools = true;
        self.tools.push((Some(name.into()), crate::nested::self_tool()));
        self
    }

    /// Adds the tools `grep` and `grep-n`, which search text line by line.
    #[must_use]
    pub fn builtin_grep(mut self, on: bool) -> Self {
        self.grep = on;
        self
    }

    /// Adds the tool `llm-query`, which asks the run's model one question.
    #[must_use]
    pub fn llm_query(mut self, on: bool) -> Self {
        self.llm_query = on;
        self
    }

    /// Its model, for runs that do not name one: a client, or a name; see [`LlmRef`].
    #[must_use]
    pub fn llm(mut self, llm: impl Into<LlmRef>) -> Self {
        self.config.llm = Some(llm.into());
        self
    }

    /// Names for models, for runs and for tools that are agents; none by default.
    #[must_use]
    pub fn llm_registry(mut self, names: LlmRegistry) -> Self {
        self.config.llm_registry = names;
        self
    }

    /// When requests to its model that failed are repeated; by default never.
    #[must_use]
    pub fn llm_retry(mut self, policy: RetryPolicy) -> Self {
        self.config.llm_retry = Some(policy);
        self
    }

    /// Most bytes of its system prompt, including the inventory of tools; by default there is no limit. A longer prompt
    /// is cut at the end and notes the cut.
    #[must_use]
    pub fn prompt_limit(mut self, bytes: usize) -> Self {
        self.config.prompt_limit = Some(bytes);
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

    /// Extra turns of a PTC-Lisp agent, only to repair a returned value that does not fit the signature (with
    /// [`CompletionMode::Explicit`], any failure of the last turn); none by default.
    #[must_use]
    pub fn retry_turns(mut self, turns: u32) -> Self {
        self.config.retry_turns = turns;
        self
    }

    /// Responses of models in one run, those of agents that it calls included; 20 by default.
    #[must_use]
    pub fn turn_budget(mut self, turns: u32) -> Self {
        self.config.turn_budget = turns;
        self
    }

    /// Agents within agents, this one included; 3 by default.
    #[must_use]
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.config.max_depth = depth;
        self
    }

    /// Native tool calls of one run, and tool calls of each program; unlimited by default. `lisp_eval` does not count.
    #[must_use]
    pub fn max_tool_calls(mut self, calls: u32) -> Self {
        self.config.max_tool_calls = Some(calls);
        self
    }

    /// Native tool calls of one response that run at the same time; 1 by default. Results keep the response's order.
    #[must_use]
    pub fn parallel_tool_calls(mut self, calls: usize) -> Self {
        self.config.parallel_tool_calls = calls;
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

    /// Steps of one program; by default as many as its time allows ([`ptc_host::engine::Limits::steps_for`]).
    #[must_use]
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.config.max_steps = Some(steps);
        self
    }

    /// Bytes of live values of one program; 100 MiB by default.
    #[must_use]
    pub fn max_heap(mut self, bytes: u64) -> Self {
        self.config.max_heap = bytes;
        self
    }

    /// Bytes of one program's text; 65 536 by default.
    #[must_use]
    pub fn max_program_bytes(mut self, bytes: usize) -> Self {
        self.config.max_program_bytes = bytes;
        self
    }

    /// Bytes of definitions that programs may leave for later ones, by the table of
    /// [`measure`](ptc_host::engine::measure); 1 MiB by default, `None` for no limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: Option<u64>) -> Self {
        self.config.memory_limit = bytes;
        self
    }

    /// The reaction when the memory limit is exceeded; [`MemoryStrategy::Strict`] by default.
    #[must_use]
    pub fn memory_strategy(mut self, strategy: MemoryStrategy) -> Self {
        self.config.memory_strategy = strategy;
        self
    }

    /// Largest result of a tool, in bytes of JSON, that is passed to the model unchanged; 1 MiB by default.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.config.max_result_bytes = bytes;
        self
    }

    /// Largest accepted result of a tool, in bytes of JSON, whether a program or the model called it; 64 MiB by default.
    #[must_use]
    pub fn max_tool_bytes(mut self, bytes: usize) -> Self {
        self.config.max_tool_bytes = bytes;
        self
    }

    /// Bytes of results that one run keeps; unlimited by default. A result that does not fit is not kept.
    #[must_use]
    pub fn tool_cache_limit(mut self, bytes: usize) -> Self {
        self.config.tool_cache_limit = Some(bytes);
        self
    }

    /// When a program of a PTC-Lisp agent ends the run.
    #[must_use]
    pub fn completion_mode(mut self, mode: CompletionMode) -> Self {
        self.config.completion = mode;
        self
    }

    /// Keeps the results of `(task id expr)` and the notes of `(step-done id summary)` from program to program.
    #[must_use]
    pub fn journaling(mut self, on: bool) -> Self {
        self.config.journaling = on;
        self
    }

    /// The steps of the model's plan. A PTC-Lisp agent's model reads after each program which of them `(step-done …)`
    /// marked, by their text or number; turns journaling on.
    #[must_use]
    pub fn plan(mut self, steps: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config.plan = steps.into_iter().map(Into::into).collect();
        self.config.journaling |= !self.config.plan.is_empty();
        self
    }

    /// Makes the text on the progress that a PTC-Lisp agent's model reads after each program, instead of the plan as a
    /// checklist; turns journaling on.
    #[must_use]
    pub fn progress_fn(mut self, function: impl Fn(&Progress<'_>) -> String + Send + Sync + 'static) -> Self {
        self.config.progress = Some(Arc::new(function));
        self.config.journaling = true;
        self
    }

    /// Asks a PTC-Lisp agent's model to reason in words before its program.
    #[must_use]
    pub fn thinking(mut self, on: bool) -> Self {
        self.config.thinking = on;
        self
    }

    /// Shortens long conversations of a PTC-Lisp agent; off by default.
    #[must_use]
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.config.compaction = Some(compaction);
        self
    }

    /// How much of results the model reads back.
    #[must_use]
    pub fn format_options(mut self, options: FormatOptions) -> Self {
        self.config.format = options;
        self
    }
}
