//! `ptc start`: the MCP server.

use crate::cli::output::errln;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::visible::visible;
use tracing::{error, warn};

use crate::boot::{self, Origin};
use crate::options::SettingsSource;
use crate::options::command::{GivenOptions, OptionGroups};
use crate::options::flags::{ALL, OptionGroup};
use ptc_observers::log;
use ptc_protocol::settings::BootError;
use ptc_tools::extensions::Extensions;

/// The groups of `ptc start`: all options.
#[derive(Clone, Debug)]
pub(crate) struct Everything;

impl OptionGroups for Everything {
    const GROUPS: &'static [OptionGroup] = &ALL;
}

/// The options of `ptc start`, as given.
pub(crate) type StartArgs = GivenOptions<Everything>;

/// Serves until the client leaves or a signal comes.
pub(super) fn run(args: &StartArgs, extensions: Extensions) -> ExitCode {
    let redactor = Redactor::new();
    let source = SettingsSource::new(args.0.clone(), ProcessEnv::current());
    let settings = match source.read() {
        Ok(settings) => settings,
        Err(failure) => {
            let _log = log::init(ptc_protocol::settings::LogLevel::Info, redactor);
            return refuse(&failure);
        }
    };
    let log = log::init(settings.log_level, redactor.clone());
    for warning in &settings.warnings {
        warn!(event = warning.event, "{}", warning.message);
    }
    // The person at a terminal is not an MCP client.
    if settings.http.is_none() && std::io::stdin().is_terminal() {
        errln!("ptc: MCP is spoken here on standard input; to try programs: ptc repl");
    }
    let origin = Origin { source, log: log.level().clone() };
    match boot::serve(settings, origin, redactor, extensions) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => refuse(&failure),
    }
}

/// Reports a start that failed, once: a sentence at a terminal, else a line of the log.
fn refuse(failure: &BootError) -> ExitCode {
    if std::io::stderr().is_terminal() {
        errln!("ptc: {}", visible(&failure.to_string()));
    } else {
        error!(event = "boot_failed", "{failure}");
    }
    ExitCode::FAILURE
}
