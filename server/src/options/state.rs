//! The options of state (state.md 2, 2.3, 7 and 8), the same for the server and for every command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use ptc_host::config::ProcessEnv;
use ptc_host::ordinary_file::{self, FileFault};
use ptc_host::sign_in::store::{AuthStore, SharedStore};
use ptc_host::state::{Flushing, RedisOptions, RedisState, SealedState, Secret, SecretError, StoreLimits};
use zeroize::Zeroizing;

use super::settings_file::SettingsFile;
use super::values::Values;
use ptc_protocol::settings::{BootError, StateSettings};

/// Longest password file, in bytes.
const MAX_PASSWORD: u64 = 4096;

/// Reads the options of state.
///
/// # Errors
/// The first option that makes a start impossible.
pub(super) fn resolve(values: &mut Values<'_>, key_in_keyring: bool) -> Result<StateSettings, BootError> {
    resolve_with(values, key_in_keyring, |dir| Secret::read_or_make(dir).map(Some))
}

/// The same with another secret of a folder.
fn resolve_with(
    values: &mut Values<'_>,
    key_in_keyring: bool,
    secret_of: impl FnOnce(&Path) -> Result<Option<Secret>, SecretError>,
) -> Result<StateSettings, BootError> {
    let flushing = values.choice("state-sync", &[("disk", Flushing::Disk), ("process", Flushing::Process)]);
    values.check_choices()?;
    let dir = values.path("state-dir");
    let limits = StoreLimits { owner_bytes: values.number("max-state-bytes-per-owner")? };
    let url = url(values, limits)?;
    if let (Some(dir), Some(_)) = (&dir, &url) {
        return Err(BootError::new(format!(
            "--state-dir ({}) and --state-url are two places for the same state: name one of them",
            dir.display()
        )));
    }
    let named = secret(values)?;
    let secret_file = named.as_ref().map(|(_, path)| path.clone());
    let secret = match (named.map(|(secret, _)| secret), &dir) {
        (None, Some(dir)) => {
            secret_of(dir).map_err(|error| BootError::new(format!("--state-dir: {error}")))?
        }
        (secret, _) => secret,
    };
    if url.is_some() && secret.is_none() {
        return Err(BootError::new(
            "--state-url needs --state-secret-file: what lies in a server that others reach is sealed. Make one with \
             `openssl rand -base64 48 > FILE; chmod 600 FILE`, the same for all servers that share the state",
        ));
    }
    Ok(StateSettings {
        dir,
        url,
        secret,
        secret_file,
        key_in_keyring,
        flushing: flushing.unwrap_or_default(),
        required: values.switch("state-required"),
        limits,
    })
}

/// The operator's secret, if a file is named.
fn secret(values: &Values<'_>) -> Result<Option<(Secret, PathBuf)>, BootError> {
    let (name, path) = match (values.path("state-secret-file"), values.path("state-key-file")) {
        (Some(one), Some(other)) if one != other => {
            return Err(BootError::new(
                "--state-secret-file and --state-key-file name two files: they are the same option",
            ));
        }
        (Some(path), _) => ("--state-secret-file", path),
        (None, Some(path)) => ("--state-key-file", path),
        (None, None) => return Ok(None),
    };
    let secret = Secret::read(&path).map_err(|error| BootError::new(format!("{name}: {error}")))?;
    Ok(Some((secret, path)))
}

/// The server of the shared store, if one is named.
#[expect(clippy::disallowed_methods, reason = "entry point: url()")]
fn url(values: &mut Values<'_>, limits: StoreLimits) -> Result<Option<RedisOptions>, BootError> {
    let Some(url) = values.text("state-url") else { return Ok(None) };
    let mut options = RedisOptions::of(url);
    if options.has_password_in_url() && values.is_exposed("state-url") {
        let (place, seen) = match values.source("state-url") {
            "cli" => ("--state-url".to_owned(), ", which everybody on this machine can see"),
            _ => (values.shown("state-url"), ""),
        };
        return Err(BootError::new(format!(
            "{place} holds a password{seen}: use --state-password-file, or the variable PTC_STATE_URL"
        )));
    }
    options.password = match values.path("state-password-file") {
        Some(path) => {
            Some(password(&path).map_err(|error| BootError::new(format!("--state-password-file: {error}")))?)
        }
        None => None,
    };
    options.ca = match values.path("state-ca-file") {
        Some(path) => Some(
            ordinary_file::read(&path, ordinary_file::MAX_PEM_BYTES)
                .map(|bytes| bytes.to_vec())
                .map_err(|fault| BootError::new(format!("--state-ca-file: {fault} ({})", path.display())))?,
        ),
        None => None,
    };
    options.cluster = values.switch("state-cluster");
    options.namespace = values.word("state-namespace");
    options.allow_insecure = values.switch("state-allow-insecure");
    options.limits = limits;
    Ok(Some(options))
}

