//! The upstreams file, to be changed.

use std::path::{Path, PathBuf};

use ptc_host::config::{LoadOptions, ProcessEnv, SERVER_VARIABLE, UpstreamsConfig, default_file, locate};
use ptc_mcp::json::{Map, Value};

use super::json_file::JsonFile;
use super::{masked, stored};

/// The upstreams file and what it holds.
pub(super) struct UpstreamsFile {
    pub(super) path: PathBuf,
    /// Whether there is one already.
    pub(super) exists: bool,
    /// The file as it was read.
    pub(super) before: Map,
    edited: JsonFile,
}

impl UpstreamsFile {
    /// The file that `ptc start` would read, or where it would look for one.
    ///
    /// # Errors
    /// One sentence: there is no place for the file, or what is there cannot be changed.
    pub(super) fn open(named: Option<&Path>, env: &ProcessEnv) -> Result<Self, String> {
        let found = locate(named, Some(SERVER_VARIABLE), env).map(|location| location.path);
        let path = found
            .or_else(|| default_file(env))
            .ok_or("neither HOME nor XDG_CONFIG_HOME is set: name the file with --upstreams-config")?;
        let text = stored::read(&path)?;
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

    /// Adds or replaces an upstream.
    ///
    /// # Errors
    /// The file has something else than an object there.
    pub(super) fn set_upstream(&self, name: &str, entry: &Map) -> Result<(), String> {
        self.edited.set(&["upstreams", name], &Value::Object(entry.clone()))
    }

    /// Adds or replaces a credential.
    ///
    /// # Errors
    /// The file has something else than an object there.
    pub(super) fn set_credential(&self, name: &str, binding: &Value) -> Result<(), String> {
        self.edited.set(&["credentials", name], binding)
    }

    /// Makes sure that there are `upstreams`, if only none.
    ///
    /// # Errors
    /// The file has something else than an object there.
    pub(super) fn begin(&self) -> Result<(), String> {
        if self.before.contains_key("upstreams") {
            Ok(())
        } else {
            self.edited.set(&["upstreams"], &Value::Object(Map::new()))
        }
    }

    /// Removes an upstream and the credentials that only it used; whether it was there, and the names of those.
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

    /// Checks the file as it would be, and writes it. A variable that is not set yet is no fault of the file. One that holds a
    /// secret is its owner's alone afterwards; whether it had to be made so.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn save(&self, env: &ProcessEnv) -> Result<bool, String> {
        let text = self.edited.text();
        let base_dir = self.path.parent();
        let own_exe = std::env::current_exe().ok();
        let options = LoadOptions { env, base_dir, own_exe: own_exe.as_deref() };
        if let Err(fault) = UpstreamsConfig::from_json(&text, &options)
            && !is_unset_variable(&fault.to_string())
        {
            return Err(fault.to_string());
        }
        stored::write(&self.path, &text)?;
        let after = object(&text)?;
        if holds_secret(&after) { stored::make_private(&self.path) } else { Ok(false) }
    }
}

/// The bindings that an entry's emitters name.
fn bindings_of(entry: &Value) -> Vec<String> {
    let emitters = entry.get("auth").and_then(Value::as_array).into_iter().flatten();
    emitters.filter_map(|emitter| emitter.get("binding").and_then(Value::as_str)).map(str::to_owned).collect()
}

/// Whether an upstreams file has a secret in itself, and not only says where one is: a literal credential, or a value of an
/// environment or a header that looks like one.
fn holds_secret(file: &Map) -> bool {
    let objects = |key: &str| file.get(key).and_then(Value::as_object).into_iter().flatten();
    let is_literal = |binding: &Value| binding.get("value").is_some_and(Value::is_string);
    objects("credentials").any(|(_, binding)| is_literal(binding))
        || objects("upstreams").any(|(_, entry)| masked::has_secret(entry))
}

/// Whether a fault of the file is only that a variable has no value in this shell.
fn is_unset_variable(fault: &str) -> bool {
    fault.lines().all(|line| line.ends_with("is not set") || line.contains("is not set (referenced as"))
}

/// The object of a JSON text with comments.
#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
pub(super) fn object(text: &str) -> Result<Map, String> {
    let plain = ptc_host::config::without_comments(text);
    match ptc_mcp::json::from_str(&plain) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
