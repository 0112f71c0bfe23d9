//! A store in a file of one process (state.md 2.2).
//!
//! | Part | Purpose |
//! |---|---|
//! | `file` | the file, and the meaning of flushing it |
//! | `tables` | how records lie in it |
//! | `writer` | the one thread that writes the file: all waiting jobs form one transaction |
//! | `plan` | the effect of a commit on its records |
//! | `ahead`, `gate`, `journal` | commits that do not wait for the writer, where nothing is flushed before the answer |
//! | `shared` | what the writer and all handles share |
//! | `local` | leases, announcements and heads of records, which only this process needs |

mod ahead;
mod file;
mod gate;
mod journal;
mod local;
mod opening;
mod plan;
mod shared;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use file::Flushing;
pub use opening::RedbError;

use ptc_base::sync::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use redb::{Database, ReadableDatabase as _};

use super::clock::StoreClock;
use super::names::{Name, id_prefix, principal_name};
use super::{
    Answer, Claim, Claimed, Commit, Key, Kind, Listed, News, Owner, Replica, Room, StateError, StateStore,
    StoreLimits, TOMBSTONE_LIFE, Versioned,
};
use gate::Gate;
use local::Local;
use opening::Opener;
use ptc_base::time::{self, Clock};
use shared::{Core, unavailable};
use tables::{Row, full_name};
use writer::Job;

/// Options of the file of state.
#[derive(Clone, Debug)]
pub struct RedbOptions {
    /// The folder, which is made if it is not there. The file in it is `state.redb`.
    pub folder: PathBuf,
    /// The durability of a commit when it is answered.
    pub flushing: Flushing,
    /// Bounds of the store.
    pub limits: StoreLimits,
}

/// A store in a file. Clones are handles of one store; the file is closed with the last one.
#[derive(Clone)]
pub struct RedbState(Arc<Handle>);

impl std::fmt::Debug for RedbState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedbState").finish_non_exhaustive()
    }
}

struct Handle {
    core: Arc<Core>,
    /// Present until the last handle goes: its end is the writer's.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Option<JoinHandle<()>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.jobs.lock().take();
        if let Some(writer) = self.writer.take() {
            // What was handed in is written before the file is closed.
            let _ = writer.join();
        }
    }
}

impl RedbState {
    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// A sentence that says why it cannot be used; nothing of it was changed then.
    pub fn open(options: RedbOptions) -> Result<Self, RedbError> {
        let opener = Opener::of_folder(&options.folder, options.flushing)?;
        Self::over(opener, options.limits)
    }

