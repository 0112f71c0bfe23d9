//! `ptc import`: turns the servers of MCP clients into upstreams.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ptc_host::config::{ConfigWarning, ProcessEnv};
use ptc_host::visible::visible_line;
use ptc_mcp::json::{Map, Value};

use super::client_entry::starts_ptc;
use super::clients::{CLIENTS, McpClient};
use super::configured_servers::{self, ConfiguredServers};
use super::mask;
use super::merge::{Decision, MergeOutcome, decide};
use super::upstreams_file::UpstreamsFile;
use crate::cli::output::{self, outln};
use crate::cli::{questions, report};

/// Arguments of `ptc import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// A client (claude-desktop, claude-code, cursor, vscode, codex, gemini, qwen, opencode, cline, copilot, windsurf, zed) or
    /// a file [default: every client that has servers]
    #[arg(long, value_name = "CLIENT|FILE")]
    from: Vec<String>,

    /// Show what would be added, and change nothing
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,

    /// Add without asking
    #[arg(long)]
    write: bool,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: ImportArgs) -> ExitCode {
    let folder = std::env::current_dir().unwrap_or_default();
    let env = ProcessEnv::current();
    match found(&args, &env, &folder) {
        Ok(found) => finish(&args, &found, &env),
        Err(fault) => report::fault(&fault),
    }
}

/// The result of a search, and the file that the import would change.
pub(super) struct Import {
    file: UpstreamsFile,
    decisions: Vec<Decision>,
    /// Sentences about entries whose meaning was changed.
    warnings: Vec<String>,
}

/// Searches for servers.
pub(super) fn found(args: &ImportArgs, env: &ProcessEnv, folder: &Path) -> Result<Import, String> {
    let file = UpstreamsFile::open(args.upstreams_config.as_deref(), env)?;
    let sources = sources(&args.from, env, folder)?;
    let own = std::env::current_exe().ok();
    let warnings =
        sources.iter().filter_map(|source| Some((source.path.clone(), source.servers.as_ref().ok()?)));
    let warnings = warnings
        .flat_map(|(path, servers)| servers.warnings.iter().map(move |told| (path.clone(), told.clone())));
    let mut warnings: Vec<(PathBuf, ConfigWarning)> = warnings.collect();
    let decisions =
        decide(sources, &file, &|entry| is_own(entry, own.as_deref()), &|name, entry, credentials| {
            file.fault_of(name, entry, credentials, env)
        });
    let is_added = |path: &Path, name: &str| {
        let mut added =
            decisions.iter().filter(|decision| matches!(decision.fate, MergeOutcome::Added { .. }));
        added.any(|decision| decision.path == path && decision.name == name)
    };
    warnings.retain(|(path, told)| told.upstream.as_deref().is_none_or(|name| is_added(path, name)));
    let warnings = warnings.into_iter().map(|(_, told)| told.message).collect();
    let import = Import { file, decisions, warnings };
    if import.added() > 0 {
        import.apply()?;
        import.file.check(env)?;
    }
    Ok(import)
}

fn sources(from: &[String], env: &ProcessEnv, folder: &Path) -> Result<Vec<ConfiguredServers>, String> {
    if from.is_empty() {
        return Ok(configured_servers::everywhere(env, folder));
    }
    let mut sources = Vec::new();
    for name in from {
        if let Some(client) = McpClient::named(name) {
            let found = configured_servers::of_client(client, env, folder);
            if found.is_empty() {
                let files = client.files(env, folder);
                let places: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
                return Err(format!("{} has no servers here; looked at {}", client.label, places.join(", ")));
            }
            sources.extend(found);
        } else {
            let path = PathBuf::from(name);
            if !path.exists() {
                let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
                return Err(format!(
                    "--from {name}: there is no such file, and the clients are {}",
                    names.join(", ")
                ));
            }
            let source = configured_servers::of_named(name, &path, env, folder);
            sources.push(source.ok_or_else(|| format!("{name} has no servers"))?);
        }
    }
    Ok(sources)
}

pub(super) fn is_own(entry: &Map, own: Option<&Path>) -> bool {
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let args: Vec<&str> = args.filter_map(Value::as_str).collect();
    entry.get("command").and_then(Value::as_str).is_some_and(|command| starts_ptc(command, &args, own))
}

