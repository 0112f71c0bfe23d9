//! Upstreams from configuration to running, and the catalog that they fill.

use crate::catalog::{Catalog, ServerEntry};
use crate::config::{Transport, UpstreamConfig, UpstreamsConfig};
use crate::credentials::{CredentialStore, Redactor};
use crate::http::Client;
use crate::mcp::{HttpUpstream, StdioUpstream};
use crate::memory::MemoryBudget;
use crate::openapi::OpenApiUpstream;
use crate::upstream::{CallFault, ToolInfo, Upstream, UpstreamEvent};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;
use tokio::runtime::Handle;

/// When upstreams are started and listed (upstreams.md 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// All at the start; the advertised catalog stays as it was then.
    Frozen,
    /// Each at its first use; the catalog follows what the upstreams say.
    Live,
}

/// What one program may ask of upstreams.
#[derive(Clone, Copy, Debug)]
pub struct AggregatorLimits {
    /// Longest wait for one answer, from the first byte written.
    pub call_timeout: Duration,
    /// Largest answer in bytes, before it is decoded.
    pub max_response_bytes: usize,
    /// `tool/call`s of one program.
    pub max_calls: u32,
    /// Discovery operations of one program.
    pub max_discoveries: u32,
    /// Largest result of one discovery operation, in bytes of JSON.
    pub max_discovery_bytes: usize,
}

impl Default for AggregatorLimits {
    /// The defaults of upstreams.md 16.
    fn default() -> AggregatorLimits {
        AggregatorLimits {
            call_timeout: Duration::from_millis(5000),
            max_response_bytes: 2_097_152,
            max_calls: 50,
            max_discoveries: 25,
            max_discovery_bytes: 262_144,
        }
    }
}

/// Why the upstreams did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A required upstream could not be started or listed.
    #[error("upstream {name} cannot be started: {fault}. Mend it, or set \"required\": false in its entry")]
    Upstream {
        /// Its name.
        name: String,
        /// What happened, scrubbed.
        fault: CallFault,
    },
    /// The entry itself is at fault, which `"required": false` does not forgive.
    #[error("upstream {name} is configured wrongly: {}", fault.message)]
    Configuration {
        /// Its name.
        name: String,
        /// What is wrong, scrubbed.
        fault: CallFault,
    },
}

/// One configured upstream.
pub(super) struct Member {
    pub(super) config: UpstreamConfig,
    pub(super) handle: Arc<dyn Upstream>,
}

/// All configured upstreams of a process.
pub struct Aggregator {
    pub(super) members: BTreeMap<String, Member>,
    /// What programs see now.
    catalog: RwLock<Catalog>,
    /// What tool descriptions show: as it was at the start in frozen mode.
    advertised: Catalog,
    mode: SnapshotMode,
    pub(super) redactor: Redactor,
    pub(super) limits: AggregatorLimits,
    pub(super) overviews: bool,
}

/// How an aggregator works.
#[derive(Clone, Debug)]
pub struct AggregatorOptions {
    /// When upstreams are started and listed.
    pub mode: SnapshotMode,
    /// What one program may ask.
    pub limits: AggregatorLimits,
    /// Learns the configuration's secrets, and scrubs what leaves through the catalog and the records.
    pub redactor: Redactor,
    /// Connections of the HTTP transports; knows which certificates to trust.
    pub http: Client,
    /// Whether call records carry an overview of the value, which takes a second look at each answer.
    pub overviews: bool,
    /// Runs the tasks of the transports.
    pub owner: Handle,
    /// What the process may take in all, replies on their way from children included.
    pub memory: Option<MemoryBudget>,
}

impl AggregatorOptions {
    /// The defaults of upstreams.md on the current runtime, with system certificates and without overviews.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(mode: SnapshotMode) -> AggregatorOptions {
        AggregatorOptions {
            mode,
            limits: AggregatorLimits::default(),
            redactor: Redactor::new(),
            http: Client::new(),
            overviews: false,
            owner: Handle::current(),
            memory: None,
        }
    }
}

impl Aggregator {
    /// Starts what the configuration names.
    ///
    /// # Errors
    /// In frozen mode the first required upstream, in order of names, that cannot be started or listed.
    pub async fn start(
        config: UpstreamsConfig,
        options: AggregatorOptions,
    ) -> Result<Arc<Aggregator>, StartError> {
        let AggregatorOptions { mode, limits, redactor, http, overviews, owner, memory } = options;
        config.register_secrets(&redactor);
        let credentials = Arc::new(config.credentials);
        let mut members = BTreeMap::new();
        let mut entries = Vec::new();
        for upstream in &config.upstreams {
            entries.push(ServerEntry::unloaded(upstream));
            let handle =
                connect(upstream, &credentials, &http, &owner, memory.as_ref()).map_err(|fault| {
                    let fault = CallFault { message: redactor.scrub_string(fault.message), ..fault };
                    StartError::Configuration { name: upstream.name.clone(), fault }
                })?;
            members.insert(upstream.name.clone(), Member { config: upstream.clone(), handle });
        }
        let mut aggregator = Aggregator {
            members,
            catalog: RwLock::new(Catalog::new(entries)),
            advertised: Catalog::default(),
            mode,
            redactor,
            limits,
            overviews,
        };
        let mut unloaded = Vec::new();
        // OpenAPI documents are loaded at the start in both modes: their operations are compiled before anything
        // is offered.
        let at_start = |member: &&Member| {
            mode == SnapshotMode::Frozen || matches!(member.config.transport, Transport::OpenApi(_))
        };
        let members: Vec<&Member> = aggregator.members.values().filter(at_start).collect();
        let loads = join_all(members.iter().map(|member| aggregator.load(&member.config.name))).await;
        for (member, result) in members.into_iter().zip(loads) {
            let Err(fault) = result else { continue };
            let name = member.config.name.clone();
            if member.config.required {
                let fault = CallFault { message: aggregator.redactor.scrub_string(fault.message), ..fault };
                aggregator.shutdown().await;
                return Err(StartError::Upstream { name, fault });
            }
            tracing::warn!(event = "upstream_not_loaded", upstream = %name, reason = %fault.reason,
                error = %aggregator.redactor.scrub(&fault.message));
            unloaded.push(name);
        }
        aggregator.advertised = aggregator.catalog();
        let aggregator = Arc::new(aggregator);
        for name in unloaded {
            owner.spawn(retry(Arc::downgrade(&aggregator), name));
        }
        if mode == SnapshotMode::Live {
            for member in aggregator.members.values() {
                owner.spawn(follow(
                    Arc::downgrade(&aggregator),
                    member.config.name.clone(),
                    member.handle.events(),
                ));
            }
        }
        Ok(aggregator)
    }

