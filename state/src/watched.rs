//! A store that is watched: how much it is used, how long it takes, and whether it is down (state.md 8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::changes::Changes;
use super::{
    Answer, Claim, Claimed, Commit, Key, Kind, Listed, News, Owner, Replica, Room, StateError, StateStore,
    Versioned,
};
use ptc_base::time::{self, Instant};

/// Failures in a row after which a store counts as down.
const FAILURES: u32 = 3;
/// While it is down it is tried once in this time.
const PROBE: Duration = Duration::from_secs(1);

/// The operations, by the names that metrics have for them.
const OPERATIONS: [&str; 13] = [
    "read", "claim", "renew", "commit", "spend", "push", "drain", "list", "look", "erase", "announce",
    "news", "replicas",
];

/// Counts the operations of a store, and refuses them at once while it is down but for one a second. Clones are handles of one
/// store.
#[derive(Clone)]
pub struct WatchedState {
    inner: Arc<dyn StateStore>,
    health: Arc<Health>,
    changes: Changes,
}

struct Health {
    started: Instant,
    failures: AtomicU32,
    /// Milliseconds from the start to the last try while it was down.
    tried: AtomicU64,
    figures: [Figures; OPERATIONS.len()],
}

#[derive(Default)]
struct Figures {
    ended: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
}

/// Figures of one operation of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFigures {
    /// Its name.
    pub name: &'static str,
    /// How often it has ended, well or not.
    pub ended: u64,
    /// How often the store was unavailable.
    pub failed: u64,
    /// Time that all of them took.
    pub time: Duration,
}

impl std::fmt::Debug for WatchedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchedState").field("is_down", &self.is_down()).finish_non_exhaustive()
    }
}

impl WatchedState {
    /// Watches `inner`.
    pub fn new(inner: Arc<dyn StateStore>) -> Self {
        let health = Health {
            started: time::now(),
            failures: AtomicU32::new(0),
            tried: AtomicU64::new(0),
            figures: std::array::from_fn(|_| Figures::default()),
        };
        Self { inner, health: Arc::new(health), changes: Changes::default() }
    }

    /// Whether it has failed three times in a row.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.health.failures.load(Ordering::Relaxed) >= FAILURES
    }

    /// The figures of its operations so far.
    pub fn figures(&self) -> impl Iterator<Item = OperationFigures> + '_ {
        OPERATIONS.iter().zip(&self.health.figures).map(|(name, figures)| OperationFigures {
            name,
            ended: figures.ended.load(Ordering::Relaxed),
            failed: figures.failed.load(Ordering::Relaxed),
            time: Duration::from_micros(figures.micros.load(Ordering::Relaxed)),
        })
    }

    /// Whether it may be tried now.
    fn may_try(&self) -> bool {
        if !self.is_down() {
            return true;
        }
        let now = time::since(self.health.started).as_millis() as u64;
        let tried = self.health.tried.load(Ordering::Relaxed);
        let is_due = now >= tried + PROBE.as_millis() as u64;
        // Of those who come at once one tries.
        is_due && self.health.tried.compare_exchange(tried, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn measure<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        async move {
            if !self.may_try() {
                return Err(StateError::Unavailable("it did not answer three times in a row".to_owned()));
            }
            let began = time::now();
            let answer = work().await;
            let took = time::since(began);
            let has_failed = matches!(answer, Err(StateError::Unavailable(_)));
            if has_failed {
                let before = self.health.failures.fetch_add(1, Ordering::Relaxed);
                if before + 1 >= FAILURES {
                    let now = time::since(self.health.started).as_millis() as u64;
                    self.health.tried.store(now, Ordering::Relaxed);
                }
            } else {
                self.health.failures.store(0, Ordering::Relaxed);
            }
            if let Some(at) = OPERATIONS.iter().position(|name| *name == operation) {
                let figures = &self.health.figures[at];
                figures.ended.fetch_add(1, Ordering::Relaxed);
                figures.failed.fetch_add(u64::from(has_failed), Ordering::Relaxed);
                figures.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
            }
            answer
        }
        .boxed()
    }
}

