//! An agent's configuration: prompt, tools and limits (agent.md 3).

mod config;
mod error;
mod format;
mod options;
mod progress;
mod system_prompt;

pub use config::Agent;
pub(crate) use config::{Config, native_name};
pub use error::ConfigError;
pub use format::FormatOptions;
pub use options::{CompletionMode, MemoryStrategy, Mode, Output, PtcReference, Transport};
pub use progress::{Progress, ProgressFn};
pub use system_prompt::SystemPrompt;
