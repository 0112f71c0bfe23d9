//! Starting the upstreams of a checked configuration.

use super::audit::AuditedSignIn;
use super::configured_upstream::ConfiguredUpstream;
use super::idle_patterns::IdlePatterns;
use super::options::{AggregatorOptions, SnapshotMode};
use super::own_lists::OwnLists;
use super::runtime::Aggregator;
use super::seen_shapes::SeenShapes;
use super::shape_file::ShapeFile;
use super::upkeep::{bring_up, follow, retry};
use super::view::Views;
use crate::catalog::{Catalog, ServerEntry};
use futures_util::future::join_all;
use ptc_base::sync::{Mutex, RwLock};
use ptc_http::{Certificates, Client};
use ptc_secret::credentials::{CredentialStore, EVERYONE, NoRoom, PROCESS};
use ptc_upstreams::config::{OAuthIdentity, Offered};
use ptc_upstreams::config::{Transport, UpstreamConfig, UpstreamsConfig};
use ptc_upstreams::mcp::{ClientRoots, HttpUpstream, StdioUpstream};
use ptc_upstreams::openapi::{OpenApiUpstream, RoutedClient};
use ptc_upstreams::sign_in::{SignIn, SignInContext, Site};
use ptc_upstreams::upstream::connections::Connections;
use ptc_upstreams::upstream::per_principal::PerPrincipal;
use ptc_upstreams::upstream::unavailable_upstream::UnsetUpstream;
use ptc_upstreams::upstream::{CallFault, FaultReason, Phase, Upstream, Visits};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Why the upstreams did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A required upstream could not be started or listed.
    #[error("upstream {name} cannot be started: {}. Mend it, or set \"required\": false in its entry", .fault.to_string().trim_end_matches('.'))]
    Upstream {
        /// Its name.
        name: String,
        /// The fault, scrubbed.
        fault: Box<CallFault>,
    },
    /// The entry itself is at fault, which `"required": false` does not forgive.
    #[error("upstream {name} is configured wrongly: {}", fault.message)]
    Configuration {
        /// Its name.
        name: String,
        /// The fault, scrubbed.
        fault: Box<CallFault>,
    },
    /// The configuration's secrets and the others that the redactor knows are too many.
    #[error("{0}, which is as much as is kept out of results: use fewer or shorter credentials and tokens")]
    Secrets(#[from] NoRoom),
    /// Several upstreams are at fault.
    #[error("{}", .0.iter().map(StartError::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<StartError>),
}

impl StartError {
    /// All of `faults` as one error.
    fn all(mut faults: Vec<StartError>) -> Option<StartError> {
        if faults.len() > 1 { Some(StartError::Several(faults)) } else { faults.pop() }
    }
}

impl Aggregator {
    /// Opens the configured upstreams, and starts them.
    ///
    /// # Errors
    /// As [`open`](Self::open), else as [`start_all`](Self::start_all).
    pub async fn start(
        config: UpstreamsConfig,
        options: AggregatorOptions,
    ) -> Result<Arc<Aggregator>, StartError> {
        let aggregator = Self::open(config, options)?;
        aggregator.start_all().await?;
        Ok(aggregator)
    }

    /// The configured upstreams, with nothing started yet. Programs may use it: they wait for the upstreams that they call
    /// (ruling 59).
    ///
    /// # Errors
    /// All entries that cannot work, in order of names.
    pub fn open(config: UpstreamsConfig, options: AggregatorOptions) -> Result<Arc<Aggregator>, StartError> {
        Self::open_after(None, config, options)
    }

