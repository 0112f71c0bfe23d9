//! The sub-commands, one file each.
//!
//! Exit codes: 0 success, 1 the work could not be done, 2 the command line is wrong.

pub mod agent;
pub mod audit;
pub mod call;
pub mod check;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod eval;
mod expose;
pub mod health;
pub mod limits;
pub mod pin;
pub mod policy;
pub mod program;
pub mod reload;
pub mod repl;
pub mod report;
pub mod runs;
pub mod setup;
pub mod sign_in;
pub mod start;
pub mod tools;
pub mod upstreams;

mod completions;
pub(crate) mod event_loop;
mod input;
mod json;
mod man;
mod output;
mod pairs;
mod pin_text;
mod questions;
mod sampling;
mod state;
mod store;
mod version;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use ptc_host::config::ProcessEnv;

use crate::options::command::spell_out_switches;
use crate::options::flags::ALL;
use ptc_tools::extensions::Extensions;

/// MCP aggregator with code mode: one small program instead of many tool calls
#[derive(Parser, Debug)]
#[command(name = "ptc", version = ptc_protocol::identity::VERSION)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand, Debug)]
enum CliCommand {
    /// Serve MCP on standard input and output, or on HTTP with --http
    Start(start::StartArgs),
    /// Evaluate a program from the command line, a file, standard input or JSON Lines
    Eval(eval::EvalArgs),
    /// Evaluate forms interactively
    Repl(repl::ReplArgs),
    /// Ask a language model that can run programs over the upstreams
    Agent(Box<agent::AgentArgs>),
    /// List or search the tools of the upstreams
    Tools(tools::ToolsArgs),
    /// Call one tool of an upstream
    Call(call::CallArgs),
    /// Check the upstreams file: read, resolve, connect, list
    Check(check::CheckArgs),
    /// Accept the tools of the upstreams as they are: write the lock beside the upstreams file
    Pin(pin::PinArgs),
    /// Check the whole setup, and say what to type where something is wrong
    Doctor(doctor::DoctorArgs),
    /// Show the options of `ptc start` with their values and where these are from
    Config(config::ConfigArgs),
    /// Sign in to an upstream that uses OAuth
    Login(sign_in::login::LoginArgs),
    /// Sign out of an upstream
    Logout(sign_in::logout::LogoutArgs),
    /// Show the sign-ins to upstreams
    Auth(sign_in::auth::AuthArgs),
    /// List, delete or export the state of a server (--state-dir, --state-url)
    State(store::StateArgs),
    /// Check a policy file, explain what it decides, or test it
    Policy(policy::PolicyArgs),
    /// Write, test, approve and run programs that are kept
    Program(Box<program::ProgramArgs>),
    /// Check the files of an audit log
    Audit(audit::AuditArgs),
    /// Have a running server read its files again: upstreams, credentials, tokens, policy, certificate, settings
    Reload(reload::ReloadArgs),
    /// List, show or cancel the suspended programs of a running server
    Runs(runs::RunsArgs),
    /// Import the servers that your MCP clients are configured with
    Import(setup::import::ImportArgs),
    /// Write an upstreams file, and register `ptc` with a client
    Init(setup::init::InitArgs),
    /// Add an upstream
    Add(setup::add::AddArgs),
    /// Remove an upstream
    Remove(setup::remove::RemoveArgs),
    /// Check the health of a running server
    Health(health::HealthArgs),
    /// Run a demonstration on embedded servers and data
    Demo,
    /// Print the script with which a shell completes this command
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::ManArgs),
    /// Print the version
    Version,
    /// Run one of the upstream servers of the demonstration
    #[command(hide = true)]
    DemoUpstream(demo::UpstreamArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    main_with(Extensions::default())
}

/// Runs the command line of this process with additional tools and prompts for its server.
pub fn main_with(extensions: Extensions) -> ExitCode {
    let arguments = default_to_start(std::env::args_os().collect(), std::io::stdin().is_terminal());
    let parsed = parse(spell_out_switches(arguments));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_suggestion(error);
            let exit = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
            let printed = error.print();
            if !error.use_stderr() {
                output::keep(printed);
            }
            return output::conclude(exit);
        }
    };
    if let Some(contradiction) = ProcessEnv::current().contradiction() {
        return output::conclude(report::fault(&contradiction));
    }
    output::conclude(match cli.command {
        CliCommand::Start(args) => start::run(&args, extensions),
        CliCommand::Eval(args) => eval::run(args),
        CliCommand::Repl(args) => repl::run(args),
        CliCommand::Agent(args) => agent::run(*args),
        CliCommand::Tools(args) => tools::run(args),
        CliCommand::Call(args) => call::run(args),
        CliCommand::Check(args) => check::run(args),
        CliCommand::Pin(args) => pin::run(args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Config(args) => config::run(&args),
        CliCommand::Login(args) => sign_in::login::run(&args),
        CliCommand::Logout(args) => sign_in::logout::run(&args),
        CliCommand::Auth(args) => sign_in::auth::run(&args),
        CliCommand::State(args) => store::run(&args),
        CliCommand::Policy(args) => policy::run(&args),
        CliCommand::Program(args) => program::run(*args),
        CliCommand::Audit(args) => audit::run(&args),
        CliCommand::Reload(args) => reload::run(&args),
        CliCommand::Runs(args) => runs::run(&args),
        CliCommand::Import(args) => setup::import::run(args),
        CliCommand::Init(args) => setup::init::run(args),
        CliCommand::Add(args) => setup::add::run(args),
        CliCommand::Remove(args) => setup::remove::run(args),
        CliCommand::Health(args) => health::run(&args),
        CliCommand::Demo => demo::run(),
        CliCommand::DemoUpstream(args) => demo::run_upstream(&args),
        CliCommand::Completions(args) => completions::run(&args, Cli::command()),
        CliCommand::Man(args) => man::run(&args, Cli::command()),
        CliCommand::Version => version::run(),
    })
}

