//! Where the settings of a server come from, so that a reload can read them again.

use std::collections::BTreeMap;

use clap::ArgMatches;
use ptc_host::config::ProcessEnv;
use ptc_host::digest::sha256;
use ptc_host::ordinary_file;

use super::flags::ALL;
use super::resolve::{resolve, sources};
use super::values::Values;
use ptc_protocol::settings::{BootError, Settings};

/// The arguments and the environment of a server. The files that they name may say something else each time they are read.
#[derive(Debug, Clone)]
pub struct SettingsSource {
    matches: ArgMatches,
    env: ProcessEnv,
}

/// Options that name files which are read at a start only.
const FILES: [&str; 9] = [
    "agentic-subagent-config",
    "approval-webhook-secret-file",
    "ca-file",
    "http-login-client",
    "introspection-client",
    "state-ca-file",
    "state-key-file",
    "state-password-file",
    "state-secret-file",
];
/// Size of the longest of them that is compared, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Digests of files, by the names of the options that name them.
pub(crate) type FileDigests = BTreeMap<&'static str, [u8; 32]>;

/// The texts of the options that are set, by name.
pub(crate) type OptionTexts = BTreeMap<&'static str, Vec<String>>;

impl SettingsSource {
    /// These arguments in this environment.
    pub fn new(matches: ArgMatches, env: ProcessEnv) -> SettingsSource {
        SettingsSource { matches, env }
    }

    /// The settings as the arguments, the environment and the files say now.
    ///
    /// # Errors
    /// As [`resolve`].
    pub fn read(&self) -> Result<Settings, BootError> {
        resolve(&self.matches, self.env.clone())
    }

    /// A fault, in which options of the settings file stand as where it sets them.
    pub(crate) fn placed(&self, fault: BootError) -> BootError {
        match sources(&self.matches, self.env.clone()) {
            Ok((env, file)) => Values::new(&self.matches, &env, &file).placed_fault(&fault),
            Err(_) => fault,
        }
    }

    /// The texts of the options that are set now, wherever they are set.
    ///
    /// # Errors
    /// The file of `--env-file` or `--config` cannot be read, or is wrong.
    pub(crate) fn texts(&self) -> Result<OptionTexts, BootError> {
        let (env, file) = sources(&self.matches, self.env.clone())?;
        let values = Values::new(&self.matches, &env, &file);
        let flags = ALL.iter().flat_map(|group| group.flags);
        Ok(flags.filter_map(|flag| Some((flag.name, values.origin(flag.name)?.0))).collect())
    }

    /// What the files hold now that are read at a start only, as far as they can be read.
    ///
    /// # Errors
    /// The file of `--env-file` or `--config` cannot be read, or is wrong.
    #[expect(clippy::disallowed_methods, reason = "entry point: SettingsSource.files")]
    pub(crate) fn files(&self) -> Result<FileDigests, BootError> {
        let (env, file) = sources(&self.matches, self.env.clone())?;
        let values = Values::new(&self.matches, &env, &file);
        let digest = |name| {
            let content = ordinary_file::read(&values.path(name)?, MOST_BYTES).ok()?;
            Some((name, sha256(&content)))
        };
        Ok(FILES.into_iter().filter_map(digest).collect())
    }
}