    /// The same in the place of another set: upstreams that stay what they are keep connections, children and lists.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn succeeding(
        before: &Aggregator,
        config: UpstreamsConfig,
        options: AggregatorOptions,
    ) -> Result<Arc<Aggregator>, StartError> {
        Self::open_after(Some(before), config, options)
    }

    fn open_after(
        before: Option<&Aggregator>,
        config: UpstreamsConfig,
        options: AggregatorOptions,
    ) -> Result<Arc<Aggregator>, StartError> {
        config.register_secrets(&options.redactor)?;
        let catalog = Catalog::new(config.upstreams.iter().map(ServerEntry::unloaded));
        let lists = options.list_cache.as_ref().map(|cache| cache.of(&config.upstreams));
        let remembered = lists.as_ref().map(|lists| lists.read(&config.upstreams, &options.redactor));
        let shapes = lists.as_ref().map(|lists| ShapeFile::new(lists.shapes()));
        let client_roots = before.map(|before| before.client_roots.clone()).unwrap_or_default();
        let credentials = Arc::new(config.credentials);
        let (members, stayed) = members(before, config.upstreams, &credentials, &options, &client_roots)?;
        let catalog = stayed.into_iter().fold(catalog, |catalog, entry| catalog.with_server(entry));
        let (catalog, present) = (RwLock::new(catalog.clone()), RwLock::new(catalog));
        let is_shared =
            |site: &Site| site.config().identity == OAuthIdentity::Shared && may_choose(site, &options);
        let shared = members.iter().filter(|(_, member)| member.site.as_deref().is_some_and(is_shared));
        let own_lists = OwnLists::new(shared.map(|(name, _)| name.clone()));
        let AggregatorOptions { mode, limits, redactor, overviews, seen_shapes, owner, memory, .. } = options;
        let (questions, tasks) = (options.questions, options.tasks);
        let (audit, clock, approval_ttl) = (options.audit, options.clock, options.approval_ttl);
        let sampler = options.sampler;
        let known = before.and_then(|before| before.seen.clone());
        let seen = known.or_else(|| seen_shapes.then(|| Arc::new(SeenShapes::kept_in(shapes))));
        let shown_to = options.shown_to;
        let exposure = options.exposure;
        let remembered = remembered.unwrap_or_default().into_iter();
        let remembered = remembered.map(|(name, server)| (name, server.exposed(exposure.as_ref())));
        let remembered = remembered.map(|(name, server)| match &seen {
            Some(seen) => (name, Arc::new(seen.remembered(shown_to.as_ref(), server))),
            None => (name, Arc::new(server)),
        });
        let remembered = remembered.collect();
        let advertised = OnceLock::new();
        Ok(Arc::new_cyclic(|this| Aggregator {
            members,
            credentials,
            catalog,
            present,
            advertised,
            remembered,
            lists,
            mode,
            redactor,
            limits,
            overviews,
            exposure,
            seen,
            shown_to,
            questions,
            tasks,
            sampler,
            audit,
            watch: before.map(|before| before.watch.clone()).unwrap_or_default(),
            clock,
            approval_ttl,
            memory,
            owner,
            client_roots,
            changes: before.map(|before| before.changes.clone()).unwrap_or_default(),
            listings: before.map(|before| before.listings.clone()).unwrap_or_default(),
            policy: options.policy,
            views: Views::default(),
            own_lists,
            everyone: EVERYONE.into(),
            idle_patterns: IdlePatterns::default(),
            this: this.clone(),
            upkeep: Mutex::default(),
        }))
    }

    /// Starts and lists the upstreams that must be there from the start: everything in frozen mode, the documents of REST
    /// services in the others. The catalog of frozen mode is the state at that time.
    ///
    /// # Errors
    /// All required upstreams that cannot be started or listed, in order of names. Everything has been shut down then.
    pub async fn start_all(self: &Arc<Self>) -> Result<(), StartError> {
        self.follow_all();
        let unloaded = self.load_at_start().await?;
        self.tell_idle_patterns();
        // Whoever starts all a second time finds it frozen.
        if self.advertised.set(self.catalog()).is_ok() {
            // The server goes on while that is written.
            drop(self.remember());
        }
        for name in unloaded {
            self.keep_up(retry(Arc::downgrade(self), name));
        }
        if self.mode == SnapshotMode::Background {
            let loadable = self.members.iter().filter(|(_, member)| member.config.unset.is_none());
            for (name, _) in loadable {
                self.keep_up(bring_up(Arc::downgrade(self), name.clone()));
            }
        }
        Ok(())
    }

    /// Follows the upstreams' tool list announcements from now on, in every mode: in the frozen one, calls are still checked
    /// against the current lists.
    fn follow_all(self: &Arc<Self>) {
        for member in self.members.values() {
            self.keep_up(follow(Arc::downgrade(self), member.config.name.clone(), member.events()));
        }
    }

    /// Loads the upstreams that must be there from the start. The result names those that are not required and could not be
    /// loaded.
    async fn load_at_start(&self) -> Result<Vec<String>, StartError> {
        let mut unloaded = Vec::new();
        let mut faults = Vec::new();
        // OpenAPI documents are loaded at the start in both modes: their operations are compiled before anything
        // is offered.
        let at_start = |member: &&ConfiguredUpstream| {
            self.mode == SnapshotMode::Frozen
                || matches!(member.config.transport, Transport::OpenApi(_))
                || (member.has_new_entry && member.handle.health().phase == Phase::Started)
        };
        let (members, stayed): (Vec<_>, Vec<_>) =
            self.members.values().filter(at_start).partition(|member| member.is_new || member.has_new_entry);
        let catalog = self.catalog();
        let is_unloaded = |member: &&ConfiguredUpstream| {
            let entry = catalog.server(&member.config.name);
            member.config.unset.is_none() && entry.is_none_or(|entry| !entry.loaded)
        };
        // What was not there before may be so still, and says nothing of this set.
        unloaded.extend(stayed.into_iter().filter(is_unloaded).map(|member| member.config.name.clone()));
        let loads = join_all(members.iter().map(|member| self.load(&member.config.name))).await;
        for (member, result) in members.into_iter().zip(loads) {
            let Err(fault) = result else { continue };
            let name = member.config.name.clone();
            if fault.reason == FaultReason::AuthRequired {
                // A state, not a failure: it is looked at again at the next call (auth.md 12.2).
                continue;
            }
            if member.config.required {
                let fault = CallFault { message: self.redactor.scrub_string(fault.message), ..fault };
                faults.push(StartError::Upstream { name, fault: Box::new(fault) });
                continue;
            }
            // What is not set stays so, and was told when the file was read.
            if member.config.unset.is_some() {
                continue;
            }
            tracing::warn!(event = "upstream_not_loaded", upstream = %name, reason = %fault.reason,
                error = %self.redactor.scrub(&fault.message));
            unloaded.push(name);
        }
        if let Some(fault) = StartError::all(faults) {
            self.shut_down_own().await;
            return Err(fault);
        }
        Ok(unloaded)
    }
}

