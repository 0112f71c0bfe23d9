//! The servers that clients have on this machine.

use std::path::{Path, PathBuf};

use ptc_host::config::ProcessEnv;
use ptc_host::config::clients::{ClientServers, servers_of, upstreams_of};
use ptc_mcp::json::{Map, Value};

use super::clients::{CLIENTS, Client};
use super::{stored, upstreams_file};

/// The servers of one file.
pub(super) struct Source {
    /// Whose file it is, for people.
    pub(super) label: String,
    /// A word for the names of its servers that others have taken.
    pub(super) word: String,
    pub(super) path: PathBuf,
    /// What the file has, or why that cannot be told.
    pub(super) servers: Result<ClientServers, String>,
}

/// The servers of all clients that have any.
pub(super) fn everywhere(env: &ProcessEnv, folder: &Path) -> Vec<Source> {
    CLIENTS.iter().flat_map(|client| of_client(client, env, folder)).collect()
}

/// The servers of one client's files.
pub(super) fn of_client(client: &Client, env: &ProcessEnv, folder: &Path) -> Vec<Source> {
    let files = client.files(env, folder);
    files.into_iter().filter_map(|path| of_file(client.label, client.name, path, env, folder)).collect()
}

/// The servers of the file at `path`; `None` if there is no such file, or it has none.
pub(super) fn of_file(
    label: &str,
    word: &str,
    path: PathBuf,
    env: &ProcessEnv,
    folder: &Path,
) -> Option<Source> {
    let servers = match stored::read(&path) {
        Ok(None) => return None,
        Ok(Some(text)) if text.trim().is_empty() => return None,
        Ok(Some(text)) => servers_in(&text, &path, folder).map(|servers| upstreams_of(&servers, env)),
        Err(fault) => Err(fault),
    };
    if servers.as_ref().is_ok_and(|servers| servers.upstreams.is_empty() && servers.faults.is_empty()) {
        return None;
    }
    Some(Source { label: label.to_owned(), word: word.to_owned(), path, servers })
}

/// The objects of servers in a file: the person's, and those that Claude Code keeps for the project in `folder`.
fn servers_in(text: &str, path: &Path, folder: &Path) -> Result<Map, String> {
    let file = if path.extension().is_some_and(|extension| extension == "toml") {
        of_toml(text).map_err(|fault| format!("{}: {fault}", path.display()))?
    } else {
        upstreams_file::object(text).map_err(|fault| format!("{}: {fault}", path.display()))?
    };
    let mut servers = servers_of(&file).cloned().unwrap_or_default();
    let project = file.get("projects").and_then(|projects| projects.get(folder.to_str()?));
    for (name, server) in project.and_then(Value::as_object).and_then(servers_of).into_iter().flatten() {
        if !servers.contains_key(name) {
            servers.insert(name.clone(), server.clone());
        }
    }
    Ok(servers)
}

fn of_toml(text: &str) -> Result<Map, String> {
    let document: toml_edit::DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    Ok(table(document.as_table()))
}

fn table(table: &dyn toml_edit::TableLike) -> Map {
    table.iter().filter_map(|(key, item)| Some((key.to_owned(), value(item)?))).collect()
}

/// A TOML value in JSON; `None` for nothing, and for dates, of which no entry has any.
fn value(item: &toml_edit::Item) -> Option<Value> {
    if let Some(inner) = item.as_table_like() {
        return Some(Value::Object(table(inner)));
    }
    match item.as_value()? {
        toml_edit::Value::String(text) => Some(text.value().as_str().into()),
        toml_edit::Value::Integer(number) => Some((*number.value()).into()),
        toml_edit::Value::Float(number) => Some((*number.value()).into()),
        toml_edit::Value::Boolean(flag) => Some((*flag.value()).into()),
        toml_edit::Value::Array(items) => {
            let items = items.iter().filter_map(|item| value(&toml_edit::Item::Value(item.clone())));
            Some(Value::Array(items.collect()))
        }
        toml_edit::Value::Datetime(_) | toml_edit::Value::InlineTable(_) => None,
    }
}
