//! `ptc doctor --bundle`: one file for a bug report, with everything that is asked for first and without secrets.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::REDACTED;
use ptc_mcp::json::{Map, Value, json};
use ptc_protocol::identity;

use super::redaction::{Removed, origin};
use crate::boot;
use crate::cli::config;
use crate::cli::setup;
use crate::control::client::running;
use crate::options::command::arguments;
use crate::options::flags::ALL;
use crate::options::sign_in_store::{KeyPlace, StorePlace};
use crate::options::{self, SettingsSource};

/// The shape of the file: a reader of another version can tell.
const FORMAT: u64 = 1;
/// How much of the end of a log is looked through, in bytes.
const LOG_BYTES: u64 = 1 << 20;
/// How many warnings and errors of it are taken, the last ones.
const LOG_LINES: usize = 100;
/// What the names of options end with whose files hold secrets.
const SECRET_FILES: [&str; 5] = ["token-file", "secret-file", "password-file", "key-file", "client"];

/// Variables whose values are no secrets, and parts of many texts.
const COMMON: [&str; 5] = ["HOME", "USER", "PWD", "PATH", "TMPDIR"];

/// What a bug report holds, and where it is written.
#[derive(Args, Debug)]
pub(super) struct BundleArgs {
    /// Write what a bug report needs into this file, as JSON without secrets
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    bundle: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "bundle")]
    force: bool,

    /// Settings file of the server (ptc start --config)
    #[arg(long, value_name = "FILE", requires = "bundle")]
    config: Option<PathBuf>,

    /// File with the server's variables (ptc start --env-file)
    #[arg(long, value_name = "FILE", requires = "bundle")]
    env_file: Option<PathBuf>,

    /// File with the server's log, of which the last warnings and errors are taken
    #[arg(long, value_name = "FILE", requires = "bundle")]
    log: Option<PathBuf>,
}

/// What was found elsewhere, to be put into the file.
pub(super) struct Found<'a> {
    /// The findings, each as `ptc doctor --json` prints it.
    pub(super) findings: Value,
    /// The upstreams file that was looked at.
    pub(super) upstreams_file: Option<&'a Path>,
    /// The folder of `--state-dir`, if it is given to `ptc doctor`.
    pub(super) state_dir: Option<&'a Path>,
}

impl BundleArgs {
    /// Where the file goes, if one is wanted.
    pub(super) fn path(&self) -> Option<&Path> {
        self.bundle.as_deref()
    }

    /// The variables of a server with these files: those of the environment, of `--env-file`, and one for each setting of
    /// `--config`. A file at fault adds none; the options tell what is wrong with it.
    pub(super) fn served(&self, env: &ProcessEnv) -> ProcessEnv {
        let sources = self.matches().ok().and_then(|matches| options::sources(&matches, env.clone()).ok());
        sources.map_or_else(|| env.clone(), |(env, file)| file.as_variables(&env))
    }

    /// The arguments of a server with these files.
    fn matches(&self) -> Result<clap::ArgMatches, clap::Error> {
        let named = [("--config", &self.config), ("--env-file", &self.env_file)];
        let named = named
            .into_iter()
            .filter_map(|(flag, path)| Some([flag.into(), path.as_ref()?.as_os_str().to_owned()]));
        let words = std::iter::once("start".into()).chain(named.flatten());
        clap::Command::new("start").args(arguments(&ALL)).try_get_matches_from(words)
    }

    /// Writes the file, and says what is in it.
    ///
    /// # Errors
    /// One sentence: the file is there, or cannot be written; or the log cannot be read.
    pub(super) fn write(&self, path: &Path, env: &ProcessEnv, found: Found<'_>) -> Result<String, String> {
        let bundle = self.collect(env, found)?;
        let text = format!("{bundle:#}\n");
        write_new(path, &text, self.force)?;
        let count = |key: &str| bundle[key].as_array().map_or(0, Vec::len);
        let upstreams = bundle["upstreams_file"]["content"]["upstreams"].as_object().map_or(0, Map::len);
        Ok(format!(
            "wrote {} ({} bytes, for you alone to read):\n  version, system and its limits\n  {} options of ptc start, \
             with where each is from\n  the upstreams file, with {upstreams} entries\n  {} findings of ptc doctor\n  \
             {} servers that run\n  {} last warnings and errors of the log{}\nSecrets are left out, and so are URLs beyond \
             their hosts. Names of hosts, folders, tools and callers are in it: read it before you send it.\n",
            path.display(),
            text.len(),
            count("options"),
            count("findings"),
            count("servers"),
            bundle["log"]["lines"].as_array().map_or(0, Vec::len),
            if self.log.is_some() { "" } else { " (name it with --log)" },
        ))
    }

