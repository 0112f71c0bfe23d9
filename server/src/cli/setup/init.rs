//! `ptc init`: writes an upstreams file, and adds `ptc` to a client's own file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ptc_host::config::{ConfigPart, ProcessEnv, default_file};
use ptc_host::similar::most_similar;
use ptc_host::text::shell_word;
use ptc_mcp::json::Value;

use super::atomic_file;
use super::client_entry::{self, Launch};
use super::client_state::{ClientState, tell};
use super::clients::{CLIENTS, ConfigFormat, McpClient};
use super::configured_servers;
use super::import::is_own;
use super::merge::same_as;
use super::upstreams_file::UpstreamsFile;
use crate::cli::state::own_executable;
use ptc_protocol::identity::PACKAGE;

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

    /// Take out of the client's file the servers that `ptc` reaches
    #[arg(long = "move", requires = "client")]
    moves: bool,

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
    let done = own_executable().and_then(|own| init(&args, &ProcessEnv::current(), &folder, &own));
    tell(done)
}

/// Sets up, and returns the message. `own` is this executable.
pub(super) fn init(args: &InitArgs, env: &ProcessEnv, folder: &Path, own: &Path) -> Result<String, String> {
    let upstreams = UpstreamsFile::open(args.upstreams_config.as_deref(), env)?;
    let client = match &args.client {
        Some(name) => Some(McpClient::named(name).ok_or_else(|| unknown(name))?),
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
            let launch = launch(own, &upstreams, env);
            out += &write_entry(args, client, &launch, &upstreams, env, folder)?;
            out += &hints(client, &launch, &upstreams);
        }
        None => out += &clients_here(env, folder),
    }
    if upstreams.upstreams().next().is_none() {
        out.push_str("To import the servers that your clients have: ptc import\n");
    }
    Ok(out)
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    let part = |known: &&str| !name.is_empty() && (known.starts_with(name) || known.ends_with(name));
    let mut similar: Vec<&str> = names.iter().copied().filter(part).collect();
    if similar.is_empty() {
        similar.extend(most_similar(name, names.iter().copied()));
    }
    let similar =
        if similar.is_empty() { String::new() } else { format!("did you mean {}? ", similar.join(" or ")) };
    format!("--client {name}: {similar}the clients are {}", names.join(", "))
}

/// Writes the client's entry, and returns the message.
fn write_entry(
    args: &InitArgs,
    client: &McpClient,
    launch: &Launch,
    upstreams: &UpstreamsFile,
    env: &ProcessEnv,
    folder: &Path,
) -> Result<String, String> {
    let path = match &args.client_config {
        Some(path) => path.clone(),
        None => client.own_file(env, folder).ok_or("HOME is not set: name the file with --client-config")?,
    };
    let before = atomic_file::read(&path)?;
    let fault = |detail: String| format!("{}: {detail}", path.display());
    let mut after =
        client_entry::added(client, before.as_deref().unwrap_or_default(), launch).map_err(fault)?;
    let has_entry = before.as_deref() == Some(after.as_str());
    let mut others = others(client, &path, upstreams, env, folder);
    let mut moved = Vec::new();
    if args.moves {
        moved = std::mem::take(&mut others.reached);
        after =
            client_entry::without(client, &after, &moved, &folder.display().to_string()).map_err(fault)?;
    }
    let shown = path.display();
    let place = client_entry::place(client);
    let label = client.label;
    let taken_out = match moved.as_slice() {
        [] => String::new(),
        moved => format!(", without {}, which ptc reaches", moved.join(", ")),
    };
    let mut out = if before.as_deref() == Some(after.as_str()) {
        format!("{shown}: has {place} already\n")
    } else if args.dry_run {
        return Ok(format!("{shown}: would get {place}{taken_out}, and be\n{after}"));
    } else {
        let undo = match before {
            Some(_) => format!("cp {} {}", quoted(&atomic_file::keep(&path)?), quoted(&path)),
            None => format!("rm {}", quoted(&path)),
        };
        atomic_file::write(&path, &after)?;
        let done = if has_entry {
            format!("has {place} already")
        } else {
            format!("{label} starts ptc now, as {place}")
        };
        format!("{shown}: {done}{taken_out}. Restart {label} to see it.\nTo undo that: {undo}\n")
    };
    if !others.reached.is_empty() {
        let _ = writeln!(
            out,
            "{label} also has {}, which ptc reaches: the model sees those tools twice. To take them out: ptc init --client {} --move",
            others.reached.join(", "),
            client.name
        );
    }
    for (path, names) in &others.elsewhere {
        let _ = writeln!(
            out,
            "{} has {} as well; take out of it what others do not need.",
            path.display(),
            names.join(", ")
        );
    }
    if !others.unreached.is_empty() {
        let _ = writeln!(
            out,
            "{label} keeps {}, which ptc does not reach: ptc import takes over what it can, ptc doctor says what is missing.",
            others.unreached.join(", ")
        );
    }
    Ok(out)
}

