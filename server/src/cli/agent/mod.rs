//! `ptc agent`: a language model that works with the configured upstreams.
//!
//! Programs reach every upstream with `tool/call`. The tools named by `--native` are also offered to the model
//! directly. Given a prompt, as an argument or through a pipe, the agent answers once. At a terminal it opens a chat.
//!
//! Standard output carries only the answer. Progress (tool calls, programs, retries) goes to standard error. At a
//! terminal the model's text appears as it arrives, with control characters shown as text.

mod args;
mod chat;
mod conversation_file;
mod images;
mod model;
mod native;
mod screen;
mod setup;
mod watch;

use super::input::INTERRUPTED;
use super::report;
pub use args::AgentArgs;
use args::ModeArg;
use ptc_agent::agent::Mode;
use ptc_host::config::ProcessEnv;
use screen::Screen;
use std::io::{IsTerminal, Read as _};
use std::process::ExitCode;

/// Longest prompt that is read from a pipe, in bytes.
const MAX_PROMPT: u64 = 4 << 20;

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
