//! Edits the upstreams file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptc_host::config::{
    ConfigError, LoadOptions, ProcessEnv, SERVER_VARIABLE, Transport, UpstreamsConfig, default_file, locate,
};
use ptc_mcp::json::{Map, Value, json};

use super::json_file::JsonFile;
use super::{atomic_file, mask};

/// The upstreams file and its content.
pub(super) struct UpstreamsFile {
    pub(super) path: PathBuf,
    /// True if it exists already.
    pub(super) exists: bool,
    /// The file as it was read.
    pub(super) before: Map,
    edited: JsonFile,
}

impl UpstreamsFile {
    /// Opens the file that `ptc start` would read, or the place where it would look for one.
    ///
    /// # Errors
    /// One sentence: there is no place for the file, or the existing file cannot be edited.
    pub(super) fn open(named: Option<&Path>, env: &ProcessEnv) -> Result<Self, String> {
        let found = locate(named, Some(SERVER_VARIABLE), env).map(|location| location.path);
        let path = found
            .or_else(|| default_file(env))
            .ok_or("neither HOME nor XDG_CONFIG_HOME is set: name the file with --upstreams-config")?;
        let text = atomic_file::read(&path)?;
        let fault = |detail: String| format!("{}: {detail}", path.display());
        let edited = JsonFile::parse(text.as_deref().unwrap_or_default()).map_err(fault)?;
        let before = object(&edited.text()).map_err(fault)?;
        if !before.is_empty() && !before.contains_key("upstreams") {
            return Err(fault(
                "it has no \"upstreams\"; a client's file is not changed: name another file with --upstreams-config".to_owned(),
            ));
        }
        Ok(Self { path, exists: text.is_some(), before, edited })
    }

    /// The names of its upstreams.
    pub(super) fn upstreams(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.before.get("upstreams").and_then(Value::as_object).into_iter().flatten()
    }

    /// The upstreams that are not disabled.
    fn enabled(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.upstreams().filter(|(_, entry)| entry.get("disabled").and_then(Value::as_bool) != Some(true))
    }

    /// True if an upstream of this name can be reached with these variables: it is enabled, all variables that it
    /// names are set, and its command exists.
    pub(super) fn reaches(&self, name: &str, env: &ProcessEnv) -> bool {
        let Some((_, Value::Object(entry))) = self.enabled().find(|(known, _)| *known == name) else {
            return false;
        };
        let mut entry = entry.clone();
        entry.remove("required");
        let own = bindings_of(&Value::Object(entry.clone()));
        let all = self.before.get("credentials").and_then(Value::as_object).into_iter().flatten();
        let credentials: Map = all
            .filter(|(name, _)| own.contains(name))
            .map(|(name, binding)| (name.clone(), binding.clone()))
            .collect();
        let file = json!({"upstreams": {name: entry}, "credentials": credentials});
        let starts = |transport: &Transport| match transport {
            Transport::Stdio(entry) => entry.program().is_some(),
            _ => true,
        };
        let read = read(&file.to_string(), self.path.parent(), env);
        read.is_ok_and(|config| config.upstreams.iter().all(|upstream| starts(&upstream.transport)))
    }

