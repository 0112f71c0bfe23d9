//! The sub-commands, one file each.

pub mod eval;
pub mod limits;
pub mod report;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Run one small program instead of many tool calls.
#[derive(Parser, Debug)]
#[command(name = "ptc", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Evaluate a program from the command line, a file, standard input or JSON Lines
    Eval(eval::EvalArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Eval(args) => eval::run(args),
    }
}
