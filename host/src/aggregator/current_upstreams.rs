//! The set of upstreams that holds now. A reload puts another set in its place.

use super::configured_upstream::Tenure;
use super::runtime::Aggregator;
use futures_util::future::{LocalBoxFuture, join, join_all};
use ptc_base::sync::{Mutex, RwLock};
use ptc_engine::{Desk, HostCalls, RunContext};
use ptc_upstreams::sign_in::Site;
use ptc_vm::machine::{HostRequest, Reply};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// The upstreams of a server, which a reload may exchange.
///
/// What begins takes the set that holds now and keeps it to its end: a program, a request, a page. So an upstream that was taken
/// out or changed ends after the last that began with it.
pub struct CurrentUpstreams {
    current: RwLock<Arc<Aggregator>>,
    /// Upstreams that were taken out, some of which programs may still have.
    leaving: Mutex<Vec<Weak<Tenure>>>,
}

/// What a set changes in the place of another one, by names in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamChanges {
    /// Upstreams that were not there.
    pub added: Vec<String>,
    /// Upstreams whose entries, secrets or documents are others, so that they are opened anew.
    pub changed: Vec<String>,
    /// Upstreams whose entries are others in what needs no other connection.
    pub changed_in_place: Vec<String>,
    /// Upstreams that are not there any more.
    pub removed: Vec<String>,
}

impl UpstreamChanges {
    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let all = [&self.added, &self.changed, &self.changed_in_place, &self.removed];
        all.into_iter().all(Vec::is_empty)
    }

    /// The upstreams that are opened anew.
    pub fn opened(&self) -> impl Iterator<Item = &str> {
        self.added.iter().chain(&self.changed).map(String::as_str)
    }
}

impl CurrentUpstreams {
    /// This set.
    #[must_use]
    pub fn new(first: Arc<Aggregator>) -> Arc<CurrentUpstreams> {
        Arc::new(CurrentUpstreams { current: RwLock::new(first), leaving: Mutex::default() })
    }

    /// The set that holds now.
    #[must_use]
    pub fn current(&self) -> Arc<Aggregator> {
        self.current.read().clone()
    }

    /// What `next`, which was made to succeed the current set, changes.
    pub fn changes_to(&self, next: &Aggregator) -> UpstreamChanges {
        let current = self.current();
        let mut changes = UpstreamChanges::default();
        for (name, member) in next.members.iter().filter(|(_, member)| member.is_new) {
            let names = match current.members.contains_key(name) {
                true => &mut changes.changed,
                false => &mut changes.added,
            };
            names.push(member.config.name.clone());
        }
        let in_place = next.members.values().filter(|member| member.has_new_entry);
        changes.changed_in_place = in_place.map(|member| member.config.name.clone()).collect();
        let gone = current.members.keys().filter(|name| !next.members.contains_key(*name));
        changes.removed = gone.cloned().collect();
        changes
    }

    /// Lets another set hold, which was made to succeed the current one. Upstreams that it does not have end after the last
    /// program that has them.
    pub fn replace(&self, next: Arc<Aggregator>) {
        let mut current = self.current.write();
        let mut leaving = self.leaving.lock();
        leaving.retain(|tenure| tenure.strong_count() > 0);
        for (name, member) in &current.members {
            let stays =
                next.members.get(name).is_some_and(|other| Arc::ptr_eq(&other.tenure, &member.tenure));
            if !stays {
                member.tenure.end();
                leaving.push(Arc::downgrade(&member.tenure));
            }
        }
        let before = std::mem::replace(&mut *current, next);
        drop((current, leaving));
        // Its upstreams may end with it.
        drop(before);
    }

    /// Tells of changes of the catalog that programs see, whichever set holds.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.current().changes()
    }

    /// Tells of each list of tools that an upstream has given for all callers, whichever set holds.
    pub fn listings(&self) -> watch::Receiver<()> {
        self.current().listings()
    }

    /// The upstreams that are signed in to, in order of names.
    pub fn sites(&self) -> Vec<Arc<Site>> {
        self.current().unfiltered().sites().cloned().collect()
    }

    /// Stops all upstreams, those that were taken out, too, and waits until their children are gone.
    pub async fn shutdown(&self) {
        let leaving: Vec<Arc<Tenure>> = self.leaving.lock().iter().filter_map(Weak::upgrade).collect();
        let current = self.current();
        let left = join_all(leaving.iter().map(|left| left.handle.shutdown()));
        join(current.shutdown(), left).await;
    }
}

impl HostCalls for CurrentUpstreams {
    fn max_request_bytes(&self) -> usize {
        self.current().max_request_bytes()
    }

    fn pinned(&self) -> Option<Arc<dyn HostCalls>> {
        Some(self.current())
    }

    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        self.current().answer(run, request, desk)
    }

    fn refused(&self, run: &RunContext, request: &HostRequest) {
        self.current().refused(run, request);
    }
}
