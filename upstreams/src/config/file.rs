//! Reading the upstreams file.

use std::collections::BTreeSet;

use ptc_mcp::json::{Map, Value};

use super::approval::ApprovalPolicy;
use super::clients;
use super::duplicates::UniqueKeys;
use super::jsonc::without_comments;
use super::locate::{ConfigLocation, NamedBy};
use super::options::{EntryContext, LoadOptions};
use super::pins::{PinLock, PinPolicy, lock_file};
use super::upstream::UpstreamConfig;
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::environment::ProcessEnv;
use ptc_base::ordinary_file::{self, FileFault};
use ptc_secret::credentials::{CredentialStore, NoRoom, Redactor, Secret};

/// Largest upstreams file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// A whole upstreams file, checked and resolved.
#[derive(Clone, Debug, Default)]
pub struct UpstreamsConfig {
    /// Sorted by name.
    pub upstreams: Vec<UpstreamConfig>,
    /// The secrets that the upstreams' emitters name.
    pub credentials: CredentialStore,
    /// The policy that stands in the file, as it was read (auth.md 14.2): whoever has callers checks and applies it.
    pub principals: Option<Value>,
    /// The profiles that stand in the file, as they were read (auth.md 14.5).
    pub profiles: Option<Value>,
    /// Names of entries that are passed over, sorted.
    pub disabled: Vec<String>,
    /// Warnings for the log, in the order found.
    pub warnings: Vec<ConfigWarning>,
    /// Values that `${VAR}` brought into child environments: likely secrets.
    substituted: Vec<Secret>,
}

impl UpstreamsConfig {
    /// Reads the file at `location`. `Ok(None)` if it is the default location and the file is gone: there are no upstreams
    /// then.
    ///
    /// # Errors
    /// The first thing that is wrong, in this order: the file, its JSON, `credentials`, `upstreams` by name, the lock beside it.
    #[expect(clippy::disallowed_methods, reason = "entry point: UpstreamsConfig.load")]
    pub fn load(location: &ConfigLocation, options: &LoadOptions<'_>) -> Result<Option<Self>, ConfigError> {
        let ConfigLocation { path, named_by } = location;
        let place = format!("({}, {named_by})", path.display());
        let bytes = match ordinary_file::read(path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(fault) if fault.is_absent() && *named_by == NamedBy::Default => return Ok(None),
            Err(fault @ FileFault::TooLarge(_)) => {
                return Err(ConfigError::file(format_args!("upstreams config: the file is {fault} {place}")));
            }
            Err(fault) => return Err(ConfigError::file(format_args!("upstreams config: {fault} {place}"))),
        };
        if bytes.trim_ascii().is_empty() {
            return Err(ConfigError::file(format_args!(
                "upstreams config JSON decode failed: the file is empty {place}"
            )));
        }
        let value = decode(&bytes, &place)?;
        let base_dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let options = LoadOptions { base_dir: options.base_dir.or(base_dir), ..*options };
        let mut config = Self::parse(&value, &place, &options)?;
        // A file of that name is no lock of its own.
        if lock_file(path) != *path
            && let Some(lock) = PinLock::of(path)?
        {
            config.hold_to(&lock);
        }
        Ok(Some(config))
    }

