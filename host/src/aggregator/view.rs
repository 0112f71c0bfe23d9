//! What one caller sees of the upstreams, and may do there (auth.md 14.3). The catalogs and the upstreams of the aggregator are
//! reached through a [`View`] alone.
//!
//! Catalogs are filtered once for each grant and snapshot: callers whom the same rules match share them, and an upstream of which
//! a caller sees everything keeps its entry.

use super::audit::{AuditedDenial, DenialReason};
use super::configured_upstream::ConfiguredUpstream;
use super::runtime::Aggregator;
use crate::catalog::{
    Catalog, MAX_TOOL_NAME, Restrictions, ServerEntry, ToolEntry, only_listed, refused_unlisted, unknown_tool,
};
use ptc_base::pace::{AT_ONCE, apart};
use ptc_base::sync::Mutex;
use ptc_base::text::clip;
use ptc_engine::RunContext;
use ptc_policy::{Access, Authority, Grant, Identity};
use ptc_upstreams::config::{OAuthIdentity, PinReport, UpstreamConfig};
use ptc_upstreams::sign_in::{PROCESS, Site};
use ptc_upstreams::upstream::{Caller, Offers, Upstream};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Grants whose filtered catalogs are kept.
const MOST_GRANTS: usize = 64;
/// Snapshots of which each of them has one: those of now, of programs, and of descriptions.
const MOST_SNAPSHOTS: usize = 3;

/// What one caller sees of the upstreams. It is cheap to make, and of the moment: snapshots are taken when they are asked for.
#[derive(Clone)]
pub struct View<'a> {
    aggregator: &'a Aggregator,
    /// `None`: everything.
    grant: Option<Arc<Grant>>,
    /// Whose own lists it shows, of upstreams that each principal signs in to for itself; `None`: what all share.
    principal: Option<&'a Arc<str>>,
}

impl Aggregator {
    /// What callers of this authority see, without the lists that one of them has of its [own](View::of). Without an authority, and
    /// if there is a policy, it is a caller of which nothing is known.
    pub fn view(&self, authority: Option<&Arc<Authority>>) -> View<'_> {
        self.view_by(authority, "")
    }

    /// What the caller of a program sees, within what the heads of kept programs name.
    pub(super) fn view_of<'a>(&'a self, run: &'a RunContext) -> View<'a> {
        let principal = run.principal.as_ref();
        let renewed = match (&run.authority, &self.policy) {
            // A program keeps the policy of its beginning until it waits for people.
            (Some(known), Some(policy)) if run.has_waited() => Some(policy.renewed(known)),
            _ => None,
        };
        let view = self.view_by(renewed.as_ref().or(run.authority.as_ref()), name_of(principal));
        let grant = match (view.grant, &run.scope) {
            (Some(grant), Some(scope)) => Some(self.views.narrowed(&grant, scope)),
            (grant, scope) => grant.or_else(|| scope.clone()),
        };
        View { aggregator: self, grant, principal }
    }

    /// What a caller sees of which nothing but the name is known.
    pub(super) fn view_of_name<'a>(&'a self, principal: Option<&'a Arc<str>>) -> View<'a> {
        View { principal, ..self.view_by(None, name_of(principal)) }
    }

    fn view_by(&self, authority: Option<&Arc<Authority>>, principal: &str) -> View<'_> {
        let grant = match (authority, &self.policy) {
            (Some(authority), _) => Some(authority.grant.clone()),
            (None, Some(policy)) => Some(policy.of_name(principal).grant.clone()),
            (None, None) => None,
        };
        View { aggregator: self, grant, principal: None }
    }

    /// Everything, for what acts for the operator and for no caller.
    pub fn unfiltered(&self) -> View<'_> {
        View { aggregator: self, grant: None, principal: None }
    }
}

fn name_of(principal: Option<&Arc<str>>) -> &str {
    principal.map_or(PROCESS, AsRef::as_ref)
}

