//! Arguments of `ptc agent`.

use crate::cli::json;
use crate::cli::limits::LimitArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `ptc agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// What to ask, words joined with blanks; `-` for standard input. Without it: a chat at a terminal, else standard input
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Vec<String>,

    /// The model: an alias such as haiku, PROVIDER:MODEL, ollama:MODEL, openai-compat:BASE_URL|MODEL, or with --base-url
    /// any name that the endpoint knows
    #[arg(short, long, value_name = "NAME", env = "PTC_AGENT_MODEL", default_value = "gemini-flash-lite")]
    pub(super) model: String,

    /// Ask the model at this address instead of its provider's own
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,

    /// Text in front of the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(super) system: Option<String>,

    /// Offer upstream tools to the model directly, too: `all`, SERVER or SERVER/TOOL; may be given several times
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(super) native: Vec<String>,

    /// Keep large results of these native tools for programs, as is done for tools that say that they only read: SERVER or
    /// SERVER/TOOL; may be given several times
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(super) cache_tool: Vec<String>,

    /// Show the model an image with the first question: a PNG, JPEG, GIF or WebP of at most 5 MiB, or its https address;
    /// may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) image: Vec<String>,

    /// Write images that the model makes into this folder, as new files
    #[arg(long, value_name = "DIR")]
    pub(super) image_dir: Option<PathBuf>,

    /// How the model works
    #[arg(long, value_name = "MODE", default_value = "combined")]
    pub(super) mode: ModeArg,

    /// Type of the answer, such as "{total :int}"; the answer is then printed as JSON
    #[arg(long, value_name = "TYPE")]
    pub(super) signature: Option<String>,

    /// JSON object behind `data/…` in programs
    #[arg(long, value_name = "JSON", value_parser = json::object)]
    pub(super) context: Option<Arc<str>>,

    /// Answers of the model for one question, tool calls included
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: u32,

    /// Longest answer of the model
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_tokens: Option<u32>,

    /// Sampling temperature
    #[arg(long, value_name = "NUMBER")]
    pub(super) temperature: Option<f32>,

    /// Time for one question [default: no limit]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout_ms: Option<u64>,

    /// Time for one answer of the model [default: 600000, and 120000 without a sign of it]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) model_timeout_ms: Option<u64>,

    /// How often a request to the model is made that fails for a moment
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) attempts: u32,

    /// Do not show on the way what is being done
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Write what is said to the model and what it answers to a new file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,

    /// Answer from a recording instead of asking the model
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(super) replay: Option<PathBuf>,

    /// Go on with the last conversation
    #[arg(short = 'c', long = "continue", conflicts_with = "forget")]
    pub(super) go_on: bool,

    /// Remove the kept conversation, and keep none of this one
    #[arg(long)]
    pub(super) forget: bool,

    /// File with environment variables, such as keys
    #[arg(long, value_name = "FILE")]
    pub(super) env_file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl AgentArgs {
    pub(super) fn mission_timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}

/// How the model works.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ModeArg {
    /// It answers in text, calls tools, and computes with programs
    Combined,
    /// It answers in text and calls tools
    Text,
    /// It writes programs; what one returns is the answer
    Lisp,
    /// As lisp, with programs as tool calls
    LispTool,
}
