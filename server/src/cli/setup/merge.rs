//! Decides which of the found servers go into the upstreams file, and under which names.

use std::path::{Path, PathBuf};

use ptc_host::visible::{has_hidden, visible_line};
use ptc_mcp::json::{Map, Value};

use super::configured_servers::ConfiguredServers;
use super::relative_paths::relative_word;
use super::upstreams_file::UpstreamsFile;

/// The decision about one server.
pub(super) struct Decision {
    /// Its name in the client's file.
    pub(super) name: String,
    /// The owner of its file, for people.
    pub(super) label: String,
    pub(super) path: PathBuf,
    pub(super) fate: MergeOutcome,
}

/// See [`Decision`].
pub(super) enum MergeOutcome {
    /// It is added.
    Added {
        /// Its name in the upstreams file.
        name: String,
        entry: Map,
        credentials: Map,
    },
    /// An upstream of this name is the same.
    Double(String),
    /// It starts `ptc` itself.
    Own,
    /// It cannot be read, for this reason.
    Refused(String),
}

/// Decides about the servers of all `sources`, in order. `is_own` tells whether an entry starts `ptc` itself;
/// `fault_of` returns the fault of an upstream of this name, with its credentials.
pub(super) fn decide(
    sources: Vec<ConfiguredServers>,
    file: &UpstreamsFile,
    is_own: &dyn Fn(&Map) -> bool,
    fault_of: &dyn Fn(&str, &Map, &Map) -> Option<String>,
) -> Vec<Decision> {
    let mut known: Vec<(String, Identity)> =
        file.upstreams().map(|(name, entry)| (name.clone(), Identity::of(entry))).collect();
    let credentials = file.before.get("credentials").and_then(Value::as_object);
    let mut taken: Vec<String> = credentials.into_iter().flat_map(Map::keys).cloned().collect();
    let mut decisions = Vec::new();
    for source in sources {
        let decision = |name: String, fate| Decision {
            name,
            label: source.label.clone(),
            path: source.path.clone(),
            fate,
        };
        let servers = match source.servers {
            Ok(servers) => servers,
            Err(fault) => {
                decisions.push(decision(String::new(), MergeOutcome::Refused(fault)));
                continue;
            }
        };
        for (name, entry) in servers.upstreams {
            let Value::Object(mut entry) = entry else { continue };
            if has_hidden(&name) {
                let shown = visible_line(&name);
                let why =
                    format!("the name \"{shown}\" has invisible characters; give the server another one");
                decisions.push(decision(String::new(), MergeOutcome::Refused(why)));
                continue;
            }
            if is_own(&entry) {
                decisions.push(decision(name, MergeOutcome::Own));
                continue;
            }
            let meaning = Identity::of(&Value::Object(entry.clone()));
            if let Some((same, _)) = known.iter().find(|(_, other)| other.is_same(&meaning)) {
                let same = same.clone();
                decisions.push(decision(name, MergeOutcome::Double(same)));
                continue;
            }
            let free = |wanted: &str| !known.iter().any(|(other, _)| other == wanted);
            let ours = first_free(&name, &source.word, free);
            let mut others = taken.clone();
            let credentials = renamed(&mut entry, &servers.credentials, &source.word, &mut others);
            if let Some(why) = fault_of(&ours, &entry, &credentials) {
                let about = format!("upstream {ours}");
                let why = if why.contains(&about) { why } else { format!("{about}: {why}") };
                decisions.push(decision(name, MergeOutcome::Refused(why)));
                continue;
            }
            taken = others;
            known.push((ours.clone(), meaning));
            decisions.push(decision(name, MergeOutcome::Added { name: ours, entry, credentials }));
        }
        for fault in servers.faults {
            decisions.push(decision(String::new(), MergeOutcome::Refused(fault.to_string())));
        }
    }
    decisions
}

/// The upstream of `file` that is the same server as `entry`.
pub(super) fn same_as<'f>(entry: &Value, file: &'f UpstreamsFile) -> Option<&'f str> {
    let meaning = Identity::of(entry);
    file.upstreams().find(|(_, other)| Identity::of(other).is_same(&meaning)).map(|(name, _)| name.as_str())
}

/// The identity of a server: how it is started or reached, regardless of its name.
struct Identity {
    reached: [Value; 6],
    folder: Value,
    needs_folder: bool,
}

impl Identity {
    fn of(entry: &Value) -> Self {
        let part = |key: &str| entry.get(key).cloned().unwrap_or_default();
        let folder = part("cd");
        let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
        let words = entry.get("command").into_iter().chain(args).filter_map(Value::as_str);
        let place = Path::new(folder.as_str().unwrap_or_default());
        let needs_folder = relative_word(words, place).is_some();
        let reached = ["transport", "command", "args", "env", "url", "base_url"].map(part);
        Self { reached, folder, needs_folder }
    }

    /// A folder that only one of them names matters only if the command depends on it.
    fn is_same(&self, other: &Self) -> bool {
        let one_names_it = self.folder.is_null() || other.folder.is_null();
        self.reached == other.reached
            && (self.folder == other.folder || (one_names_it && !self.needs_folder && !other.needs_folder))
    }
}

/// `name`, else `name-word`, else `name-word-2` and so on.
fn first_free(name: &str, word: &str, free: impl Fn(&str) -> bool) -> String {
    if free(name) {
        return name.to_owned();
    }
    let mut candidate = format!("{name}-{word}");
    let mut number = 2;
    while !free(&candidate) {
        candidate = format!("{name}-{word}-{number}");
        number += 1;
    }
    candidate
}

/// The bindings that `entry` names, under names that are not `taken` yet; its emitters are renamed accordingly.
fn renamed(entry: &mut Map, credentials: &Map, word: &str, taken: &mut Vec<String>) -> Map {
    let mut own = Map::new();
    let emitters = entry.get_mut("auth").and_then(Value::as_array_mut).into_iter().flatten();
    for emitter in emitters {
        let Some(name) = emitter.get("binding").and_then(Value::as_str).map(str::to_owned) else { continue };
        let Some(binding) = credentials.get(&name) else { continue };
        let free = first_free(&name, word, |wanted| !taken.iter().any(|other| other == wanted));
        emitter["binding"] = free.as_str().into();
        taken.push(free.clone());
        own.insert(free, binding.clone());
    }
    own
}
