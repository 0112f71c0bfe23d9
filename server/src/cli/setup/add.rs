//! `ptc add`: one more upstream.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ptc_host::config::ProcessEnv;
use ptc_host::config::clients::{FileContext, upstreams_of};
use ptc_host::visible::{has_hidden, visible_line};
use ptc_mcp::json::{Map, Value, json};

use super::client_state::tell;
use super::relative_paths::relative_word;
use super::upstreams_file::UpstreamsFile;

/// Arguments of `ptc add`.
#[derive(Args, Debug)]
#[command(
    override_usage = "ptc add [OPTIONS] <NAME> <URL>\n       ptc add [OPTIONS] <NAME> -- <COMMAND> [ARGS]..."
)]
pub struct AddArgs {
    /// Its name in programs
    #[arg(value_name = "NAME")]
    name: String,

    /// The URL of the server
    #[arg(value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,

    /// The command that starts the server, and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,

    /// A variable for the command: NAME=value, or NAME=${NAME} to read it from the environment of `ptc`
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// A header for the URL: "Name: value", or "Authorization: Bearer ${NAME}" to read it from the environment of `ptc`
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// Replace an upstream of this name
    #[arg(long)]
    replace: bool,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: AddArgs) -> ExitCode {
    let folder = std::env::current_dir().unwrap_or_default();
    tell(add(&args, &ProcessEnv::current(), &folder))
}

/// Adds the upstream, and returns the message. `folder` is the current one.
pub(super) fn add(args: &AddArgs, env: &ProcessEnv, folder: &Path) -> Result<String, String> {
    let file = UpstreamsFile::open(args.upstreams_config.as_deref(), env)?;
    let name = args.name.as_str();
    if !args.replace && file.upstreams().any(|(known, _)| known == name) {
        return Err(format!(
            "{} has an upstream {name} already: choose another name, or replace it with --replace",
            file.path.display()
        ));
    }
    if name.is_empty() || name.contains(|c: char| c == '/' || c.is_whitespace()) {
        return Err(format!(
            "the name \"{}\" cannot stand before a tool's, as in 'name/tool: use letters, digits, - and _",
            visible_line(name)
        ));
    }
    if has_hidden(name) {
        return Err(format!(
            "the name \"{}\" has invisible characters; choose another one",
            visible_line(name)
        ));
    }
    let server: Map = [(name.to_owned(), server(args)?)].into_iter().collect();
    // A relative path must have the same meaning wherever `ptc` is started.
    let relative = relative_word(args.command.iter().map(String::as_str), folder);
    let project = relative.map(|_| folder);
    let mut read = upstreams_of(&server, &FileContext { env, project, bare_names: false });
    if let Some(fault) = read.faults.pop() {
        return Err(fault.to_string());
    }
    if let Some(Value::Object(entry)) = read.upstreams.get(name) {
        file.set_upstream(name, entry)?;
    }
    for (credential, binding) in &read.credentials {
        file.set_credential(credential, binding)?;
    }
    let made_private = file.save(env)?;
    let mut text = format!("{}: added {name}", file.path.display());
    if let Some(word) = relative {
        let _ = write!(text, "\nIt starts in {} (its \"cd\"), where {word} was meant.", folder.display());
    }
    if made_private {
        text.push_str("\nThe file holds a secret now: its mode is 0600, so that only you can read it.");
    }
    for warning in &read.warnings {
        text.push_str("\nptc: ");
        text.push_str(&warning.message);
    }
    text.push_str("\nTo see its tools: ptc tools");
    Ok(text)
}

/// The entry as a client would write it.
fn server(args: &AddArgs) -> Result<Value, String> {
    let headers = pairs(&args.header, ':', "--header takes \"Name: value\"")?;
    let variables = pairs(&args.env, '=', "--env takes NAME=VALUE")?;
    if let Some(url) = &args.url {
        if !url.contains("://") {
            return Err(format!(
                "{url:?} is no URL; a command stands behind --: ptc add {} -- {url}",
                args.name
            ));
        }
        if !variables.is_empty() {
            return Err("--env is for commands; a URL takes --header".to_owned());
        }
        return Ok(json!({"url": url, "headers": headers}));
    }
    if !headers.is_empty() {
        return Err("--header is for URLs; a command takes --env".to_owned());
    }
    Ok(json!({"command": args.command, "env": variables}))
}

fn pairs(texts: &[String], sign: char, advice: &str) -> Result<Map, String> {
    let pair = |text: &String| match text.split_once(sign) {
        Some((name, value)) if !name.trim().is_empty() => {
            let value = if sign == ':' { value.trim() } else { value };
            Ok((name.trim().to_owned(), Value::from(value)))
        }
        _ => Err(format!("{advice}, got {text:?}")),
    };
    texts.iter().map(pair).collect()
}
