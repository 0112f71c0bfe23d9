//! The running upstreams of a process, and the catalog that they fill.

use super::audit::CallAudit;
use super::call_watch::CallWatch;
use super::configured_upstream::ConfiguredUpstream;
use super::idle_patterns::IdlePatterns;
use super::list_cache::{CachedLists, UpstreamListing};
use super::options::{AggregatorLimits, SnapshotMode};
use super::own_lists::{Follower, OwnLists, Turn};
use super::reported_roots::reported_roots;
use super::sampler::{Sampler, SamplingCounts};
use super::seen_shapes::SeenShapes;
use super::upkeep::{follow_own, note_failed};
use super::view::Views;
use crate::catalog::{Catalog, Exposure, ServerEntry};
use futures_util::future::join_all;
use ptc_base::memory::MemoryBudget;
use ptc_base::pace::apart;
use ptc_base::sync::{Mutex, RwLock};
use ptc_base::time::Clock;
use ptc_policy::CurrentPolicy;
use ptc_secret::credentials::{CredentialStore, Redactor};
use ptc_upstreams::config::{PinReport, RootsConfig, UpstreamConfig};
use ptc_upstreams::mcp::ClientRoots;
use ptc_upstreams::sign_in::SignInCounts;
use ptc_upstreams::upstream::{CallFault, Caller, FaultReason, Phase, ToolInfo, Upstream};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// All configured upstreams of a process.
pub struct Aggregator {
    pub(super) members: BTreeMap<String, ConfiguredUpstream>,
    /// The secrets that their entries name.
    pub(super) credentials: Arc<CredentialStore>,
    /// The catalog that programs see now.
    pub(super) catalog: RwLock<Catalog>,
    /// The upstreams' current tools: calls are checked against them.
    pub(super) present: RwLock<Catalog>,
    /// The catalog that tool descriptions show in frozen mode, once all has been started.
    pub(super) advertised: OnceLock<Catalog>,
    /// The lists of the last start, until the upstreams have listed their tools again.
    pub(super) remembered: BTreeMap<String, Arc<ServerEntry>>,
    /// Where the lists are kept for the next start.
    pub(super) lists: Option<CachedLists>,
    pub(super) mode: SnapshotMode,
    pub(super) redactor: Redactor,
    pub(super) limits: AggregatorLimits,
    pub(super) overviews: bool,
    /// The tools that our own clients have as tools, if any.
    pub(super) exposure: Option<Exposure>,
    /// The shapes that `doc` adds, unless the operator does not want it.
    pub(super) seen: Option<Arc<SeenShapes>>,
    /// The only principal that programs run for: the tools that it is shown have the shapes that it had seen.
    pub(super) shown_to: Option<Arc<str>>,
    /// Whether people are asked the questions of upstreams.
    pub(super) questions: bool,
    /// Whether tasks of upstreams are waited for.
    pub(super) tasks: bool,
    /// The model that answers upstreams, if one does.
    pub(super) sampler: Option<Arc<dyn Sampler>>,
    /// Receives each call.
    pub(super) audit: Option<Arc<dyn CallAudit>>,
    /// Is told of calls while their programs run, once somebody wants to be: the same of all sets.
    pub(super) watch: Arc<OnceLock<Arc<dyn CallWatch>>>,
    /// The time of day, by which approvals grow old.
    pub(super) clock: Clock,
    /// How long an approval is good for.
    pub(super) approval_ttl: Duration,
    /// Memory of the whole process.
    pub(super) memory: Option<MemoryBudget>,
    /// Where its tasks run.
    pub(super) owner: Handle,
    /// The roots of the client, for upstreams that may ask for them.
    pub(super) client_roots: ClientRoots,
    /// Told of each change of the catalog that programs see.
    pub(super) changes: Arc<watch::Sender<()>>,
    /// Told of each list of tools that an upstream has given for all callers.
    pub(super) listings: Arc<watch::Sender<()>>,
    /// What callers may do; `None` if everybody may do everything.
    pub(super) policy: Option<Arc<CurrentPolicy>>,
    /// The catalogs as callers see them.
    pub(super) views: Views,
    /// The lists of upstreams that each principal signs in to for itself.
    pub(super) own_lists: OwnLists,
    /// The account of all callers.
    pub(super) everyone: Arc<str>,
    /// The patterns that the operator was told of since they fit nothing.
    pub(super) idle_patterns: IdlePatterns,
    /// Itself, for tasks that end with it.
    pub(super) this: Weak<Aggregator>,
    /// Its tasks, which end with it.
    pub(super) upkeep: Mutex<JoinSet<()>>,
}

