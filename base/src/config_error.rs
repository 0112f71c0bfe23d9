//! Errors in an operator's configuration.

use std::fmt;

/// The operator's configuration is at fault: one full sentence that names the upstream or credential and the key, and
/// never shows a secret. Fatal at start.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.each().map(ConfigError::own_message).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// Which part of the file is at fault.
    pub part: ConfigPart,
    message: String,
    /// Further faults.
    others: Vec<ConfigError>,
}

/// The part of the configuration that a [`ConfigError`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPart {
    /// The file as a whole: it cannot be read, is not JSON, lacks `upstreams`.
    File,
    /// The `credentials` block.
    Credentials,
    /// The entry of this upstream.
    Upstream(String),
    /// An `--env-file`.
    EnvFile,
    /// The lock beside the file.
    Lock,
    /// The lock beside the file, which is another file's.
    LockOfAnother,
}

impl ConfigError {
    fn of(part: ConfigPart, message: impl fmt::Display) -> Self {
        Self { part, message: message.to_string(), others: Vec::new() }
    }

    /// Each fault on its own, this one first.
    pub fn each(&self) -> impl Iterator<Item = &ConfigError> {
        std::iter::once(self).chain(&self.others)
    }

    /// The sentence of this fault alone.
    pub fn own_message(&self) -> &str {
        &self.message
    }

    /// A fault of the upstreams file.
    pub fn file(message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::File, message)
    }

    /// A fault of a credential.
    pub fn credential(message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::Credentials, message)
    }

    /// A fault of a file of environment variables.
    pub fn env_file(message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::EnvFile, message)
    }

    /// A fault of the lock.
    pub fn lock(message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::Lock, message)
    }

    /// The lock is that of another file.
    pub fn lock_of_another(message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::LockOfAnother, message)
    }

    /// `upstream <name> <detail>`
    pub fn upstream(name: &str, detail: impl fmt::Display) -> Self {
        Self::of(ConfigPart::Upstream(name.to_owned()), format_args!("upstream {name} {detail}"))
    }

    /// All of `faults` as one error, a line each, about the part that the first one is about.
    pub fn all(faults: Vec<Self>) -> Option<Self> {
        let mut faults = faults.into_iter().flat_map(|mut fault| {
            let others = std::mem::take(&mut fault.others);
            std::iter::once(fault).chain(others)
        });
        faults.next().map(|first| Self { others: faults.collect(), ..first })
    }

    /// As [`upstream`](Self::upstream), for texts that do not start with the upstream's name.
    pub fn upstream_verbatim(name: &str, message: impl fmt::Display) -> Self {
        Self::of(ConfigPart::Upstream(name.to_owned()), message)
    }
}

/// Valid configuration that is likely a mistake. The caller logs it as an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// Name of the log event, for instance `upstreams_config_unknown_keys`.
    pub event: &'static str,
    /// The upstream, if it is about one.
    pub upstream: Option<String>,
    /// A full sentence without secrets.
    pub message: String,
}

impl ConfigWarning {
    /// A warning for the log under the name `event`, about `upstream` if it is about one.
    pub fn new(event: &'static str, upstream: Option<&str>, message: impl fmt::Display) -> Self {
        Self { event, upstream: upstream.map(str::to_owned), message: message.to_string() }
    }
}

/// The operating system's own words for an I/O error, in lower case and without Rust's `(os error N)`.
pub fn os_error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "unknown error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_errors_read_like_posix() {
        let missing = std::fs::read("/nonexistent/file").unwrap_err();
        assert_eq!(os_error_text(&missing), "no such file or directory");
        assert_eq!(os_error_text(&std::io::Error::other("Strange")), "strange");
    }
}
