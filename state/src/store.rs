//! The trait of all stores.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use ptc_base::time::timeout;

use super::{Claim, Claimed, Commit, Key, Kind, Listed, News, Owner, Replica, StateError, Versioned};

/// How long a deletion is remembered (state.md 1).
pub const TOMBSTONE_LIFE: Duration = Duration::from_secs(3600);

/// How often a watched record is read even without a hint.
const LOOK: Duration = Duration::from_millis(500);

/// The future answer of a store.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StateError>>;

/// Bounds of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreLimits {
    /// Bytes that the sessions, runs and blobs of one principal may take together, as they lie in the store.
    pub owner_bytes: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { owner_bytes: 256 << 20 }
    }
}

/// The limits for records of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Records of one owner.
    pub records: usize,
    /// Bytes of the records of one owner, as they lie in the store.
    pub bytes: u64,
    /// Records of all owners together.
    pub all: usize,
}

impl Room {
    /// Whether an owner that has so many records, of so many bytes, may have one more.
    #[must_use]
    pub fn has(&self, records: usize, bytes: u64) -> bool {
        records < self.records && bytes < self.bytes
    }
}

/// A store of state (state.md 2). Several handles, of several processes where the back end allows it, may work on one store.
///
/// No operation blocks the thread. Times are the store's own: processes whose clocks differ agree on expiry. Every operation
/// but [`read`](StateStore::read), [`list`](StateStore::list) and [`look`](StateStore::look) is tried once: after a lost
/// answer, the next version shows whether it was done.
pub trait StateStore: Send + Sync {
    /// The record under `key`; `None` if there is none.
    ///
    /// # Errors
    /// [`StateError::Gone`] if it was buried, [`StateError::Corrupt`], [`StateError::Unavailable`].
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>>;

    /// Reads the record, leases it, and counts as a use of it. No other holder can take it before the lease ends; a commit
    /// without its fence can still change it.
    ///
    /// # Errors
    /// As [`read`](StateStore::read). A caller that may have the lease although the answer was lost waits for its end.
    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed>;

    /// Sets the lease of `fence` to end `lease` from now; zero ends it, for a holder with nothing to commit.
    ///
    /// # Errors
    /// [`StateError::Fenced`] if another holder has taken the record since, [`StateError::Gone`], [`StateError::Unavailable`].
    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()>;

    /// Makes all changes of `commit`, or none.
    ///
    /// # Errors
    /// [`StateError::Gone`], [`StateError::Conflict`] and [`StateError::Fenced`], looked for in this order in each write,
    /// [`StateError::Full`], [`StateError::Unavailable`].
    fn commit(&self, commit: Commit) -> Answer<'_, ()>;

    /// Spends an id of `owner`'s principal. `true` for the first caller within `life`, `false` for all others.
    ///
    /// # Errors
    /// [`StateError::Unavailable`]; it may be spent then.
    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool>;

    /// Puts a message into the inbox of a run and wakes its holder. The inbox lives for `life` from now at least.
    ///
    /// # Errors
    /// [`StateError::Unavailable`]; it may be there then.
    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()>;

    /// Takes all messages out of the inbox of a run, oldest first.
    ///
    /// # Errors
    /// [`StateError::Corrupt`] if one is not ours, [`StateError::Unavailable`]; they may be lost then.
    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>>;

    /// Completes when a message for a run that `holder` has leased has arrived, or spuriously. It is a hint: the caller polls
    /// each second too.
    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()>;

    /// Completes when the record is changed by this process, or spuriously, or never. Changes since the call count. It is a hint:
    /// [`watch`](StateStore::watch) reads the record anyhow.
    fn changed<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, ()> {
        let _ = key;
        std::future::pending().boxed()
    }

    /// The record under `key` as soon as its version is not `known`, where 0 stands for a record that is not there. Reads it at
    /// each hint, and at least twice a second, since other processes give none.
    ///
    /// # Errors
    /// As [`read`](StateStore::read).
    fn watch<'a>(&'a self, key: &'a Key, known: u64) -> Answer<'a, Option<Versioned>> {
        async move {
            loop {
                let changed = self.changed(key);
                let read = self.read(key).await?;
                if read.as_ref().map_or(0, |read| read.version) != known {
                    return Ok(read);
                }
                let _ = timeout(LOOK, changed).await;
            }
        }
        .boxed()
    }

    /// The records of a kind, of one owner or of all, in no order. Buried ones are not among them.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>>;

    /// Whether an owner has fewer than `most` records of a kind. Implementations avoid listing all records of an owner with
    /// many.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn has_fewer<'a>(&'a self, owner: &'a Owner, kind: Kind, most: usize) -> Answer<'a, bool> {
        async move { Ok(self.list(Some(owner), kind).await?.len() < most) }.boxed()
    }

    /// Whether there is room for one more record of a kind. Implementations avoid listing all records of an owner with many: a
    /// store's running count is never too low, and only if that exceeds the limit it reads each record.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        async move {
            let own = self.list(Some(owner), kind).await?;
            let bytes = own.iter().map(|listed| listed.bytes).sum();
            Ok(room.has(own.len(), bytes) && self.list(None, kind).await?.len() < room.all)
        }
        .boxed()
    }

    /// A listed record; `None` if it is not there any more.
    ///
    /// # Errors
    /// As [`read`](StateStore::read).
    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>>;

    /// Buries a listed record, regardless of its lease. Returns whether it existed.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool>;

    /// Tells everybody who uses the store.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()>;

    /// The announcements after `point`, which an earlier answer named.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn news(&self, point: u64) -> Answer<'_, News>;

    /// Says that this replica is there. It is listed for 30 s. The answer is the store's time, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64>;

    /// The replicas that were heard of within 30 s, in order of their names.
    ///
    /// # Errors
    /// [`StateError::Unavailable`].
    fn replicas(&self) -> Answer<'_, Vec<Replica>>;
}
