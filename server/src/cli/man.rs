//! `ptc man`: manual pages.

use super::{output, report};
use clap::Args;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `ptc man`.
#[derive(Args, Debug)]
#[command(after_help = "\
To read it: ptc man | man -l -
To install all: ptc man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write ptc.1, ptc-start.1 and those of all other commands to this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the sub-command.
pub(super) fn run(args: &ManArgs, command: clap::Command) -> ExitCode {
    match &args.dir {
        Some(dir) => match write_all(command, dir) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report::fault(&format!("cannot write manual pages to {}: {error}", dir.display())),
        },
        None => {
            output::keep(clap_mangen::Man::new(command).render(&mut io::stdout().lock()));
            ExitCode::SUCCESS
        }
    }
}

/// Writes the page of each command in the help, and creates the folder.
fn write_all(command: clap::Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), dir)
}
