//! `ptc repl --connect URL`: a prompt on a running server, which evaluates as it does for every client (server.md
//! 13.1).
//!
//! [`client`] sends the requests. With sessions enabled, definitions stay in one session, which ends with the REPL.

mod client;

use crate::cli::output::{errln, outln};
use std::cell::Cell;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use client::RemoteCaller;
use ptc_host::config::ProcessEnv;
use ptc_mcp::json::{Value, json};

use super::commands;
use super::completion::Vocabulary;
use super::editor::{LineEditor, Prompt};
use super::forms::{self, TypedText};
use crate::cli::input::{Input, InputLine};
use crate::cli::repl::history::{conclusion, default_history};
use crate::cli::{report, upstreams};
use crate::options::flags::find;

/// Longest text whose completion is awaited.
const LONGEST_TEXT: usize = 1 << 20;

const HELP: &str = "\
:mode            which tool evaluates, and in which session
:display [MODE]  how answers are shown: text, envelope, json
:tools           tools of the server
:quit            leave, as exit, :q and Ctrl-D do";
const UNKNOWN_COMMAND: &str = "Unknown command. Available: :help, :mode, :display, :tools, :quit";

/// Options of `ptc repl` that go with `--connect`.
#[derive(Args, Debug)]
pub(super) struct RemoteArgs {
    /// Evaluate on this running server (`ptc start --http`) instead of here
    #[arg(long, value_name = "URL", conflicts_with_all = ["load", "context", "upstreams_config"])]
    pub(super) connect: Option<String>,

    /// The server's token [env: PTC_HTTP_AUTH_TOKEN]
    #[arg(long, value_name = "TOKEN", requires = "connect")]
    token: Option<String>,

    /// How the server's answers are shown
    #[arg(long, value_name = "MODE", requires = "connect", default_value = "text")]
    display: Display,

    /// Keep definitions in a session if the server has sessions [default]
    #[arg(long, requires = "connect", group = "mode")]
    auto_session: bool,

    /// Keep definitions in a session; a server without sessions is an error
    #[arg(long, requires = "connect", group = "mode")]
    session: bool,

    /// Evaluate each program on its own
    #[arg(long, requires = "connect", group = "mode")]
    stateless: bool,
}

/// How an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Display {
    /// The text that models read
    Text,
    /// The whole result object, over several lines
    Envelope,
    /// The whole result object on one line
    Json,
}

/// Evaluates the given or typed programs on the server.
pub(super) async fn run(
    url: &str,
    args: &RemoteArgs,
    ca_file: Option<&Path>,
    programs: &[String],
    history: Option<std::path::PathBuf>,
) -> ExitCode {
    let remote = match Remote::open(url, args, ca_file).await {
        Ok(remote) => remote,
        Err(error) => return report::fault(&error),
    };
    let exit = if programs.is_empty() { remote.converse(history).await } else { remote.once(programs).await };
    remote.close().await;
    exit
}

struct Remote {
    caller: RemoteCaller,
    /// The session that evaluates, if any.
    session: Option<String>,
    display: Cell<Display>,
    terminal: bool,
    /// True if a program has failed.
    failed: Cell<bool>,
}

/// True if a line is for the REPL itself: a keyword is useless as a program.
fn is_command(line: &str) -> bool {
    line.trim().starts_with(':') || commands::of_word(line).is_some()
}

impl Remote {
    #[expect(clippy::disallowed_methods, reason = "entry point: Remote.open")]
    async fn open(url: &str, args: &RemoteArgs, ca_file: Option<&Path>) -> Result<Remote, String> {
        let env = ProcessEnv::current();
        let set = find("http-auth-token").in_environment(&env).and_then(|(_, token)| token.to_str());
        let caller = RemoteCaller::new(url, args.token.as_deref().or(set), upstreams::http(ca_file, &env)?)?;
        let tools = caller.tools().await?;
        let has_sessions = tools.iter().any(|(name, _)| name == "lisp_session_start");
        if args.session && !has_sessions {
            return Err(
                "the server has no sessions: start it with --sessions, or leave out --session".to_owned()
            );
        }
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let mut remote = Remote {
            caller,
            session: None,
            display: Cell::new(args.display),
            terminal,
            failed: Cell::new(false),
        };
        if has_sessions && !args.stateless {
            let started = remote.caller.tool("lisp_session_start", json!({"title": "ptc repl"})).await?;
            let text = started["content"][0]["text"].as_str().unwrap_or_default();
            let structured: Value = serde_json::from_str(text).unwrap_or_default();
            match structured["session_id"].as_str() {
                Some(id) => remote.session = Some(id.to_owned()),
                None => return Err(structured["message"].as_str().unwrap_or(text).to_owned()),
            }
        }
        Ok(remote)
    }

    async fn close(&self) {
        if let Some(id) = &self.session {
            // A server that has ended has closed it.
            let _ = self
                .caller
                .tool("lisp_session_close", json!({"session_id": id, "reason": "remote_repl_closed"}))
                .await;
        }
    }

