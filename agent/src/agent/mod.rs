//! The public API for agents: the options, and the builder that checks them (agent.md 3).

mod builder;
mod check;

pub use crate::compaction::{Compaction, TokenCounter};
pub use crate::settings::{
    Agent, CompletionMode, ConfigError, FormatOptions, MemoryStrategy, Mode, Output, PtcReference,
    SystemPrompt, Transport,
};
pub use builder::AgentBuilder;