impl Aggregator {
    /// Tells `watch` of the calls of programs from now on, unless another one is told of them. The sets that succeed this one do so,
    /// too.
    pub fn watch_calls(&self, watch: Arc<dyn CallWatch>) {
        let _ = self.watch.set(watch);
    }

    /// The catalog that programs see now, before it is filtered.
    pub(super) fn catalog(&self) -> Catalog {
        self.catalog.read().clone()
    }

    /// The upstreams' current tools, before they are filtered.
    pub(super) fn present(&self) -> Catalog {
        self.present.read().clone()
    }

    /// The catalog that tool descriptions show, before it is filtered.
    pub(super) fn advertised(&self) -> Catalog {
        if self.mode != SnapshotMode::Frozen {
            return self.catalog();
        }
        if let Some(frozen) = self.advertised.get() {
            return frozen.clone();
        }
        let catalog = self.catalog();
        let unlisted = |name: &str| catalog.server(name).is_some_and(|server| !server.loaded);
        let known = self.remembered.iter().filter(|(name, _)| unlisted(name));
        known.fold(catalog.clone(), |catalog, (_, server)| catalog.with_server(server.clone()))
    }

    /// Whether the lists of the last start are known of all upstreams that can be started.
    pub fn remembers_all(&self) -> bool {
        let mut startable = self.members.iter().filter(|(_, member)| member.config.unset.is_none());
        startable.all(|(name, _)| self.remembered.contains_key(name))
    }

    /// Writes the upstreams' lists for the next start.
    pub(super) fn remember(&self) -> Option<JoinHandle<()>> {
        let lists = self.lists.as_ref()?;
        let listed = self.members.iter().filter_map(|(name, member)| {
            let taken = member.taken().clone()?;
            let roots = self.present().server(name).map(|server| server.roots.clone()).unwrap_or_default();
            Some((
                name.as_str(),
                UpstreamListing { tools: taken, introduction: member.handle.introduction(), roots },
            ))
        });
        lists.write(listed, &self.redactor)
    }

    /// Writes the lists of tools, for a command that ends now: they are in the cache when this returns.
    pub async fn keep_lists(&self) {
        if let Some(writing) = self.remember() {
            // A folder that cannot be used costs the cache and nothing else.
            let _ = writing.await;
        }
    }

    /// Tells of changes of the catalog that programs see.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Tells of each list of tools that an upstream has given for all callers, in every mode.
    pub fn listings(&self) -> watch::Receiver<()> {
        self.listings.subscribe()
    }

    /// Whether the tools of an upstream are known of all callers by now; one that there is not has none.
    pub fn is_listed(&self, upstream: &str) -> bool {
        let present = self.present.read();
        present.server(upstream).is_none_or(|entry| entry.loaded)
    }

    /// The redactor that knows the secrets of the configuration.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The place to announce the client's roots; `None` if no upstream may ask for them.
    pub fn client_roots(&self) -> Option<&ClientRoots> {
        let wanted = self.members.values().any(|member| member.config.roots == RootsConfig::Client);
        wanted.then_some(&self.client_roots)
    }

    /// The policy, if there is one.
    pub fn policy(&self) -> Option<&Arc<CurrentPolicy>> {
        self.policy.as_ref()
    }

    /// Starts and lists an upstream unless that has been done.
    ///
    /// # Errors
    /// The fault of its start or listing.
    pub async fn load(&self, name: &str) -> Result<(), CallFault> {
        self.load_for(name, Caller::default()).await
    }

    /// As [`load`](Self::load), on behalf of a caller: where it has an account of its own, the list is of this account alone.
    pub(super) async fn load_for(&self, name: &str, caller: Caller<'_>) -> Result<(), CallFault> {
        let Some(member) = self.members.get(name) else { return Ok(()) };
        if let Some(own) = member.handle.serving(caller) {
            let loaded = match (own, caller.account.or(caller.principal)) {
                (Ok(own), Some(account)) => self.load_own(member, account, &own).await,
                (Ok(own), None) => own.ensure_started().await,
                (Err(fault), _) => Err(fault),
            };
            // Of an account that a rule chose, others need not know.
            if caller.account.is_none() {
                self.note_sign_in(member, loaded.as_ref().err());
            }
            return loaded;
        }
        let loaded = self.load_shared(member).await;
        self.note_sign_in(member, loaded.as_ref().err());
        loaded
    }

