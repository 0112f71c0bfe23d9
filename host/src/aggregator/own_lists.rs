//! The lists of upstreams that principals sign in to for themselves (auth.md 12.2): what a server told the connection of one account
//! is shown to those who call with that account, and to nobody else. It is that of one principal, or `*` where a rule of the policy
//! chooses the sign-in of all.
//!
//! A list of its own takes the place of the entry that all share, in the views of those callers alone. It is the list of now, in
//! every mode: the frozen mode freezes what all share. None of it is written into the cache of lists.

use super::view::shown_by;
use crate::catalog::{Catalog, ServerEntry};
use ptc_base::memory::{HeldMemory, MemoryBudget};
use ptc_base::sync::Mutex;
use ptc_policy::Grant;
use ptc_secret::credentials::EVERYONE;
use ptc_upstreams::config::UpstreamConfig;
use ptc_upstreams::upstream::{CallFault, FaultReason, ToolInfo};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::AbortHandle;

/// Accounts whose lists of one upstream are kept. That of the one that looked least recently is forgotten, and read again when it
/// is needed.
const MAX_ACCOUNTS: usize = 256;
/// What a list takes in memory, as a multiple of its text: the text itself, the schemas that were read, the words for searches.
const BYTES_OF_TEXT: usize = 4;

/// The own lists of all upstreams.
#[derive(Default)]
pub(super) struct OwnLists {
    /// Whether there has been any, or may be where a list is shared. Servers without such upstreams look no further.
    any: AtomicBool,
    /// By upstream.
    lists: Mutex<HashMap<String, UpstreamLists>>,
    /// Grows with each look and each listing: by it, lists have an order.
    ticks: AtomicU64,
}

/// Those of one upstream, by account.
type UpstreamLists = HashMap<Arc<str>, OwnList>;

/// The list of one account.
struct OwnList {
    /// What the entry was made of.
    taken: Arc<[ToolInfo]>,
    entry: Arc<ServerEntry>,
    /// What the grant that looked last is shown of it.
    seen: Option<(Arc<Grant>, Option<Arc<ServerEntry>>)>,
    /// When its listing began, and when it was looked at last.
    listed: Turn,
    used: u64,
    /// The memory that it takes.
    _memory: Option<HeldMemory>,
    /// The task that follows the connection. Of another connection there is another one.
    follower: Follower,
}

/// When a listing began: a list does not take the place of one that was asked for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn(u64);

/// A task that ends with the list that it keeps current.
pub(super) struct Follower(pub(super) AbortHandle);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl OwnList {
    /// What a caller with this grant is shown.
    fn shown(&mut self, grant: Option<&Arc<Grant>>) -> Option<Arc<ServerEntry>> {
        let Some(grant) = grant else { return Some(self.entry.clone()) };
        match &self.seen {
            Some((known, seen)) if Arc::ptr_eq(known, grant) => seen.clone(),
            _ => {
                let seen = shown_by(grant, &self.entry);
                self.seen = Some((grant.clone(), seen.clone()));
                seen
            }
        }
    }
}

impl OwnLists {
    /// None yet. Of `shared` upstreams a rule may give callers a list of their own in place of the one that all share.
    pub(super) fn new(shared: impl Iterator<Item = String>) -> Self {
        let lists: HashMap<_, _> = shared.map(|upstream| (upstream, UpstreamLists::new())).collect();
        Self { any: AtomicBool::new(!lists.is_empty()), lists: Mutex::new(lists), ticks: AtomicU64::new(0) }
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    /// The turn of a listing that begins now.
    pub(super) fn turn(&self) -> Turn {
        Turn(self.tick())
    }

    /// The catalog of a view, of one that has been filtered for its grant. `account_of` an upstream gives the account whose list the
    /// view shows, with the entry of the file; or nobody's, which is that of callers each for themselves; `None` if it is shared.
    pub(super) fn in_place<'a>(
        &self,
        grant: Option<&Arc<Grant>>,
        shared: Catalog,
        account_of: impl Fn(&str) -> Option<(Option<&'a str>, &'a UpstreamConfig)>,
    ) -> Catalog {
        if !self.any.load(Ordering::Acquire) {
            return shared;
        }
        let used = self.tick();
        let mut lists = self.lists.lock();
        let mut own = Vec::new();
        for (name, of_upstream) in lists.iter_mut() {
            // Of an upstream that is gone, or hidden from it, the caller sees nothing.
            let (Some((account, config)), Some(known)) = (account_of(name), shared.entry(name)) else {
                continue;
            };
            match account.and_then(|account| of_upstream.get_mut(account)) {
                Some(list) => {
                    list.used = used;
                    own.extend(list.shown(grant));
                }
                None if known.loaded => own.push(Arc::new(ServerEntry::unloaded(config))),
                None => {}
            }
        }
        drop(lists);
        if own.is_empty() { shared } else { shared.with_servers(own) }
    }

