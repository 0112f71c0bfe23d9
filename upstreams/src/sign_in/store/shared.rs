//! Sign-ins in a store that processes of several machines share (auth.md 7.4).

use ptc_base::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;

use super::{
    AuthStore, Guard, Protection, RecordKey, RecordKind, RecordSummary, RecordText, StoreError, envelope,
};
use ptc_base::time;
use ptc_state::{Claim, Claimed, Commit, End, Key, Kind, Owner, StateError, StateStore, Versioned, Write};

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bounds of the pause between two looks at a lock. It doubles.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// How long a lock outlives a process that died with it.
const LEASE: Duration = Duration::from_secs(30);
/// How often a lock is renewed.
const RENEWAL: Duration = Duration::from_secs(10);
/// How long an unfinished sign-in is kept.
const PENDING_LIFE: Duration = Duration::from_secs(3600);
/// The owner of records without a principal: registrations, and unfinished sign-ins.
const NOBODY: &str = "";

/// Records in a store of state, which seals them. The lock of a record is its lease: a holder that has lost it writes nothing.
#[derive(Clone)]
pub struct SharedStore {
    state: Arc<dyn StateStore>,
    /// The holder's name for the locks of this process.
    holder: Arc<str>,
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedStore").field("holder", &self.holder).finish_non_exhaustive()
    }
}

/// A lock that is held.
struct LockLease {
    state: Arc<dyn StateStore>,
    key: Key,
    fence: u64,
    /// The version of the record under it.
    version: Mutex<u64>,
    renewal: AbortHandle,
    runtime: tokio::runtime::Handle,
}

impl Drop for LockLease {
    fn drop(&mut self) {
        self.renewal.abort();
        let (state, key, fence) = (self.state.clone(), self.key.clone(), self.fence);
        self.runtime.spawn(async move {
            // Where that fails the lease runs out.
            let _ = state.renew(&key, fence, Duration::ZERO).await;
        });
    }
}

impl SharedStore {
    /// Sign-ins in `state`, which must be one that seals. `holder` is the name of this replica.
    pub fn new(state: Arc<dyn StateStore>, holder: impl Into<Arc<str>>) -> Self {
        Self { state, holder: holder.into() }
    }

    async fn lock_key(&self, key: &RecordKey) -> Result<Guard, StoreError> {
        let place = place(key)?;
        let claim = Claim { holder: self.holder.clone(), lease: LEASE, rest: None, known: 0, creates: true };
        let end = time::now() + PATIENCE;
        let mut pause = PAUSE.0;
        let found = loop {
            match self.state.claim(&place, claim.clone()).await {
                Ok(Claimed::Taken(found)) => break found,
                Ok(_) if time::now() >= end => return Err(StoreError::Busy),
                Ok(_) => {}
                // What nobody can open counts as absent, and only a new sign-in writes over it.
                Err(StateError::Corrupt) => self.forget(&place).await?,
                Err(error) => return Err(failed(&error)),
            }
            time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        };
        let renewal = {
            let (state, key, fence) = (self.state.clone(), place.clone(), found.fence);
            tokio::spawn(async move {
                loop {
                    time::sleep(RENEWAL).await;
                    let _ = state.renew(&key, fence, LEASE).await;
                }
            })
        };
        let held = LockLease {
            state: self.state.clone(),
            key: place,
            fence: found.fence,
            version: Mutex::new(found.version),
            renewal: renewal.abort_handle(),
            runtime: tokio::runtime::Handle::current(),
        };
        Ok(Guard::new(key.clone(), held))
    }

    async fn forget(&self, place: &Key) -> Result<(), StoreError> {
        self.state.commit(Commit::one(Write::remove(place.clone()))).await.map_err(|error| failed(&error))
    }

    async fn write_held(&self, guard: &Guard, text: Option<&str>) -> Result<(), StoreError> {
        let held = guard.held::<LockLease>().ok_or(StoreError::OtherLock)?;
        let version = *held.version.lock();
        let write = match text {
            None if version == 0 => return Ok(()),
            None => Write::remove(held.key.clone()).at_version(version),
            Some(text) => {
                let malformed = || StoreError::Malformed { path: format!("{:?}", guard.key()) };
                let bytes = envelope::encode(guard.key(), text, None).ok_or_else(malformed)?;
                let end = match guard.key().kind() {
                    RecordKind::Pending => End::After(PENDING_LIFE),
                    _ => End::Never,
                };
                Write::put(held.key.clone(), version, bytes.to_vec()).ending(end)
            }
        };
        let commit = Commit::one(write.under(held.fence).keeping_lease());
        self.state.commit(commit).await.map_err(|error| failed(&error))?;
        *held.version.lock() = if text.is_some() { version + 1 } else { 0 };
        Ok(())
    }

    async fn list_kind(&self, kind: RecordKind) -> Result<Vec<RecordSummary>, StoreError> {
        let all = self.state.list(None, Kind::SignIn).await.map_err(|error| failed(&error))?;
        let prefix = format!("{}-", kind.as_str());
        let mut listed = Vec::new();
        for record in all.iter().filter(|record| record.id.starts_with(&prefix)) {
            let found = match self.state.look(record).await {
                Ok(Some(Versioned { blob: Some(blob), .. })) => blob,
                Ok(_) | Err(StateError::Gone | StateError::Corrupt) => continue,
                Err(error) => return Err(failed(&error)),
            };
            // A record under another name is not that of its key.
            let Some(key) = envelope::key_of(&found, kind).filter(|key| *key.name() == *record.id) else {
                continue;
            };
            let text = envelope::decode(&found, &key, None, || key.name());
            listed.push(RecordSummary { key, text });
        }
        Ok(listed)
    }
}

