//! Subscriptions of clients to changes of upstreams' resources and prompts, outside any request (server.md 4.6).
//!
//! Pending notifications are a set and not a queue: a client that reads slowly is notified once of several changes,
//! and its set is never larger than its subscriptions.

use ptc_host::sync::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard};

use tokio::sync::Notify;

/// Most subscriptions of one client.
pub(super) const MAX_WATCHED: usize = 100;

/// Most parents of a resource that are considered.
const MAX_PARENTS: usize = 64;

/// A notification to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The resource at this URI of ours has changed.
    Updated(String),
    /// The list of resources has changed.
    Resources,
    /// The list of prompts has changed.
    Prompts,
    /// The list of tools has changed.
    Tools,
}

/// The notifications that a client wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// Changes of resources, by URIs of ours.
    pub(crate) uris: BTreeSet<String>,
    /// Changes of the list of resources.
    pub(crate) resources: bool,
    /// Changes of the list of prompts.
    pub(crate) prompts: bool,
    /// Changes of the list of tools, which is no feature of upstreams: the registry of tools tells of it.
    pub(crate) tools: bool,
}

/// All subscriptions.
#[derive(Debug, Default)]
pub(super) struct Watches {
    state: Mutex<Watching>,
}

#[derive(Debug, Default)]
struct Watching {
    next: u64,
    watchers: HashMap<u64, (Subscription, Arc<PendingNotifications>), ahash::RandomState>,
    /// The subscribers of each resource: an upstream may report frequent changes.
    by_uri: HashMap<String, BTreeSet<u64>, ahash::RandomState>,
}

impl Watching {
    fn forget(&mut self, number: u64, uri: &str) {
        if let Some(watchers) = self.by_uri.get_mut(uri) {
            watchers.remove(&number);
            if watchers.is_empty() {
                self.by_uri.remove(uri);
            }
        }
    }
}

/// The pending notifications of one client.
#[derive(Debug, Default)]
struct PendingNotifications {
    pending: Mutex<Subscription>,
    news: Notify,
}

impl PendingNotifications {
    fn tell(&self, add: impl FnOnce(&mut Subscription)) {
        add(&mut self.pending.lock());
        self.news.notify_one();
    }
}

impl Watches {
    /// Subscribes a client to what `wanted` says.
    pub(super) fn open(self: &Arc<Self>, wanted: Subscription) -> Watch {
        let told = Arc::<PendingNotifications>::default();
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        for uri in &wanted.uris {
            state.by_uri.entry(uri.clone()).or_default().insert(number);
        }
        state.watchers.insert(number, (wanted, told.clone()));
        drop(state);
        Watch { watches: self.clone(), number, told }
    }

    /// Subscribes a client to a resource; `false` if it has reached its limit.
    pub(super) fn add(&self, number: u64, uri: &str) -> bool {
        let mut state = self.state();
        let Some((wanted, _)) = state.watchers.get_mut(&number) else { return false };
        if wanted.uris.len() >= MAX_WATCHED && !wanted.uris.contains(uri) {
            return false;
        }
        wanted.uris.insert(uri.to_owned());
        state.by_uri.entry(uri.to_owned()).or_default().insert(number);
        true
    }

    /// Ends that subscription.
    pub(super) fn remove(&self, number: u64, uri: &str) {
        let mut state = self.state();
        if let Some((wanted, _)) = state.watchers.get_mut(&number) {
            wanted.uris.remove(uri);
        }
        state.forget(number, uri);
    }

    /// True if any client watches this resource.
    pub(super) fn is_watched(&self, uri: &str) -> bool {
        self.state().by_uri.contains_key(uri)
    }

    /// All watched resources whose URI has this prefix.
    pub(super) fn watched(&self, prefix: &str) -> BTreeSet<String> {
        self.state().by_uri.keys().filter(|uri| uri.starts_with(prefix)).cloned().collect()
    }

    /// Notifies the subscribers of the resource, and of those that contain it.
    pub(super) fn updated(&self, uri: &str) {
        let state = self.state();
        for whole in wholes(uri) {
            for number in state.by_uri.get(whole).into_iter().flatten() {
                if let Some((_, told)) = state.watchers.get(number) {
                    told.tell(|pending| pending.uris.extend([whole.to_owned()]));
                }
            }
        }
    }

