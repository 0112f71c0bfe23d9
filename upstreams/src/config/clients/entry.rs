//! One server of a client's file as an entry of an upstreams file.

use std::path::{Path, PathBuf};

use ptc_mcp::json::{Map, Number, Value};
use url::{Host, Url};

use super::command_line::words_of;
use super::headers::Headers;
use super::placeholders::{from_home, in_env, in_plain};
use super::{ClientServers, FileContext};
use ptc_base::config_error::{ConfigError, ConfigWarning};

/// Keys that say how a client itself behaves, and nothing of the server.
const CLIENT_ONLY: [&str; 17] = [
    "alwaysAllow",
    "authProviderType",
    "autoApprove",
    "autoAllow",
    "dev",
    "gallery",
    "icon",
    "iconUrl",
    "metadata",
    "oauth",
    "sandbox",
    "settings",
    "source",
    "timeout",
    "trust",
    "type",
    "version",
];

/// The entry of an upstreams file for the server `name`. Its secrets become bindings in `all`. Keys of an upstreams file's
/// own are taken over as they are.
pub(super) fn translate(
    name: &str,
    server: &Map,
    file: &FileContext<'_>,
    all: &mut ClientServers,
) -> Result<Map, ConfigError> {
    let mut server = server.clone();
    if server.get("transport").and_then(Value::as_str).is_some_and(is_own_transport) {
        return Ok(server);
    }
    let mut entry = Map::new();
    let reading = &mut Reading { name, server: &mut server, file };
    if reading.is_disabled()? {
        entry.insert("disabled".to_owned(), true.into());
    }
    let transport = reading.transport()?;
    entry.insert("transport".to_owned(), transport.into());
    match transport {
        "mcp_stdio" => reading.command(&mut entry)?,
        _ => reading.endpoint(&mut entry, all)?,
    }
    reading.tools(&mut entry)?;
    reading.limits(&mut entry)?;
    if server.shift_remove("envFile").is_some() {
        all.warnings.push(ConfigWarning::new(
            "upstream_env_file",
            Some(name),
            format_args!(
                "upstream {name} names an envFile, which is not read; give its file to ptc as --env-file"
            ),
        ));
    }
    for (key, value) in server {
        if !CLIENT_ONLY.contains(&key.as_str()) {
            entry.insert(key, value);
        }
    }
    Ok(entry)
}

fn is_own_transport(word: &str) -> bool {
    word.starts_with("mcp_") || word == "openapi"
}

/// One server under translation. Keys that were read are removed from `server`.
struct Reading<'a> {
    name: &'a str,
    server: &'a mut Map,
    file: &'a FileContext<'a>,
}