/// The options of `ptc start` that its help shows; `--help-all` shows all.
const COMMON: [&str; 12] = [
    "upstreams-config",
    "config",
    "http",
    "http-host",
    "http-port",
    "http-auth-token-file",
    "sessions",
    "state-dir",
    "state-url",
    "questions",
    "console",
    "log-level",
];

/// Reads the command line.
fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    const ALL_HELP: &str = "--help-all";
    let of_start = arguments.get(1).is_some_and(|command| command == "start");
    if of_start && arguments.iter().any(|argument| argument == ALL_HELP) {
        return Cli::try_parse_from([OsString::from("ptc"), "start".into(), "--help".into()]);
    }
    let command = Cli::command().mut_subcommand("start", |start| {
        let hidden = ALL.iter().flat_map(|group| group.flags).filter(|flag| !COMMON.contains(&flag.name));
        let (start, count) = hidden.fold((start, COMMON.len()), |(start, count), flag| {
            (start.mut_arg(flag.name, |argument| argument.hide(true)), count + 1)
        });
        start.after_help(format!(
            "{ALL_HELP} shows all {count} options; each may stand in the file of --config, too."
        ))
    });
    let mut matches = command.try_get_matches_from(arguments)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Suggests the option of `ptc start` for a shorter name: `--http-port` for `--port`.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given.clone(),
        _ => return error,
    };
    let Some(name) = unknown.strip_prefix("--") else { return error };
    let of_start = ALL.iter().flat_map(|group| group.flags).map(|flag| flag.name);
    let whole = of_start.filter(|flag| flag.strip_suffix(name).is_some_and(|before| before.ends_with('-')));
    // Options of the server come before related ones, as `--http-port` before `--health-port`.
    if let Some(flag) = whole.min_by_key(|flag| !flag.starts_with("http-")).filter(|_| !name.is_empty()) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{flag}")));
    }
    error
}

/// MCP clients launch the bare command or pass only flags: both mean `start`. A person who types the bare command wants
/// to see the help.
fn default_to_start(mut arguments: Vec<OsString>, has_terminal: bool) -> Vec<OsString> {
    let starts = match arguments.get(1).and_then(|first| first.to_str()) {
        None => arguments.len() == 1 && !has_terminal,
        Some("-h" | "--help" | "-V" | "--version") => false,
        Some(first) => first.starts_with("--"),
    };
    if starts {
        arguments.insert(1, "start".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_without_a_sub_command_mean_start() {
        let resolved = |given: &[&str], terminal| {
            let given = std::iter::once("ptc").chain(given.iter().copied()).map(OsString::from).collect();
            default_to_start(given, terminal)[1..].join(std::ffi::OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(resolved(&["--http"], true), "start --http");
        assert_eq!(resolved(&[], false), "start");
        for kept in ["", "--help", "--version", "-h", "version", "start --http", "frobnicate"] {
            let given: Vec<_> = kept.split_whitespace().collect();
            assert_eq!(resolved(&given, true), kept);
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        assert!(matches!(
            Cli::try_parse_from(["ptc", "start", "--sessions"]).unwrap().command,
            CliCommand::Start(_)
        ));
        assert_eq!(Cli::try_parse_from(["ptc", "start", "--max-sesions=1"]).unwrap_err().exit_code(), 2);
        let told = |given: &str| {
            with_suggestion(Cli::try_parse_from(["ptc", "start", given, "7"]).unwrap_err()).to_string()
        };
        for (given, meant) in
            [("--port", "'--http-port'"), ("--host", "'--http-host'"), ("--max-sesions", "'--max-sessions'")]
        {
            assert!(told(given).contains(meant), "{}", told(given));
        }
        assert!(!told("--zzzz").contains("similar"), "{}", told("--zzzz"));
    }
}