    /// Shows in the catalog that a sign-in is needed. A later list replaces the entry.
    fn note_sign_in(&self, member: &ConfiguredUpstream, fault: Option<&CallFault>) {
        let needed = fault.is_some_and(|fault| fault.reason == FaultReason::AuthRequired);
        if member.site.is_none() || !needed {
            return;
        }
        let name = &member.config.name;
        let flagged = |catalog: &Catalog| {
            let entry = catalog.server(name).filter(|entry| !entry.loaded && !entry.sign_in_needed)?;
            Some(catalog.with_server(Arc::new(entry.awaiting_sign_in())))
        };
        let mut catalog = self.catalog.write();
        let mut present = self.present.write();
        if let Some(flagged) = flagged(&present) {
            *present = flagged;
        }
        if let Some(flagged) = flagged(&catalog) {
            *catalog = flagged;
            self.changes.send_replace(());
        }
    }

    /// How the list of each upstream that was read last stands to the lock, in order of names; those that are held to none are
    /// left out.
    pub fn pin_reports(&self) -> impl Iterator<Item = (&str, Arc<PinReport>)> {
        self.members.iter().filter_map(|(name, member)| {
            member.config.pins.as_ref()?;
            Some((name.as_str(), member.pins.last().unwrap_or_default()))
        })
    }

    /// The sign-in counts of each upstream that has some, in order of names.
    pub fn sign_ins(&self) -> impl Iterator<Item = (&str, &SignInCounts)> {
        self.members.iter().filter_map(|(name, member)| Some((name.as_str(), member.site.as_ref()?.counts())))
    }

    /// The counts of requests for a model's answer of each upstream that may have some, in order of names.
    pub fn samplings(&self) -> impl Iterator<Item = (&str, &SamplingCounts)> {
        let offered = self.members.iter().filter(|(_, member)| member.config.offered.sampling);
        offered.map(|(name, member)| (name.as_str(), &*member.samplings))
    }

    async fn load_shared(&self, member: &ConfiguredUpstream) -> Result<(), CallFault> {
        let name = &member.config.name;
        if self.catalog().server(name).is_some_and(|server| server.loaded) {
            return member.handle.ensure_started().await;
        }
        let tools = member.handle.list_tools().await?;
        self.take_tools(member, &tools).await;
        Ok(())
    }

    /// Lists the tools of these upstreams anew, whether or not they have announced a change. Where that fails, what is known stays.
    pub async fn list_anew(&self, names: &BTreeSet<String>) {
        let members = names.iter().filter_map(|name| self.members.get(name));
        join_all(members.map(async |member| match member.handle.refresh_tools().await {
            Ok(tools) => self.take_tools(member, &tools).await,
            Err(fault) => note_failed(&member.config.name, &fault),
        }))
        .await;
    }

    /// Starts and lists the upstream that serves an account alone, unless that has been done.
    async fn load_own(
        &self,
        member: &ConfiguredUpstream,
        account: &Arc<str>,
        own: &Arc<dyn Upstream>,
    ) -> Result<(), CallFault> {
        let name = &member.config.name;
        let loaded = match self.own_lists.has(name, account) {
            true => own.ensure_started().await,
            false => {
                let turn = self.own_lists.turn();
                // The list of a connection that goes on may be older than the sign-in.
                let is_running = own.health().phase == Phase::Started;
                match if is_running { own.refresh_tools().await } else { own.list_tools().await } {
                    Ok(tools) => self.take_own(member, account, own, &tools, turn).await,
                    Err(fault) => Err(fault),
                }
            }
        };
        self.note_unknown(name, account, loaded.as_ref().err());
        loaded
    }

    /// Whether this principal has a list of its own of an upstream that each signs in to.
    pub fn has_own_lists(&self, principal: &str) -> bool {
        self.own_lists.has_any(principal)
    }

    /// Forgets the list of an account that a server does not know any more: the next sign-in may be that of another account.
    pub(super) fn note_unknown(&self, upstream: &str, account: &str, fault: Option<&CallFault>) {
        if fault.is_some_and(|fault| fault.reason == FaultReason::AuthRequired) {
            self.own_lists.forget(upstream, account);
        }
    }