fn finish(args: &ImportArgs, import: &Import, env: &ProcessEnv) -> ExitCode {
    output::write(format_args!("{}", import.shown()));
    let added = import.added();
    let left_out = import.left_out();
    if added == 0 {
        if !import.decisions.is_empty() {
            outln!("\nNothing to add{}.", left_out);
        }
        return ExitCode::SUCCESS;
    }
    let file = import.file.path.display().to_string();
    let file = visible_line(&file);
    if args.dry_run {
        outln!("\nNothing was written. To add {}{left_out}: ptc import --write", count(added));
        return ExitCode::SUCCESS;
    }
    if !args.write {
        if !std::io::stdin().is_terminal() {
            outln!(
                "\nNothing was written, because there is no terminal to ask at. To add {}{left_out}: ptc import --write",
                count(added)
            );
            return ExitCode::SUCCESS;
        }
        output::write(format_args!("\nAdd {}{left_out} to {file}? [Y/n] ", count(added)));
        if !questions::agrees() {
            outln!("Nothing was written.");
            return ExitCode::SUCCESS;
        }
    }
    match import.write(env) {
        Ok(made_private) => {
            let them = if added == 1 { "it" } else { "them" };
            outln!("\n{file}: added {}{left_out}. To try {them}: ptc check", count(added));
            if made_private {
                outln!("{file} holds a secret now: its mode is 0600, so that only you can read it.");
            }
            ExitCode::SUCCESS
        }
        Err(fault) => report::fault(&fault),
    }
}

fn count(added: usize) -> String {
    if added == 1 { "1 upstream".to_owned() } else { format!("{added} upstreams") }
}

impl Import {
    /// The number of upstreams that would be added.
    pub(super) fn added(&self) -> usize {
        self.decisions.iter().filter(|decision| matches!(decision.fate, MergeOutcome::Added { .. })).count()
    }

    /// The number of servers that cannot be imported, as the end of a sentence.
    pub(super) fn left_out(&self) -> String {
        match self
            .decisions
            .iter()
            .filter(|decision| matches!(decision.fate, MergeOutcome::Refused(_)))
            .count()
        {
            0 => String::new(),
            1 => " (1 is left out, see !)".to_owned(),
            more => format!(" ({more} are left out, see !)"),
        }
    }

    /// The result of the search, by file.
    pub(super) fn shown(&self) -> String {
        let mut out = String::new();
        let mut last: Option<&Path> = None;
        for decision in &self.decisions {
            if last != Some(&decision.path) {
                last = Some(&decision.path);
                let path = decision.path.display().to_string();
                let _ = writeln!(out, "{} ({})", decision.label, visible_line(&path));
            }
            let name = visible_line(&decision.name);
            let _ = match &decision.fate {
                MergeOutcome::Added { name: ours, entry, .. } => {
                    let renamed =
                        if *ours == name { String::new() } else { format!(" as {}", visible_line(ours)) };
                    writeln!(out, "  + {name}{renamed}  {}", reached(entry))
                }
                MergeOutcome::Double(same) => writeln!(out, "  = {name}  the same as {}", visible_line(same)),
                MergeOutcome::Own => writeln!(out, "  - {name}  is ptc itself"),
                MergeOutcome::Refused(sentence) => writeln!(out, "  ! {}", visible_line(sentence)),
            };
        }
        if self.decisions.is_empty() {
            out.push_str("No servers were found. To add one: ptc add NAME URL, or ptc add NAME -- COMMAND\n");
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "ptc: {}", visible_line(warning));
        }
        out
    }

    /// Adds the new entries to the file without writing it.
    fn apply(&self) -> Result<(), String> {
        for decision in &self.decisions {
            let MergeOutcome::Added { name, entry, credentials } = &decision.fate else { continue };
            // As in the client's own file, a server that does not start must not stop the others.
            let mut entry = entry.clone();
            entry.insert("required".to_owned(), Value::Bool(false));
            self.file.set_upstream(name, &entry)?;
            for (credential, binding) in credentials {
                self.file.set_credential(credential, binding)?;
            }
        }
        Ok(())
    }

    /// Writes the upstreams file. Returns true if it was made private, since it now holds a secret.
    pub(super) fn write(&self, env: &ProcessEnv) -> Result<bool, String> {
        self.file.save(env)
    }
}

/// How a server is started or reached, for people. Values of variables and headers, and other secrets, are not shown.
fn reached(entry: &Map) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = std::iter::once(text("command")).chain(args.filter_map(Value::as_str));
    let line = if text("command").is_empty() { mask::address(text("url")) } else { mask::command(words) };
    let disabled = if entry.contains_key("disabled") { "  (disabled)" } else { "" };
    format!("{line}{disabled}")
}
