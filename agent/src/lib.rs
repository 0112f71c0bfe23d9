//! Drives a language model in a loop, offers it the host's tools, and lets it escalate to PTC-Lisp programs that compute
//! over full results without the results ever entering the chat.
//!
//! # An agent
//!
//! ```
//! use ptc_agent::llm::{LlmResponse, ScriptedLlm, ToolCall};
//! use ptc_agent::schemars::{self, JsonSchema};
//! use ptc_agent::{Agent, Output, RunOptions, ToolSpec};
//! use serde::Deserialize;
//! use std::sync::Arc;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Die {
//!     /// How many sides it has.
//!     sides: Option<u32>,
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let roll = |die: Die| async move { Ok::<_, String>(die.sides.unwrap_or(6) - 2) };
//! let agent = Agent::builder("Roll the die and tell me the number.")
//!     .output(Output::Text)
//!     .add_tool(ToolSpec::typed("roll", roll).description("Rolls a die."))
//!     .build()?;
//! // A model that answers from a list; `llm::ModelRef` connects to real ones.
//! let model = Arc::new(ScriptedLlm::new([
//!     LlmResponse::calls(vec![ToolCall::from_text(Some("c1".into()), "roll", "{}")]),
//!     LlmResponse::text("It is a 4."),
//! ]));
//! let step = agent.run(RunOptions::new(model)).await?;
//! assert_eq!(step.value, Some("It is a 4.".into()));
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modes
//!
//! | [`Mode`] | Built with | The model | The answer |
//! |---|---|---|---|
//! | `Text` | `.output(Text)` | chats and calls native tools | its text, or JSON of a type |
//! | `Combined` | `.output(Text).transport(ToolCall)` | as `Text`, and computes with `lisp_eval` | as `Text` |
//! | `Lisp` (default) | nothing | writes one program a turn | the value that a program returns |
//! | `LispTool` | `.transport(ToolCall)` | calls `lisp_eval` and nothing else | as `Lisp`, or direct text |
//!
//! `Text` suits small results, `Combined` large ones that have to be filtered, joined or counted. In `Lisp` and `LispTool` the
//! answer *is* a computation: `Lisp` works with any model that can write text, `LispTool` with models that call tools well.
//!
//! # Who may call a tool
//!
//! [`ToolSpec::expose`](tool::ToolSpec::expose) decides. By default, tools are native in the text modes and for
//! programs in the others. A tool that is [`Both`](tool::Expose::Both) and [`cache`](tool::ToolSpec::cache)d runs once
//! for the same arguments on either side: the model reads a preview ([`tool::NativeResult`]), programs get the whole
//! result.
//!
//! # The result of a run
//!
//! A run returns a [`Step`]: the checked value or the reason of the failure, the conversation, every turn
//! and call, the usage, and a [`ChatState`] for the next run or [`chat`] turn. A failed run is an `Err`
//! of the same shape. No model, tool or program can cause a panic; `docs/guide/agent.md` lists how each ends.
//!
//! # Features
//!
//! | Feature | Adds |
//! |---|---|
//! | `openai`, `anthropic`, `gemini`, `bedrock` (default) | model clients, and [`llm::ModelRef`] for their names |
//! | `typed` (default) | `Agent::run_as` and `ToolSpec::typed`, with `schemars` |
//! | `http` | the HTTP client alone; each model client brings it |
//! | `upstreams` | MCP and OpenAPI servers for programs, with their configuration |
//!
//! # Modules
//!
//! | Module | Content |
//! |---|---|
//! | [`agent`] | an agent's prompt, tools and limits, checked at build |
//! | [`run`] | one run: turns, tool calls, programs, the answer |
//! | [`chat`] | multi-turn conversations |
//! | [`signature`] | types of arguments and answers: parse, print, check, coerce, JSON Schema |
//! | [`llm`] | model clients, requests and responses |
//! | [`tool`] | the host's tools: definition, exposure, execution |
//! | [`questions`] | questions of programs and upstreams to people |
//! | [`telemetry`] | the events of a run, as they happen |
//!
//! Start with the examples: `cargo run --example text_tools`, `combined`, `typed_answer`, `embed_engine`, `research` and
//! `nested_budget`. `log_support` and `log_summary` count the bytes that a model never sees.

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(all(feature = "anthropic", feature = "bedrock", feature = "gemini", feature = "openai")),
    expect(unused, reason = "what the missing clients alone use stays where it belongs")
)]

pub use agent::{Agent, AgentBuilder, Mode, Output, Transport};
pub use ptc_base::environment::ProcessEnv;
pub use ptc_base::json;
pub use ptc_base::redactor::Redactor;
pub use ptc_base::secret::Secret;
pub use ptc_engine::{Engine, EngineOptions};
#[cfg(feature = "http")]
pub use ptc_http::Client as HttpClient;
#[cfg(feature = "typed")]
pub use run::Answer;
pub use run::{ChatState, Fail, FailReason, RunEvent, RunOptions, Step};
#[cfg(feature = "typed")]
pub use schemars;
pub use tool::{Expose, ToolContext, ToolSpec};

/// Upstream servers for programs: [`aggregator`](upstreams::aggregator) starts those of a configuration and is the value for
/// [`RunOptions::upstreams`].
#[cfg(feature = "upstreams")]
pub mod upstreams {
    pub use ptc_host::{aggregator, catalog, config, upstream};
}

pub mod agent;
mod cache;
pub mod chat;
mod compaction;
pub mod llm;
mod nested;
mod preview;
pub mod run;
mod settings;
pub mod signature;
pub mod telemetry;
mod template;
pub mod tool;

/// Questions to people, and the [`RunOptions::asker`] that asks them.
pub mod questions {
    pub use ptc_engine::questions::*;
    pub use ptc_engine::{Asker, Verdict};
}

/// The programs of the pages.
#[cfg(all(doctest, feature = "typed"))]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/guide/agent.md")]
    mod guide {}
    #[doc = include_str!("../../docs/guide/from-other-frameworks.md")]
    mod from_other_frameworks {}
}
