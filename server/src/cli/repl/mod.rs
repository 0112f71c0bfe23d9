//! `ptc repl`: evaluates typed input form by form, in one session.
//!
//! [`forms`] decides whether a text is complete and splits it into forms. [`super::input`] and [`editor`] read it from
//! a pipe or a terminal. [`session`] evaluates it and shows the results. [`commands`] are lines such as `:doc map`.
//! [`remote`] does the same on a running server, with `--connect`. Without a terminal there is no prompt and no colour:
//! forms come from the pipe, results go to standard output, one per line, and errors to standard error; the exit status is 1 if
//! one failed.
//!
//! [`syntax`] finds the tokens of typed text, for [`highlight`], [`indent`], [`completion`] and, of printed values, [`layout`].

mod commands;
mod completion;
mod editor;
mod forms;
mod highlight;
mod history;
mod indent;
mod layout;
mod remote;
mod session;
mod syntax;

use crate::cli::output::{errln, outln};
use history::{conclusion, default_history};
use ptc_host::aggregator::{Aggregator, SnapshotMode};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions};

use super::input::{self, Input, InputLine};
use super::limits::LimitArgs;
use super::{json, report, tools, upstreams};
use clap::{Args, ValueEnum};
use commands::ReplCommand;
use completion::Vocabulary;
use editor::{LineEditor, Prompt};
use forms::TypedText;
use session::Session;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Longest result that a terminal shows; a pipe gets all of it.
const TERMINAL_TEXT_BYTES: usize = 32 << 10;

/// Arguments of `ptc repl`.
#[derive(Args, Debug)]
pub struct ReplArgs {
    /// Evaluate this and leave; may be given several times
    #[arg(short = 'e', long = "eval", value_name = "EXPR")]
    eval: Vec<String>,

    /// Run a file first, for its definitions; may be given several times
    #[arg(short = 'l', long, value_name = "FILE")]
    load: Vec<PathBuf>,

    /// JSON object behind `data/…`
    #[arg(long, value_name = "JSON", value_parser = json::object)]
    context: Option<Arc<str>>,

    /// History file [default: $XDG_STATE_HOME/ptc/history, else ~/.local/state/ptc/history]
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// When upstreams are started and listed
    #[arg(long, value_name = "MODE", default_value = "live")]
    catalog_snapshot_mode: CatalogSnapshotMode,

    #[command(flatten)]
    remote: remote::RemoteArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

/// When upstreams are started and listed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CatalogSnapshotMode {
    /// Each at its first use
    Live,
    /// All before the first prompt; one that does not start ends the REPL
    Frozen,
}

/// Runs the sub-command.
pub fn run(args: ReplArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => match &args.remote.connect {
            Some(url) => {
                let ca_file = args.limits.ca_file.as_deref();
                runtime.block_on(remote::run(url, &args.remote, ca_file, &args.eval, args.history.clone()))
            }
            None => runtime.block_on(start(args)),
        },
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn start(args: ReplArgs) -> ExitCode {
    let mode = match args.catalog_snapshot_mode {
        CatalogSnapshotMode::Live => SnapshotMode::Live,
        CatalogSnapshotMode::Frozen => SnapshotMode::Frozen,
    };
    let engine = match Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }) {
        Ok(engine) => engine,
        Err(error) => return report::fault(&error.to_string()),
    };
    let (mut template, upstreams) = match args.limits.request(mode, true).await {
        Ok(opened) => opened,
        Err(error) => return report::fault(&error),
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    template.context = args.context.clone();
    template.render.max_text_bytes = terminal.then_some(TERMINAL_TEXT_BYTES);
    let redactor = upstreams.as_ref().map_or_else(Redactor::new, |upstreams| upstreams.redactor().clone());
    let repl = Repl {
        session: Session::new(engine, template, redactor, terminal),
        upstreams,
        context_names: args.context.as_deref().map(context_names).unwrap_or_default(),
        vocabulary: Vocabulary::default(),
        terminal,
    };
    let exit = repl.serve(&args).await;
    if let Some(upstreams) = repl.upstreams {
        upstreams.shutdown().await;
    }
    exit
}

/// `data/KEY` for every key of the context.
#[expect(clippy::disallowed_methods, reason = "entry point: context_names()")]
fn context_names(context: &str) -> Vec<String> {
    let keys: ptc_mcp::json::Map = serde_json::from_str(context).unwrap_or_default();
    keys.keys().map(|key| format!("data/{key}")).collect()
}

struct Repl {
    session: Session,
    upstreams: Option<Arc<Aggregator>>,
    context_names: Vec<String>,
    vocabulary: Vocabulary,
    terminal: bool,
}

impl Repl {
    /// Loads the files, then evaluates the programs of the command line or the input.
    async fn serve(&self, args: &ReplArgs) -> ExitCode {
        for path in &args.load {
            let program = match input::program(Some(path)) {
                Ok(program) => program,
                Err(error) => return report::fault(&error),
            };
            if !self.session.load(&program).await {
                return ExitCode::FAILURE;
            }
            errln!("Loaded {}", path.display());
        }
        if !args.eval.is_empty() {
            for program in &args.eval {
                if !self.session.show(program).await {
                    return ExitCode::FAILURE;
                }
            }
            return ExitCode::SUCCESS;
        }
        let input = if self.terminal {
            outln!("PTC-Lisp {} (:help for help, Ctrl-D to leave)", ptc_protocol::identity::VERSION);
            self.list_on_demand();
            let prompt = Prompt {
                text: "user=> ",
                continuation: "  #_=> ",
                history: args.history.clone().or_else(default_history),
                vocabulary: self.vocabulary.clone(),
            };
            Input::terminal(move || prompt.open(), LineEditor::line)
        } else {
            Input::plain()
        };
        match input {
            Ok(input) => self.converse(input).await,
            Err(error) => report::fault(&format!("cannot start a thread: {error}")),
        }
    }

