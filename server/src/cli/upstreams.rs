//! Opens the configured upstreams for a sub-command.

use super::questions;
use super::sampling::SamplingArgs;
use crate::cli::output::errln;
use crate::options::sign_in_store::{KeyPlace, StorePlace};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{ConfigError, ConfigLocation, LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::http::Client;
use ptc_host::visible::visible_line;
use std::path::Path;
use std::sync::Arc;

/// The HTTP client that also trusts the certificates of `ca_file`.
///
/// # Errors
/// One sentence for the operator: the file cannot be read, or holds no certificate.
pub fn http(ca_file: Option<&Path>) -> Result<Client, String> {
    match ca_file {
        None => Ok(Client::new()),
        Some(path) => Client::with_ca_file(path).map_err(|error| format!("--ca-file: {error}")),
    }
}

/// Reads the file at `location` and builds upstreams from it. `None` when nobody named a file and the default one is
/// absent. Values come from `env`, connections from `http`. Transports run on the current runtime. `sampling` names the model that
/// answers upstreams, where programs run.
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
    // Before anything is started: most mistakes are in the model's name and key.
    let sampler =
        sampling.map(|sampling| sampling.open(env, &http, &defaults.redactor)).transpose()?.flatten();
    let Some(location) = location else { return Ok(None) };
    match read(&location, env).map_err(|error| error.to_string())? {
        Some(config) => {
            if sampling.is_some() {
                for warning in config.sampling_warnings(sampler.is_some()) {
                    errln!("ptc: {}", visible_line(&warning.message));
                }
            }
            let options = AggregatorOptions { limits, http, sampler, ..defaults };
            start(config, options, env).await.map(Some)
        }
        None => Ok(None),
    }
}

/// Reads the file at `location`. `None` if it is the default one and absent.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(
    location: &ConfigLocation,
    env: &ProcessEnv,
) -> Result<Option<UpstreamsConfig>, ConfigError> {
    let own_exe = std::env::current_exe().ok();
    UpstreamsConfig::load(location, &LoadOptions { env, base_dir: None, own_exe: own_exe.as_deref() })
}

/// Tells the warnings of `config`, and builds upstreams from it. They are signed in to and asked as this process can.
///
/// # Errors
/// One sentence for the operator.
pub(super) async fn start(
    config: UpstreamsConfig,
    options: AggregatorOptions,
    env: &ProcessEnv,
) -> Result<Arc<Aggregator>, String> {
    for warning in &config.warnings {
        errln!("ptc: {}", visible_line(&warning.message));
    }
    let auth_store = StorePlace::of(env, None, KeyPlace::default()).open_for(&config)?;
    // Upstreams may ask whoever sits at the terminal.
    let questions = questions::is_at_terminal();
    let options = AggregatorOptions { auth_store, questions, tasks: true, ..options };
    Aggregator::start(config, options).await.map_err(|error| error.to_string())
}
