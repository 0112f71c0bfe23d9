//! The upstreams of a server, and the HTTP client whose trusted certificates all outgoing requests share.

use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, CallAudit, ListCache};
use ptc_host::config::{LoadOptions, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::engine::MemoryBudget;
use ptc_host::http::Client;
use ptc_host::policy::CurrentPolicy;
use ptc_host::sign_in::PROCESS;
use tracing::warn;

use crate::options::sign_in_store::{KEYRING, KeyPlace, StorePlace};
use crate::sampling;
use ptc_observers::audit::AuditLog;
use ptc_protocol::principal::ANONYMOUS;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{BootError, Profile, Settings};

/// An HTTP client that trusts the operator's certificate authorities.
///
/// # Errors
/// If the operator's file of certificate authorities cannot be used.
pub(super) fn client(settings: &Settings) -> Result<Client, BootError> {
    match &settings.aggregator.ca_file {
        None => Ok(Client::new()),
        Some(path) => {
            Client::with_ca_file(path).map_err(|error| BootError::new(format!("--ca-file: {error}")))
        }
    }
}

/// Reads the upstreams file; `None` without one.
pub(super) fn load_upstreams(settings: &Settings) -> Result<Option<UpstreamsConfig>, BootError> {
    let Some(location) = &settings.aggregator.config else { return Ok(None) };
    let own_exe = std::env::current_exe().ok();
    let options =
        LoadOptions { env: &settings.env, base_dir: location.path.parent(), own_exe: own_exe.as_deref() };
    Ok(UpstreamsConfig::load(location, &options)?)
}

/// Opens the upstreams of the upstreams file without starting them; `None` without such a file.
pub(super) fn open_upstreams(
    settings: &Settings,
    config: Option<UpstreamsConfig>,
    policy: Option<&Arc<CurrentPolicy>>,
    redactor: &Redactor,
    memory: Option<&MemoryBudget>,
    state: &ServerState,
    audit: Option<Arc<AuditLog>>,
) -> Result<Option<Arc<Aggregator>>, BootError> {
    let http = client(settings)?;
    let model = settings.aggregator.sampling_model.as_deref();
    // Checked before anything is started: most mistakes are in the model's name and key.
    let sampler = model.map(|name| sampling::open(name, &settings.env, http.clone(), redactor));
    let sampler =
        sampler.transpose().map_err(|error| BootError::new(format!("--sampling-model: {error}")))?;
    let Some(config) = config else { return Ok(None) };
    for warning in &config.warnings {
        warn!(event = warning.event, upstream = warning.upstream, "{}", warning.message);
    }
    for warning in config.sampling_warnings(sampler.is_some()) {
        warn!(event = warning.event, upstream = warning.upstream, "{}", warning.message);
    }
    let auth_store = match state.sign_ins() {
        Some(shared) => shared,
        None => {
            let place = &settings.state;
            let word = place.key_in_keyring.then(|| KEYRING.to_owned());
            let key = KeyPlace { file: place.secret_file.clone(), word };
            StorePlace::of(&settings.env, place.dir.clone(), key).open_for(&config).map_err(BootError::new)?
        }
    };
    let options = AggregatorOptions {
        auth_store,
        approval_ttl: settings.aggregator.approval_ttl,
        audit: audit.map(|audit| audit as Arc<dyn CallAudit>),
        // Callers over HTTP sign in for themselves, and see only what they may (auth.md 12.2).
        principal: settings.http.is_none().then(|| PROCESS.into()),
        // Without tokens all callers are the same principal.
        shown_to: match &settings.http {
            None => Some(PROCESS.into()),
            Some(http) => (http.tokens.is_empty() && http.oauth.is_none()).then(|| ANONYMOUS.into()),
        },
        sign_in_page: settings.http.as_ref().and_then(|http| Some(http.public_url.as_ref()?.origin().into())),
        limits: settings.aggregator.limits,
        questions: settings.questions.are_on(),
        redactor: redactor.clone(),
        http,
        sampler,
        // The planner reads the results of its calls when it repairs a program.
        overviews: settings.profile == Profile::Debug || settings.planner.enabled,
        memory: memory.cloned(),
        list_cache: settings.aggregator.list_cache.clone().map(ListCache::new),
        seen_shapes: settings.aggregator.seen_shapes,
        tasks: true,
        policy: policy.cloned(),
        ..AggregatorOptions::new(settings.aggregator.snapshot_mode)
    };
    Aggregator::open(config, options).map(Some).map_err(|error| BootError::new(error.to_string()))
}
