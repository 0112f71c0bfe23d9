//! A store whose values are sealed: an attacker who writes to the underlying store can lose or roll back whole records, but
//! neither read, forge nor swap them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tracing::error;

use super::names::Name;
use super::{
    Answer, Change, Claim, Claimed, Commit, Key, Kind, Listed, News, Owner, Replica, Room, StateError,
    StateStore, Versioned, Write,
};
use super::{Seals, Secret};
use ptc_base::pace::apart;
use ptc_secret::digest::hex_digest;

/// Seals values on the way into a store and opens them on the way out. Clones are handles of one store.
#[derive(Clone)]
pub struct SealedState {
    inner: Arc<dyn StateStore>,
    seals: Seals,
}

impl std::fmt::Debug for SealedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedState").field("seals", &self.seals).finish_non_exhaustive()
    }
}

impl SealedState {
    /// `inner` with sealed values.
    pub fn new(inner: Arc<dyn StateStore>, secret: &Secret) -> Self {
        Self { inner, seals: Seals::new(secret, Seals::STORE) }
    }

    fn seal(&self, plain: &[u8], place: &[u8]) -> Result<Bytes, StateError> {
        let sealed = self.seals.seal(plain, place);
        sealed
            .map(Bytes::from)
            .ok_or_else(|| StateError::Unavailable("the system has no random numbers".to_owned()))
    }

    fn open(&self, sealed: &[u8], place: &[u8], name: &Name) -> Result<Bytes, StateError> {
        self.seals.open(sealed, place).map(Bytes::from).map_err(|reason| {
            // Ids are handed to clients as secrets.
            let id_hash = hex_digest(&name.id, 8);
            error!(event = "state_record_corrupt", kind = %name.letter, id_hash, reason = %reason);
            StateError::Corrupt
        })
    }

    /// Opens a value. Large values are opened on a thread of their own.
    async fn opened_apart(&self, found: Versioned, name: Name) -> Result<Versioned, StateError> {
        let (bytes, store) = (found.blob.as_ref().map_or(0, Bytes::len), self.clone());
        apart(bytes, move || store.opened(found, &name)).await
    }

    /// Seals values to be written, as [`opened_apart`](Self::opened_apart) opens them.
    async fn sealed_apart(&self, commit: Commit) -> Result<Commit, StateError> {
        let bytes = commit.writes().iter().map(|write| match &write.change {
            Change::Put { blob, .. } => blob.len(),
            _ => 0,
        });
        let (bytes, store) = (bytes.sum(), self.clone());
        apart(bytes, move || store.sealed(&commit)).await
    }

    fn opened(&self, found: Versioned, name: &Name) -> Result<Versioned, StateError> {
        let open = |sealed: &Bytes| self.open(sealed, &name.place(found.version), name);
        let blob = found.blob.as_ref().map(open).transpose()?;
        Ok(Versioned { blob, ..found })
    }

    fn sealed(&self, commit: &Commit) -> Result<Commit, StateError> {
        commit.writes().iter().try_fold(Commit::of(commit.owner()), |sealed, write| {
            let change = match &write.change {
                Change::Put { version, blob, rest, end } => {
                    let blob = self.seal(blob, &Name::of(&write.key).place(version + 1))?;
                    Change::Put { version: *version, blob, rest: *rest, end: *end }
                }
                change => change.clone(),
            };
            Ok(sealed.and(Write { change, ..write.clone() }))
        })
    }
}

impl StateStore for SealedState {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        async move {
            match self.inner.read(key).await? {
                Some(found) => self.opened_apart(found, Name::of(key)).await.map(Some),
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        async move {
            let found = match self.inner.claim(key, claim).await? {
                Claimed::Taken(found) => found,
                // What is not taken has no content.
                not_taken => return Ok(not_taken),
            };
            let fence = found.fence;
            let opened = self.opened_apart(found, Name::of(key)).await;
            if opened.is_err() {
                // Nobody works on what cannot be opened.
                let _ = self.inner.renew(key, fence, Duration::ZERO).await;
            }
            opened.map(Claimed::Taken)
        }
        .boxed()
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        self.inner.renew(key, fence, lease)
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        async move { self.inner.commit(self.sealed_apart(commit).await?).await }.boxed()
    }

    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        self.inner.spend(owner, id, life)
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        async move {
            let sealed = self.seal(&message, &Name::of(run).inbox())?;
            self.inner.push(run, sealed, life).await
        }
        .boxed()
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        async move {
            let name = Name::of(run);
            let sealed = self.inner.drain(run).await?;
            sealed.iter().map(|sealed| self.open(sealed, &name.inbox(), &name)).collect()
        }
        .boxed()
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        self.inner.woken(holder)
    }

    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        self.inner.list(owner, kind)
    }

    fn has_fewer<'a>(&'a self, owner: &'a Owner, kind: Kind, most: usize) -> Answer<'a, bool> {
        self.inner.has_fewer(owner, kind, most)
    }

    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        self.inner.has_room(owner, kind, room)
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        async move {
            let found = self.inner.look(listed).await?;
            let name = Name::of_listed(listed)?;
            match found {
                Some(found) => self.opened_apart(found, name).await.map(Some),
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        self.inner.erase(listed)
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        self.inner.announce(text)
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        self.inner.news(point)
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        self.inner.attend(replica)
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.inner.replicas()
    }
}
