//! Where the sign-ins to upstreams are kept (auth.md 7.1), the same for the server and for every command.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_host::config::{ProcessEnv, UpstreamConfig, UpstreamsConfig};
use ptc_host::sign_in::store::{AuthStore, FileStore, MemoryStore, SealingKeys};

use super::flags::find;

/// The folder below the user's state. It keeps its first name, so that no upgrade signs anybody out.
const FOLDER: &str = "ptc_runner_mcp";

/// The state folder, and the file with the key that seals records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StorePlace {
    folder: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

impl StorePlace {
    /// What was named, else what the environment says.
    pub(crate) fn of(env: &ProcessEnv, folder: Option<PathBuf>, key_file: Option<PathBuf>) -> StorePlace {
        let variable = |name: &str| env.first_set([name]).map(|(_, value)| PathBuf::from(value));
        let named = |flag: &str| find(flag).in_environment(env).map(|(_, path)| PathBuf::from(path));
        let of_user = || {
            let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
            Some(state.or_else(|| Some(variable("HOME")?.join(".local/state")))?.join(FOLDER))
        };
        StorePlace {
            folder: folder.or_else(|| named("state-dir")).or_else(of_user),
            key_file: key_file.or_else(|| named("state-key-file")),
        }
    }

    /// The store, for whoever signs in to `upstreams`; one that is never used if nobody does. Nothing is made before the first
    /// sign-in.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_for(&self, upstreams: &UpstreamsConfig) -> Result<Arc<dyn AuthStore>, String> {
        let signs_in = |upstream: &UpstreamConfig| upstream.transport.oauth().is_some();
        if upstreams.upstreams.iter().any(signs_in) {
            self.open()
        } else {
            Ok(Arc::new(MemoryStore::default()))
        }
    }

    /// The store.
    ///
    /// # Errors
    /// A sentence: there is no place for it, or the key file cannot be used.
    pub(crate) fn open(&self) -> Result<Arc<dyn AuthStore>, String> {
        let no_place = "there is no place for sign-ins: name a folder with --state-dir, or set HOME";
        let folder = self.folder.as_ref().ok_or(no_place)?;
        let keys = match &self.key_file {
            Some(path) => {
                Some(SealingKeys::read(path).map_err(|error| format!("--state-key-file: {error}"))?)
            }
            None => None,
        };
        Ok(Arc::new(FileStore::new(folder, keys)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(named: Option<&str>, variables: &[(&str, &str)]) -> Option<PathBuf> {
        let env = ProcessEnv::from_iter(variables.iter().copied());
        StorePlace::of(&env, named.map(PathBuf::from), None).folder
    }

    #[test]
    fn the_folder_is_named_or_the_users() {
        let home = ("HOME", "/home/me");
        let state = ("XDG_STATE_HOME", "/state");
        assert_eq!(folder(None, &[home]).unwrap(), PathBuf::from("/home/me/.local/state/ptc_runner_mcp"));
        assert_eq!(folder(None, &[home, state]).unwrap(), PathBuf::from("/state/ptc_runner_mcp"));
        assert_eq!(
            folder(None, &[home, ("XDG_STATE_HOME", "relative")]).unwrap(),
            PathBuf::from("/home/me/.local/state/ptc_runner_mcp")
        );
        let variable = ("PTC_STATE_DIR", "/variable");
        assert_eq!(folder(None, &[home, state, variable]).unwrap(), PathBuf::from("/variable"));
        assert_eq!(folder(Some("/named"), &[home, state, variable]).unwrap(), PathBuf::from("/named"));
        assert_eq!(folder(None, &[]), None);
    }
}