    /// Takes the list of tools, asked for at `turn`, of the upstream that serves an account alone. Only its callers see it.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) async fn take_own(
        &self,
        member: &ConfiguredUpstream,
        account: &Arc<str>,
        own: &Arc<dyn Upstream>,
        tools: &Arc<[ToolInfo]>,
        turn: Turn,
    ) -> Result<(), CallFault> {
        let name = &member.config.name;
        if self.own_lists.has_taken(name, account, tools) {
            return Ok(());
        }
        // Changes are announced from here on.
        let events = own.events();
        let entry = self.entry_of(member, &**own, Some(account), tools).await;
        let follow = || {
            let task = follow_own(self.this.clone(), name.clone(), account.clone(), own, events);
            Follower(self.owner.spawn(task).abort_handle())
        };
        let is_new = !self.own_lists.has(name, account);
        let listing = (tools, Arc::new(entry));
        self.own_lists.keep((name, account), listing, turn, self.memory.as_ref(), is_new.then_some(follow))
    }

    /// The entry of a list of tools that `upstream` told, on the connection of `account` alone if there is one.
    #[expect(clippy::disallowed_methods, reason = "entry point: Aggregator.entry_of")]
    async fn entry_of(
        &self,
        member: &ConfiguredUpstream,
        upstream: &dyn Upstream,
        account: Option<&Arc<str>>,
        tools: &Arc<[ToolInfo]>,
    ) -> ServerEntry {
        let bytes = tools.iter().map(|tool| tool.json.get().len()).sum();
        let (config, redactor, listed) = (member.config.clone(), self.redactor.clone(), tools.clone());
        let (introduction, exposure) = (upstream.introduction(), self.exposure.clone());
        let entry = apart(bytes, move || {
            let tools = listed.iter().filter_map(|tool| serde_json::from_str(tool.json.get()).ok()).collect();
            let entry = ServerEntry::loaded(&config, tools, &redactor).introduced(&introduction, &redactor);
            entry.exposed(exposure.as_ref())
        })
        .await;
        let caller = Caller { principal: account, account, ..Caller::default() };
        let roots = reported_roots(member, upstream, caller, &entry, &self.redactor).await;
        let entry = entry.serving(roots).of_list(tools);
        for remark in entry.remarks() {
            tracing::warn!(event = "upstream_catalog", upstream = %member.config.name, reason = %remark);
        }
        if let Some(report) = entry.pins() {
            member.pins.note(&member.config.name, report, &self.owner);
        }
        entry
    }

    /// Puts a tool list into the catalog of now, and into that of programs unless it is frozen and has one of this upstream.
    /// A list that has been taken already is not taken again.
    pub(super) async fn take_tools(&self, member: &ConfiguredUpstream, tools: &Arc<[ToolInfo]>) {
        // One list at a time: whoever finds it taken finds it in the catalog.
        let _turn = member.taking.lock().await;
        if member.taken().as_ref().is_some_and(|taken| Arc::ptr_eq(taken, tools)) {
            return;
        }
        let entry = self.entry_of(member, &*member.handle, None, tools).await;
        let entry = match &self.seen {
            Some(seen) => seen.remembered(self.shown_to.as_ref(), entry),
            None => entry,
        };
        let entry = Arc::new(entry);
        self.put(entry);
        *member.taken() = Some(tools.clone());
        self.tell_idle_patterns();
    }

    /// Puts the entry of a new list into the catalogs.
    fn put(&self, entry: Arc<ServerEntry>) {
        let mut catalog = self.catalog.write();
        let mut present = self.present.write();
        *present = present.with_server(entry.clone());
        let frozen = self.mode == SnapshotMode::Frozen && self.advertised.get().is_some();
        if !frozen || catalog.server(&entry.name).is_none_or(|known| !known.loaded) {
            *catalog = catalog.with_server(entry);
            self.changes.send_replace(());
        }
        self.listings.send_replace(());
    }

    /// Tells the operator of patterns that fit no tool.
    pub(super) fn tell_idle_patterns(&self) {
        let policy = self.policy.as_ref().map(|policy| policy.policy());
        if self.exposure.is_some() || policy.is_some() {
            self.idle_patterns.tell(&self.present(), self.exposure.as_ref(), policy.as_deref());
        }
    }

    /// Runs a task for as long as it is there.
    pub(super) fn keep_up(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.upkeep.lock().spawn_on(task, &self.owner);
    }

    /// The upstream of this entry, if it needs no other connection than ours of that name; with what the catalog says of it, if the
    /// entry is the same.
    pub(super) fn staying(
        &self,
        config: &UpstreamConfig,
        credentials: &CredentialStore,
    ) -> Option<(ConfiguredUpstream, Option<Arc<ServerEntry>>)> {
        let member = self.members.get(&config.name)?;
        let ours = (&member.config, &*self.credentials);
        if !member.has_its_document() {
            return None;
        }
        if !config.is_same(credentials, ours) {
            return config.connects_as(credentials, ours).then(|| (member.stays_as(config.clone()), None));
        }
        // Entry and list change together under this lock.
        let present = self.present.read();
        Some((member.stays(), present.entry(&config.name).cloned()))
    }

    /// Stops the upstreams that no other set had before, and waits until their children are gone.
    pub(super) async fn shut_down_own(&self) {
        let own = self.members.values().filter(|member| member.is_new);
        join_all(own.map(|member| member.handle.shutdown())).await;
    }

    /// Stops all upstreams and waits until their children are gone.
    pub async fn shutdown(&self) {
        join_all(self.members.values().map(|member| member.handle.shutdown())).await;
    }
}
