//! Where the settings of a server come from, so that a reload can read them again.

use std::collections::BTreeMap;

use clap::ArgMatches;
use ptc_host::config::ProcessEnv;

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
}