    fn collect(&self, env: &ProcessEnv, found: Found<'_>) -> Result<Value, String> {
        let mut removed = Removed::default();
        let mut env = env.clone();
        if let Some(file) = &self.env_file {
            // The options tell what is wrong with it.
            let _ = env.add_file(file);
        }
        let env = &env;
        let (options, starts) = self.options(env, &mut removed);
        // Where the server's settings name a place, that is the one of interest.
        let named = |name: &str| {
            let is_named = |option: &&Value| option["name"] == name && option["source"] != "default";
            Some(PathBuf::from(options.iter().find(is_named)?["value"].as_str()?))
        };
        let state_dir = found.state_dir.map(Path::to_owned).or_else(|| named("state-dir"));
        let mut everything = json!({
            "format": FORMAT,
            "version": identity::VERSION,
            "system": system(),
            "limits": limits(),
            "options": options,
            "starts": starts,
            "variables": variables(env, &mut removed),
            "upstreams_file": upstreams_file(found.upstreams_file, env, &mut removed),
            "findings": found.findings,
            "servers": servers(env, state_dir),
            "log": self.log.as_deref().map(log).transpose()?,
        });
        removed.scrub(&mut everything)?;
        Ok(everything)
    }

    /// The options of a server, and whether it would start with them.
    fn options(&self, env: &ProcessEnv, removed: &mut Removed) -> (Vec<Value>, Value) {
        let matches = match self.matches() {
            Ok(matches) => matches,
            Err(error) => return (Vec::new(), json!(error.to_string())),
        };
        let rows = match config::rows(&matches, env, true) {
            Ok(rows) => rows,
            Err(fault) => return (Vec::new(), json!(fault.to_string())),
        };
        let mut shown = Vec::new();
        for row in &rows {
            for secret in &row.secrets {
                removed.note(secret);
                note_password(secret, removed);
            }
            if SECRET_FILES.iter().any(|end| row.flag.name.ends_with(end)) && row.source != "default" {
                removed.note_file(Path::new(&row.value));
            }
            let mut texts = Vec::new();
            for text in row.value.split(',') {
                let short = origin(text).unwrap_or_else(|| text.to_owned());
                if short != text {
                    removed.note(text);
                }
                texts.push(short);
            }
            shown.push(json!({"name": row.flag.name, "value": texts.join(","), "source": row.source}));
        }
        let starts = match boot::check(&SettingsSource::new(matches, env.clone())) {
            Ok(_) => json!("yes"),
            Err(fault) => json!(fault.to_string()),
        };
        (shown, starts)
    }
}

/// The names of variables that matter; of proxies, their hosts.
fn variables(env: &ProcessEnv, removed: &mut Removed) -> Value {
    let mut shown = Map::new();
    for (name, value) in env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?))) {
        if name.to_ascii_uppercase().ends_with("_PROXY") {
            let is_list = name.eq_ignore_ascii_case("NO_PROXY");
            if !is_list {
                note_password(value, removed);
            }
            let shortened =
                if is_list { value.to_owned() } else { origin(value).unwrap_or_else(|| REDACTED.to_owned()) };
            shown.insert(name.to_owned(), shortened.into());
        } else if name.starts_with("PTC_") {
            shown.insert(name.to_owned(), "set".into());
        }
    }
    Value::Object(shown)
}

/// Notes what stands before the host of a URL.
fn note_password(url: &str, removed: &mut Removed) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    if let Some((user, _)) = rest.rsplit_once('@') {
        removed.note(user);
        if let Some((_, password)) = user.split_once(':') {
            removed.note(password);
        }
    }
}

/// The upstreams file without secrets. The values of the variables and files that it names are noted, too.
fn upstreams_file(path: Option<&Path>, env: &ProcessEnv, removed: &mut Removed) -> Value {
    let Some(path) = path else { return Value::Null };
    let text = match setup::atomic_file::read(path) {
        Ok(Some(text)) => text,
        Ok(None) => return json!({"path": path.display().to_string(), "fault": "it is not there"}),
        Err(fault) => return json!({"path": path.display().to_string(), "fault": fault}),
    };
    note_variables(&text, env, removed);
    let Ok(file) = setup::object(&text) else {
        return json!({"path": path.display().to_string(), "fault": "it is no JSON object; see the findings"});
    };
    let credentials = file.get("credentials").and_then(Value::as_object).into_iter().flatten();
    for (_, credential) in credentials {
        if let Some(named) = credential.get("path").and_then(Value::as_str) {
            let folder = path.parent().unwrap_or(Path::new(""));
            removed.note_file(&folder.join(named));
        }
        let variable = credential.get("var").and_then(Value::as_str).and_then(|name| env.text(name));
        variable.iter().for_each(|value| removed.note(value));
    }
    json!({"path": path.display().to_string(), "content": removed.upstreams_file(file)})
}