    /// Reads the file's JSON text, as an embedder may hold it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_json(text: &str, options: &LoadOptions<'_>) -> Result<Self, ConfigError> {
        Self::parse(&decode(text.as_bytes(), "")?, "", options)
    }

    /// Reads the file's content as a value.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_value(value: &Value, options: &LoadOptions<'_>) -> Result<Self, ConfigError> {
        Self::parse(value, "", options)
    }

    /// Holds the upstreams to a lock, each as its entry says, and warns of those that it has and the file has not.
    pub fn hold_to(&mut self, lock: &PinLock) {
        for upstream in &mut self.upstreams {
            upstream.hold_to(Some(lock));
        }
        let is_known = |name: &String| self.upstream(name).is_some() || self.disabled.contains(name);
        let unknown: Vec<&str> =
            lock.upstreams.keys().filter(|name| !is_known(name)).map(String::as_str).collect();
        if !unknown.is_empty() {
            self.warnings.push(ConfigWarning::new(
                "pins_without_upstream",
                None,
                format_args!(
                    "the lock has upstreams that the upstreams file has not: {}; to take them out: ptc pin",
                    unknown.join(", ")
                ),
            ));
        }
        for upstream in &self.upstreams {
            if upstream.pin != PinPolicy::Off && !lock.upstreams.contains_key(&upstream.name) {
                self.warnings.push(ConfigWarning::new(
                    "upstream_not_pinned",
                    Some(&upstream.name),
                    format_args!(
                        "upstream {} is not in the lock; to accept its tools: ptc pin {}",
                        upstream.name, upstream.name
                    ),
                ));
            }
        }
    }

    /// The upstream of this name.
    pub fn upstream(&self, name: &str) -> Option<&UpstreamConfig> {
        self.upstreams.binary_search_by(|u| u.name.as_str().cmp(name)).ok().map(|i| &self.upstreams[i])
    }

    /// Makes `redactor` replace every secret of this configuration: credentials, the forms in which Basic emitters send them,
    /// and values that `${VAR}` brought in.
    ///
    /// # Errors
    /// Together with those that `redactor` knows they exceed the limit.
    pub fn register_secrets(&self, redactor: &Redactor) -> Result<(), NoRoom> {
        self.credentials.register(redactor)?;
        redactor.register(&self.substituted)?;
        for auth in self.upstreams.iter().filter_map(|u| u.transport.auth()) {
            auth.register_derived(&self.credentials, redactor)?;
        }
        for oauth in self.upstreams.iter().filter_map(|u| u.transport.oauth()) {
            redactor.register(&oauth.key_texts())?;
        }
        Ok(())
    }

    fn parse(value: &Value, place: &str, options: &LoadOptions<'_>) -> Result<Self, ConfigError> {
        let file_error =
            |text: &str| ConfigError::file(format_args!("{text} {place}").to_string().trim_end());
        let Value::Object(top) = value else {
            return Err(file_error("upstreams config must be a JSON object"));
        };
        let mut warnings = Vec::new();
        let clients;
        let top = match (top.contains_key("upstreams"), clients::servers_of(top)) {
            (false, Some(servers)) => {
                clients = of_client(top, servers, options.env, &mut warnings)?;
                &clients
            }
            _ => top,
        };
        let credentials = CredentialStore::resolve(top.get("credentials"), options.env, &mut warnings)?;
        let entries = match top.get("upstreams") {
            Some(Value::Object(entries)) => entries,
            Some(_) => return Err(file_error("upstreams must be an object")),
            None => {
                return Err(file_error(
                    "upstreams config: missing top-level :upstreams key; a client's file with mcpServers or servers is read too",
                ));
            }
        };
        let raw_envelope = match top.get("raw_envelope") {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => return Err(file_error("raw_envelope must be a boolean")),
        };
        let approval = ApprovalPolicy::parse_defaults(top.get("approval"))?;
        let needed = credentials.all_unset().filter(|(binding, _)| !can_do_without(binding, entries));
        let lacking = needed.map(|(_, why)| ConfigError::credential(why)).collect();
        if let Some(fault) = ConfigError::all(lacking) {
            return Err(fault);
        }
        let withheld = credential_variables(top);
        let context = EntryContext { options, store: &credentials, withheld, raw_envelope, approval };
        let mut names: Vec<&String> = entries.keys().collect();
        names.sort();
        let mut substituted = Vec::new();
        let mut upstreams = Vec::with_capacity(names.len());
        let mut faults = Vec::new();
        let mut disabled = Vec::new();
        for name in names {
            let entry = &entries[name.as_str()];
            let parsed = is_disabled(name, entry).and_then(|disabled| {
                if disabled {
                    return Ok(None);
                }
                UpstreamConfig::parse(name, entry, &context, &mut substituted, &mut warnings).map(Some)
            });
            match parsed {
                Ok(Some(upstream)) => upstreams.push(upstream),
                Ok(None) => {
                    disabled.push(name.clone());
                    warnings.push(ConfigWarning::new(
                        "upstream_disabled",
                        Some(name),
                        format_args!("upstream {name} is disabled in the upstreams file"),
                    ));
                }
                Err(fault) => faults.push(fault),
            }
        }
        if let Some(fault) = ConfigError::all(faults) {
            return Err(fault);
        }
        credentials.check_lengths()?;
        warnings.extend(guessable(&upstreams, &credentials));
        let known = ["approval", "credentials", "principals", "profiles", "upstreams", "raw_envelope"];
        let unknown: Vec<&str> =
            top.keys().map(String::as_str).filter(|k| !known.contains(k) && !k.starts_with('$')).collect();
        if !unknown.is_empty() {
            warnings.push(ConfigWarning::new(
                "upstreams_config_unknown_keys",
                None,
                format_args!(
                    "the upstreams file has unknown keys, which are ignored: {}",
                    unknown.join(", ")
                ),
            ));
        }
        let [principals, profiles] = ["principals", "profiles"].map(|key| top.get(key).cloned());
        let config = Self { upstreams, credentials, principals, profiles, disabled, warnings, substituted };
        config.register_secrets(&Redactor::new()).map_err(|no_room| {
            ConfigError::credential(format_args!(
                "{no_room}, which is as much as is kept out of results: use fewer"
            ))
        })?;
        Ok(config)
    }
}