    /// What programs see now.
    pub fn catalog(&self) -> Catalog {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What tool descriptions show.
    pub fn advertised(&self) -> Catalog {
        match self.mode {
            SnapshotMode::Frozen => self.advertised.clone(),
            SnapshotMode::Live => self.catalog(),
        }
    }

    /// The redactor that knows the secrets of the configuration.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The configured upstreams in order of names, with their handles.
    pub fn upstreams(&self) -> impl Iterator<Item = (&UpstreamConfig, &Arc<dyn Upstream>)> {
        self.members.values().map(|member| (&member.config, &member.handle))
    }

    /// Starts and lists an upstream unless that has been done.
    ///
    /// # Errors
    /// The fault of its start or listing.
    pub async fn load(&self, name: &str) -> Result<(), CallFault> {
        let Some(member) = self.members.get(name) else { return Ok(()) };
        if self.catalog().server(name).is_some_and(|server| server.loaded) {
            return member.handle.ensure_started().await;
        }
        let tools = member.handle.list_tools().await?;
        self.take_tools(member, &tools);
        Ok(())
    }

    /// Puts a fresh tool list into the catalog.
    fn take_tools(&self, member: &Member, tools: &[ToolInfo]) {
        let tools = tools.iter().filter_map(|tool| serde_json::from_str(tool.json.get()).ok()).collect();
        let (entry, left_out) = ServerEntry::loaded(&member.config, tools, &self.redactor);
        for why in left_out {
            tracing::warn!(event = "upstream_tool_left_out", upstream = %member.config.name, reason = %why);
        }
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        *catalog = catalog.with_server(entry);
    }

    /// Stops all upstreams and waits until their children are gone.
    pub async fn shutdown(&self) {
        join_all(self.members.values().map(|member| member.handle.shutdown())).await;
    }
}

/// The transport of one upstream, not started yet.
///
/// # Errors
/// The entry cannot work: no URL that can be requested, an OpenAPI document that cannot be compiled.
fn connect(
    upstream: &UpstreamConfig,
    credentials: &Arc<CredentialStore>,
    http: &Client,
    owner: &Handle,
    memory: Option<&MemoryBudget>,
) -> Result<Arc<dyn Upstream>, CallFault> {
    Ok(match &upstream.transport {
        Transport::Stdio(entry) => {
            Arc::new(StdioUpstream::new(upstream, entry, owner.clone()).within(memory.cloned()))
        }
        Transport::Http(entry) => {
            let made = HttpUpstream::new(upstream, entry, credentials.clone(), http.clone(), owner.clone());
            Arc::new(made.map_err(CallFault::from)?)
        }
        Transport::OpenApi(entry) => {
            Arc::new(OpenApiUpstream::new(upstream, entry, credentials.clone(), http.clone(), owner.clone())?)
        }
    })
}

/// Tries an upstream that is not required until it loads (ruling 22).
async fn retry(aggregator: Weak<Aggregator>, name: String) {
    let mut pause = Duration::from_secs(1);
    loop {
        tokio::time::sleep(pause).await;
        let Some(aggregator) = aggregator.upgrade() else { return };
        match aggregator.load(&name).await {
            Ok(()) => {
                tracing::info!(event = "upstream_loaded", upstream = %name);
                return;
            }
            // A refused credential does not get better by asking again.
            Err(fault) if fault.reason == crate::upstream::FaultReason::AuthFailed => return,
            Err(_) => pause = (pause * 2).min(Duration::from_secs(60)),
        }
    }
}

/// Keeps a live catalog as the upstream says it is.
async fn follow(
    aggregator: Weak<Aggregator>,
    name: String,
    mut events: tokio::sync::broadcast::Receiver<UpstreamEvent>,
) {
    use tokio::sync::broadcast::error::RecvError;
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => UpstreamEvent::ToolsChanged,
            Err(RecvError::Closed) => return,
        };
        let Some(aggregator) = aggregator.upgrade() else { return };
        let Some(member) = aggregator.members.get(&name) else { return };
        let listed = match event {
            UpstreamEvent::Started => member.handle.list_tools().await,
            UpstreamEvent::ToolsChanged => member.handle.refresh_tools().await,
            UpstreamEvent::Ended { .. } => continue,
        };
        match listed {
            Ok(tools) => aggregator.take_tools(member, &tools),
            Err(fault) => {
                tracing::warn!(event = "upstream_list_failed", upstream = %name, reason = %fault.reason)
            }
        }
    }
}
