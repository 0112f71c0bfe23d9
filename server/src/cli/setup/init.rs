//! `ptc init`: an upstreams file, and `ptc` in a client's own file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ptc_host::config::{ProcessEnv, default_file};

use super::client_entry::{self, Launch};
use super::clients::{CLIENTS, Client};
use super::found;
use super::stored;
use super::tell;
use super::upstreams_file::UpstreamsFile;
use crate::identity::PACKAGE;

/// Arguments of `ptc init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The client that is to start `ptc`: claude-desktop, claude-code, cursor, vscode, codex, gemini, qwen, opencode, cline,
    /// copilot, windsurf or zed [default: show those that are on this machine]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// The client's file [default: the person's own]
    #[arg(long, value_name = "FILE", requires = "client")]
    client_config: Option<PathBuf>,

    /// Show what would be written, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: InitArgs) -> ExitCode {
    let folder = std::env::current_dir().unwrap_or_default();
    let done = std::env::current_exe()
        .map_err(|error| format!("the path of this executable is not known: {error}"))
        .and_then(|own| init(&args, &ProcessEnv::current(), &folder, &own));
    tell(done)
}

/// Sets up; what to tell. `own` is this executable.
pub(super) fn init(args: &InitArgs, env: &ProcessEnv, folder: &Path, own: &Path) -> Result<String, String> {
    let upstreams = UpstreamsFile::open(args.upstreams_config.as_deref(), env)?;
    let client = match &args.client {
        Some(name) => Some(Client::named(name).ok_or_else(|| unknown(name))?),
        None => None,
    };
    let mut out = String::new();
    if !upstreams.exists {
        if args.dry_run {
            let _ = writeln!(out, "{}: would be made, without upstreams", upstreams.path.display());
        } else {
            upstreams.begin()?;
            upstreams.save(env)?;
            let _ = writeln!(out, "{}: made, without upstreams", upstreams.path.display());
        }
    }
    match client {
        Some(client) => {
            let launch = launch(own, &upstreams.path, env);
            out += &write_entry(args, client, &launch, env, folder)?;
        }
        None => out += &clients_here(env, folder),
    }
    if upstreams.upstreams().next().is_none() {
        out.push_str("To take over the servers that your clients have: ptc import\n");
    }
    Ok(out)
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    format!("--client {name}: the clients are {}", names.join(", "))
}

/// Writes the client's entry; what to tell.
fn write_entry(
    args: &InitArgs,
    client: &Client,
    launch: &Launch,
    env: &ProcessEnv,
    folder: &Path,
) -> Result<String, String> {
    let path = match &args.client_config {
        Some(path) => path.clone(),
        None => client.own_file(env, folder).ok_or("HOME is not set: name the file with --client-config")?,
    };
    let before = stored::read(&path)?;
    let fault = |detail: String| format!("{}: {detail}", path.display());
    let after = client_entry::added(client, before.as_deref().unwrap_or_default(), launch).map_err(fault)?;
    let shown = path.display();
    let place = client_entry::place(client);
    if before.as_deref() == Some(after.as_str()) {
        return Ok(format!("{shown}: has {place} already\n"));
    }
    if args.dry_run {
        return Ok(format!("{shown}: would get {place}, and be\n{after}"));
    }
    let undo = match before {
        Some(_) => {
            let kept = stored::keep(&path)?;
            format!("cp {} {shown}", quoted(&kept))
        }
        None => format!("rm {}", quoted(&path)),
    };
    stored::write(&path, &after)?;
    let label = client.label;
    let mut out = format!(
        "{shown}: {label} starts ptc now, as {place}. Restart {label} to see it.\nTo undo that: {undo}\n"
    );
    let others = others(client, env, folder);
    if !others.is_empty() {
        let _ = writeln!(
            out,
            "{label} also has {}. Take out of its list what ptc reaches, or the model sees those tools twice.",
            others.join(", ")
        );
    }
    Ok(out)
}

/// The servers besides `ptc` that a client starts.
fn others(client: &Client, env: &ProcessEnv, folder: &Path) -> Vec<String> {
    let sources = found::of_client(client, env, folder);
    let servers = sources.iter().filter_map(|source| source.servers.as_ref().ok());
    let names = servers.flat_map(|servers| servers.upstreams.iter());
    let started =
        names.filter(|(name, entry)| *name != client_entry::NAME && entry.get("disabled").is_none());
    started.map(|(name, _)| name.clone()).collect()
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Those clients that have a file here, with the command for each.
fn clients_here(env: &ProcessEnv, folder: &Path) -> String {
    let mut out = String::new();
    for client in &CLIENTS {
        let Some(path) = client.own_file(env, folder).filter(|path| path.exists()) else { continue };
        let servers = others(client, env, folder).len();
        let command = format!("ptc init --client {}", client.name);
        let _ = writeln!(
            out,
            "{command:<32}  {} has {servers} {} besides ({})",
            client.label,
            if servers == 1 { "server" } else { "servers" },
            path.display()
        );
    }
    if out.is_empty() {
        out.push_str("No client's file was found here. To write one all the same: ptc init --client NAME\n");
    }
    out
}

/// How a client starts this executable: by its whole path, since clients with windows have no shell's search path. What a
/// package runner has in its cache is started by the runner, since the cache goes.
fn launch(own: &Path, upstreams: &Path, env: &ProcessEnv) -> Launch {
    let cached = |folder: &str| own.components().any(|part| part.as_os_str() == folder);
    let (command, mut args) = if cached("_npx") {
        ("npx".to_owned(), vec!["-y".to_owned(), PACKAGE.to_owned()])
    } else if cached("uv") && cached("archive-v0") {
        ("uvx".to_owned(), vec![PACKAGE.to_owned()])
    } else {
        (own.display().to_string(), Vec::new())
    };
    args.push("start".to_owned());
    if default_file(env).as_deref() != Some(upstreams) {
        let whole = std::path::absolute(upstreams).unwrap_or_else(|_| upstreams.to_owned());
        args.extend(["--upstreams-config".to_owned(), whole.display().to_string()]);
    }
    Launch { command, args }
}