    /// The path of the file in a folder.
    #[must_use]
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(opening::FILE)
    }

    fn over(opener: Opener, limits: StoreLimits) -> Result<Self, RedbError> {
        let file = opener.open()?;
        let gate = opener.journal(&file)?.map(Gate::new);
        let core = Arc::new(Core {
            file: RwLock::new(Some(Arc::new(file))),
            opener,
            says_form: AtomicBool::new(false),
            local: Mutex::default(),
            gate,
            clock: StoreClock::start(),
            limits,
        });
        let (jobs, waiting) = mpsc::channel();
        let (writing, clock) = (core.clone(), Clock::current());
        let work = move || {
            let _entered = clock.enter();
            writer::run(&writing, &waiting);
        };
        let writer = std::thread::Builder::new()
            .name("state".to_owned())
            .spawn(work)
            .map_err(|error| RedbError::NoThread(error.to_string()))?;
        Ok(Self(Arc::new(Handle { core, jobs: Mutex::new(Some(jobs)), writer: Some(writer) })))
    }

    /// Hands a job to the writer. The answer arrives once the write is as durable as configured.
    fn write<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&mut writer::Batch<'_, '_>) -> writer::Done<T> + Send + 'static,
    ) -> Answer<'a, T> {
        let (job, answer) = writer::job(work);
        let jobs = self.0.jobs.lock().clone();
        let is_handed_in = jobs.is_some_and(|jobs| jobs.send(job).is_ok());
        async move {
            let ended = || StateError::Unavailable("the writer of the state file has ended".to_owned());
            if !is_handed_in {
                return Err(ended());
            }
            answer.await.unwrap_or_else(|_| Err(ended()))
        }
        .boxed()
    }

    /// Makes the writer bring the journal's entries into the tables.
    fn catch_up(&self) -> Answer<'_, ()> {
        self.write(|_| Ok(Ok(())))
    }

    /// Reads the file on a blocking thread.
    fn look_up<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Core, &Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Answer<'static, T> {
        let core = self.0.core.clone();
        async move {
            let read = time::spawn_blocking(move || {
                let file = core.file()?;
                work(&core, &file).map_err(|error| unavailable(&error))
            });
            read.await.unwrap_or_else(|error| Err(StateError::Unavailable(error.to_string())))
        }
        .boxed()
    }

    async fn read_name(&self, name: Name) -> Result<Option<Versioned>, StateError> {
        let full = full_name(&name);
        let ahead = |local: &mut Local, now| (local.changes(), local.read_ahead(&full, now));
        let (before, ahead) = self.0.core.local(ahead);
        // The tables have whatever is not ahead of them, once they are read after that was asked.
        if let Some(found) = ahead {
            return found;
        }
        let row = self.look_up(move |_, file| tables::read(&file.begin_read()?, &name)).await?;
        self.0.core.local(|local, now| local.seen(&full, row, before, now))
    }

    async fn claim_name(&self, name: Name, claim: Claim) -> Result<Claimed, StateError> {
        let full = full_name(&name);
        // The lease comes first: whatever is read under it stays as it is, unless somebody writes without one.
        let (fence, known) = match self.0.core.local(|local, now| local.take(&full, &claim, now)) {
            Ok(taken) => taken,
            Err(lease) => {
                let found = self.read_name(name).await?;
                let is_absent = found.is_none() && !claim.creates;
                return Ok(if is_absent { Claimed::Absent } else { Claimed::Held(lease) });
            }
        };
        let found = match known {
            // Nobody else writes the file: what is known of the record is so.
            Some(head) if head.version == claim.known && !head.is_buried => {
                Ok(Some(self.0.core.local(|local, now| local.told(&full, &head, now))))
            }
            _ => self.read_name(name).await,
        };
        let give_back = || self.0.core.local(|local, _| local.give_back(&full, fence));
        match found {
            Ok(Some(found)) => {
                let (expires_in, lease) = self.0.core.local(|local, now| {
                    local.use_again(&full, claim.rest, now);
                    local.expiry_and_lease(&full, &found, now)
                });
                let blob = found.blob.filter(|_| found.version != claim.known);
                Ok(Claimed::Taken(Versioned { blob, fence, expires_in, lease, ..found }))
            }
            Ok(None) if claim.creates => {
                let lease = self.0.core.local(|local, now| local.lease(&full, now));
                Ok(Claimed::Taken(Versioned {
                    version: 0,
                    fence,
                    blob: None,
                    ends_in: None,
                    expires_in: None,
                    lease,
                }))
            }
            Ok(None) => {
                give_back();
                Ok(Claimed::Absent)
            }
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }
}

impl StateStore for RedbState {
    fn read<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Versioned>> {
        self.read_name(Name::of(key)).boxed()
    }

    fn claim<'a>(&'a self, key: &'a Key, claim: Claim) -> Answer<'a, Claimed> {
        self.claim_name(Name::of(key), claim).boxed()
    }

    fn renew<'a>(&'a self, key: &'a Key, fence: u64, lease: Duration) -> Answer<'a, ()> {
        async move {
            let name = Name::of(key);
            let full = full_name(&name);
            // A lease lasts longer than the record that it was for.
            if self.0.core.local(|local, _| local.is_taken(&full)) {
                self.read_name(name).await?;
            }
            self.0.core.local(|local, now| local.renew(&full, fence, lease, now))
        }
        .boxed()
    }

