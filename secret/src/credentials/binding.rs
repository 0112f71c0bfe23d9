//! The `credentials` block of the upstreams file: named bindings and the store that they resolve into.

use std::collections::BTreeMap;
use std::path::Path;

use ptc_mcp::json::{Map, Value};

use super::{MIN_SECRET_BYTES, NoRoom, Redactor, Secret};
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::environment::ProcessEnv;
use ptc_base::ordinary_file::{self, FileFault};

/// Largest credential file that is read, in bytes: a token or a key pair, not a disk image.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The purpose of the secret by its binding's author. An emitter of another scheme is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeHint {
    /// A bearer token.
    Bearer,
    /// A user and a password.
    Basic,
    /// Anything: agrees with every emitter.
    Raw,
}

impl SchemeHint {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Basic => "basic",
            Self::Raw => "raw",
        }
    }
}

/// A resolved binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Credential {
    /// The secret itself.
    pub secret: Secret,
    /// Its purpose, if declared.
    pub scheme_hint: Option<SchemeHint>,
    /// `"allow_short": true`: a secret under [`MIN_SECRET_BYTES`] is accepted, isolated, and not scrubbed.
    pub allow_short: bool,
}

/// All resolved credentials of a process, by binding name. Values are read once, at start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CredentialStore {
    bound: BTreeMap<String, Credential>,
    /// Bindings whose source has nothing, each with the sentence that says so.
    unset: BTreeMap<String, String>,
}

impl CredentialStore {
    /// The credential that is bound to `name`.
    pub fn get(&self, name: &str) -> Option<&Credential> {
        self.bound.get(name)
    }

    /// Binding names and credentials, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Credential)> {
        self.bound.iter().map(|(name, credential)| (name.as_str(), credential))
    }

    /// Makes `redactor` replace every secret of this store.
    ///
    /// # Errors
    /// They are more than is scrubbed.
    pub fn register(&self, redactor: &Redactor) -> Result<(), NoRoom> {
        redactor.register(self.bound.values().map(|c| &c.secret))
    }

    /// Adds a credential; for embedders that have a secret at hand and no file.
    pub fn insert(&mut self, name: impl Into<String>, credential: Credential) {
        self.bound.insert(name.into(), credential);
    }

    /// Why the binding `name` has no value: its variable is not set, or its file cannot be opened.
    pub fn unset(&self, name: &str) -> Option<&str> {
        self.unset.get(name).map(String::as_str)
    }

    /// The bindings that have no value, by name.
    pub fn all_unset(&self) -> impl Iterator<Item = (&str, &str)> {
        self.unset.iter().map(|(name, why)| (name.as_str(), why.as_str()))
    }

    /// Parses and resolves the `credentials` value, in the order of the names. A binding whose source has nothing is no
    /// error here: whether it is one, those decide that use it.
    pub fn resolve(
        value: Option<&Value>,
        env: &ProcessEnv,
        warnings: &mut Vec<ConfigWarning>,
    ) -> Result<Self, ConfigError> {
        let entries = match value {
            None => return Ok(Self::default()),
            Some(Value::Object(entries)) => entries,
            Some(_) => return Err(ConfigError::credential("credentials must be an object")),
        };
        let mut names: Vec<&String> = entries.keys().collect();
        names.sort();
        let mut store = Self::default();
        for name in names {
            match resolve_one(name, &entries[name.as_str()], env, warnings)? {
                SourceContent::Value(credential) => drop(store.bound.insert(name.clone(), credential)),
                SourceContent::Nothing(why) => drop(store.unset.insert(name.clone(), why)),
            }
        }
        Ok(store)
    }

    /// Refuses secrets that are too short to be scrubbed, unless their binding accepts that (ruling 34).
    pub fn check_lengths(&self) -> Result<(), ConfigError> {
        match self.bound.iter().find(|(_, c)| c.secret.len() < MIN_SECRET_BYTES && !c.allow_short) {
            None => Ok(()),
            Some((name, _)) => Err(ConfigError::credential(format_args!(
                "credential {name} is shorter than {MIN_SECRET_BYTES} bytes, too short to be scrubbed from text; \
                 use a longer secret, or set \"allow_short\": true in its binding"
            ))),
        }
    }
}

/// The content of a source.
enum SourceContent<T> {
    Value(T),
    /// Nothing, and the sentence that says so.
    Nothing(String),
}

