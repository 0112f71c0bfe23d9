//! Opening the configured upstreams for a sub-command.

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{ConfigLocation, LoadOptions, ProcessEnv, UpstreamsConfig};
use std::sync::Arc;

/// Reads the file at `location` and makes upstreams of it. `None` when nobody named a file and the default one is
/// absent. Values come from `env`. Transports run on the current runtime.
///
/// # Errors
/// One sentence for the operator.
pub async fn open(
    location: Option<ConfigLocation>,
    mode: SnapshotMode,
    limits: AggregatorLimits,
    env: &ProcessEnv,
) -> Result<Option<Arc<Aggregator>>, String> {
    let Some(location) = location else { return Ok(None) };
    let own_exe = std::env::current_exe().ok();
    let options = LoadOptions { env, base_dir: None, own_exe: own_exe.as_deref() };
    let Some(config) = UpstreamsConfig::load(&location, &options).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    for warning in &config.warnings {
        eprintln!("ptc: {}", warning.message);
    }
    Aggregator::start(config, AggregatorOptions { limits, ..AggregatorOptions::new(mode) })
        .await
        .map(Some)
        .map_err(|error| error.to_string())
}
