//! The entry that starts `ptc` in a client's file.

use std::path::Path;

use ptc_mcp::json::{Value, json};

use super::clients::{Client, Form};
use super::json_file::JsonFile;
use crate::identity::PACKAGE;

/// The name of the entry.
pub(super) const NAME: &str = "ptc";

/// How `ptc` is started.
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// The text of `client`'s file with `ptc` in it, from its text before.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn added(client: &Client, before: &str, launch: &Launch) -> Result<String, String> {
    if client.form == Form::Codex {
        return of_codex(before, launch);
    }
    let file = JsonFile::parse(before)?;
    file.set(&[client.key, NAME], &entry(client.form, launch))?;
    Ok(file.text())
}

/// The path that people look for in the file: `mcpServers.ptc`.
pub(super) fn place(client: &Client) -> String {
    format!("{}.{NAME}", client.key)
}

fn entry(form: Form, launch: &Launch) -> Value {
    let Launch { command, args } = launch;
    match form {
        Form::Plain | Form::Codex => json!({"command": command, "args": args}),
        Form::Typed => json!({"type": "stdio", "command": command, "args": args}),
        Form::Copilot => json!({"type": "local", "command": command, "args": args, "tools": ["*"]}),
        Form::Cline => json!({"command": command, "args": args, "timeout": 120}),
        Form::OpenCode => {
            let all: Vec<&String> = std::iter::once(command).chain(args).collect();
            json!({"type": "local", "command": all, "enabled": true})
        }
        Form::Zed => json!({"source": "custom", "command": command, "args": args, "env": {}}),
    }
}

/// Codex leaves out a server that is slow to start unless it is required.
fn of_codex(before: &str, launch: &Launch) -> Result<String, String> {
    let mut document: toml_edit::DocumentMut =
        before.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let servers = document.entry("mcp_servers").or_insert_with(|| {
        let mut table = toml_edit::Table::new();
        table.set_implicit(true);
        toml_edit::Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or("its mcp_servers is no table")?;
    let mut table = toml_edit::Table::new();
    table.insert("command", toml_edit::value(launch.command.as_str()));
    table.insert("args", toml_edit::value(launch.args.iter().collect::<toml_edit::Array>()));
    table.insert("required", toml_edit::value(true));
    table.insert("startup_timeout_sec", toml_edit::value(60));
    servers.insert(NAME, toml_edit::Item::Table(table));
    Ok(document.to_string())
}

/// Whether an entry, as an upstreams file has it, starts this product: this executable, a file of the same name, or its
/// package by a package runner.
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
