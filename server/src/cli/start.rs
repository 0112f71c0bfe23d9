//! `ptc start`: the MCP server.

use crate::cli::output::errln;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use tracing::{error, warn};

use crate::boot;
use crate::observers::log;
use crate::options::command::arguments;
use crate::options::flags::ALL;
use crate::settings::{BootError, Settings};

/// The options of `ptc start`, as given.
#[derive(Clone, Debug)]
pub(crate) struct StartArgs(ArgMatches);

impl FromArgMatches for StartArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(StartArgs(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for StartArgs {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(&ALL))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Serves until the client leaves or a signal comes.
pub(super) fn run(StartArgs(matches): &StartArgs) -> ExitCode {
    let redactor = Redactor::new();
    let settings = match Settings::resolve(matches, ProcessEnv::current()) {
        Ok(settings) => settings,
        Err(failure) => {
            let _log = log::init(crate::settings::LogLevel::Info, redactor);
            return refuse(&failure);
        }
    };
    let _log = log::init(settings.log_level, redactor.clone());
    for warning in &settings.warnings {
        warn!(event = warning.event, "{}", warning.message);
    }
    match boot::serve(settings, redactor) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => refuse(&failure),
    }
}

/// Reports a start that failed: one line for machines, one sentence for people.
fn refuse(failure: &BootError) -> ExitCode {
    error!(event = "boot_failed", "{failure}");
    errln!("{failure}");
    ExitCode::FAILURE
}