/// The place of a record: under its principal.
fn place(key: &RecordKey) -> Result<Key, StoreError> {
    let principal = match key.kind() {
        RecordKind::Token | RecordKind::Binding => key.parts().last().map_or(NOBODY, String::as_str),
        RecordKind::Client | RecordKind::Pending => NOBODY,
    };
    let malformed = |_| StoreError::Malformed { path: key.name() };
    Key::new(&Owner::principal(principal), Kind::SignIn, key.name()).map_err(malformed)
}

fn failed(error: &StateError) -> StoreError {
    match error {
        StateError::Conflict | StateError::Fenced => StoreError::Busy,
        StateError::Corrupt => StoreError::SealedWithAnotherKey,
        error => StoreError::Io { path: "the state store".to_owned(), error: error.to_string() },
    }
}

impl AuthStore for SharedStore {
    fn read<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Option<RecordText>, StoreError>> {
        async move {
            let found = match self.state.read(&place(key)?).await {
                Ok(found) => found,
                Err(StateError::Gone) => None,
                Err(error) => return Err(failed(&error)),
            };
            let Some(blob) = found.and_then(|found| found.blob) else { return Ok(None) };
            envelope::decode(&blob, key, None, || key.name()).map(Some)
        }
        .boxed()
    }

    fn lock<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Guard, StoreError>> {
        self.lock_key(key).boxed()
    }

    fn write<'a>(&'a self, guard: &'a Guard, text: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write_held(guard, Some(text)).boxed()
    }

    fn delete<'a>(&'a self, guard: &'a Guard) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write_held(guard, None).boxed()
    }

    fn list(&self, kind: RecordKind) -> BoxFuture<'_, Result<Vec<RecordSummary>, StoreError>> {
        async move { if kind == RecordKind::Pending { Ok(Vec::new()) } else { self.list_kind(kind).await } }
            .boxed()
    }

    fn protection(&self) -> Protection {
        Protection::Sealed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_state::MemoryState;

    fn stores() -> (SharedStore, SharedStore) {
        let state = MemoryState::default();
        let open = |holder: &str| SharedStore::new(Arc::new(state.clone()), holder);
        (open("one"), open("other"))
    }

    #[tokio::test]
    async fn replicas_share_sign_ins_and_take_turns() {
        let (one, other) = stores();
        let key = RecordKey::token("github", "https://i", "client", "https://r", "alice");
        assert_eq!(one.read(&key).await.unwrap(), None);
        let guard = one.lock(&key).await.unwrap();
        let waits = {
            let (other, key) = (other.clone(), key.clone());
            tokio::spawn(async move { other.lock(&key).await.unwrap() })
        };
        one.write(&guard, r#"{"generation":1}"#).await.unwrap();
        one.write(&guard, r#"{"generation":2}"#).await.unwrap();
        assert_eq!(
            other.read(&key).await.unwrap().as_deref().map(String::as_str),
            Some(r#"{"generation":2}"#)
        );
        assert!(!waits.is_finished());
        drop(guard);
        let guard = waits.await.unwrap();
        other.write(&guard, r#"{"generation":3}"#).await.unwrap();
        let listed = one.list(RecordKind::Token).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].text.as_ref().unwrap().as_str(), r#"{"generation":3}"#);
        assert!(listed[0].key == key);
        other.delete(&guard).await.unwrap();
        assert_eq!(one.read(&key).await.unwrap(), None);
        other.write(&guard, r#"{"generation":4}"#).await.unwrap();
        assert!(one.read(&key).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn of_many_who_refresh_at_once_none_writes_over_another() {
        let (one, other) = stores();
        let key = RecordKey::token("github", "https://i", "client", "https://r", "alice");
        let all = (0..16).map(|at| {
            let (store, key) = (if at % 2 == 0 { one.clone() } else { other.clone() }, key.clone());
            tokio::spawn(async move {
                let guard = store.lock(&key).await.unwrap();
                let text = store.read(&key).await.unwrap();
                let before: u32 = text.as_deref().map_or(0, |text| text.parse().unwrap());
                tokio::task::yield_now().await;
                store.write(&guard, &(before + 1).to_string()).await.unwrap();
            })
        });
        for ended in futures_util::future::join_all(all).await {
            ended.unwrap();
        }
        assert_eq!(one.read(&key).await.unwrap().as_deref().map(String::as_str), Some("16"));
    }

    #[tokio::test]
    async fn whoever_was_overtaken_writes_nothing() {
        let (one, other) = stores();
        let key = RecordKey::pending("state");
        let guard = one.lock(&key).await.unwrap();
        // The lease ends as if its process had stood still.
        let held = guard.held::<LockLease>().unwrap();
        one.state.renew(&held.key, held.fence, Duration::ZERO).await.unwrap();
        let later = other.lock(&key).await.unwrap();
        other.write(&later, r#"{"of":"other"}"#).await.unwrap();
        assert_eq!(one.write(&guard, r#"{"of":"one"}"#).await, Err(StoreError::Busy));
        assert_eq!(one.read(&key).await.unwrap().as_deref().map(String::as_str), Some(r#"{"of":"other"}"#));
        assert!(one.list(RecordKind::Pending).await.unwrap().is_empty());
    }
}
