//! A store in memory.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::changes::Changes;
use super::clock::StoreClock;
use super::lease::{Taken, millis};
use super::replica::{Announcements, Replicas};
use super::rows::{Head, judge};
use super::tally::Tally;
use super::{
    Answer, Change, Claim, Claimed, Commit, Key, Kind, Listed, News, Owner, Replica, Room, StateError,
    StateStore, StoreLimits, TOMBSTONE_LIFE, Versioned,
};

/// Least time between two sweeps of expired records.
const SWEEP_INTERVAL: u64 = 60_000;

/// A store that is gone with its last handle. Clones are handles of one store.
#[derive(Clone)]
pub struct MemoryState(Arc<Shared>);

struct Shared {
    inner: Mutex<Inner>,
    clock: StoreClock,
    limits: StoreLimits,
    changes: Changes,
}

#[derive(Default)]
struct Inner {
    rows: HashMap<Key, (Head, Bytes)>,
    taken: HashMap<Key, Taken>,
    /// Bytes of the counted records of each principal.
    held: HashMap<Arc<str>, u64>,
    tallies: HashMap<Kind, Tally>,
    /// Spent ids, and when they are forgotten.
    spent: HashMap<(Arc<str>, [u8; 16]), u64>,
    inboxes: HashMap<Key, (Vec<Bytes>, u64)>,
    said: Announcements,
    replicas: Replicas,
    /// Wake-ups for holders of messages, by name of the replica.
    waking: HashMap<Arc<str>, Arc<Notify>>,
    swept: u64,
}

impl std::fmt::Debug for MemoryState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryState").field("rows", &self.inner().rows.len()).finish_non_exhaustive()
    }
}

impl Default for MemoryState {
    fn default() -> Self {
        Self::new(StoreLimits::default())
    }
}

impl MemoryState {
    /// An empty store.
    #[must_use]
    pub fn new(limits: StoreLimits) -> Self {
        Self(Arc::new(Shared {
            inner: Mutex::default(),
            clock: StoreClock::start(),
            limits,
            changes: Changes::default(),
        }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock()
    }

    fn now(&self) -> u64 {
        self.0.clock.now()
    }

    /// Runs an operation that takes no time immediately.
    fn at_once<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&mut Inner, u64) -> Result<T, StateError> + Send + 'a,
    ) -> Answer<'a, T> {
        async move {
            let now = self.now();
            work(&mut self.inner(), now)
        }
        .boxed()
    }
}

impl Inner {
    /// The record under `key`, unless it has expired.
    fn row(&self, key: &Key, now: u64) -> Result<Option<&(Head, Bytes)>, StateError> {
        match self.rows.get(key).filter(|(head, _)| head.is_there(now)) {
            Some((head, _)) if head.is_buried => Err(StateError::Gone),
            row => Ok(row),
        }
    }

    fn read(&self, key: &Key, now: u64) -> Result<Option<Versioned>, StateError> {
        let row = self.row(key, now)?;
        Ok(row.map(|(head, blob)| {
            let told = head.told(self.taken.get(key), now);
            Versioned { blob: Some(blob.clone()), ..told }
        }))
    }

    fn claim(&mut self, key: &Key, claim: &Claim, now: u64) -> Result<Claimed, StateError> {
        let is_there = self.row(key, now)?.is_some();
        if !is_there && !claim.creates {
            return Ok(Claimed::Absent);
        }
        let taken = self.taken.entry(key.clone()).or_default();
        if let Some(lease) = taken.lease(now) {
            return Ok(Claimed::Held(lease));
        }
        taken.give(&claim.holder, claim.lease, now);
        let Some((head, blob)) = self.rows.get_mut(key).filter(|_| is_there) else {
            let nothing = Head { version: 0, is_buried: false, end: None, expires: None, bytes: 0 };
            return Ok(Claimed::Taken(nothing.told(Some(taken), now)));
        };
        *head = head.used(claim.rest, now);
        let blob = (head.version != claim.known).then(|| blob.clone());
        Ok(Claimed::Taken(Versioned { blob, ..head.told(Some(taken), now) }))
    }