fn resolve_one(
    name: &str,
    value: &Value,
    env: &ProcessEnv,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<SourceContent<Credential>, ConfigError> {
    let invalid =
        |why: &str| ConfigError::credential(format_args!("invalid credential binding {name:?}: {why}"));
    if !is_binding_name(name) {
        return Err(invalid("a name starts with a letter and has letters, digits, _ and - only"));
    }
    let Value::Object(binding) = value else { return Err(invalid("it must be an object")) };
    let source = match binding.get("source") {
        Some(Value::String(source)) => source.as_str(),
        _ => return Err(invalid("\"source\" must be one of env, file, literal")),
    };
    let key = match source {
        "env" => "var",
        "file" => "path",
        "literal" => "value",
        "exec" => {
            return Err(invalid("the source exec is reserved and not supported; use env, file or literal"));
        }
        _ => return Err(invalid("\"source\" must be one of env, file, literal")),
    };
    if let Some(unknown) =
        binding.keys().find(|k| !["source", key, "scheme_hint", "allow_short"].contains(&k.as_str()))
    {
        return Err(invalid(&format!("unknown key {unknown:?}")));
    }
    let text = match binding.get(key) {
        Some(Value::String(text)) if !text.is_empty() => text.as_str(),
        _ => return Err(invalid(&format!("source {source} needs {key:?}, a non-empty string"))),
    };
    let scheme_hint =
        scheme_hint(binding).ok_or_else(|| invalid("\"scheme_hint\" must be bearer, basic or raw"))?;
    let allow_short = match binding.get("allow_short") {
        None => false,
        Some(Value::Bool(allow)) => *allow,
        Some(_) => return Err(invalid("\"allow_short\" must be a boolean")),
    };
    let found = match source {
        "env" => from_env(name, text, env)?,
        "file" => from_file(name, text)?,
        _ => SourceContent::Value(text.to_owned()),
    };
    let secret = match found {
        SourceContent::Value(text) => Secret::new(text),
        SourceContent::Nothing(why) => return Ok(SourceContent::Nothing(why)),
    };
    if secret.open().contains(['\r', '\n', '\0']) {
        return Err(ConfigError::credential(format_args!(
            "credential {name} contains a line break or NUL, which no header can carry"
        )));
    }
    match source {
        "literal" => warnings.push(ConfigWarning::new(
            "credentials_literal_binding",
            None,
            format!("credential {name} is written into the upstreams file; an env or file source is safer"),
        )),
        "file" if readable_by_others(text) => warnings.push(ConfigWarning::new(
            "credentials_file_permissions",
            None,
            format!("credential {name}: {text} can be read by its group or by others; chmod 600 it"),
        )),
        _ => {}
    }
    Ok(SourceContent::Value(Credential { secret, scheme_hint, allow_short }))
}

fn from_env(name: &str, variable: &str, env: &ProcessEnv) -> Result<SourceContent<String>, ConfigError> {
    match env.get(variable) {
        Some(value) if !value.is_empty() => match value.to_str() {
            Some(text) => Ok(SourceContent::Value(text.to_owned())),
            None => Err(ConfigError::credential(format_args!(
                "credential {name} env {variable} is not UTF-8 text"
            ))),
        },
        _ => Ok(SourceContent::Nothing(format!("credential {name} env {variable} is not set"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: from_file()")]
fn from_file(name: &str, path: &str) -> Result<SourceContent<String>, ConfigError> {
    let text = match ordinary_file::read(Path::new(path), MAX_FILE_BYTES) {
        Ok(text) => text,
        Err(fault) => {
            let why = match &fault {
                FileFault::TooLarge(_) | FileFault::NoText => format!("credential {name}: {path} is {fault}"),
                _ => format!("credential {name}: {fault} ({path})"),
            };
            return match fault.is_absent() {
                true => Ok(SourceContent::Nothing(why)),
                false => Err(ConfigError::credential(why)),
            };
        }
    };
    let text = std::str::from_utf8(&text)
        .map_err(|_| ConfigError::credential(format_args!("credential {name}: {path} is not UTF-8 text")))?
        .trim_end();
    if text.is_empty() {
        return Err(ConfigError::credential(format_args!("credential {name}: {path} is empty")));
    }
    Ok(SourceContent::Value(text.to_owned()))
}

/// `None` if the key is there but wrong.
fn scheme_hint(binding: &Map) -> Option<Option<SchemeHint>> {
    match binding.get("scheme_hint") {
        None => Some(None),
        Some(Value::String(hint)) => [SchemeHint::Bearer, SchemeHint::Basic, SchemeHint::Raw]
            .into_iter()
            .find(|h| h.as_str() == hint)
            .map(Some),
        Some(_) => None,
    }
}

fn is_binding_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(unix)]
fn readable_by_others(path: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_path: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn resolve(value: Value, env: &[(&str, &str)]) -> Result<(CredentialStore, Vec<ConfigWarning>), String> {
        let mut warnings = Vec::new();
        let env = ProcessEnv::from_iter(env.iter().copied());
        let store = CredentialStore::resolve(Some(&value), &env, &mut warnings).map_err(|e| e.to_string())?;
        store.check_lengths().map_err(|e| e.to_string())?;
        if let Some((_, why)) = store.all_unset().next() {
            return Err(why.to_owned());
        }
        Ok((store, warnings))
    }

    fn error(value: Value) -> String {
        resolve(value, &[]).unwrap_err()
    }

    #[test]
    fn resolves_the_three_sources() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "file-secret \t\r\n\n").unwrap();
        let (store, warnings) = resolve(
            json!({
                "e": {"source": "env", "var": "TOK"},
                "f": {"source": "file", "path": path, "scheme_hint": "bearer"},
                "l": {"source": "literal", "value": "  literal-secret "},
            }),
            &[("TOK", "env-secret ")],
        )
        .unwrap();
        let texts: Vec<_> = store.iter().map(|(n, c)| (n, c.secret.open())).collect();
        assert_eq!(texts, [("e", "env-secret "), ("f", "file-secret"), ("l", "  literal-secret ")]);
        assert_eq!(store.get("f").unwrap().scheme_hint, Some(SchemeHint::Bearer));
        assert!(
            warnings
                .iter()
                .any(|w| w.event == "credentials_literal_binding" && w.message.contains("credential l "))
        );
        assert!(!format!("{store:?}{warnings:?}").contains("secret "), "no secret text in debug output");
    }

    #[test]
    fn missing_sources_say_which() {
        let binding = json!({"t": {"source": "env", "var": "UNSET_VAR_X"}});
        assert_eq!(error(binding.clone()), "credential t env UNSET_VAR_X is not set");
        assert_eq!(
            resolve(binding, &[("UNSET_VAR_X", "")]).unwrap_err(),
            "credential t env UNSET_VAR_X is not set"
        );
        assert_eq!(
            error(json!({"t": {"source": "file", "path": "/nonexistent/t"}})),
            "credential t: no such file or directory (/nonexistent/t)"
        );
        let empty = tempfile::NamedTempFile::new().unwrap();
        let path = empty.path().to_str().unwrap();
        assert_eq!(
            error(json!({"t": {"source": "file", "path": path}})),
            format!("credential t: {path} is empty")
        );
    }

    #[test]
    fn refuses_malformed_bindings() {
        for (value, why) in [
            (json!({"t": {"source": "exec", "cmd": "x"}}), "the source exec is reserved"),
            (json!({"t": {"source": "vault"}}), "\"source\" must be one of"),
            (json!({"t": {}}), "\"source\" must be one of"),
            (json!({"t": "x"}), "it must be an object"),
            (json!({"t": {"source": "env"}}), "source env needs \"var\""),
            (json!({"t": {"source": "literal", "value": ""}}), "source literal needs \"value\""),
            (json!({"t": {"source": "literal", "value": "abcdefgh", "vlaue": 1}}), "unknown key \"vlaue\""),
            (json!({"t": {"source": "env", "var": "X", "path": "/x"}}), "unknown key \"path\""),
            (json!({"t": {"source": "env", "var": "X", "scheme_hint": "digest"}}), "\"scheme_hint\" must be"),
            (
                json!({"t": {"source": "env", "var": "X", "allow_short": 1}}),
                "\"allow_short\" must be a boolean",
            ),
        ] {
            let text = error(value);
            assert!(text.starts_with("invalid credential binding \"t\": "), "{text}");
            assert!(text.contains(why), "{text}");
        }
        assert!(
            error(json!({"9t": {"source": "env", "var": "X"}}))
                .starts_with("invalid credential binding \"9t\": ")
        );
        assert_eq!(error(json!([])), "credentials must be an object");
    }

    #[test]
    fn short_secrets_need_an_opt_in() {
        let text = error(json!({"t": {"source": "literal", "value": "short"}}));
        assert!(text.starts_with("credential t is shorter than 8 bytes"), "{text}");
        assert!(!text.contains("\"short\""), "the text of the secret is not shown: {text}");
        let (store, _) =
            resolve(json!({"t": {"source": "literal", "value": "short", "allow_short": true}}), &[]).unwrap();
        let redactor = Redactor::new();
        store.register(&redactor).unwrap();
        assert_eq!(redactor.scrub("short"), "short");
    }

    #[test]
    fn header_injection_is_refused_at_start() {
        assert_eq!(
            error(json!({"t": {"source": "literal", "value": "abcdefgh\r\nx: y"}})),
            "credential t contains a line break or NUL, which no header can carry"
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_open_to_others_are_reported() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "file-secret").unwrap();
        let binding = json!({"t": {"source": "file", "path": file.path()}});
        for (mode, expected) in [(0o600, 0), (0o640, 1), (0o604, 1)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let (_, warnings) = resolve(binding.clone(), &[]).unwrap();
            assert_eq!(
                warnings.iter().filter(|w| w.event == "credentials_file_permissions").count(),
                expected
            );
        }
    }
}