/// Whose list of an upstream a view shows.
enum ListOf<'a> {
    /// The one that all share.
    All,
    /// That of the connection with this account; `None`: with that of each caller.
    Account(Option<&'a Arc<str>>, &'a UpstreamConfig),
}

impl<'a> View<'a> {
    /// The same, with the lists that this principal has of its own.
    #[must_use]
    pub fn of(self, principal: &'a Arc<str>) -> View<'a> {
        View { principal: Some(principal), ..self }
    }

    /// The catalog that programs see now.
    pub fn catalog(&self) -> Catalog {
        self.seen(self.aggregator.catalog())
    }

    /// The upstreams' tools as they list them by now, in every mode; lists of the last start are none of these. Calls are checked against
    /// them, and kept programs judged by them.
    pub fn present(&self) -> Catalog {
        self.seen(self.aggregator.present())
    }

    /// How the current tools of an upstream that the caller sees stand to the lock; `None` if they are held to none.
    pub fn pins(&self, upstream: &str) -> Option<Arc<PinReport>> {
        self.present().server(upstream)?.pins().cloned()
    }

    /// The catalog that tool descriptions show: in frozen mode the state when all had been started, and until then the current
    /// state, with the lists of the last start for upstreams that have not been listed yet.
    pub fn advertised(&self) -> Catalog {
        self.seen(self.aggregator.advertised())
    }

    fn seen(&self, all: Catalog) -> Catalog {
        let shared = match &self.grant {
            None => all,
            Some(grant) => self.aggregator.views.filtered(grant, all),
        };
        let own_lists = &self.aggregator.own_lists;
        own_lists.in_place(self.grant.as_ref(), shared, |upstream| match self.list_of(upstream) {
            ListOf::All => None,
            ListOf::Account(account, config) => Some((account.map(AsRef::as_ref), config)),
        })
    }

    fn list_of(&self, upstream: &str) -> ListOf<'a> {
        let Some(member) = self.aggregator.members.get(upstream) else { return ListOf::All };
        let Some(site) = &member.site else { return ListOf::All };
        let account = match (self.identity(member), site.config().identity) {
            (None | Some(Identity::Shared), OAuthIdentity::Shared) => return ListOf::All,
            (None, OAuthIdentity::PerPrincipal) if self.principal.is_none() => return ListOf::All,
            (Some(Identity::Shared), OAuthIdentity::PerPrincipal) => Some(&self.aggregator.everyone),
            (None | Some(Identity::PerPrincipal), _) => self.principal,
        };
        ListOf::Account(account, &member.config)
    }

    /// Whose sign-in a rule wants at an upstream. On a pipe there is one principal, and the entry says it.
    fn identity(&self, member: &ConfiguredUpstream) -> Option<Identity> {
        let only = self.principal.or(self.aggregator.shown_to.as_ref());
        if member.site.is_none() || only.is_some_and(|name| **name == *PROCESS) {
            return None;
        }
        self.grant.as_ref()?.identity(&member.config.name)
    }