/// The single line of a file.
#[expect(clippy::disallowed_methods, reason = "entry point: password()")]
fn password(path: &Path) -> Result<Zeroizing<String>, String> {
    let text = ordinary_file::read_text(path, MAX_PASSWORD).map_err(|fault| match fault {
        FileFault::TooLarge(_) => format!("{} is no file with a password: it is too long", path.display()),
        fault => format!("{fault} ({})", path.display()),
    })?;
    match text.trim() {
        "" => Err(format!("{} is empty", path.display())),
        password => Ok(Zeroizing::new(password.to_owned())),
    }
}

/// The state that the environment names, for commands that have no options of their own for it.
///
/// # Errors
/// A sentence that says which variable cannot be used.
pub(crate) fn of_environment(env: &ProcessEnv) -> Result<StateSettings, String> {
    given(&ArgMatches::default(), env)
}

/// The state in a command's options, else in the environment.
///
/// # Errors
/// A sentence that says which option cannot be used.
pub(crate) fn given(matches: &ArgMatches, env: &ProcessEnv) -> Result<StateSettings, String> {
    resolve(&mut Values::new(matches, env, &SettingsFile::default()), false)
        .map_err(|error| error.to_string())
}

/// The same for a command that looks at what servers keep: it makes no secret where there is none.
///
/// # Errors
/// As [`given`].
pub(crate) fn given_of_servers(matches: &ArgMatches, env: &ProcessEnv) -> Result<StateSettings, String> {
    resolve_with(&mut Values::new(matches, env, &SettingsFile::default()), false, Secret::made_for)
        .map_err(|error| error.to_string())
}

/// The sign-ins of a shared store, for a command, which keeps it open until it ends.
///
/// # Errors
/// A sentence that says that the options do not fit together.
pub(crate) fn shared_sign_ins(state: &StateSettings) -> Result<Option<Arc<dyn AuthStore>>, String> {
    let Some(sealed) = shared_store(state)? else { return Ok(None) };
    let holder = format!("command-{}", std::process::id());
    Ok(Some(Arc::new(SharedStore::new(Arc::new(sealed), holder))))
}

/// The shared store, if there is one.
///
/// # Errors
/// A sentence that says that the options do not fit together.
pub(crate) fn shared_store(state: &StateSettings) -> Result<Option<SealedState>, String> {
    let (Some(options), Some(secret)) = (&state.url, &state.secret) else { return Ok(None) };
    let store = RedisState::new(options).map_err(|error| format!("--state-url: {error}"))?;
    Ok(Some(SealedState::new(Arc::new(store), secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(variables: &[(&str, &str)]) -> Result<StateSettings, String> {
        of_environment(&ProcessEnv::from_iter(variables.iter().copied()))
    }

    #[test]
    fn what_does_not_fit_together_is_told() {
        let url = ("PTC_STATE_URL", "redis://127.0.0.1:6379");
        let nothing = resolved(&[]).unwrap();
        assert!(
            nothing.dir.is_none() && nothing.url.is_none() && nothing.secret.is_none() && nothing.required
        );
        assert_eq!(nothing.limits.owner_bytes, 256 << 20);
        let both = resolved(&[url, ("PTC_STATE_DIR", "/state")]).unwrap_err();
        assert_eq!(
            both,
            "--state-dir (/state) and --state-url are two places for the same state: name one of them"
        );
        let bare = resolved(&[url]).unwrap_err();
        assert!(bare.starts_with("--state-url needs --state-secret-file: "), "{bare}");
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "a secret of at least 32 bytes, so long\n").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let secret = secret.to_str().unwrap();
        let file = ("PTC_STATE_SECRET_FILE", secret);
        assert!(resolved(&[url, file]).unwrap().url.is_some());
        assert!(resolved(&[url, ("PTC_STATE_KEY_FILE", secret)]).unwrap().secret.is_some());
        let two = resolved(&[file, ("PTC_STATE_KEY_FILE", "/other")]).unwrap_err();
        assert_eq!(two, "--state-secret-file and --state-key-file name two files: they are the same option");
        let word = resolved(&[("PTC_STATE_SYNC", "never")]).unwrap_err();
        assert!(word.contains("disk") && word.contains("process"), "{word}");
        let password = resolved(&[url, file, ("PTC_STATE_PASSWORD_FILE", "/nonexistent")]).unwrap_err();
        assert_eq!(password, "--state-password-file: no such file or directory (/nonexistent)");
    }

    #[test]
    fn a_folder_makes_its_secret() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        let state = resolved(&[("PTC_STATE_DIR", folder.to_str().unwrap())]).unwrap();
        assert!(state.secret.is_some() && folder.join("secret").is_file());
        assert!(Secret::made_for(&folder).unwrap().is_some());
    }
}