    fn commit(&self, commit: Commit) -> Answer<'_, ()> {
        async move {
            match self.0.core.commit_ahead(&commit) {
                Some(made) => {
                    if made.calls_writer {
                        drop(self.catch_up());
                    }
                    made.outcome
                }
                None => self.write(move |batch| batch.commit(&commit)).await,
            }
        }
        .boxed()
    }

    fn spend<'a>(&'a self, owner: &'a Owner, id: &'a [u8; 16], life: Duration) -> Answer<'a, bool> {
        let key = [principal_name(owner).as_bytes(), id].concat();
        self.write(move |batch| batch.spend(&key, life))
    }

    fn push<'a>(&'a self, run: &'a Key, message: Bytes, life: Duration) -> Answer<'a, ()> {
        let name = Name::of(run);
        self.write(move |batch| batch.push(&full_name(&name), &message, life))
    }

    fn drain<'a>(&'a self, run: &'a Key) -> Answer<'a, Vec<Bytes>> {
        let name = Name::of(run);
        self.write(move |batch| batch.drain(&full_name(&name)))
    }

    fn woken<'a>(&'a self, holder: &'a str) -> BoxFuture<'a, ()> {
        let waking = self.0.core.local(|local, _| local.waking(holder));
        async move { waking.notified().await }.boxed()
    }

    fn list<'a>(&'a self, owner: Option<&'a Owner>, kind: Kind) -> Answer<'a, Vec<Listed>> {
        let within = owner.map(|owner| (principal_name(owner), id_prefix(owner)));
        async move {
            if self.0.core.local(|local, _| local.ahead_count() > 0) {
                self.catch_up().await?;
            }
            let list = move |core: &Core, file: &Database| {
                let rows = tables::list(&file.begin_read()?, kind, within)?;
                Ok(core.local(|local, now| {
                    let listed = |(name, row): (Name, Row)| local.listed(&name, kind, &row, now);
                    rows.into_iter().filter_map(listed).collect()
                }))
            };
            self.look_up(list).await
        }
        .boxed()
    }

    fn has_room<'a>(&'a self, owner: &'a Owner, kind: Kind, room: Room) -> Answer<'a, bool> {
        async move {
            let principal = principal_name(owner);
            let known = || self.0.core.local(|local, _| local.has_room(kind, &principal, room));
            let has_room = match known() {
                Some(has_room) => has_room,
                None => {
                    // The one who writes counts what is in the file, and counts on from there.
                    self.write(move |batch| batch.count(kind)).await?;
                    known().unwrap_or_default()
                }
            };
            if has_room {
                return Ok(true);
            }
            // Some have expired, or are of another conversation.
            let own = self.list(Some(owner), kind).await?;
            let bytes = own.iter().map(|listed| listed.bytes).sum();
            Ok(room.has(own.len(), bytes) && self.list(None, kind).await?.len() < room.all)
        }
        .boxed()
    }

    fn look<'a>(&'a self, listed: &'a Listed) -> Answer<'a, Option<Versioned>> {
        async move { self.read_name(Name::of_listed(listed)?).await }.boxed()
    }

    fn erase<'a>(&'a self, listed: &'a Listed) -> Answer<'a, bool> {
        async move {
            let name = Name::of_listed(listed)?;
            let kind = listed.kind;
            self.write(move |batch| batch.bury(&name, kind, TOMBSTONE_LIFE)).await
        }
        .boxed()
    }

    fn announce<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        self.0.core.local(|local, _| local.announce(text));
        std::future::ready(Ok(())).boxed()
    }

    fn news(&self, point: u64) -> Answer<'_, News> {
        std::future::ready(Ok(self.0.core.local(|local, _| local.news(point)))).boxed()
    }

    fn attend<'a>(&'a self, replica: &'a Replica) -> Answer<'a, u64> {
        let now = self.0.core.local(|local, now| {
            local.attend(replica, now);
            now
        });
        std::future::ready(Ok(now)).boxed()
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        std::future::ready(Ok(self.0.core.local(|local, now| local.replicas(now)))).boxed()
    }
}