    fn commit(&mut self, commit: &Commit, limits: StoreLimits, now: u64) -> Result<(), StateError> {
        let plan = self.plan(commit, now)?;
        let is_full = |inner: &Self| {
            let (before, after) = inner.change_of(commit, &plan);
            let held = inner.held.get(commit.owner().name()).copied().unwrap_or(0);
            after > before && held + after - before > limits.owner_bytes
        };
        if is_full(self) {
            self.sweep(now);
            if is_full(self) {
                return Err(StateError::Full);
            }
        }
        for (write, head) in commit.writes().iter().zip(plan) {
            self.set(&write.key, head.map(|head| (head, content(&write.change))));
            if !write.keeps_lease
                && let Some(taken) = self.taken.get_mut(&write.key)
            {
                taken.end();
            }
        }
        if now >= self.swept + SWEEP_INTERVAL {
            self.sweep(now);
        }
        Ok(())
    }

    /// The result of each write for its record.
    fn plan(&self, commit: &Commit, now: u64) -> Result<Vec<Option<Head>>, StateError> {
        let judged = commit.writes().iter().map(|write| {
            let there = self.rows.get(&write.key).map(|(head, _)| head);
            judge(there, self.taken.get(&write.key), write, now)
        });
        judged.collect()
    }

    /// Bytes that count, of the records of `commit`, before and after.
    fn change_of(&self, commit: &Commit, plan: &[Option<Head>]) -> (u64, u64) {
        let counted = commit.writes().iter().zip(plan).filter(|(write, _)| write.key.kind().is_counted());
        counted.fold((0, 0), |(before, after), (write, head)| {
            let there = self.rows.get(&write.key).map_or(0, |(head, _)| head.bytes);
            (before + there, after + head.map_or(0, |head| head.bytes))
        })
    }

    /// Replaces a record, and counts the change.
    fn set(&mut self, key: &Key, row: Option<(Head, Bytes)>) {
        let after = row.as_ref().map(|(head, _)| *head);
        let before = match row {
            Some(row) => self.rows.insert(key.clone(), row),
            None => self.rows.remove(key),
        };
        let before = before.map(|(head, _)| head);
        let tally = self.tallies.entry(key.kind()).or_default();
        tally.change(key.owner().name(), before.as_ref(), after.as_ref());
        let bytes = |head: Option<Head>| head.map_or(0, |head| head.bytes);
        let (before, after) = (bytes(before), bytes(after));
        if key.kind().is_counted() && before != after {
            let held = self.held.entry(key.owner().name().clone()).or_default();
            *held = (*held + after).saturating_sub(before);
            if *held == 0 {
                self.held.remove(key.owner().name());
            }
        }
    }

    /// Removes expired records.
    fn sweep(&mut self, now: u64) {
        self.swept = now;
        let gone = self.rows.iter().filter(|(_, (head, _))| !head.is_there(now));
        for key in gone.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.set(&key, None);
        }
        self.taken.retain(|key, taken| self.rows.contains_key(key) || taken.lease(now).is_some());
        self.spent.retain(|_, until| now < *until);
        self.inboxes.retain(|_, (_, until)| now < *until);
    }

    fn list(&self, owner: Option<&Owner>, kind: Kind, now: u64) -> Vec<Listed> {
        let wanted = self.rows.iter().filter(|(key, (head, _))| {
            key.kind() == kind
                && owner.is_none_or(|owner| key.owner() == owner)
                && !head.is_buried
                && head.is_there(now)
        });
        wanted.map(|(key, (head, _))| self.listed(key, head, now)).collect()
    }

    fn has_room(&self, owner: &Owner, kind: Kind, room: Room, now: u64) -> bool {
        if self.tallies.get(&kind).is_none_or(|tally| tally.has_room(owner.name(), room)) {
            return true;
        }
        // Some have expired, or are of another conversation.
        let own = self.list(Some(owner), kind, now);
        let bytes = own.iter().map(|listed| listed.bytes).sum();
        room.has(own.len(), bytes) && self.list(None, kind, now).len() < room.all
    }

    fn listed(&self, key: &Key, head: &Head, now: u64) -> Listed {
        let told = head.told(self.taken.get(key), now);
        Listed {
            owner: key.owner().name().clone(),
            conversation: key.owner().conversation_id().cloned(),
            kind: key.kind(),
            id: key.id().clone(),
            version: head.version,
            bytes: head.bytes,
            expires_in: told.expires_in,
            lease: told.lease,
        }
    }
}