    /// The upstreams that list their tools for the caller alone, and have not done so yet.
    pub fn unlisted(&self) -> Vec<&'a str> {
        let members = self.aggregator.members.values().filter(|member| self.sees(&member.config.name));
        let unlisted = members.filter(|member| match self.list_of(&member.config.name) {
            ListOf::Account(Some(account), config) => !self.aggregator.own_lists.has(&config.name, account),
            ListOf::Account(None, _) | ListOf::All => false,
        });
        unlisted.map(|member| member.config.name.as_str()).collect()
    }

    /// Has them listed, as far as the caller is signed in to them.
    pub async fn load_unlisted(&self) {
        let loads = self.unlisted().into_iter().map(|name| self.aggregator.load_for(name, self.caller(name)));
        for loaded in futures_util::future::join_all(loads).await {
            if let Err(fault) = loaded {
                tracing::debug!(event = "own_list_unknown", reason = %fault.reason);
            }
        }
    }

    /// The account with which the caller calls an upstream, where a rule chooses.
    pub(super) fn account(&self, member: &ConfiguredUpstream) -> Option<&'a Arc<str>> {
        match self.identity(member)? {
            Identity::Shared => Some(&self.aggregator.everyone),
            Identity::PerPrincipal => self.principal,
        }
    }

    /// The caller, for the upstream of this name.
    pub fn caller(&self, upstream: &str) -> Caller<'a> {
        let account = self.member(upstream).and_then(|member| self.account(member));
        Caller { principal: self.principal, account, ..Caller::default() }
    }

    /// Whether the caller sees the upstream of this name. It may be none that is configured.
    pub fn sees(&self, upstream: &str) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.upstream(upstream))
    }

    /// Whether the caller may call a tool, by its name and whatever its arguments are. It may be none that there is.
    pub fn may_call(&self, upstream: &str, tool: &str) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.tool(upstream, tool) == Access::Allowed)
    }

    /// The upstreams in order of names, with their handles.
    pub fn upstreams(&self) -> impl Iterator<Item = (&'a UpstreamConfig, &'a Arc<dyn Upstream>)> + use<'a> {
        let view = self.clone();
        let seen = self.aggregator.members.values().filter(move |member| view.sees(&member.config.name));
        seen.map(|member| (&member.config, &member.handle))
    }

    /// The upstreams that are signed in to, in order of names.
    pub fn sites(&self) -> impl Iterator<Item = &'a Arc<Site>> + use<'a> {
        let view = self.clone();
        let seen = self.aggregator.members.values().filter(move |member| view.sees(&member.config.name));
        seen.filter_map(|member| member.site.as_ref())
    }

    /// The upstreams that are signed in to, in order of names, each with the account that the caller uses there: `*` for that of all.
    pub fn sign_ins(&self) -> impl Iterator<Item = (&'a Arc<Site>, &'a str)> + use<'a> {
        let view = self.clone();
        self.aggregator.members.values().filter_map(move |member| {
            let site = member.site.as_ref().filter(|_| view.sees(&member.config.name))?;
            Some((site, view.account_name(member, site)))
        })
    }

    /// The name of the account that the caller uses at an upstream that is signed in to.
    pub(super) fn account_name(&self, member: &'a ConfiguredUpstream, site: &'a Site) -> &'a str {
        match self.account(member) {
            Some(account) => account,
            None => site.account_of(name_of(self.principal)),
        }
    }

    /// The upstream of this name, if the caller sees it.
    pub(super) fn member(&self, upstream: &str) -> Option<&'a ConfiguredUpstream> {
        self.aggregator.members.get(upstream).filter(|_| self.sees(upstream))
    }

    /// Whose upstreams it shows.
    pub fn aggregator(&self) -> &'a Aggregator {
        self.aggregator
    }

    /// Whether the same rules hold as for another view.
    pub(super) fn has_grant_of(&self, other: &View<'_>) -> bool {
        match (&self.grant, &other.grant) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// The rules that hold for the caller; `None` without a policy.
    pub(super) fn grant(&self) -> Option<&Arc<Grant>> {
        self.grant.as_ref()
    }

    /// The upstream of an entry, which is one of a catalog of this view.
    pub(super) fn member_of(&self, entry: &ServerEntry) -> Option<&'a ConfiguredUpstream> {
        self.aggregator.members.get(&entry.name)
    }

    /// Why the caller is denied a tool, whatever its arguments are; `None` if it is not, or there is no such upstream.
    pub(super) fn denial(&self, upstream: &str, tool: &str) -> Option<DenialReason> {
        let by_pins = || {
            let present = self.present();
            let refusal = refused_unlisted(present.server(upstream)?, tool);
            refusal.map(|_| DenialReason::ToolNotAccepted)
        };
        self.denial_by_policy(upstream, tool).or_else(by_pins)
    }

    /// Tells the operator's record that the policy denies the caller a call of a tool that no program asked for, and that gets no
    /// further than its name; `false` if the policy does not deny it.
    pub fn records_denial(&self, upstream: &str, tool: &str) -> bool {
        let Some(reason) = self.denial_by_policy(upstream, tool) else { return false };
        if let Some(audit) = &self.aggregator.audit {
            let (principal, tool) = (self.principal.map(|name| &**name), clip(tool, MAX_TOOL_NAME));
            audit.denied(&AuditedDenial { principal, eval: None, run_id: None, upstream, tool, reason });
        }
        true
    }

    fn denial_by_policy(&self, upstream: &str, tool: &str) -> Option<DenialReason> {
        let grant = self.grant.as_ref().filter(|_| self.aggregator.members.contains_key(upstream))?;
        if !grant.upstream(upstream) {
            return Some(DenialReason::UpstreamHidden);
        }
        match grant.tool(upstream, tool) {
            Access::Allowed => None,
            Access::Listed => Some(DenialReason::ToolNotAllowed),
            Access::Hidden => Some(DenialReason::ToolHidden),
        }
    }

    /// Why the caller may not call a tool, whatever its arguments are, before it is looked for in the catalog, which is one of this
    /// view. What the list of an upstream does not have is left to that look.
    pub(super) fn refusal(&self, catalog: &Catalog, upstream: &str, tool: &str) -> Option<String> {
        let grant = self.grant.as_ref()?;
        // Of an upstream that it does not see, the catalog knows nothing.
        let entry = catalog.server(upstream)?;
        match entry.loaded {
            true => entry.refuses(tool).then(|| only_listed(upstream, tool)),
            false => refusal_by_name(grant, entry, tool),
        }
    }

    /// Whether the caller may make a call of a tool of this entry with these arguments, the text of one JSON object. `described`:
    /// what the entry says of the tool. Where the upstream is held to its pins, a tool that it says nothing of is refused.
    ///
    /// # Errors
    /// Why not: the text with which its program ends.
    pub(super) async fn admit(
        &self,
        entry: &ServerEntry,
        tool: &str,
        described: Option<&ToolEntry>,
        arguments: &[u8],
    ) -> Result<(), String> {
        if described.is_none()
            && let Some(text) = refused_unlisted(entry, tool)
        {
            return Err(text);
        }
        let Some(grant) = &self.grant else { return Ok(()) };
        let refusal = match described {
            Some(_) => entry.refuses(tool).then(|| only_listed(&entry.name, tool)),
            None => refusal_by_name(grant, entry, tool),
        };
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        if described.is_some() && !entry.judges(tool) {
            return Ok(());
        }
        if arguments.len() <= AT_ONCE {
            let sent = described.map_or(Cow::Borrowed(arguments), |tool| tool.with_defaults(arguments));
            return check_arguments(grant, &entry.name, tool, &sent);
        }
        let (grant, described) = (grant.clone(), described.cloned());
        let (upstream, tool, arguments) = (entry.name.clone(), tool.to_owned(), arguments.to_vec());
        let judged = apart(arguments.len(), move || {
            let sent =
                described.as_ref().map_or(Cow::Borrowed(&*arguments), |tool| tool.with_defaults(&arguments));
            check_arguments(&grant, &upstream, &tool, &sent)
        });
        // In a box, as most calls need none.
        Box::pin(judged).await
    }
}

