//! `ptc program`: programs that are kept in a folder. They are written, tested and approved here, and a server that is started
//! with `--programs` serves those that are approved as tools.

mod approve;
mod definitions;
mod drafts;
mod files;
mod list;
mod live;
mod new;
mod recording;
mod run;
mod show;
mod test;

use definitions::UpstreamsArgs;
pub(super) use recording::{check_file as check_recording_file, keep as keep_recording};

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::limits::LimitArgs;
use super::output::print_json;
use super::report::unusable;

/// Arguments of `ptc program`.
#[derive(Args, Debug)]
pub struct ProgramArgs {
    #[command(subcommand)]
    work: ProgramCommand,

    #[command(flatten)]
    place: PlaceArgs,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    json: bool,
}

/// Where the programs are.
#[derive(Args, Debug)]
struct PlaceArgs {
    /// The folder of programs and their lock
    #[arg(long, global = true, env = "PTC_PROGRAMS", value_name = "DIR", default_value = "programs")]
    programs: PathBuf,

    /// The Ed25519 key of the lock, in PEM: the private one to approve, the public one to check
    #[arg(long, global = true, env = "PTC_PROGRAMS_KEY", value_name = "FILE")]
    programs_key: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum ProgramCommand {
    /// Write the file of a new program, to be filled in
    New {
        /// Its name: small letters, digits and hyphens
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the programs, and say which are approved
    List(UpstreamsArgs),
    /// Show what a program says of itself, and whether it is served
    Show {
        /// The program
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        upstreams: UpstreamsArgs,
    },
    /// Run the tests of programs, without any upstream
    Test(Box<test::TestArgs>),
    /// Run a program with real upstreams
    Run(Box<run::RunArgs>),
    /// Approve programs as they are now, once their tests have passed
    Approve(Box<approve::ApproveArgs>),
    /// Say what has changed since programs were approved
    Diff(list::DiffArgs),
    /// List the programs that models have proposed, show one of them whole, or discard it
    Drafts(Box<drafts::DraftsArgs>),
}

/// Runs the sub-command.
pub fn run(args: ProgramArgs) -> ExitCode {
    let ProgramArgs { work, place, json } = args;
    let done = match work {
        ProgramCommand::New { name } => new::run(&place, &name, json),
        ProgramCommand::List(upstreams) => list::run(&place, &upstreams, json),
        ProgramCommand::Show { name, upstreams } => show::run(&place, &name, &upstreams, json),
        ProgramCommand::Diff(work) => in_event_loop(list::diff(&place, &work, json)),
        ProgramCommand::Test(work) => in_event_loop(test::run(&place, &work, json)),
        ProgramCommand::Run(work) => in_event_loop(run::run(&place, *work, json)),
        ProgramCommand::Drafts(work) => in_event_loop(drafts::run(&work, json)),
        ProgramCommand::Approve(work) => in_event_loop(approve::run(&place, &work, json)),
    };
    done.unwrap_or_else(|fault| unusable(&fault, json))
}

fn in_event_loop(work: impl Future<Output = Result<ExitCode, String>>) -> Result<ExitCode, String> {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(format!("cannot start the event loop: {error}")),
    }
}