/// Notes the values of all variables that a text names as `${NAME}`.
fn note_variables(text: &str, env: &ProcessEnv, removed: &mut Removed) {
    for rest in text.split("${").skip(1) {
        let name = rest.split(['}', ':']).next().unwrap_or_default();
        let value = env.text(name).filter(|_| !COMMON.contains(&name));
        value.iter().for_each(|value| removed.note(value));
    }
}

/// The servers of this user that run with this state folder.
fn servers(env: &ProcessEnv, state_dir: Option<PathBuf>) -> Value {
    let folder = StorePlace::of(env, state_dir, KeyPlace::default()).folder();
    let servers = folder.map(|folder| running(&folder)).unwrap_or_default();
    let answering = servers.answering.iter().map(|server| &server.description);
    let answering = answering
        .map(|server| json!({"pid": server.pid, "version": server.version, "serves": server.serves}));
    let silent = servers.silent.iter();
    let silent =
        silent.map(|(socket, why)| json!({"socket": socket.display().to_string(), "fault": why.to_string()}));
    answering.chain(silent).collect()
}

/// The system: its kernel, its name, and the processors and the memory that this process may use.
fn system() -> Value {
    let line = |path: &str| {
        let text = setup::atomic_file::read(Path::new(path)).ok().flatten()?;
        Some(text.trim().to_owned())
    };
    let release = line("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "os": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "name": name.map(|name| name.trim_matches('"')),
        "kernel": line("/proc/sys/kernel/osrelease"),
        "processors": std::thread::available_parallelism().ok().map(std::num::NonZero::get),
        "cgroup_memory_max": line("/sys/fs/cgroup/memory.max"),
        "cgroup_cpu_max": line("/sys/fs/cgroup/cpu.max"),
    })
}

/// The limits of this process, which a server started from here would have; `null` is unlimited.
fn limits() -> Value {
    let limit = |resource| match getrlimit(resource) {
        Ok((soft, hard)) => {
            let shown = |limit| if limit == RLIM_INFINITY { Value::Null } else { json!(limit) };
            json!({"soft": shown(soft), "hard": shown(hard)})
        }
        Err(error) => json!(error.to_string()),
    };
    json!({
        "open_files": limit(Resource::RLIMIT_NOFILE),
        "file_bytes": limit(Resource::RLIMIT_FSIZE),
        "stack_bytes": limit(Resource::RLIMIT_STACK),
        "data_bytes": limit(Resource::RLIMIT_DATA),
    })
}

/// The last warnings and errors of a log.
///
/// # Errors
/// One sentence: it cannot be read.
#[expect(clippy::disallowed_methods, reason = "entry point: log()")]
fn log(path: &Path) -> Result<Value, String> {
    let fault = |error: std::io::Error| format!("{}: {error}", path.display());
    if !fs::metadata(path).map_err(fault)?.is_file() {
        return Err(format!("{}: it is no ordinary file", path.display()));
    }
    let mut file = fs::File::open(path).map_err(fault)?;
    let length = file.metadata().map_err(fault)?.len();
    let skipped = length.saturating_sub(LOG_BYTES);
    file.seek(SeekFrom::Start(skipped)).map_err(fault)?;
    let mut end = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut end).map_err(fault)?;
    let end = String::from_utf8_lossy(&end);
    let is_grave = |line: &Value| matches!(line["level"].as_str(), Some("warn" | "error"));
    // The first line may be a part of one, and a journal may have lines of others.
    let lines = end.lines().filter_map(|line| serde_json::from_str(line.get(line.find('{')?..)?).ok());
    let mut lines: Vec<Value> = lines.filter(is_grave).collect();
    let first = lines.len().saturating_sub(LOG_LINES);
    Ok(json!({"bytes": length, "looked_through": length - skipped, "lines": lines.split_off(first)}))
}

/// Writes a file that only its owner can read. One that is there stays, unless it may be replaced.
///
/// # Errors
/// One sentence.
fn write_new(path: &Path, text: &str, replace: bool) -> Result<(), String> {
    let fault = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} is there already; name another file, or replace it with --force", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    };
    if replace && fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path).map_err(fault)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(fault)?;
    file.write_all(text.as_bytes()).map_err(fault)
}