    /// Reads lines until the end of the input. Errors of programs do not end the session.
    async fn converse(&self, mut input: Input) -> ExitCode {
        let mut typed = String::new();
        self.learn_names().await;
        loop {
            let line = match input.next().await {
                Ok(line) => line,
                Err(exit) => return exit,
            };
            match line {
                InputLine::Text(line) => {
                    if typed.is_empty()
                        && let Some(command) = self.command(&line).await
                    {
                        if command == ReplCommand::Quit {
                            return conclusion(self.session.has_failed(), self.terminal);
                        }
                        self.obey(command).await;
                        continue;
                    }
                    if self.terminal && typed.is_empty() && commands::looks_like_one(&line) {
                        self.session.say("; a keyword; :help lists the commands");
                    }
                    typed.push_str(&line);
                    if self.evaluate(&typed).await {
                        typed.clear();
                        self.learn_names().await;
                    } else {
                        typed.push('\n');
                    }
                }
                InputLine::Interrupted => typed.clear(),
                InputLine::End => {
                    if !typed.trim().is_empty() {
                        self.session.show(&typed).await;
                    }
                    if self.terminal {
                        outln!("Goodbye!");
                    }
                    return conclusion(self.session.has_failed(), self.terminal);
                }
                InputLine::Failed(why) => return report::fault(&why),
            }
        }
    }

    /// Evaluates the forms of a text, up to the first that fails; `false` if the text continues in the next line.
    async fn evaluate(&self, text: &str) -> bool {
        match forms::read(text) {
            // A text that is too long to be evaluated cannot become valid by more lines.
            TypedText::Unfinished if text.len() <= self.session.longest_program() => return false,
            TypedText::Unfinished | TypedText::Wrong => {
                self.session.show(text).await;
            }
            TypedText::Forms(forms) => {
                for form in forms {
                    if self.terminal && form.starts_with("(doc ") {
                        // A person wants to read the text, not its escapes.
                        self.session.read_aloud(form).await;
                    } else if !self.session.show(form).await {
                        break;
                    }
                }
            }
        }
        true
    }

    /// The command in a line, by its colon or by a word that no definition uses.
    async fn command<'l>(&self, line: &'l str) -> Option<ReplCommand<'l>> {
        match commands::of_word(line) {
            Some((_, word)) if self.session.names().await.iter().any(|name| name == word) => None,
            Some((command, _)) => ReplCommand::parse(command),
            None => ReplCommand::parse(line),
        }
    }

    async fn obey(&self, command: ReplCommand<'_>) {
        match command {
            ReplCommand::Help => self.session.say(commands::HELP),
            ReplCommand::Doc(name) => self.session.read_aloud(&format!("(doc {})", literal(name))).await,
            ReplCommand::Find(text) => self.session.read_aloud(&format!("(apropos {})", literal(text))).await,
            ReplCommand::Tools(query) => match &self.upstreams {
                Some(upstreams) => {
                    for (server, why) in tools::load_all(upstreams).await {
                        errln!("{server}: {}", report::shown(&why, self.terminal));
                    }
                    self.session
                        .say(tools::table(&tools::find(&upstreams.unfiltered().catalog(), query)).trim_end());
                }
                None => self.session.say(upstreams::UNCONFIGURED),
            },
            ReplCommand::Vars => self.session.names().await.iter().for_each(|name| self.session.say(name)),
            ReplCommand::Incomplete(what) => errln!("{what}"),
            ReplCommand::Quit => {}
        }
    }

    /// Updates completion with the names that the session defines, and with the known parts of the upstreams'
    /// catalog.
    async fn learn_names(&self) {
        if !self.terminal {
            return;
        }
        let mut names = self.session.names().await;
        names.extend(self.context_names.iter().cloned());
        self.vocabulary.define(names);
        if let Some(upstreams) = &self.upstreams {
            self.vocabulary.learn(upstreams.unfiltered().catalog());
        }
    }

    /// Lists the tools of an upstream when Tab needs them. An upstream that does not start has no completions: its
    /// first use reports the error.
    fn list_on_demand(&self) {
        let Some(upstreams) = self.upstreams.clone() else { return };
        let (lister, mut wanted) = mpsc::unbounded_channel::<String>();
        self.vocabulary.list_with(lister);
        let vocabulary = self.vocabulary.clone();
        tokio::spawn(async move {
            while let Some(server) = wanted.recv().await {
                if upstreams.load(&server).await.is_ok() {
                    vocabulary.learn(upstreams.unfiltered().catalog());
                }
            }
        });
    }
}

/// A name typed after a command, as the string that the discovery forms take. Quotes around it may be typed or not.
fn literal(text: &str) -> String {
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    format!("\"{}\"", bare.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_after_commands_become_strings() {
        assert_eq!(literal("map"), "\"map\"");
        assert_eq!(literal("\"fs/read\""), "\"fs/read\"");
        assert_eq!(literal("a\"b\\"), "\"a\\\"b\\\\\"");
    }

    #[test]
    fn keys_of_the_context_are_proposed() {
        assert_eq!(context_names(r#"{"orders": [1], "user id": {}}"#), ["data/orders", "data/user id"]);
    }
}
