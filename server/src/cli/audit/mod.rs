//! `ptc audit`: checks the files of an audit log. It needs no server, and may run beside one.

mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Arguments of `ptc audit`.
#[derive(Args, Debug)]
pub struct AuditArgs {
    #[command(subcommand)]
    work: AuditCommand,
}

#[derive(Subcommand, Debug)]
enum AuditCommand {
    /// Check that no line was changed, inserted or taken out, and that no file is missing
    Verify(VerifyArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
ptc audit verify audit.jsonl*
zcat audit.jsonl.3.gz | ptc audit verify - audit.jsonl.2 audit.jsonl.1 audit.jsonl

The digest of the last line is printed. Keep it where the server cannot write, and name it by --has next time: only so a cut of the end
and a chain that was written anew are found.")]
struct VerifyArgs {
    /// The files of the log, in any order; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Do not miss files before the oldest one that is given
    #[arg(long)]
    partial: bool,

    /// A line with this SHA-256 must be there: one that was noted earlier (may be repeated)
    #[arg(long, value_name = "DIGEST")]
    has: Vec<String>,

    /// Print JSON for programs instead of text for people
    #[arg(long)]
    json: bool,
}

/// Runs the sub-command.
pub fn run(args: &AuditArgs) -> ExitCode {
    match &args.work {
        AuditCommand::Verify(work) => verify::run(work),
    }
}