    /// Whether there is a list of this account.
    pub(super) fn has(&self, upstream: &str, account: &str) -> bool {
        self.any.load(Ordering::Acquire)
            && self.lists.lock().get(upstream).is_some_and(|of_upstream| of_upstream.contains_key(account))
    }

    /// Whether there is a list of this principal, of any upstream.
    pub(super) fn has_any(&self, principal: &str) -> bool {
        self.any.load(Ordering::Acquire)
            && self.lists.lock().values().any(|of_upstream| of_upstream.contains_key(principal))
    }

    /// Whether this is the list that is kept.
    pub(super) fn has_taken(&self, upstream: &str, account: &str, tools: &Arc<[ToolInfo]>) -> bool {
        let lists = self.lists.lock();
        let kept = lists.get(upstream).and_then(|of_upstream| of_upstream.get(account));
        kept.is_some_and(|kept| Arc::ptr_eq(&kept.taken, tools))
    }

    /// Keeps the entry of a list whose listing began at `turn`, unless a later one is kept. Where none is kept, `follow` begins the
    /// task that keeps it current; without it, nothing is kept anew.
    ///
    /// # Errors
    /// The memory of the account has no room for it. What was kept is forgotten then.
    pub(super) fn keep(
        &self,
        (upstream, account): (&str, &Arc<str>),
        (taken, entry): (&Arc<[ToolInfo]>, Arc<ServerEntry>),
        turn: Turn,
        memory: Option<&MemoryBudget>,
        follow: Option<impl FnOnce() -> Follower>,
    ) -> Result<(), CallFault> {
        let used = self.tick();
        let mut lists = self.lists.lock();
        if !lists.contains_key(upstream) {
            lists.insert(upstream.to_owned(), UpstreamLists::new());
        }
        let Some(of_upstream) = lists.get_mut(upstream) else { return Ok(()) };
        if of_upstream.get(account).is_some_and(|kept| kept.listed > turn) {
            return Ok(());
        }
        // What it replaces gives its memory back first.
        let follower = match (of_upstream.remove(account), follow) {
            (Some(kept), None) => kept.follower,
            (_, Some(follow)) => follow(),
            (None, None) => return Ok(()),
        };
        let bytes = taken.iter().map(|tool| tool.json.get().len()).sum::<usize>() * BYTES_OF_TEXT;
        // What is of all is in nobody's account.
        let of = Some(account).filter(|account| ***account != *EVERYONE);
        let held = memory.map(|memory| HeldMemory::take(&memory.of(of), bytes as u64));
        let held = held.transpose().map_err(|error| {
            let text = format!("no memory is left for the tools of upstream '{upstream}': {error}");
            CallFault::new(FaultReason::ResponseTooLarge, text).before_sending()
        })?;
        if of_upstream.len() >= MAX_ACCOUNTS
            && let Some(oldest) = of_upstream.iter().min_by_key(|(_, list)| list.used)
        {
            let oldest = oldest.0.clone();
            of_upstream.remove(&oldest);
        }
        let taken = taken.clone();
        let list = OwnList { taken, entry, seen: None, listed: turn, used, _memory: held, follower };
        of_upstream.insert(account.clone(), list);
        self.any.store(true, Ordering::Release);
        Ok(())
    }

