//! Which of the servers that were found go into the upstreams file, and under which names.

use std::path::PathBuf;

use ptc_host::visible::{has_hidden, visible_line};
use ptc_mcp::json::{Map, Value};

use super::found::Source;
use super::upstreams_file::UpstreamsFile;

/// What is to happen with one server.
pub(super) struct Decision {
    /// Its name in the client's file.
    pub(super) name: String,
    /// Whose file it is in.
    pub(super) label: String,
    pub(super) path: PathBuf,
    pub(super) fate: Fate,
}

/// See [`Decision`].
pub(super) enum Fate {
    /// It is added.
    Added {
        /// Its name in the upstreams file.
        name: String,
        entry: Map,
        credentials: Map,
    },
    /// An upstream of this name is the same.
    Double(String),
    /// It starts `ptc`.
    Own,
    /// It cannot be read, with the sentence.
    Refused(String),
}

/// Decides about the servers of all `sources`, in order. `is_own` says whether an entry starts `ptc` itself.
pub(super) fn decide(
    sources: Vec<Source>,
    file: &UpstreamsFile,
    is_own: &dyn Fn(&Map) -> bool,
) -> Vec<Decision> {
    let mut known: Vec<(String, Value)> =
        file.upstreams().map(|(name, entry)| (name.clone(), identity(entry))).collect();
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
                decisions.push(decision(String::new(), Fate::Refused(fault)));
                continue;
            }
        };
        for (name, entry) in servers.upstreams {
            let Value::Object(mut entry) = entry else { continue };
            if has_hidden(&name) {
                let shown = visible_line(&name);
                let why = format!(
                    "the name \"{shown}\" has characters that nobody sees; give the server another one"
                );
                decisions.push(decision(String::new(), Fate::Refused(why)));
                continue;
            }
            if is_own(&entry) {
                decisions.push(decision(name, Fate::Own));
                continue;
            }
            let meaning = identity(&Value::Object(entry.clone()));
            if let Some((same, _)) = known.iter().find(|(_, other)| *other == meaning) {
                let same = same.clone();
                decisions.push(decision(name, Fate::Double(same)));
                continue;
            }
            let free = |wanted: &str| !known.iter().any(|(other, _)| other == wanted);
            let ours = first_free(&name, &source.word, free);
            known.push((ours.clone(), meaning));
            let credentials = renamed(&mut entry, &servers.credentials, &source.word, &mut taken);
            decisions.push(decision(name, Fate::Added { name: ours, entry, credentials }));
        }
        for fault in servers.faults {
            decisions.push(decision(String::new(), Fate::Refused(fault.to_string())));
        }
    }
    decisions
}

/// What makes two entries the same server: how it is started or reached, whatever it is called.
fn identity(entry: &Value) -> Value {
    let part = |key: &str| entry.get(key).cloned().unwrap_or_default();
    Value::Array(["transport", "command", "args", "env", "url", "base_url"].map(part).to_vec())
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

/// The bindings that `entry` names, under names that are not `taken` yet; its emitters follow.
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
