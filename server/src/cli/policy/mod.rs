//! `ptc policy`: checks a policy file, and says what it decides and why. No server is started and no upstream is asked.

mod callers;
mod cases;
mod check;
mod explain;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ptc_host::ordinary_file;
use ptc_host::policy::Policy;
use ptc_host::policy::policy::MAX_FILE_BYTES;

use self::callers::CallerArgs;
use super::output::print_json;
use super::report::unusable;

/// Arguments of `ptc policy`.
#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    work: PolicyCommand,

    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum PolicyCommand {
    /// Read a policy file, and say what is wrong with it
    Check(CheckArgs),
    /// Say whether a caller may call a tool, and which rule, pattern and argument rule decided
    Explain(ExplainArgs),
    /// Check the cases of a file: who may call what
    Test(TestArgs),
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// The policy file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "\
ptc policy explain ci github.get_issue --policy policy.json
ptc policy explain 'https://login.example|ann' github.create_issue '{\"repo\": \"web\"}' --claim groups=support --policy policy.json")]
struct ExplainArgs {
    /// The caller: the name of a static token, `ISSUER|SUBJECT`, or `process` for a pipe
    #[arg(value_name = "PRINCIPAL")]
    principal: String,

    /// The tool
    #[arg(value_name = "UPSTREAM.TOOL")]
    tool: String,

    /// The arguments of the call, a JSON object [default: the tool alone]
    #[arg(value_name = "ARGS")]
    arguments: Option<String>,

    /// The policy file
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,

    #[command(flatten)]
    caller: CallerArgs,
}

#[derive(Args, Debug)]
struct TestArgs {
    /// The file of cases, which names its policy
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The policy file, instead of the one that the cases name
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: &PolicyArgs) -> ExitCode {
    match &args.work {
        PolicyCommand::Check(work) => check::run(&work.file, args.json),
        PolicyCommand::Explain(work) => explain::run(work, args.json),
        PolicyCommand::Test(work) => cases::run(&work.file, work.policy.as_deref(), args.json),
    }
}

/// The policy of a file.
///
/// # Errors
/// One sentence: the file cannot be read, or what is wrong with it.
fn read(path: &Path) -> Result<Policy, String> {
    let text = text(path)?;
    Policy::parse(&text).map_err(|fault| format!("{}: {fault}", path.display()))
}

/// The text of a file of the operator's, of at most the bytes that a policy may have.
#[expect(clippy::disallowed_methods, reason = "entry point: text()")]
fn text(path: &Path) -> Result<String, String> {
    match ordinary_file::read_text(path, MAX_FILE_BYTES) {
        Ok(text) => Ok(text.to_string()),
        Err(fault) => Err(format!("{}: {fault}", path.display())),
    }
}

/// The upstream and the tool of a word such as `github.create_issue`.
fn upstream_and_tool(word: &str) -> Result<(&str, &str), String> {
    let pair = word.split_once(['.', '/']);
    pair.filter(|(upstream, tool)| !upstream.is_empty() && !tool.is_empty())
        .ok_or_else(|| format!("{word} is no tool: write UPSTREAM.TOOL"))
}