/// Why a tool may not be called. Rules are about names, whether or not the upstream has such a tool.
fn refusal_by_name(grant: &Grant, entry: &ServerEntry, tool: &str) -> Option<String> {
    match grant.tool(&entry.name, tool) {
        Access::Allowed => None,
        Access::Listed => Some(only_listed(&entry.name, tool)),
        Access::Hidden => Some(unknown_tool(entry, tool)),
    }
}

fn check_arguments(grant: &Grant, upstream: &str, tool: &str, arguments: &[u8]) -> Result<(), String> {
    // What is no text is no JSON: rules on arguments refuse it.
    let arguments = std::str::from_utf8(arguments).unwrap_or_default();
    grant.check_arguments(upstream, tool, arguments).map_err(|refusal| refusal.to_string())
}

/// Filtered catalogs, those that were used last first.
#[derive(Default)]
pub(super) struct Views(Mutex<KnownViews>);

#[derive(Default)]
struct KnownViews {
    catalogs: VecDeque<GrantCatalogs>,
    /// Grants of callers, what heads of kept programs name, and what both allow: the latest last.
    narrowed: VecDeque<[Arc<Grant>; 3]>,
}

/// The snapshots of which a grant has its own, the latest first.
struct GrantCatalogs {
    grant: Arc<Grant>,
    snapshots: VecDeque<Snapshot>,
}