/// The upstreams file that is equivalent to a client's file with `servers`. Its own `credentials`, `approval`, `principals`
/// and `profiles` stay.
fn of_client(
    top: &Map,
    servers: &Map,
    env: &ProcessEnv,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<Map, ConfigError> {
    let read =
        clients::upstreams_of(servers, &clients::FileContext { env, project: None, bare_names: false });
    if let Some(fault) = ConfigError::all(read.faults) {
        return Err(fault);
    }
    warnings.extend(read.warnings);
    let mut credentials = read.credentials;
    if let Some(Value::Object(own)) = top.get("credentials") {
        credentials.extend(own.clone());
    }
    let own = ["approval", "principals", "profiles"]
        .into_iter()
        .filter_map(|key| Some((key, top.get(key)?.clone())));
    Ok([("credentials", Value::Object(credentials)), ("upstreams", Value::Object(read.upstreams))]
        .into_iter()
        .chain(own)
        .map(|(key, value)| (key.to_owned(), value))
        .collect())
}

/// Whether all entries that use `binding` are disabled or not required. An unused binding does not qualify.
fn can_do_without(binding: &str, entries: &Map) -> bool {
    let uses = |entry: &&Value| {
        let names = |value: Option<&Value>| value.and_then(Value::as_str) == Some(binding);
        let auth = entry.get("auth").and_then(Value::as_array);
        names(entry.get("proxy_auth"))
            || auth.into_iter().flatten().any(|emitter| names(emitter.get("binding")))
    };
    let is = |entry: &Value, key: &str, flag: bool| entry.get(key).and_then(Value::as_bool) == Some(flag);
    let mut users = entries.values().filter(uses).peekable();
    users.peek().is_some() && users.all(|entry| is(entry, "required", false) || is(entry, "disabled", true))
}

/// Whether the entry is to be passed over. Nothing else of it is looked at then.
fn is_disabled(name: &str, entry: &Value) -> Result<bool, ConfigError> {
    match entry.get("disabled") {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(ConfigError::upstream(name, "disabled must be a boolean")),
    }
}

/// A warning for each credential that a program could guess.
fn guessable(upstreams: &[UpstreamConfig], credentials: &CredentialStore) -> Vec<ConfigWarning> {
    let auths = upstreams.iter().filter_map(|upstream| upstream.transport.auth());
    // What goes to a token endpoint is echoed by nobody that a program can ask.
    let names: BTreeSet<&str> = auths.flat_map(|auth| auth.guessable(credentials)).collect();
    let warning = |name: &str| {
        let message = format_args!(
            "credential {name} can be guessed, and programs can test guesses by what is redacted; use a random one of at \
             least 20 characters"
        )
        .to_string();
        ConfigWarning::new("credential_guessable", None, message)
    };
    names.into_iter().map(warning).collect()
}

/// The environment variables that bindings are read from.
fn credential_variables(top: &Map) -> std::collections::BTreeSet<String> {
    let bindings = top.get("credentials").and_then(Value::as_object);
    bindings
        .into_iter()
        .flat_map(|bindings| bindings.values())
        .filter_map(|binding| binding.get("var").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

/// The JSON of the file; `place` says in errors where it lies.
#[expect(clippy::disallowed_methods, reason = "entry point: decode()")]
pub(super) fn decode(bytes: &[u8], place: &str) -> Result<Value, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map(without_comments);
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
    // The decoder's texts say what it expected and where, and quote nothing of the input but a key.
    let decoded = serde_json::from_slice::<UniqueKeys>(bytes).and_then(|_| serde_json::from_slice(bytes));
    decoded.map_err(|e| {
        ConfigError::file(
            format_args!("upstreams config JSON decode failed: {e} {place}").to_string().trim_end(),
        )
    })
}