/// The content that a change leaves.
fn content(change: &Change) -> Bytes {
    match change {
        // What is kept is not to hold on to a larger buffer.
        Change::Put { blob, .. } => Bytes::copy_from_slice(blob),
        _ => Bytes::new(),
    }
}

/// The key of a record that this store has listed.
fn key_of(listed: &Listed) -> Result<Key, StateError> {
    let owner = match &listed.conversation {
        Some(conversation) => Owner::conversation(listed.owner.clone(), conversation.clone()),
        None => Owner::principal(listed.owner.clone()),
    };
    Key::new(&owner, listed.kind, listed.id.clone()).map_err(|_| StateError::Corrupt)
}

impl StateStore for MemoryState {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        self.at_once(move |inner, now| inner.read(key, now))
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        self.at_once(move |inner, now| inner.claim(key, &claim, now))
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        self.at_once(move |inner, now| {
            inner.row(key, now)?;
            inner.taken.get_mut(key).ok_or(StateError::Gone)?.renew(fence, lease, now)
        })
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        let limits = self.0.limits;
        async move {
            let committed = self.inner().commit(&commit, limits, self.now());
            committed.inspect(|()| self.0.changes.tell(&commit))
        }
        .boxed()
    }

    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        self.at_once(move |inner, now| {
            let until = inner.spent.entry((owner.name().clone(), *id)).or_insert(0);
            let is_first = now >= *until;
            if is_first {
                *until = now.saturating_add(millis(life));
            }
            Ok(is_first)
        })
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        self.at_once(move |inner, now| {
            let (messages, until) = inner.inboxes.entry(run.clone()).or_default();
            if now >= *until {
                messages.clear();
            }
            messages.push(message);
            *until = (*until).max(now.saturating_add(millis(life)));
            let holder = inner.taken.get(run).and_then(|taken| taken.lease(now)).map(|lease| lease.holder);
            // Also one that has not begun to wait yet.
            if let Some(holder) = holder {
                inner.waking.entry(holder).or_default().notify_one();
            }
            Ok(())
        })
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        self.at_once(move |inner, now| {
            let inbox = inner.inboxes.remove(run).filter(|(_, until)| now < *until);
            Ok(inbox.map(|(messages, _)| messages).unwrap_or_default())
        })
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        let waking = self.inner().waking.entry(holder.into()).or_default().clone();
        async move { waking.notified().await }.boxed()
    }

    fn changed<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, ()> {
        self.0.changes.of(key)
    }

    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        self.at_once(move |inner, now| Ok(inner.list(owner, kind, now)))
    }

    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        self.at_once(move |inner, now| Ok(inner.has_room(owner, kind, room, now)))
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        self.at_once(move |inner, now| inner.read(&key_of(listed)?, now))
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        let limits = self.0.limits;
        self.at_once(move |inner, now| {
            let key = key_of(listed)?;
            let was_there = matches!(inner.row(&key, now), Ok(Some(_)));
            if was_there {
                inner.commit(&Commit::one(super::Write::bury(key, TOMBSTONE_LIFE)), limits, now)?;
            }
            Ok(was_there)
        })
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        self.at_once(move |inner, _| {
            inner.said.add(text);
            Ok(())
        })
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        self.at_once(move |inner, _| Ok(inner.said.after(point)))
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        self.at_once(move |inner, now| {
            inner.replicas.attend(replica, now);
            Ok(now)
        })
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.at_once(move |inner, now| Ok(inner.replicas.listed(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::time::Clock;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn what_a_store_keeps_for_an_hour_is_gone_after_a_step() {
        let clock = Clock::stepped();
        let store = {
            let _entered = clock.enter();
            MemoryState::default()
        };
        let owner = Owner::principal("alice");
        assert!(store.spend(&owner, &[1; 16], HOUR).await.unwrap());
        assert!(!store.spend(&owner, &[1; 16], HOUR).await.unwrap());
        clock.advance(HOUR);
        assert!(store.spend(&owner, &[1; 16], HOUR).await.unwrap());
    }
}