    /// Forgets the list of an account: its connection is gone, or does not know it any more.
    pub(super) fn forget(&self, upstream: &str, account: &str) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        if let Some(of_upstream) = self.lists.lock().get_mut(upstream) {
            of_upstream.remove(account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixtures;
    use ptc_mcp::json::json;

    fn listing(tools: &[&str]) -> (Arc<[ToolInfo]>, Arc<ServerEntry>) {
        let object = |name: &&str| json!({"name": name});
        let info = |name: &&str| ToolInfo {
            name: (*name).into(),
            json: serde_json::value::RawValue::from_string(object(name).to_string()).unwrap(),
        };
        let entry = fixtures::server("crm", tools.iter().map(object).collect());
        (tools.iter().map(info).collect(), Arc::new(entry))
    }

    fn shared() -> Catalog {
        Catalog::new([
            fixtures::server("crm", vec![]),
            fixtures::server("time", vec![json!({"name": "now"})]),
        ])
    }

    fn keep(
        lists: &OwnLists,
        principal: &str,
        tools: &[&str],
        turn: Turn,
        memory: Option<&MemoryBudget>,
    ) -> Result<(), CallFault> {
        let (taken, entry) = listing(tools);
        let follow = || Follower(tokio::spawn(std::future::pending::<()>()).abort_handle());
        lists.keep(("crm", &principal.into()), (&taken, entry), turn, memory, Some(follow))
    }

    fn place(lists: &OwnLists, account: Option<&str>, shared: Catalog) -> Catalog {
        let config = fixtures::upstream("crm", json!({}));
        lists.in_place(None, shared, |_| Some((account, &config)))
    }

    fn seen(lists: &OwnLists, account: &str) -> Vec<String> {
        let catalog = place(lists, Some(account), shared());
        assert_eq!(catalog.servers().len(), 2);
        catalog.server("crm").unwrap().tools().iter().map(|tool| tool.name.clone()).collect()
    }

    #[tokio::test]
    async fn a_list_is_shown_to_its_principal_alone() {
        let lists = OwnLists::default();
        assert!(seen(&lists, "ann").is_empty());
        keep(&lists, "ann", &["read", "write"], lists.turn(), None).unwrap();
        keep(&lists, "ben", &["read"], lists.turn(), None).unwrap();
        assert_eq!(seen(&lists, "ann"), ["read", "write"]);
        assert_eq!(seen(&lists, "ben"), ["read"]);
        assert!(seen(&lists, "cid").is_empty());
        lists.forget("crm", "ann");
        assert!(seen(&lists, "ann").is_empty() && lists.has("crm", "ben"));
        let without = Catalog::new([fixtures::server("time", vec![])]);
        assert!(
            place(&lists, Some("ben"), without.clone()).is(&without),
            "an upstream that is hidden stays so"
        );
    }

    #[tokio::test]
    async fn callers_with_accounts_of_their_own_do_not_see_the_list_that_others_share() {
        let lists = OwnLists::new(["crm".to_owned()].into_iter());
        let shared = Catalog::new([fixtures::server("crm", vec![json!({"name": "of_all"})])]);
        for account in [Some("ann"), None] {
            let seen = place(&lists, account, shared.clone());
            assert!(!seen.server("crm").unwrap().loaded && seen.server("crm").unwrap().tools().is_empty());
        }
        assert!(lists.in_place(None, shared.clone(), |_| None).is(&shared));
    }

    #[tokio::test]
    async fn a_listing_that_began_earlier_replaces_nothing() {
        let lists = OwnLists::default();
        let (first, second) = (lists.turn(), lists.turn());
        keep(&lists, "ann", &["new"], second, None).unwrap();
        keep(&lists, "ann", &["old"], first, None).unwrap();
        assert_eq!(seen(&lists, "ann"), ["new"]);
    }

    #[tokio::test]
    async fn the_list_that_was_looked_at_least_recently_is_forgotten() {
        let lists = OwnLists::default();
        for number in 0..MAX_ACCOUNTS {
            keep(&lists, &number.to_string(), &["read"], lists.turn(), None).unwrap();
        }
        assert_eq!(seen(&lists, "0"), ["read"]);
        keep(&lists, "one more", &["read"], lists.turn(), None).unwrap();
        assert!(lists.has("crm", "0") && lists.has("crm", "one more") && !lists.has("crm", "1"));
        assert_eq!(lists.lists.lock()["crm"].len(), MAX_ACCOUNTS);
    }

    #[tokio::test]
    async fn lists_take_the_memory_of_their_principal_until_they_are_forgotten() {
        let (lists, memory) = (OwnLists::default(), MemoryBudget::shared(1000, 200));
        keep(&lists, "ann", &["read"], lists.turn(), Some(&memory)).unwrap();
        let bytes = r#"{"name":"read"}"#.len() * BYTES_OF_TEXT;
        assert_eq!(memory.used(), bytes as u64);
        let fault = keep(&lists, "ann", &["x"; 20], lists.turn(), Some(&memory)).unwrap_err();
        assert_eq!(fault.reason, FaultReason::ResponseTooLarge);
        assert!(fault.message.starts_with("no memory is left for the tools of upstream 'crm': "), "{fault}");
        assert!(!lists.has("crm", "ann"), "an old list is worse than none");
        assert_eq!(memory.used(), 0);
    }
}