/// A snapshot, and what a grant shows of it.
struct Snapshot {
    all: Catalog,
    seen: Catalog,
}

impl Views {
    /// What both the grant of a caller and the heads of the programs that run allow. The same two give the same one again.
    fn narrowed(&self, grant: &Arc<Grant>, scope: &Arc<Grant>) -> Arc<Grant> {
        let narrowed = &mut self.0.lock().narrowed;
        let is_known =
            |[own, part, _]: &&[Arc<Grant>; 3]| Arc::ptr_eq(own, grant) && Arc::ptr_eq(part, scope);
        if let Some([.., known]) = narrowed.iter().find(is_known) {
            return known.clone();
        }
        let fresh = Arc::new(grant.within(scope));
        if narrowed.len() == MOST_GRANTS {
            narrowed.pop_front();
        }
        narrowed.push_back([grant.clone(), scope.clone(), fresh.clone()]);
        fresh
    }

    /// What `grant` shows of `all`. The same entry of an upstream gives the same entry again.
    fn filtered(&self, grant: &Arc<Grant>, all: Catalog) -> Catalog {
        let views = &mut self.0.lock().catalogs;
        match views.iter().position(|known| Arc::ptr_eq(&known.grant, grant)) {
            Some(0) => {}
            Some(at) => {
                if let Some(known) = views.remove(at) {
                    views.push_front(known);
                }
            }
            None => {
                views.truncate(MOST_GRANTS - 1);
                views.push_front(GrantCatalogs { grant: grant.clone(), snapshots: VecDeque::new() });
            }
        }
        match views.front_mut() {
            Some(known) => known.filtered(all),
            None => Catalog::default(),
        }
    }
}

impl GrantCatalogs {
    fn filtered(&mut self, all: Catalog) -> Catalog {
        if let Some(known) = self.snapshots.iter().find(|known| known.all.is(&all)) {
            return known.seen.clone();
        }
        let seen = all.filter_map(|entry| self.known(entry).or_else(|| shown_by(&self.grant, entry)));
        self.snapshots.truncate(MOST_SNAPSHOTS - 1);
        self.snapshots.push_front(Snapshot { all, seen: seen.clone() });
        seen
    }

    /// What it has shown of this very entry.
    fn known(&self, entry: &Arc<ServerEntry>) -> Option<Arc<ServerEntry>> {
        self.snapshots.iter().find_map(|known| {
            known.all.entry(&entry.name).filter(|all| Arc::ptr_eq(all, entry))?;
            known.seen.entry(&entry.name).cloned()
        })
    }
}