    /// Notifies subscribers that the list of resources has changed.
    pub(super) fn resources_changed(&self) {
        for (_, told) in self.state().watchers.values().filter(|(wanted, _)| wanted.resources) {
            told.tell(|pending| pending.resources = true);
        }
    }

    /// Notifies subscribers that the list of prompts has changed.
    pub(super) fn prompts_changed(&self) {
        for (_, told) in self.state().watchers.values().filter(|(wanted, _)| wanted.prompts) {
            told.tell(|pending| pending.prompts = true);
        }
    }

    fn state(&self) -> MutexGuard<'_, Watching> {
        self.state.lock()
    }
}

/// The resource itself, and those that contain it: the parts before each `/`, with it and without.
fn wholes(uri: &str) -> impl Iterator<Item = &str> {
    let parents = uri.match_indices('/').take(MAX_PARENTS).flat_map(|(at, _)| [&uri[..at], &uri[..=at]]);
    parents.filter(|parent| parent.len() < uri.len()).chain([uri])
}

/// The subscription of one client, until this is dropped.
#[derive(Debug)]
pub struct Watch {
    watches: Arc<Watches>,
    number: u64,
    told: Arc<PendingNotifications>,
}

impl Watch {
    /// The number of the client.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits for the next notification. May be dropped while it waits.
    pub async fn next(&self) -> Notice {
        loop {
            let news = self.told.news.notified();
            if let Some(notice) = self.take() {
                return notice;
            }
            news.await;
        }
    }

    fn take(&self) -> Option<Notice> {
        let mut pending = self.told.pending.lock();
        if std::mem::take(&mut pending.resources) {
            return Some(Notice::Resources);
        }
        if std::mem::take(&mut pending.prompts) {
            return Some(Notice::Prompts);
        }
        pending.uris.pop_first().map(Notice::Updated)
    }

    /// Ends the subscription. Returns the resources that no client watches any more.
    pub(super) fn close(&self) -> Vec<String> {
        let mut state = self.watches.state();
        let gone = state.watchers.remove(&self.number);
        let uris = gone.map(|(wanted, _)| wanted.uris).unwrap_or_default();
        uris.iter().for_each(|uri| state.forget(self.number, uri));
        uris.into_iter().filter(|uri| !state.by_uri.contains_key(uri)).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn whoever_watches_is_told_once_of_the_latest() {
        let watches = Arc::<Watches>::default();
        let first = watches.open(Subscription { resources: true, ..Subscription::default() });
        let second = watches.open(Subscription::default());
        assert!(watches.add(first.number(), "ptc://a/x") && watches.add(second.number(), "ptc://a/x"));
        for _ in 0..1000 {
            watches.updated("ptc://a/x");
            watches.updated("ptc://a/x/part");
            watches.updated("ptc://a/xy");
            watches.resources_changed();
            watches.prompts_changed();
        }
        let told = |watch: &Watch| std::iter::from_fn(|| watch.next().now_or_never()).collect::<Vec<_>>();
        assert_eq!(told(&first), [Notice::Resources, Notice::Updated("ptc://a/x".into())]);
        assert_eq!(told(&second), [Notice::Updated("ptc://a/x".into())]);
        watches.remove(second.number(), "ptc://a/x");
        watches.updated("ptc://a/x");
        assert_eq!(told(&second), []);
        assert_eq!(first.close(), ["ptc://a/x"], "nobody else watches it");
        assert!(!watches.add(first.number(), "ptc://a/y"), "it has ended");
    }

    #[test]
    fn nobody_watches_without_end() {
        let watches = Arc::<Watches>::default();
        let watch = watches.open(Subscription::default());
        let added = (0..500).filter(|n| watches.add(watch.number(), &format!("ptc://a/{n}"))).count();
        assert_eq!(added, MAX_WATCHED);
        assert!(watches.add(watch.number(), "ptc://a/7"), "it watches that already");
        assert_eq!(watches.watched("ptc://a/").len(), MAX_WATCHED);
    }
}
