//! The entry that starts `ptc` in a client's file.

use std::path::Path;

use ptc_mcp::json::{Value, json};

use super::clients::{ConfigFormat, McpClient};
use super::json_file::JsonFile;
use ptc_protocol::identity::PACKAGE;

/// The name of the entry.
pub(super) const NAME: &str = "ptc";

/// The command that starts `ptc`.
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// The variables that the upstreams read.
    pub(super) variables: Vec<String>,
}

/// The text of `client`'s file with `ptc` added to its previous text. Other keys of its entry of `ptc` stay.
///
/// # Errors
/// The fault of the text.
pub(super) fn added(client: &McpClient, before: &str, launch: &Launch) -> Result<String, String> {
    if client.form == ConfigFormat::Codex {
        return of_codex(before, launch);
    }
    let file = JsonFile::parse(before)?;
    let Value::Object(entry) = entry(client.form, launch) else { return Ok(file.text()) };
    if !file.has(&[client.key, NAME]) {
        file.set(&[client.key, NAME], &Value::Object(entry))?;
        return Ok(file.text());
    }
    for (key, value) in &entry {
        file.set(&[client.key, NAME, key], value)?;
    }
    Ok(file.text())
}

/// The text of `client`'s file without these servers; `project` is the folder whose servers Claude Code keeps in it.
///
/// # Errors
/// The fault of the text.
pub(super) fn without(
    client: &McpClient,
    before: &str,
    names: &[String],
    project: &str,
) -> Result<String, String> {
    if client.form == ConfigFormat::Codex {
        let mut document = parsed(before)?;
        let servers = document.get_mut("mcp_servers").and_then(toml_edit::Item::as_table_like_mut);
        if let Some(servers) = servers {
            names.iter().for_each(|name| drop(servers.remove(name)));
        }
        return Ok(document.to_string());
    }
    let file = JsonFile::parse(before)?;
    for name in names {
        let _ = file.remove(&[client.key, name]) || file.remove(&["projects", project, client.key, name]);
    }
    Ok(file.text())
}

fn parsed(text: &str) -> Result<toml_edit::DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// The path of the entry in the file, for people: `mcpServers.ptc`.
pub(super) fn place(client: &McpClient) -> String {
    format!("{}.{NAME}", client.key)
}

fn entry(form: ConfigFormat, launch: &Launch) -> Value {
    let Launch { command, args, .. } = launch;
    match form {
        ConfigFormat::Plain | ConfigFormat::Codex => json!({"command": command, "args": args}),
        ConfigFormat::Typed => json!({"type": "stdio", "command": command, "args": args}),
        ConfigFormat::Copilot => json!({"type": "local", "command": command, "args": args, "tools": ["*"]}),
        ConfigFormat::Cline => json!({"command": command, "args": args, "timeout": 120}),
        ConfigFormat::OpenCode => {
            let all: Vec<&String> = std::iter::once(command).chain(args).collect();
            json!({"type": "local", "command": all, "enabled": true, "timeout": 60_000})
        }
        ConfigFormat::Zed => json!({"source": "custom", "command": command, "args": args, "env": {}}),
    }
}

/// Codex omits a server that is slow to start unless it is required.
fn of_codex(before: &str, launch: &Launch) -> Result<String, String> {
    let mut document = parsed(before)?;
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = toml_edit::Table::new();
        table.set_implicit(true);
        toml_edit::Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or("its mcp_servers is no table")?;
    let ptc = servers.entry(NAME).or_insert_with(|| toml_edit::Item::Table(toml_edit::Table::new()));
    let ptc = ptc.as_table_like_mut().ok_or("its mcp_servers.ptc is no table")?;
    ptc.insert("command", toml_edit::value(launch.command.as_str()));
    ptc.insert("args", toml_edit::value(launch.args.iter().collect::<toml_edit::Array>()));
    if !launch.variables.is_empty() {
        ptc.insert("env_vars", toml_edit::value(launch.variables.iter().collect::<toml_edit::Array>()));
    }
    ptc.insert("required", toml_edit::value(true));
    for (key, seconds) in [("startup_timeout_sec", 60), ("tool_timeout_sec", 120)] {
        if !ptc.contains_key(key) {
            ptc.insert(key, toml_edit::value(seconds));
        }
    }
    Ok(document.to_string())
}

/// True if an entry in the form of an upstreams file starts this product: this executable, a file of the same name,
/// or its package by a package runner.
pub(super) fn starts_ptc(command: &str, args: &[&str], own: Option<&Path>) -> bool {
    let stem = |text: &str| {
        Path::new(text).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned()
    };
    let own_stem = own.and_then(|own| own.to_str()).map(stem).unwrap_or_default();
    let is_own = |word: &str| {
        let word = stem(word);
        word == NAME || word == PACKAGE || (!own_stem.is_empty() && word == own_stem)
    };
    if is_own(command) || own.is_some_and(|own| Path::new(command) == own) {
        return true;
    }
    let runs_packages = ["npx", "uvx", "pipx", "bunx", "pnpm", "docker"].contains(&stem(command).as_str());
    let package = args.iter().find(|arg| !arg.starts_with('-') && !["run", "dlx", "exec"].contains(*arg));
    runs_packages
        && package.is_some_and(|package| {
            let name = package.split(['@', '=']).next();
            name == Some(NAME) || name == Some(PACKAGE)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_start_a_published_package_are_our_own() {
        for (command, args) in [
            ("npx", &["-y", "ptc-mcp"][..]),
            ("npx", &["ptc-mcp@0.1.0", "start"]),
            ("uvx", &["ptc-mcp==0.1.0"]),
            ("uvx", &["--from", "ptc-mcp", "ptc", "start"]),
            ("/home/me/.local/bin/ptc-mcp", &[]),
        ] {
            assert!(starts_ptc(command, args, None), "{command} {args:?}");
        }
        assert!(!starts_ptc("npx", &["-y", "ptc-mcp-tools"], None));
    }

    #[test]
    fn the_packages_have_the_names_that_are_published() {
        let names: toml_edit::DocumentMut = include_str!("../../../../dist/names.toml").parse().unwrap();
        for door in ["npm", "pypi"] {
            assert_eq!(names[door].as_str(), Some(PACKAGE), "{door} in dist/names.toml");
        }
    }
}
