//! The upstreams of a server, and the HTTP client whose trusted certificates all outgoing requests share.

use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, CallAudit, ListCache, Sampler};
use ptc_host::config::{LoadOptions, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::engine::MemoryBudget;
use ptc_host::http::Client;
use ptc_host::policy::CurrentPolicy;
use ptc_host::sign_in::PROCESS;
use ptc_host::sign_in::store::AuthStore;
use tokio::runtime::Handle;
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

/// Opens sets of upstreams: one at the start, and others at reloads.
pub(super) struct UpstreamOpener {
    settings: Settings,
    http: Client,
    sampler: Option<Arc<dyn Sampler>>,
    policy: Option<Arc<CurrentPolicy>>,
    redactor: Redactor,
    memory: Option<MemoryBudget>,
    /// The store of sign-ins that processes share, if there is one.
    sign_ins: Option<Arc<dyn AuthStore>>,
    audit: Option<Arc<AuditLog>>,
    /// Where the tasks of upstreams run.
    owner: Handle,
}

impl UpstreamOpener {
    /// For a server of these settings, on the current runtime.
    ///
    /// # Errors
    /// The file of certificate authorities or the model that answers upstreams cannot be used.
    pub(super) fn new(
        settings: &Settings,
        policy: Option<&Arc<CurrentPolicy>>,
        redactor: &Redactor,
        memory: Option<&MemoryBudget>,
        state: &ServerState,
        audit: Option<Arc<AuditLog>>,
    ) -> Result<UpstreamOpener, BootError> {
        let http = client(settings)?;
        let model = settings.aggregator.sampling_model.as_deref();
        // Checked before anything is started: most mistakes are in the model's name and key.
        let sampler = model.map(|name| sampling::open(name, &settings.env, http.clone(), redactor));
        let sampler =
            sampler.transpose().map_err(|error| BootError::new(format!("--sampling-model: {error}")))?;
        Ok(UpstreamOpener {
            settings: settings.clone(),
            http,
            sampler,
            policy: policy.cloned(),
            redactor: redactor.clone(),
            memory: memory.cloned(),
            sign_ins: state.sign_ins(),
            audit,
            owner: Handle::current(),
        })
    }

    /// Opens the upstreams of a file without starting them. Those that are the same as in the set `before` stay what they are.
    ///
    /// # Errors
    /// All entries that cannot work, or a store of sign-ins that cannot be opened.
    pub(super) fn open(
        &self,
        config: UpstreamsConfig,
        before: Option<&Aggregator>,
    ) -> Result<Arc<Aggregator>, BootError> {
        let sampling = config.sampling_warnings(self.sampler.is_some());
        for warning in config.warnings.iter().chain(&sampling) {
            warn!(event = warning.event, upstream = warning.upstream, "{}", warning.message);
        }
        let options = self.options(&config)?;
        let opened = match before {
            None => Aggregator::open(config, options),
            Some(before) => Aggregator::succeeding(before, config, options),
        };
        opened.map_err(|error| BootError::new(error.to_string()))
    }

    fn options(&self, config: &UpstreamsConfig) -> Result<AggregatorOptions, BootError> {
        let settings = &self.settings;
        let auth_store = match &self.sign_ins {
            Some(shared) => shared.clone(),
            None => {
                let place = &settings.state;
                let word = place.key_in_keyring.then(|| KEYRING.to_owned());
                let key = KeyPlace { file: place.secret_file.clone(), word };
                let place = StorePlace::of(&settings.env, place.dir.clone(), key);
                place.open_for(config).map_err(BootError::new)?
            }
        };
        Ok(AggregatorOptions {
            auth_store,
            approval_ttl: settings.aggregator.approval_ttl,
            audit: self.audit.clone().map(|audit| audit as Arc<dyn CallAudit>),
            // Callers over HTTP sign in for themselves, and see only what they may (auth.md 12.2).
            principal: settings.http.is_none().then(|| PROCESS.into()),
            // Without tokens all callers are the same principal.
            shown_to: match &settings.http {
                None => Some(PROCESS.into()),
                Some(http) => (http.tokens.is_empty() && http.oauth.is_none()).then(|| ANONYMOUS.into()),
            },
            sign_in_page: settings
                .http
                .as_ref()
                .and_then(|http| Some(http.public_url.as_ref()?.origin().into())),
            sign_in_page_has_login: settings
                .http
                .as_ref()
                .and_then(|http| http.oauth.as_ref())
                .is_some_and(|oauth| oauth.login_client.is_some()),
            limits: settings.aggregator.limits,
            questions: settings.questions.are_on(),
            redactor: self.redactor.clone(),
            http: self.http.clone(),
            sampler: self.sampler.clone(),
            // The planner reads the results of its calls when it repairs a program.
            overviews: settings.profile == Profile::Debug || settings.planner.enabled,
            memory: self.memory.clone(),
            list_cache: settings.aggregator.list_cache.clone().map(ListCache::new),
            exposure: settings.aggregator.expose_tools.clone(),
            seen_shapes: settings.aggregator.seen_shapes,
            owner: self.owner.clone(),
            tasks: true,
            policy: self.policy.clone(),
            ..AggregatorOptions::new(settings.aggregator.snapshot_mode)
        })
    }
}