/// The configured upstreams by name, not started yet but for those that were `before`, with the entries that these have in the
/// catalog.
#[expect(clippy::type_complexity, reason = "taken apart by its one caller")]
fn members(
    before: Option<&Aggregator>,
    upstreams: Vec<UpstreamConfig>,
    credentials: &Arc<CredentialStore>,
    options: &AggregatorOptions,
    roots: &ClientRoots,
) -> Result<(BTreeMap<String, ConfiguredUpstream>, Vec<Arc<ServerEntry>>), StartError> {
    let context = SignInContext {
        store: options.auth_store.clone(),
        clock: options.clock.clone(),
        redactor: options.redactor.clone(),
        http: options.http.clone(),
        owner: options.owner.clone(),
        page: options.sign_in_page.clone(),
        page_has_login: options.sign_in_page_has_login,
    };
    let mut members = BTreeMap::new();
    let mut stayed = Vec::new();
    let mut faults = Vec::new();
    for mut config in upstreams {
        let sampling = config.sampling && options.sampler.is_some();
        config.offered = Offered { questions: options.questions, tasks: options.tasks, sampling };
        let name = config.name.clone();
        if let Some((member, entry)) = before.and_then(|before| before.staying(&config, credentials)) {
            members.insert(name, member);
            stayed.extend(entry);
            continue;
        }
        let site = Site::new(&config, credentials, &context);
        if let (Some(site), Some(audit)) = (&site, &options.audit) {
            let (audit, upstream) = (audit.clone(), name.clone());
            site.on_sign_in(move |principal, fault| {
                audit.signed_in(&AuditedSignIn { principal, upstream: &upstream, fault });
            });
        }
        match open(&config, credentials, site.as_ref(), options, roots) {
            Ok(handle) => {
                let owner = options.owner.clone();
                members.insert(name, ConfiguredUpstream::new(config, handle, site, owner));
            }
            Err(fault) => {
                let fault = CallFault { message: options.redactor.scrub_string(fault.message), ..fault };
                faults.push(StartError::Configuration { name, fault: Box::new(fault) });
            }
        }
    }
    match StartError::all(faults) {
        Some(fault) => Err(fault),
        None => Ok((members, stayed)),
    }
}

