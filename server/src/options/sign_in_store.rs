//! The store of sign-ins to upstreams (auth.md 7.1), the same for the server and for every command.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_host::config::{ProcessEnv, UpstreamConfig, UpstreamsConfig};
use ptc_host::sign_in::store::{AuthStore, FileStore, MemoryStore, SealingKeys};
use ptc_host::state::Secret;

use super::flags::find;
use super::keyring;
use super::state::{of_environment, shared_sign_ins};

/// The value of `--state-key` that names the keyring.
pub(crate) const KEYRING: &str = "keyring";

/// The name of the folder in the user's state directory.
const FOLDER: &str = "ptc";
/// Its former name. If only the former folder has sign-ins it stays in use, so that an upgrade signs out nobody
/// (decision 187).
const FORMER_FOLDER: &str = "ptc_runner_mcp";

/// The place of the key that seals records; without one, records are not sealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyPlace {
    /// This file (`--state-secret-file`).
    pub(crate) file: Option<PathBuf>,
    /// The value of `--state-key`.
    pub(crate) word: Option<String>,
}

/// The state folder, and the place of the key.
#[derive(Debug, Clone, Default)]
pub(crate) struct StorePlace {
    folder: Option<PathBuf>,
    key: KeyPlace,
    /// The environment, if it may name a shared store: no folder was named.
    env: Option<ProcessEnv>,
}

impl StorePlace {
    /// The named place, else that of the environment.
    pub(crate) fn of(env: &ProcessEnv, folder: Option<PathBuf>, key: KeyPlace) -> StorePlace {
        let variable = |name: &str| env.first_set([name]).map(|(_, value)| PathBuf::from(value));
        let named = |flag: &str| find(flag).in_environment(env).map(|(_, path)| PathBuf::from(path));
        let of_user = || {
            let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
            let state = state.or_else(|| Some(variable("HOME")?.join(".local/state")))?;
            let has_sign_ins = |folder: &str| state.join(folder).join("auth").exists();
            let is_former = has_sign_ins(FORMER_FOLDER) && !has_sign_ins(FOLDER);
            Some(state.join(if is_former { FORMER_FOLDER } else { FOLDER }))
        };
        let word =
            || find("state-key").in_environment(env).map(|(_, word)| word.to_string_lossy().into_owned());
        let is_named = folder.is_some();
        StorePlace {
            folder: folder.or_else(|| named("state-dir")).or_else(of_user),
            key: KeyPlace {
                file: key.file.or_else(|| named("state-secret-file")).or_else(|| named("state-key-file")),
                word: key.word.or_else(word).filter(|word| !word.is_empty()),
            },
            env: (!is_named).then(|| env.clone()),
        }
    }

    /// The folder, if a place for it is known.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// The store, for sign-ins to `upstreams`; one that is never used if no upstream has sign-ins. Before the first
    /// sign-in only a key of the system's keyring is created.
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
    /// A sentence that says that no place for the store is known, or that the key is not available.
    pub(crate) fn open(&self) -> Result<Arc<dyn AuthStore>, String> {
        if let Some(env) = &self.env
            && find("state-url").in_environment(env).is_some()
            && let Some(shared) = shared_sign_ins(&of_environment(env)?)?
        {
            return Ok(shared);
        }
        let no_place = "there is no place for sign-ins: name a folder with --state-dir, or set HOME";
        let folder = self.folder.as_ref().ok_or(no_place)?;
        let keys = match (&self.key.file, self.key.word.as_deref()) {
            (Some(_), Some(_)) => {
                return Err(
                    "--state-key and --state-key-file are two places for one key; give one of them".into()
                );
            }
            (Some(path), None) => {
                Some(SealingKeys::read(path).map_err(|error| format!("--state-key-file: {error}"))?)
            }
            (None, Some(KEYRING)) => {
                let key = keyring::state_key(folder)?;
                let keys = SealingKeys::of(&[key.expose().as_bytes()]);
                Some(keys.ok_or("--state-key keyring: what is kept as ptc's key is shorter than 32 bytes")?)
            }
            (None, Some(other)) => return Err(format!("--state-key must be keyring, got: {other:?}")),
            // A server that stores more than sign-ins here has created one (state.md 7).
            (None, None) => Secret::made_for(folder)
                .map_err(|error| error.to_string())?
                .map(|secret| SealingKeys::new(&secret)),
        };
        Ok(Arc::new(FileStore::new(folder, keys)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(named: Option<&str>, variables: &[(&str, &str)]) -> Option<PathBuf> {
        let env = ProcessEnv::from_iter(variables.iter().copied());
        StorePlace::of(&env, named.map(PathBuf::from), KeyPlace::default()).folder
    }

    #[test]
    fn the_folder_is_named_or_the_users() {
        let home = ("HOME", "/home/me");
        let state = ("XDG_STATE_HOME", "/state");
        assert_eq!(folder(None, &[home]).unwrap(), PathBuf::from("/home/me/.local/state/ptc"));
        assert_eq!(folder(None, &[home, state]).unwrap(), PathBuf::from("/state/ptc"));
        assert_eq!(
            folder(None, &[home, ("XDG_STATE_HOME", "relative")]).unwrap(),
            PathBuf::from("/home/me/.local/state/ptc")
        );
        let variable = ("PTC_STATE_DIR", "/variable");
        assert_eq!(folder(None, &[home, state, variable]).unwrap(), PathBuf::from("/variable"));
        assert_eq!(folder(Some("/named"), &[home, state, variable]).unwrap(), PathBuf::from("/named"));
        assert_eq!(folder(None, &[]), None);
    }

    #[test]
    fn sign_ins_in_the_former_folder_stay_in_use() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join(".local/state");
        let used = || folder(None, &[("HOME", home.path().to_str().unwrap())]).unwrap();
        std::fs::create_dir_all(state.join("ptc")).unwrap();
        std::fs::create_dir_all(state.join("ptc_runner_mcp/auth")).unwrap();
        assert_eq!(used(), state.join("ptc_runner_mcp"));
        std::fs::create_dir_all(state.join("ptc/auth")).unwrap();
        assert_eq!(used(), state.join("ptc"));
    }

    #[test]
    fn a_key_has_one_place() {
        let home = ("HOME", "/nonexistent");
        let refused = |variables: &[(&str, &str)]| {
            let env = ProcessEnv::from_iter([home].into_iter().chain(variables.iter().copied()));
            StorePlace::of(&env, None, KeyPlace::default()).open().err()
        };
        let (file, word) = (("PTC_STATE_KEY_FILE", "/key"), ("PTC_STATE_KEY", "keyring"));
        let both = "--state-key and --state-key-file are two places for one key; give one of them";
        assert_eq!(refused(&[file, word]).as_deref(), Some(both));
        let other = refused(&[("PTC_STATE_KEY", "pocket")]);
        assert_eq!(other.as_deref(), Some("--state-key must be keyring, got: \"pocket\""));
        assert_eq!(refused(&[]), None);
    }
}