    /// The variables of the environment that the upstreams require, sorted.
    pub(super) fn variables(&self) -> Vec<String> {
        let credentials = self.before.get("credentials");
        let of_credential = |entry| {
            let named = bindings_of(entry)
                .into_iter()
                .filter_map(|binding| credentials?.get(binding)?.get("var")?.as_str());
            named.map(str::to_owned).collect::<Vec<_>>()
        };
        let of_child = |entry: &Value| {
            let values = entry.get("env").and_then(Value::as_object).into_iter().flat_map(Map::values);
            let values = values.filter_map(Value::as_str).flat_map(|text| text.split("${").skip(1));
            let placeholders = values.filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
            let handed_on = entry.get("inherit_env").and_then(Value::as_array).into_iter().flatten();
            let names = placeholders.chain(handed_on.filter_map(Value::as_str));
            names
                .filter(|name| !name.contains(":-") && *name != "HOME")
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let all = self.enabled().flat_map(|(_, entry)| [of_credential(entry), of_child(entry)].concat());
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The commands of upstreams that are looked up along the search path, sorted.
    pub(super) fn looked_up(&self) -> Vec<String> {
        let commands = self.enabled().filter_map(|(_, entry)| entry.get("command")?.as_str());
        let bare = commands.filter(|command| !command.contains(['/', '\\']));
        bare.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Adds or replaces an upstream.
    ///
    /// # Errors
    /// The file has a value there that is not an object.
    pub(super) fn set_upstream(&self, name: &str, entry: &Map) -> Result<(), String> {
        self.edited.set(&["upstreams", name], &Value::Object(entry.clone()))
    }

    /// Adds or replaces a credential.
    ///
    /// # Errors
    /// The file has a value there that is not an object.
    pub(super) fn set_credential(&self, name: &str, binding: &Value) -> Result<(), String> {
        self.edited.set(&["credentials", name], binding)
    }

    /// Makes sure that there is an `upstreams` object, even if it is empty.
    ///
    /// # Errors
    /// The file has a value there that is not an object.
    pub(super) fn begin(&self) -> Result<(), String> {
        if self.before.contains_key("upstreams") {
            Ok(())
        } else {
            self.edited.set(&["upstreams"], &Value::Object(Map::new()))
        }
    }

    /// Removes an upstream and the credentials that only it used. Returns the names of those, or `None` if there was
    /// no such upstream.
    pub(super) fn remove_upstream(&self, name: &str) -> Option<Vec<String>> {
        if !self.edited.remove(&["upstreams", name]) {
            return None;
        }
        let bindings = |keep: &dyn Fn(&str) -> bool| -> Vec<String> {
            let entries = self.upstreams().filter(|(upstream, _)| keep(upstream));
            entries.flat_map(|(_, entry)| bindings_of(entry)).collect()
        };
        let elsewhere = bindings(&|other| other != name);
        let mut gone = bindings(&|other| other == name);
        gone.sort();
        gone.dedup();
        gone.retain(|binding| !elsewhere.contains(binding) && self.edited.remove(&["credentials", binding]));
        Some(gone)
    }

    /// Checks the edited file. A variable that is not set yet is no fault of the file.
    ///
    /// # Errors
    /// Its faults, a line each.
    pub(super) fn check(&self, env: &ProcessEnv) -> Result<(), String> {
        check(&self.edited.text(), self.path.parent(), env)
    }

    /// The fault that an upstream would have in a file of its own.
    pub(super) fn fault_of(
        &self,
        name: &str,
        entry: &Map,
        credentials: &Map,
        env: &ProcessEnv,
    ) -> Option<String> {
        let file = json!({"upstreams": {name: entry}, "credentials": credentials});
        check(&file.to_string(), self.path.parent(), env).err()
    }

    /// Checks the edited file and writes it. A file with a secret is restricted to its owner. Returns true if that
    /// was necessary.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn save(&self, env: &ProcessEnv) -> Result<bool, String> {
        self.check(env)?;
        let text = self.edited.text();
        atomic_file::write(&self.path, &text)?;
        let after = object(&text)?;
        if holds_secret(&after) { atomic_file::make_private(&self.path) } else { Ok(false) }
    }
}

fn read(text: &str, base_dir: Option<&Path>, env: &ProcessEnv) -> Result<UpstreamsConfig, ConfigError> {
    let own_exe = std::env::current_exe().ok();
    UpstreamsConfig::from_json(text, &LoadOptions { env, base_dir, own_exe: own_exe.as_deref() })
}

fn check(text: &str, base_dir: Option<&Path>, env: &ProcessEnv) -> Result<(), String> {
    match read(text, base_dir, env) {
        Err(fault) if !is_unset_variable(&fault.to_string()) => Err(fault.to_string()),
        _ => Ok(()),
    }
}

/// The bindings that an entry's emitters name.
fn bindings_of(entry: &Value) -> Vec<String> {
    let emitters = entry.get("auth").and_then(Value::as_array).into_iter().flatten();
    emitters.filter_map(|emitter| emitter.get("binding").and_then(Value::as_str)).map(str::to_owned).collect()
}

/// True if an upstreams file contains a secret itself, rather than a reference to one: a literal credential, or a
/// value of an environment or a header that looks like one.
pub(super) fn holds_secret(file: &Map) -> bool {
    let objects = |key: &str| file.get(key).and_then(Value::as_object).into_iter().flatten();
    let is_literal = |binding: &Value| binding.get("value").is_some_and(Value::is_string);
    objects("credentials").any(|(_, binding)| is_literal(binding))
        || objects("upstreams").any(|(_, entry)| mask::has_secret(entry))
}

/// True if a fault of the file is only that a variable has no value in this shell.
fn is_unset_variable(fault: &str) -> bool {
    fault.lines().all(|line| line.ends_with("is not set") || line.contains("is not set (referenced as"))
}

/// The object of a JSON text with comments.
#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
pub(in crate::cli) fn object(text: &str) -> Result<Map, String> {
    let plain = ptc_host::config::without_comments(text);
    match ptc_mcp::json::from_str(&plain) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