impl Reading<'_> {
    fn error(&self, detail: impl std::fmt::Display) -> ConfigError {
        ConfigError::upstream(self.name, detail)
    }

    /// Takes the first of `keys` that is there.
    fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let mut found = None;
        for key in keys {
            let value = self.server.shift_remove(key);
            found = found.or(value);
        }
        found
    }

    fn take_object(&mut self, keys: &[&str]) -> Result<Map, ConfigError> {
        match self.take(keys) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(self.error(format_args!("{} must be an object", keys[0]))),
        }
    }

    fn is_disabled(&mut self) -> Result<bool, ConfigError> {
        let mut disabled = false;
        for (key, means) in [("disabled", true), ("enabled", false)] {
            match self.server.shift_remove(key) {
                None => {}
                Some(Value::Bool(flag)) => disabled |= flag == means,
                Some(_) => return Err(self.error(format_args!("{key} must be a boolean"))),
            }
        }
        Ok(disabled)
    }

    /// By `type` or `transport`, and without them by the keys that are present.
    fn transport(&mut self) -> Result<&'static str, ConfigError> {
        let word = self.take(&["type", "transport"]);
        let has = |keys: &[&str]| keys.iter().any(|key| self.server.contains_key(key));
        let starts = has(&["command"]);
        let connects = has(&["url", "httpUrl", "serverUrl"]);
        match word {
            None if starts && connects => {
                Err(self.error("has both a command and a url; keep one, or say which by type"))
            }
            None if starts => Ok("mcp_stdio"),
            None if connects => Ok("mcp_http"),
            None => Err(self.error("has neither a command to start nor a url to connect to")),
            Some(Value::String(word)) => {
                let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
                match plain.to_ascii_lowercase().as_str() {
                    "stdio" | "local" => Ok("mcp_stdio"),
                    "http" | "streamablehttp" | "remote" | "sse" => Ok("mcp_http"),
                    _ => Err(self.error(format_args!("has unknown type {word:?}; use stdio, http or sse"))),
                }
            }
            Some(_) => Err(self.error("type must be a string")),
        }
    }

    /// `command`, `args`, `env` and the folder.
    fn command(&mut self, entry: &mut Map) -> Result<(), ConfigError> {
        let mut words = Vec::new();
        let mut nested = Map::new();
        match self.server.shift_remove("command") {
            Some(Value::String(command)) => words.push(Value::String(command)),
            Some(Value::Array(command)) => words = command,
            // As Zed wrote it before.
            Some(Value::Object(mut command)) => {
                words.extend(command.remove("path"));
                nested = command;
            }
            _ => return Err(self.error("requires command")),
        }
        for args in [nested.remove("args"), self.server.shift_remove("args")] {
            match args {
                None | Some(Value::Null) => {}
                Some(Value::Array(args)) => words.extend(args),
                Some(_) => return Err(self.error("args must be a list of strings")),
            }
        }
        let folder = self.folder()?;
        let mut plain = Vec::with_capacity(words.len());
        for word in words {
            let Value::String(word) = word else {
                return Err(self.error("command and args must be strings"));
            };
            let word = in_plain(self.name, "args", &word, self.file)?;
            plain.push(from_home(self.name, word, self.file.env)?);
        }
        if plain.is_empty() {
            return Err(self.error("requires command"));
        }
        let first = words_of(plain.remove(0), folder.as_deref(), self.file.env);
        let mut words = first.into_iter().chain(plain).map(Value::String);
        entry.insert("command".to_owned(), words.next().unwrap_or_default());
        let args: Vec<Value> = words.collect();
        if !args.is_empty() {
            entry.insert("args".to_owned(), args.into());
        }
        let mut variables = self.take_object(&["env", "environment"])?;
        if let Some(Value::Object(more)) = nested.remove("env") {
            variables.extend(more);
        }
        for value in variables.values_mut() {
            if let Value::String(text) = value {
                *text = in_env(self.name, text, self.file)?;
            }
        }
        if !variables.is_empty() {
            entry.insert("env".to_owned(), variables.into());
        }
        if let Some(folder) = folder {
            entry.insert("cd".to_owned(), folder.display().to_string().into());
        }
        Ok(())
    }

    /// Where a command starts: in the folder that its entry names, which in a project is one of the project's, else in the
    /// project.
    fn folder(&mut self) -> Result<Option<PathBuf>, ConfigError> {
        let named = match self.take(&["cwd", "cd"]) {
            None | Some(Value::Null) => None,
            Some(Value::String(folder)) => {
                let folder = in_plain(self.name, "cwd", &folder, self.file)?;
                Some(PathBuf::from(from_home(self.name, folder, self.file.env)?))
            }
            Some(_) => return Err(self.error("cwd must be a string")),
        };
        Ok(match (named, self.file.project) {
            (Some(named), Some(project)) => Some(project.join(named).components().collect()),
            (named, project) => named.or_else(|| project.map(Path::to_owned)),
        })
    }

    /// `url` and the headers.
    fn endpoint(&mut self, entry: &mut Map, all: &mut ClientServers) -> Result<(), ConfigError> {
        let Some(Value::String(url)) = self.take(&["httpUrl", "serverUrl", "url"]) else {
            return Err(self.error("requires url"));
        };
        let url = in_plain(self.name, "url", &url, self.file)?;
        let local = is_local(&url);
        entry.insert("url".to_owned(), url.into());
        let mut headers = Headers::default();
        for (header, value) in self.take_object(&["headers", "http_headers"])? {
            match value {
                Value::String(value) => headers.add(self.name, &header, &value, self.file, all)?,
                _ => return Err(self.error(format_args!("headers {header:?} value must be a string"))),
            }
        }
        for (header, variable) in self.take_object(&["env_http_headers"])? {
            match variable {
                Value::String(variable) => headers.add_variable(self.name, &header, &variable, all),
                _ => {
                    return Err(
                        self.error(format_args!("env_http_headers {header:?} value must be a string"))
                    );
                }
            }
        }
        match self.take(&["bearer_token_env_var"]) {
            None => {}
            Some(Value::String(variable)) => headers.add_variable(self.name, "Authorization", &variable, all),
            Some(_) => return Err(self.error("bearer_token_env_var must be a string")),
        }
        headers.finish(entry);
        let auth = self.server.get("auth");
        if auth.is_some_and(|auth| auth.get("CLIENT_ID").is_some()) {
            return Err(self.error(
                "has an auth with CLIENT_ID, a client that is registered for Cursor's own page; register one for ptc, and add the \
                 server by hand with \"auth\": {\"type\": \"oauth\", \"client\": {\"id\": …}}",
            ));
        }
        // Clients have no such opt-ins. What stays on this machine needs none.
        if local {
            entry.insert("allow_insecure_http".to_owned(), true.into());
            if entry.contains_key("auth") {
                entry.insert("allow_insecure_auth".to_owned(), true.into());
            }
        }
        Ok(())
    }

    /// Which tools there are.
    fn tools(&mut self, entry: &mut Map) -> Result<(), ConfigError> {
        let listed = match self.server.get("tools") {
            Some(Value::Array(_)) => self.server.shift_remove("tools"),
            _ => None,
        };
        let allowed = self.take(&["includeTools", "enabled_tools"]).or(listed);
        let denied = self.take(&["excludeTools", "disabledTools", "disabled_tools"]);
        for (key, tools) in [("allow_tools", allowed), ("deny_tools", denied)] {
            match tools {
                None | Some(Value::Null) => {}
                Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                    if !names.is_empty() || key == "allow_tools" {
                        entry.insert(key.to_owned(), names.into());
                    }
                }
                Some(_) => return Err(self.error(format_args!("{key} must be a list of strings"))),
            }
        }
        Ok(())
    }

    /// Codex's limits, whose keys name their unit.
    fn limits(&mut self, entry: &mut Map) -> Result<(), ConfigError> {
        for (given, thousandths, ours) in [
            ("startup_timeout_sec", 1000.0, "handshake_timeout_ms"),
            ("startup_timeout_ms", 1.0, "handshake_timeout_ms"),
            ("tool_timeout_sec", 1000.0, "request_timeout_ms"),
        ] {
            let Some(value) = self.server.shift_remove(given) else { continue };
            let millis = value.as_f64().map(|number| (number * thousandths).ceil()).filter(|ms| *ms >= 1.0);
            let Some(millis) = millis else {
                return Err(self.error(format_args!("{given} must be a positive number")));
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at least 1, and saturates"
            )]
            entry.insert(ours.to_owned(), Value::Number(Number::from(millis as u64)));
        }
        Ok(())
    }
}

/// Whether a plain `http://` URL leads to this machine.
fn is_local(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        url.scheme() == "http"
            && match url.host() {
                Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
                None => false,
            }
    })
}
