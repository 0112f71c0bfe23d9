//! Finds the servers of clients on this machine.

use std::path::{Path, PathBuf};

use ptc_host::config::ProcessEnv;
use ptc_host::config::clients::{ClientServers, FileContext, servers_of};
use ptc_mcp::json::{Map, Value};

use super::clients::{CLIENTS, ClientFile, McpClient};
use super::relative_paths::relative_word;
use super::{atomic_file, upstreams_file};

/// The servers of one file.
pub(super) struct ConfiguredServers {
    /// The owner of the file, for people.
    pub(super) label: String,
    /// A suffix for the names of its servers that are taken already.
    pub(super) word: String,
    pub(super) path: PathBuf,
    /// The content of the file, or the reason why it cannot be read.
    pub(super) servers: Result<ClientServers, String>,
}

/// The servers of all clients that have any.
pub(super) fn everywhere(env: &ProcessEnv, folder: &Path) -> Vec<ConfiguredServers> {
    CLIENTS.iter().flat_map(|client| of_client(client, env, folder)).collect()
}

/// The servers of one client's files.
pub(super) fn of_client(client: &McpClient, env: &ProcessEnv, folder: &Path) -> Vec<ConfiguredServers> {
    let files = client.files(env, folder).into_iter();
    files
        .filter_map(|file| of_file(client.label, client.name, file, client.has_bare_names(), env, folder))
        .collect()
}

/// The servers of the file at `path`, called `name` on the command line; `None` if it has none.
pub(super) fn of_named(
    name: &str,
    path: &Path,
    env: &ProcessEnv,
    folder: &Path,
) -> Option<ConfiguredServers> {
    if let Some((client, file)) = McpClient::of_file(path, env) {
        return of_file(name, "file", file, client.has_bare_names(), env, folder);
    }
    let file = ClientFile { path: path.to_owned(), project: None };
    let mut source = of_file(name, "file", file, false, env, folder)?;
    let beside = std::path::absolute(path).ok().and_then(|path| Some(path.parent()?.to_owned()));
    if let (Ok(servers), Some(beside)) = (&mut source.servers, beside) {
        servers
            .upstreams
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(|entry| keep_folder(entry, &beside));
    }
    Some(source)
}

/// Sets `folder` as the working folder of a command that depends on it.
fn keep_folder(entry: &mut Map, folder: &Path) {
    let text = |entry: &Map, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let cd = match (text(entry, "command"), text(entry, "cd")) {
        (None, _) => return,
        (Some(_), Some(cd)) => folder.join(cd).components().collect::<PathBuf>(),
        (Some(command), None) => {
            let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
            let words = std::iter::once(command.as_str()).chain(args.filter_map(Value::as_str));
            if relative_word(words, folder).is_none() {
                return;
            }
            folder.to_owned()
        }
    };
    entry.insert("cd".to_owned(), cd.display().to_string().into());
}

/// The servers of a client's file; `None` if there is no such file, or it has none.
fn of_file(
    label: &str,
    word: &str,
    file: ClientFile,
    bare_names: bool,
    env: &ProcessEnv,
    folder: &Path,
) -> Option<ConfiguredServers> {
    let ClientFile { path, project } = file;
    let servers = match atomic_file::read(&path) {
        Ok(None) => return None,
        Ok(Some(text)) if text.trim().is_empty() => return None,
        Ok(Some(text)) => servers_in(&text, &path, folder).map(|(own, of_folder)| {
            let mut servers = ClientServers::default();
            servers.read(&own, &FileContext { env, project: project.as_deref(), bare_names });
            servers.read(&of_folder, &FileContext { env, project: Some(folder), bare_names });
            servers
        }),
        Err(fault) => Err(fault),
    };
    if servers.as_ref().is_ok_and(|servers| servers.upstreams.is_empty() && servers.faults.is_empty()) {
        return None;
    }
    Some(ConfiguredServers { label: label.to_owned(), word: word.to_owned(), path, servers })
}

/// The server objects in a file: those of the file, and those that Claude Code keeps in it for the project in
/// `folder`.
fn servers_in(text: &str, path: &Path, folder: &Path) -> Result<(Map, Map), String> {
    let file = if path.extension().is_some_and(|extension| extension == "toml") {
        of_toml(text).map_err(|fault| format!("{}: {fault}", path.display()))?
    } else {
        upstreams_file::object(text).map_err(|fault| format!("{}: {fault}", path.display()))?
    };
    let servers = servers_of(&file).cloned().unwrap_or_default();
    let project = file.get("projects").and_then(|projects| projects.get(folder.to_str()?));
    let of_folder = project.and_then(Value::as_object).and_then(servers_of).into_iter().flatten();
    let of_folder = of_folder.filter(|(name, _)| !servers.contains_key(name.as_str()));
    let of_folder = of_folder.map(|(name, server)| (name.clone(), server.clone())).collect();
    Ok((servers, of_folder))
}

fn of_toml(text: &str) -> Result<Map, String> {
    let document: toml_edit::DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    Ok(table(document.as_table()))
}

fn table(table: &dyn toml_edit::TableLike) -> Map {
    table.iter().filter_map(|(key, item)| Some((key.to_owned(), value(item)?))).collect()
}

/// A TOML value as JSON; `None` for nothing, and for dates, which no entry has.
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