/// What a grant shows of an upstream; `None` if nothing.
pub(super) fn shown_by(grant: &Grant, entry: &Arc<ServerEntry>) -> Option<Arc<ServerEntry>> {
    let name = &entry.name;
    if !grant.upstream(name) {
        return None;
    }
    let mut restrictions = Restrictions::default();
    for tool in entry.tools_by_name().map(|tool| &tool.name) {
        match grant.tool(name, tool) {
            Access::Listed => restrictions.refused.push(tool.clone()),
            Access::Allowed if grant.judges(name, tool) => restrictions.judged.push(tool.clone()),
            Access::Allowed | Access::Hidden => {}
        }
    }
    let seen = entry.seen(|tool| grant.tool(name, tool) != Access::Hidden, restrictions);
    let all = entry.offers;
    let offers = Offers {
        resources: all.resources && grant.any_resource(name),
        prompts: all.prompts && grant.any_prompt(name),
        ..all
    };
    let offering = seen.as_ref().unwrap_or(entry).offering(offers);
    Some(offering.or(seen).map_or_else(|| entry.clone(), Arc::new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixtures;
    use ptc_mcp::json::json;
    use ptc_policy::{Caller, Policy};

    fn grant(upstreams: &str) -> Arc<Grant> {
        let file = format!(r#"{{"rules": [{{"match": {{"principal": "ann"}}, "upstreams": {upstreams}}}]}}"#);
        Policy::parse(&file).unwrap().grant(&Caller::named("ann"))
    }

    fn names(catalog: &Catalog) -> Vec<(&str, Vec<&str>)> {
        catalog
            .servers()
            .map(|server| (server.name.as_str(), server.tools_by_name().map(|tool| &*tool.name).collect()))
            .collect()
    }

    fn catalog() -> Catalog {
        let tools = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect();
        Catalog::new([
            fixtures::server("files", tools(&["write", "read", "READ"])),
            fixtures::server("mail", tools(&["send"])),
            fixtures::server("time", tools(&["now"])),
        ])
    }

    #[test]
    fn a_grant_shows_its_tools_and_keeps_whole_entries() {
        let (views, all) = (Views::default(), catalog());
        let grant = grant(r#"{"files": {"allow": ["read"], "list": ["write"]}, "time": {"allow": ["*"]}}"#);
        let seen = views.filtered(&grant, all.clone());
        assert_eq!(names(&seen), [("files", vec!["read", "write"]), ("time", vec!["now"])]);
        assert!(seen.same_entry(&all, "time") && !seen.same_entry(&all, "files"));
        assert_eq!(seen.server("files").unwrap().tools()[0].name, "write", "in the upstream's order");
        assert!(views.filtered(&grant, all.clone()).is(&seen), "it is kept");
    }

    #[test]
    fn the_same_entry_is_shown_as_the_same_in_every_snapshot() {
        let (views, all) = (Views::default(), catalog());
        let grant = grant(r#"{"*": {"allow": ["read", "now"]}}"#);
        let before = views.filtered(&grant, all.clone());
        let changed =
            Arc::new(fixtures::server("time", vec![json!({"name": "now"}), json!({"name": "then"})]));
        let after = views.filtered(&grant, all.with_server(changed));
        assert!(after.same_entry(&before, "files") && !after.same_entry(&before, "time"));
        assert_eq!(names(&after)[2], ("time", vec!["now"]));
    }

    #[test]
    fn views_that_were_used_last_are_kept() {
        let (views, all) = (Views::default(), catalog());
        let grants: Vec<_> = (0..=MOST_GRANTS).map(|_| grant(r#"{"files": {"allow": ["read"]}}"#)).collect();
        let first = views.filtered(&grants[0], all.clone());
        for grant in &grants[1..] {
            views.filtered(grant, all.clone());
            assert!(views.filtered(&grants[0], all.clone()).is(&first));
        }
        assert_eq!(views.0.lock().catalogs.len(), MOST_GRANTS);
        assert!(!views.0.lock().catalogs.iter().any(|known| Arc::ptr_eq(&known.grant, &grants[1])));
    }

    #[test]
    fn instructions_that_name_a_hidden_tool_are_hidden_with_it() {
        let mut server = fixtures::server("files", vec![json!({"name": "write"}), json!({"name": "read"})]);
        server.instructions = "Call write after read.".to_owned();
        let all = Catalog::new([server]);
        let seen = |rule: &str| Views::default().filtered(&grant(rule), all.clone());
        let hidden = seen(r#"{"files": {"allow": ["read"]}}"#);
        assert_eq!(hidden.server("files").unwrap().instructions, "");
        let listed = seen(r#"{"files": {"allow": ["read"], "list": ["write"]}}"#);
        assert_eq!(listed.server("files").unwrap().instructions, "Call write after read.");
    }
}
