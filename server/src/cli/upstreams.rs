//! Opens the configured upstreams for a sub-command.

use super::questions;
use super::sampling::SamplingArgs;
use crate::cli::output::errln;
use crate::options::cache_folder;
use crate::options::flags::find;
use crate::options::sign_in_store::{KeyPlace, StorePlace};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, ListCache, SnapshotMode};
use ptc_host::config::{ConfigError, ConfigLocation, LoadOptions, NamedBy, ProcessEnv, UpstreamsConfig};
use ptc_host::http::Client;
use ptc_host::visible::{visible, visible_line};
use std::path::Path;
use std::sync::Arc;

/// The message of a command without upstreams.
pub(crate) const UNCONFIGURED: &str =
    "no upstreams are configured: ptc import, ptc add, or --upstreams-config FILE";

/// How the warnings about an upstreams file are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warnings {
    /// Each of them.
    Each,
    /// Only their number.
    Counted,
    /// Not at all.
    Untold,
}

/// The HTTP client that also trusts the certificates of `ca_file`, else of the file in the variable.
///
/// # Errors
/// One sentence for the operator: the file cannot be read, or holds no certificate.
pub fn http(ca_file: Option<&Path>, env: &ProcessEnv) -> Result<Client, String> {
    let set = || find("ca-file").in_environment(env).map(|(name, path)| (name, Path::new(path)));
    match ca_file.map(|path| ("--ca-file".to_owned(), path)).or_else(set) {
        Some((named_by, path)) => Client::with_ca_file(path).map_err(|error| format!("{named_by}: {error}")),
        None => Ok(Client::new()),
    }
}

/// Reads the file at `location` and builds upstreams from it. `None` if no file was named and the default one is
/// absent. Values come from `env`, connections from `http`. Transports run on the current runtime. If programs run,
/// `sampling` names the model that answers sampling requests.
///
/// # Errors
/// One sentence for the operator.
pub(super) async fn open(
    location: Option<ConfigLocation>,
    mode: SnapshotMode,
    limits: AggregatorLimits,
    env: &ProcessEnv,
    http: Client,
    sampling: Option<&SamplingArgs>,
) -> Result<Option<Arc<Aggregator>>, String> {
    let defaults = AggregatorOptions::new(mode);
    // Checked before anything is started: most mistakes are in the model's name and key.
    let sampler =
        sampling.map(|sampling| sampling.open(env, &http, &defaults.redactor)).transpose()?.flatten();
    let Some(location) = location else { return Ok(None) };
    let is_default = location.named_by == NamedBy::Default;
    let config = read(&location, env).map_err(|error| error.to_string())?;
    let warnings = if is_default && sampling.is_some() { Warnings::Untold } else { Warnings::Counted };
    match config {
        Some(config) => {
            if sampling.is_some() {
                for warning in config.sampling_warnings(sampler.is_some()) {
                    errln!("ptc: {}", visible_line(&warning.message));
                }
            }
            // Commands that run programs list little, and leave no cache behind.
            let list_cache = if sampling.is_none() { list_cache(env) } else { None };
            let options = AggregatorOptions { limits, http, sampler, list_cache, ..defaults };
            start(config, options, env, warnings).await.map(Some)
        }
        None => Ok(None),
    }
}

/// True if the default file at `location` can be used; otherwise reports why programs run without it.
pub(super) fn can_use(location: &ConfigLocation, env: &ProcessEnv) -> bool {
    match read(location, env) {
        Ok(_) => true,
        Err(fault) => {
            errln!("ptc: upstreams are left out: {}", visible(&fault.to_string()));
            false
        }
    }
}

/// Reads the file at `location`. `None` if it is the default one and absent.
///
/// # Errors
/// The fault of the file.
pub(super) fn read(
    location: &ConfigLocation,
    env: &ProcessEnv,
) -> Result<Option<UpstreamsConfig>, ConfigError> {
    let own_exe = std::env::current_exe().ok();
    UpstreamsConfig::load(location, &LoadOptions { env, base_dir: None, own_exe: own_exe.as_deref() })
}

/// The cache in which the next start of a server finds the lists of a command.
pub(super) fn list_cache(env: &ProcessEnv) -> Option<ListCache> {
    cache_folder(env).map(ListCache::new)
}

/// Reports the warnings of `config` as `warnings` says, and builds upstreams from it. Sign-ins and questions work as
/// far as this process supports them.
///
/// # Errors
/// One sentence for the operator.
pub(super) async fn start(
    config: UpstreamsConfig,
    options: AggregatorOptions,
    env: &ProcessEnv,
    warnings: Warnings,
) -> Result<Arc<Aggregator>, String> {
    match (warnings, config.warnings.as_slice()) {
        (Warnings::Untold, _) => {}
        (Warnings::Counted, [_, _, ..]) => errln!(
            "ptc: there are {} warnings about the upstreams file; to read them: ptc check",
            config.warnings.len()
        ),
        (_, warnings) => warnings.iter().for_each(|told| errln!("ptc: {}", visible_line(&told.message))),
    }
    let auth_store = StorePlace::of(env, None, KeyPlace::default()).open_for(&config)?;
    // Upstreams may ask the person at the terminal.
    let questions = questions::is_at_terminal();
    let options = AggregatorOptions { auth_store, questions, tasks: true, ..options };
    Aggregator::start(config, options).await.map_err(|error| error.to_string())
}