impl StateStore for WatchedState {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        self.measure("read", || self.inner.read(key))
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        self.measure("claim", || self.inner.claim(key, claim))
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        self.measure("renew", move || self.inner.renew(key, fence, lease))
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        let written = commit.clone();
        let committed = self.measure("commit", || self.inner.commit(commit));
        committed.map(move |committed| committed.inspect(|()| self.changes.tell(&written))).boxed()
    }

    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        self.measure("spend", move || self.inner.spend(owner, id, life))
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        self.measure("push", move || self.inner.push(run, message, life))
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        self.measure("drain", || self.inner.drain(run))
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        self.inner.woken(holder)
    }

    fn changed<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, ()> {
        self.changes.of(key)
    }

    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        self.measure("list", move || self.inner.list(owner, kind))
    }

    fn has_fewer<'a>(&'a self, owner: &'a Owner, kind: Kind, most: usize) -> Answer<'a, bool> {
        self.measure("list", move || self.inner.has_fewer(owner, kind, most))
    }

    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        self.measure("list", move || self.inner.has_room(owner, kind, room))
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        self.measure("look", || self.inner.look(listed))
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        self.measure("erase", || self.inner.erase(listed))
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        self.measure("announce", || self.inner.announce(text))
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        self.measure("news", move || self.inner.news(point))
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        self.measure("replicas", || self.inner.attend(replica))
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.measure("replicas", || self.inner.replicas())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::MemoryState;
    use super::*;

    /// A store in memory that can be cut off.
    struct Cut(MemoryState, AtomicBool, AtomicU32);

    impl Cut {
        fn answer<'a, T: Send + 'a>(&'a self, answer: impl FnOnce() -> Answer<'a, T>) -> Answer<'a, T> {
            self.2.fetch_add(1, Ordering::Relaxed);
            if self.1.load(Ordering::Relaxed) {
                return std::future::ready(Err(StateError::Unavailable("cut".to_owned()))).boxed();
            }
            answer()
        }
    }

    impl StateStore for Cut {
        fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
            self.answer(|| self.0.read(key))
        }
        fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
            self.answer(|| self.0.claim(key, claim))
        }
        fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
            self.answer(|| self.0.renew(key, fence, lease))
        }
        fn commit(&self, commit: Commit) -> Answer<'_, ()> {
            self.answer(|| self.0.commit(commit))
        }
        fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
            self.answer(|| self.0.spend(owner, id, life))
        }
        fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
            self.answer(|| self.0.push(run, message, life))
        }
        fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
            self.answer(|| self.0.drain(run))
        }
        fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
            self.0.woken(holder)
        }
        fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
            self.answer(|| self.0.list(owner, kind))
        }
        fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
            self.answer(|| self.0.look(listed))
        }
        fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
            self.answer(|| self.0.erase(listed))
        }
        fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
            self.answer(|| self.0.announce(text))
        }
        fn news(&self, point: u64) -> Answer<'_, News> {
            self.answer(|| self.0.news(point))
        }
        fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
            self.answer(|| self.0.attend(replica))
        }
        fn replicas(&self) -> Answer<'_, Vec<Replica>> {
            self.answer(|| self.0.replicas())
        }
    }

    #[tokio::test]
    async fn a_store_that_is_down_is_tried_once_a_second_and_comes_back() {
        let cut = Arc::new(Cut(MemoryState::default(), AtomicBool::new(false), AtomicU32::new(0)));
        let watched = WatchedState::new(cut.clone());
        assert!(watched.news(0).await.is_ok() && !watched.is_down());
        cut.1.store(true, Ordering::Relaxed);
        for _ in 0..3 {
            assert_eq!(watched.news(0).await.unwrap_err(), StateError::Unavailable("cut".to_owned()));
        }
        assert!(watched.is_down());
        let tried = cut.2.load(Ordering::Relaxed);
        for _ in 0..1000 {
            assert!(watched.news(0).await.is_err());
        }
        // A slow machine may have come to the next second meanwhile.
        let seconds = watched.health.started.elapsed().as_secs() as u32 + 1;
        assert!(cut.2.load(Ordering::Relaxed) <= tried + seconds);
        cut.1.store(false, Ordering::Relaxed);
        let end = Instant::now() + Duration::from_secs(30);
        while watched.news(0).await.is_err() {
            assert!(Instant::now() < end);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!watched.is_down() && watched.news(0).await.is_ok());
        let news = watched.figures().find(|figures| figures.name == "news").unwrap();
        assert!(news.failed >= 3 && news.ended >= news.failed + 3, "{news:?}");
        // A refusal is an answer.
        let key = Key::new(&Owner::principal("a"), Kind::Session, "s").unwrap();
        for _ in 0..5 {
            let late = Commit::one(super::super::Write::put(key.clone(), 7, &b""[..]));
            assert_eq!(watched.commit(late).await, Err(StateError::Gone));
        }
        assert!(!watched.is_down());
    }
}