    fn mode(&self) -> String {
        match &self.session {
            Some(id) => format!("session-backed lisp_session_eval (session_id={id})"),
            None => "stateless lisp_eval".to_owned(),
        }
    }

    fn display_name(&self) -> String {
        self.display.get().to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The shown answer, and whether it is an error.
    async fn evaluate(&self, program: &str) -> Result<(String, bool), String> {
        let result = match &self.session {
            Some(id) => {
                self.caller.tool("lisp_session_eval", json!({"session_id": id, "program": program})).await?
            }
            None => self.caller.tool("lisp_eval", json!({"program": program})).await?,
        };
        let failed = result["isError"] == true;
        let shown = match self.display.get() {
            Display::Text => result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            Display::Envelope => format!("{result:#}"),
            Display::Json => result.to_string(),
        };
        Ok((shown, failed))
    }

    /// `-e`: values to standard output; the first error to standard error, and no further program.
    async fn once(&self, programs: &[String]) -> ExitCode {
        for program in programs {
            match self.evaluate(program).await {
                Ok((text, false)) => {
                    outln!("{}", report::shown(&text, std::io::stdout().is_terminal()))
                }
                Ok((text, true)) => {
                    errln!("{}", report::shown(&text, std::io::stderr().is_terminal()));
                    return ExitCode::FAILURE;
                }
                Err(error) => return report::fault(&error),
            }
        }
        ExitCode::SUCCESS
    }

    /// Reads lines until the end of the input.
    async fn converse(&self, history: Option<std::path::PathBuf>) -> ExitCode {
        let input = if self.terminal {
            outln!("PTC-Lisp MCP REPL (Ctrl+D or :quit to exit)");
            outln!("Mode: {}\nDisplay: {}\nType :help for commands.", self.mode(), self.display_name());
            let history = history.or_else(default_history);
            let vocabulary = Vocabulary::default();
            let prompt = Prompt { text: "ptc> ", continuation: "...> ", history, vocabulary };
            Input::terminal(move || prompt.open(), LineEditor::line)
        } else {
            Input::plain()
        };
        let mut input = match input {
            Ok(input) => input,
            Err(error) => return report::fault(&format!("cannot start a thread: {error}")),
        };
        let mut typed = String::new();
        loop {
            let line = match input.next().await {
                Ok(line) => line,
                Err(exit) => return exit,
            };
            match line {
                InputLine::Text(line) if typed.is_empty() && is_command(&line) => {
                    let command = commands::of_word(&line).map_or(line.trim(), |(command, _)| command);
                    if !self.obey(command).await {
                        return conclusion(self.failed.get(), self.terminal);
                    }
                }
                InputLine::Text(line) => {
                    typed.push_str(&line);
                    if forms::read(&typed) == TypedText::Unfinished && typed.len() < LONGEST_TEXT {
                        typed.push('\n');
                        continue;
                    }
                    let program = std::mem::take(&mut typed);
                    if !program.trim().is_empty() {
                        self.show(&program).await;
                    }
                }
                InputLine::Interrupted => typed.clear(),
                InputLine::End => {
                    if !typed.trim().is_empty() {
                        self.show(&typed).await;
                    }
                    if self.terminal {
                        outln!("Goodbye.");
                    }
                    return conclusion(self.failed.get(), self.terminal);
                }
                InputLine::Failed(why) => return report::fault(&why),
            }
        }
    }

    /// Evaluates and prints. Ctrl-C abandons the program, which ends it on the server.
    async fn show(&self, program: &str) {
        let answer = tokio::select! {
            answer = self.evaluate(program) => answer,
            Ok(()) = tokio::signal::ctrl_c() => Err("interrupted".to_owned()),
        };
        if !matches!(answer, Ok((_, false))) {
            self.failed.set(true);
        }
        match answer {
            Ok((text, failed)) => {
                if failed && self.display.get() == Display::Text {
                    outln!("Error:");
                }
                outln!("{}", report::shown(&text, self.terminal));
            }
            Err(error) => errln!("ptc: {}", report::shown(&error, self.terminal)),
        }
    }

    /// Executes a line that begins with `:`; `false` to leave. A single keyword that is no command of ours is useless
    /// as a program, too.
    async fn obey(&self, line: &str) -> bool {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (word, rest.trim()) {
            (":quit" | ":q" | ":exit", "") => return false,
            (":help", "") => outln!("{HELP}"),
            (":mode", "") => outln!("Mode: {}", self.mode()),
            (":display", "") => outln!("Display: {}", self.display_name()),
            (":display", mode) => match Display::from_str(mode, false) {
                Ok(display) => self.display.set(display),
                Err(_) => outln!("Unknown display mode: {}", report::shown(mode, self.terminal)),
            },
            (":tools", "") => match self.caller.tools().await {
                Ok(tools) => {
                    for (name, line) in tools {
                        outln!("{}", report::shown(format!("{name}  {line}").trim_end(), self.terminal));
                    }
                }
                Err(error) => errln!("ptc: {}", report::shown(&error, self.terminal)),
            },
            _ => outln!("{UNKNOWN_COMMAND}"),
        }
        true
    }
}