/// One upstream, not started yet; one a principal, where each signs in for itself.
///
/// # Errors
/// As [`connect`].
fn open(
    upstream: &UpstreamConfig,
    credentials: &Arc<CredentialStore>,
    site: Option<&Arc<Site>>,
    options: &AggregatorOptions,
    roots: &ClientRoots,
) -> Result<Arc<dyn Upstream>, CallFault> {
    let site = match site {
        Some(site) if upstream.unset.is_none() => site.clone(),
        _ => return connect(upstream, credentials, None, options, roots),
    };
    let identity = site.config().identity;
    if identity == OAuthIdentity::Shared && !may_choose(&site, options) {
        return connect(upstream, credentials, Some(site.sign_in(PROCESS)), options, roots);
    }
    let (config, credentials) = (upstream.clone(), credentials.clone());
    let (options, roots) = (options.clone(), roots.clone());
    let home = match identity {
        OAuthIdentity::PerPrincipal => options.principal.clone(),
        OAuthIdentity::Shared => Some(EVERYONE.into()),
    };
    let make =
        move |account: &str| connect(&config, &credentials, Some(site.sign_in(account)), &options, &roots);
    let kind = upstream.transport.as_str();
    Ok(Arc::new(PerPrincipal::new(&upstream.name, kind, home.as_ref(), identity, Box::new(make))?))
}

/// Whether a rule of a policy may choose callers' own sign-ins at an upstream of which the entry says something else.
fn may_choose(site: &Site, options: &AggregatorOptions) -> bool {
    options.policy.is_some() && site.config().grant.has_person()
}

/// The transport of one upstream, not started yet.
///
/// # Errors
/// The entry cannot work: no URL that can be requested, an OpenAPI document that cannot be compiled.
fn connect(
    upstream: &UpstreamConfig,
    credentials: &Arc<CredentialStore>,
    sign_in: Option<Arc<SignIn>>,
    options: &AggregatorOptions,
    roots: &ClientRoots,
) -> Result<Arc<dyn Upstream>, CallFault> {
    let AggregatorOptions { http, owner, memory, .. } = options;
    if let Some(why) = &upstream.unset {
        return Ok(Arc::new(UnsetUpstream::new(upstream, why)));
    }
    Ok(match &upstream.transport {
        Transport::Stdio(entry) => {
            let (config, entry, roots) = (upstream.clone(), entry.clone(), roots.clone());
            let (owner, memory) = (owner.clone(), memory.clone());
            several(upstream, move |visits| {
                let made = StdioUpstream::new(&config, &entry, &roots, owner.clone());
                Ok(Arc::new(made.sharing(visits).within(memory.clone())))
            })?
        }
        Transport::Http(entry) => {
            let (config, entry, roots) = (upstream.clone(), entry.clone(), roots.clone());
            let (credentials, http) = (credentials.clone(), trusting(http, entry.certificates.as_ref()));
            let owner = owner.clone();
            several(upstream, move |visits| {
                let (store, sign_in, owner) = (credentials.clone(), sign_in.clone(), owner.clone());
                let made =
                    HttpUpstream::signed_in(&config, &entry, store, sign_in, http.clone(), &roots, owner);
                Ok(Arc::new(made.map_err(CallFault::from)?.sharing(visits)))
            })?
        }
        Transport::OpenApi(entry) => {
            let client = trusting(http, entry.certificates.as_ref());
            let client = RoutedClient { client, routing: entry.routing.clone() };
            Arc::new(OpenApiUpstream::new(
                upstream,
                entry,
                credentials.clone(),
                sign_in,
                client,
                owner.clone(),
            )?)
        }
    })
}

/// One connection, or as many as an upstream may have that asks people or a model: one program at a time needs no more.
fn several(
    upstream: &UpstreamConfig,
    make: impl Fn(Option<Arc<Visits>>) -> Result<Arc<dyn Upstream>, CallFault> + Send + Sync + 'static,
) -> Result<Arc<dyn Upstream>, CallFault> {
    let asks = upstream.offered.questions || upstream.offered.sampling;
    match asks && !upstream.serial && upstream.max_connections > 1 {
        true => Ok(Arc::new(Connections::new(upstream.max_connections, Box::new(make))?)),
        false => make(None),
    }
}

/// The client that trusts these certificates, too.
fn trusting(http: &Client, certificates: Option<&Certificates>) -> Client {
    certificates.map_or_else(|| http.clone(), |certificates| http.trusting(certificates))
}
