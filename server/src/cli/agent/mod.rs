//! `ptc agent`: a language model that works with the configured upstreams.
//!
//! Programs reach every upstream with `tool/call`. The tools named by `--native` are also offered to the model
//! directly. Given a prompt, as an argument or through a pipe, the agent answers once. At a terminal it opens a chat.
//!
//! Standard output carries only the answer. Progress (tool calls, programs, retries) goes to standard error. At a
//! terminal the model's text appears as it arrives, with control characters shown as text.

mod chat;
mod conversation_file;
mod images;
mod model;
mod native;
mod screen;
mod setup;
mod watch;

use super::input::INTERRUPTED;
use super::limits::LimitArgs;
use super::{json, report};
use clap::{Args, ValueEnum};
use ptc_agent::agent::Mode;
use ptc_host::config::ProcessEnv;
use screen::Screen;
use std::io::{IsTerminal, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Longest prompt that is read from a pipe, in bytes.
const MAX_PROMPT: u64 = 4 << 20;

/// Arguments of `ptc agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// What to ask, words joined with blanks; `-` for standard input. Without it: a chat at a terminal, else standard input
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,

    /// The model: an alias such as haiku, PROVIDER:MODEL, ollama:MODEL, openai-compat:BASE_URL|MODEL, or with --base-url
    /// any name that the endpoint knows
    #[arg(short, long, value_name = "NAME", env = "PTC_AGENT_MODEL", default_value = "gemini-flash-lite")]
    model: String,

    /// Ask the model at this address instead of its provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Text in front of the system prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// Offer upstream tools to the model directly, too: `all`, SERVER or SERVER/TOOL; may be given several times
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    native: Vec<String>,

    /// Keep large results of these native tools for programs, as is done for tools that say that they only read: SERVER or
    /// SERVER/TOOL; may be given several times
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    cache_tool: Vec<String>,

    /// Show the model an image with the first question: a PNG, JPEG, GIF or WebP of at most 5 MiB, or its https address;
    /// may be given several times
    #[arg(long, value_name = "FILE")]
    image: Vec<String>,

    /// Write images that the model makes into this folder, as new files
    #[arg(long, value_name = "DIR")]
    image_dir: Option<PathBuf>,

    /// How the model works
    #[arg(long, value_name = "MODE", default_value = "combined")]
    mode: ModeArg,

    /// Type of the answer, such as "{total :int}"; the answer is then printed as JSON
    #[arg(long, value_name = "TYPE")]
    signature: Option<String>,

    /// JSON object behind `data/…` in programs
    #[arg(long, value_name = "JSON", value_parser = json::object)]
    context: Option<Arc<str>>,

    /// Answers of the model for one question, tool calls included
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,

    /// Longest answer of the model
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,

    /// Sampling temperature
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f32>,

    /// Time for one question [default: no limit]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,

    /// Time for one answer of the model [default: 600000, and 120000 without a sign of it]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    model_timeout_ms: Option<u64>,

    /// How often a request to the model is made that fails for a moment
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,

    /// Do not show on the way what is being done
    #[arg(short, long)]
    quiet: bool,

    /// Write what is said to the model and what it answers to a new file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Answer from a recording instead of asking the model
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    replay: Option<PathBuf>,

    /// Go on with the last conversation
    #[arg(short = 'c', long = "continue", conflicts_with = "forget")]
    go_on: bool,

    /// Remove the kept conversation, and keep none of this one
    #[arg(long)]
    forget: bool,

    /// File with environment variables, such as keys
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,
}

/// How the model works.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeArg {
    /// It answers in text, calls tools, and computes with programs
    Combined,
    /// It answers in text and calls tools
    Text,
    /// It writes programs; what one returns is the answer
    Lisp,
    /// As lisp, with programs as tool calls
    LispTool,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Mode {
        match mode {
            ModeArg::Combined => Mode::Combined,
            ModeArg::Text => Mode::Text,
            ModeArg::Lisp => Mode::Lisp,
            ModeArg::LispTool => Mode::LispTool,
        }
    }
}

/// Runs the sub-command.
pub fn run(args: AgentArgs) -> ExitCode {
    // Tools and the model's connection live on this thread, programs on the engine's.
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(start(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn start(args: AgentArgs) -> ExitCode {
    let mut env = ProcessEnv::current();
    if let Some(path) = &args.env_file
        && let Err(error) = env.add_file(path)
    {
        return report::refused(&error.to_string());
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if args.forget {
        let forgotten =
            conversation_file::ConversationFile::place(args.mode).map_or(Ok(()), |kept| kept.forget());
        match forgotten {
            Err(why) => return report::fault(&why),
            // Without a question the command is done.
            Ok(()) if args.prompt.is_empty() => return ExitCode::SUCCESS,
            Ok(()) => {}
        }
    }
    let question = match question(&args.prompt, terminal) {
        Ok(question) => question,
        Err(why) => return report::refused(&why),
    };
    let value = args.signature.is_some() || matches!(args.mode, ModeArg::Lisp | ModeArg::LispTool);
    let screen = Screen::new(args.quiet, value);
    let host = match setup::Host::open(&args, &env, screen).await {
        Ok(host) => host,
        Err(why) => return report::refused(&why),
    };
    let exit = match question {
        None => chat::converse(&host).await,
        Some(question) => {
            tokio::select! {
                answered = chat::once(&host, &question) => answered,
                Ok(()) = tokio::signal::ctrl_c() => ExitCode::from(INTERRUPTED),
            }
        }
    };
    host.close().await;
    exit
}

/// The question; `None` for a chat.
fn question(words: &[String], terminal: bool) -> Result<Option<String>, String> {
    let text = match words {
        [] if terminal => return Ok(None),
        [dash] if dash == "-" => read_all()?,
        [] => read_all()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err("there is nothing to ask: give a prompt, or write one to standard input".into());
    }
    Ok(Some(text))
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_all()")]
fn read_all() -> Result<String, String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    if text.len() as u64 > MAX_PROMPT {
        return Err(format!("standard input is longer than {MAX_PROMPT} bytes; give data with --context"));
    }
    Ok(text)
}

impl AgentArgs {
    fn mission_timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}