/// Further steps for the client and the person until the upstreams work.
fn hints(client: &McpClient, launch: &Launch, upstreams: &UpstreamsFile) -> String {
    let mut out = String::new();
    let label = client.label;
    if !launch.variables.is_empty() && client.form != ConfigFormat::Codex {
        let shell = if client.has_windows() { ", which has no shell's variables," } else { "" };
        let _ = writeln!(
            out,
            "The upstreams read {}. Have {label}{shell} hand them on, in the \"env\" of ptc's entry, or put them into a file and add \
             \"--env-file\", \"FILE\" to its \"args\".",
            launch.variables.join(", ")
        );
    }
    let commands = upstreams.looked_up();
    if client.has_windows() && !commands.is_empty() {
        let _ = writeln!(
            out,
            "{label} has another search path than a shell: if {} cannot be started there, write whole paths into {}.",
            commands.join(", "),
            upstreams.path.display()
        );
    }
    if let Some(advice) = client.advice() {
        let _ = writeln!(out, "{label}: {advice}.");
    }
    out
}

/// The servers besides `ptc` that a client starts.
#[derive(Default)]
struct OtherServers {
    /// Those in the client's file that `ptc` reaches as well.
    reached: Vec<String>,
    /// Those that it does not reach.
    unreached: Vec<String>,
    /// Those that it reaches as well and that are in other files, of projects.
    elsewhere: Vec<(PathBuf, Vec<String>)>,
}

fn others(
    client: &McpClient,
    path: &Path,
    upstreams: &UpstreamsFile,
    env: &ProcessEnv,
    folder: &Path,
) -> OtherServers {
    let mut sources = configured_servers::of_client(client, env, folder);
    if sources.iter().all(|source| source.path != *path) {
        sources = configured_servers::of_named(client.name, path, env, folder).into_iter().collect();
    }
    let mut others = OtherServers::default();
    for source in sources {
        let Ok(servers) = &source.servers else { continue };
        let started = servers
            .upstreams
            .iter()
            .filter(|(name, entry)| *name != client_entry::NAME && entry.get("disabled").is_none());
        let (reached, unreached): (Vec<_>, Vec<_>) = started.partition(|(_, entry)| {
            same_as(entry, upstreams).is_some_and(|same| upstreams.reaches(same, env))
        });
        let names = |entries: Vec<(&String, &Value)>| {
            entries.into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        others.unreached.extend(names(unreached));
        match names(reached) {
            reached if source.path == *path => others.reached = reached,
            reached if reached.is_empty() => {}
            reached => others.elsewhere.push((source.path, reached)),
        }
        // A client starts servers that we cannot read, too.
        let unread = servers.faults.iter().filter_map(|fault| match &fault.part {
            ConfigPart::Upstream(name) => Some(name.clone()),
            _ => None,
        });
        others.unreached.extend(unread);
    }
    others
}

/// The state of a client with respect to `ptc`; `path` is its file. `own` is this executable.
pub(super) fn state_of(
    client: &McpClient,
    path: &Path,
    own: Option<&Path>,
    env: &ProcessEnv,
    folder: &Path,
) -> ClientState {
    let sources = configured_servers::of_client(client, env, folder);
    let Some(source) = sources.iter().find(|source| source.path == *path) else {
        return ClientState::Without;
    };
    let servers = match &source.servers {
        Ok(servers) => servers,
        Err(why) => return ClientState::Broken(why.clone()),
    };
    let mut entries = servers.upstreams.values().filter_map(Value::as_object);
    let Some(entry) = entries.find(|entry| entry.get("disabled").is_none() && is_own(entry, own)) else {
        return ClientState::Without;
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let args: Vec<String> =
        entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(text).collect();
    let command = entry.get("command").and_then(text).filter(|command| command.contains('/'));
    let after = |flag: &str| args.iter().skip_while(|arg| *arg != flag).nth(1).cloned();
    let named = [command, after("--upstreams-config"), after("--env-file")].into_iter().flatten();
    let missing = named.filter(|file| Path::new(file).is_absolute() && !Path::new(file).exists()).collect();
    let file = after("--upstreams-config").map(PathBuf::from);
    let upstreams = UpstreamsFile::open(file.as_deref(), env).ok();
    let doubles =
        upstreams.map(|upstreams| others(client, path, &upstreams, env, folder).reached).unwrap_or_default();
    ClientState::Starts { missing, doubles }
}

/// A path, quoted for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    shell_word(&path.display().to_string()).into_owned()
}

/// The clients that have a file here, with the command for each.
fn clients_here(env: &ProcessEnv, folder: &Path) -> String {
    let mut out = String::new();
    for client in &CLIENTS {
        let Some(path) = client.own_file(env, folder).filter(|path| path.exists()) else { continue };
        let servers = configured_servers::of_client(client, env, folder)
            .iter()
            .filter_map(|source| source.servers.as_ref().ok())
            .flat_map(|servers| servers.upstreams.keys())
            .filter(|name| *name != client_entry::NAME)
            .count();
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

/// How a client starts this executable: by its absolute path, since graphical clients do not have a shell's search
/// path. An executable in the cache of a package runner is started by the runner, since the cache is temporary.
fn launch(own: &Path, upstreams: &UpstreamsFile, env: &ProcessEnv) -> Launch {
    let cached = |folder: &str| own.components().any(|part| part.as_os_str() == folder);
    let (command, mut args) = if cached("_npx") {
        ("npx".to_owned(), vec!["-y".to_owned(), PACKAGE.to_owned()])
    } else if cached("uv") && cached("archive-v0") {
        ("uvx".to_owned(), vec![PACKAGE.to_owned()])
    } else {
        (own.display().to_string(), Vec::new())
    };
    args.push("start".to_owned());
    let file = upstreams.path.as_path();
    if default_file(env).as_deref() != Some(file) {
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        args.extend(["--upstreams-config".to_owned(), whole.display().to_string()]);
    }
    Launch { command, args, variables: upstreams.variables() }
}
