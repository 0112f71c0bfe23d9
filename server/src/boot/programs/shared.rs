//! One set of approved programs for all replicas: the folder beside what the store has (programs.md 9).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ptc_host::digest::sha256_hex;
use ptc_host::engine::kept::ProgramFault;
use ptc_host::time;
use ptc_programs::folder::ProgramFolder;
use ptc_programs::lock::{ProgramsLock, WrittenLock};
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::store::{ProgramStore, StoreFault, StoredHead};
use ptc_protocol::Service;
use tokio::sync::MutexGuard;
use tracing::{error, info, warn};

use super::{KeptPrograms, Parts, ReadFolder, ServedFolder, changed_upstreams, key};

/// How often the store is asked whether others have approved something.
const LOOK: Duration = Duration::from_secs(1);
/// Attempts to write what another process keeps changing.
const ATTEMPTS: usize = 5;
/// Files that are read from the store and compiled at a time.
const AT_A_TIME: usize = 64;

/// What holds now.
pub(super) struct Held {
    /// The folder as it was read last.
    pub(super) folder: ReadFolder,
    /// What is served, of the folder or of the store.
    served: Option<Arc<ProgramFolder>>,
    /// What the store had when its programs were read last.
    copy: Option<StoreCopy>,
    /// What the store had when all was settled; `None` until then.
    settled: Option<Option<StoredHead>>,
    /// Whether all was settled once. Records are sealed anew at a start only: replicas whose secrets have their lines in different
    /// orders would do so in turns.
    was_settled: bool,
    /// What the log was told last of the store.
    told: Option<String>,
    /// The lock of the folder, by its digest, of which the log was told that it disagrees with that of the store.
    disagrees: Option<String>,
}

/// The programs of the store.
#[derive(Clone)]
struct StoreCopy {
    head: StoredHead,
    folder: Arc<ProgramFolder>,
}

/// What is to be served, and what the store is to get.
pub(super) struct Choice {
    /// What is to be served in the place of what there is; `None`: that stays.
    pub(super) served: Option<ServedFolder>,
    /// Whose lock it is.
    pub(super) source: Source,
    /// The newest lock that is known here: of the folder, of what the store had, or of what it has.
    own: Option<Arc<ProgramFolder>>,
    /// The head of the store, where it has answered.
    pub(super) head: Option<Option<StoredHead>>,
    /// What was read of the store.
    copy: Option<StoreCopy>,
    /// What the store lacks of the newest lock.
    lacks: Lack,
    /// Why the store is not used.
    fault: Option<StoreFault>,
}

/// Whose lock holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Folder,
    Store {
        /// Whether the folder has another lock of the same revision.
        disagrees: bool,
    },
}

/// What a store lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Nothing,
    /// Perhaps some files.
    Files,
    /// The lock.
    Lock,
}

impl Choice {
    /// The same with this served.
    pub(super) fn serving(self, served: Option<ServedFolder>) -> Choice {
        Choice { served, ..self }
    }

    /// Why this folder is not what is served; `None` if it is.
    pub(super) fn holds_against(&self, folder: &Arc<ProgramFolder>) -> Option<String> {
        let Source::Store { .. } = self.source else { return None };
        let of_store = self.copy.as_ref().map(|copy| &copy.folder).or(self.own.as_ref());
        let (store, own) = (of_store.and_then(revision_of)?, revision_of(folder)?);
        if store == own {
            return Some(format!(
                "stay as the store has them: the lock of the folder has other approvals, and the same revision {own} (ptc program approve --above {own})"
            ));
        }
        Some(format!(
            "stay as the store has them: its lock has revision {store}, and that of the folder {own} (ptc program approve --above {store})"
        ))
    }

    /// Why the store is not used.
    pub(super) fn fault(&self) -> Option<&StoreFault> {
        self.fault.as_ref()
    }
}

impl Held {
    pub(super) fn new(folder: ReadFolder) -> Held {
        Held {
            served: folder.clone().ok(),
            folder,
            copy: None,
            settled: None,
            was_settled: false,
            told: None,
            disagrees: None,
        }
    }

    /// Takes a folder that was read again. What the store lacks of it is not known.
    pub(super) fn take(&mut self, folder: Arc<ProgramFolder>) {
        self.folder = Ok(folder);
        self.settled = None;
    }

    /// The newest lock that is known, with a folder as it is now; and whose it is. What the store had is newer than a folder of a
    /// lower revision, also if the store is down by now, or has forgotten it. A folder with the same approvals is what holds.
    fn newest<'h>(&'h self, folder: &'h ReadFolder) -> (Option<&'h Arc<ProgramFolder>>, Source) {
        let (copy, folder) = (self.copy.as_ref().map(|copy| &copy.folder), folder.as_ref().ok());
        let Some(copy) = copy else { return (folder, Source::Folder) };
        let is_served = self.served.as_ref().is_some_and(|served| Arc::ptr_eq(served, copy));
        let (known, own) = (revision_of(copy), folder.and_then(revision_of));
        let is_same = folder.is_some_and(|folder| has_same_approvals(folder, copy));
        match known > own || is_served && known == own && !is_same {
            true => (Some(copy), Source::Store { disagrees: known == own }),
            false => (folder, Source::Folder),
        }
    }

    /// What a store lacks that otherwise lacks this: all that is sealed with another line of the secret.
    fn sealing(&self, store: &ProgramStore, head: &StoredHead, otherwise: Lack) -> Lack {
        if !self.was_settled && store.is_sealed_otherwise(head) { Lack::Lock } else { otherwise }
    }

    /// Why a folder that was read again, while the server runs, takes nothing out of service: its lock is older than what is served, or
    /// gone. `chosen`: what would be served of it.
    pub(super) fn older(&self, folder: &ProgramFolder, chosen: &Choice) -> Option<String> {
        let served = self.served.as_ref().and_then(revision_of)?;
        let is_older = chosen.source == Source::Folder
            && chosen
                .served
                .as_ref()
                .and_then(|next| revision_of(&next.folder))
                .is_some_and(|next| next < served);
        is_older.then(|| {
            let what = match &folder.lock {
                Ok(lock) if !folder.lock_text.is_empty() => format!("has revision {}", lock.revision),
                _ => "is gone".to_owned(),
            };
            format!(
                "{} {what}, and the one that is served has revision {served}. `ptc program approve --withdraw NAME` takes a program \
                 out of service, and `ptc program approve --above {served}` lets this folder hold",
                folder.lock_path().display()
            )
        })
    }

    /// Whether the log was told that the lock of the folder disagrees with that of the store.
    #[cfg(test)]
    pub(super) fn disagrees(&self) -> bool {
        self.disagrees.is_some()
    }

    /// What is served.
    pub(super) fn served(&self) -> Option<&Arc<ProgramFolder>> {
        self.served.as_ref()
    }
}

impl KeptPrograms {
    /// Looks what the store has before the server serves, and from then on as long as the server is there.
    pub(in crate::boot) async fn begin(&self, service: &Arc<Service>) {
        let _ = self.0.service.set(Arc::downgrade(service));
        if self.0.store.is_none() {
            return;
        }
        let mut held = self.0.held.lock().await;
        self.0.settle(&mut held).await;
        if let Err(reason) = &held.folder {
            let revision = held.served.as_ref().and_then(revision_of);
            let what = match revision {
                Some(_) => "the kept programs of the store are served",
                None => "no kept program is served",
            };
            error!(event = "programs_unreadable", reason, revision, "{what}");
        }
        drop(held);
        tokio::spawn(follow(Arc::downgrade(&self.0)));
    }
}

/// Follows what others approve.
async fn follow(parts: Weak<Parts>) {
    loop {
        let Some(waiting) = parts.upgrade() else { return };
        let _ = time::timeout(LOOK, waiting.changed.notified()).await;
        drop(waiting);
        let Some(parts) = parts.upgrade().filter(|parts| parts.is_served()) else { return };
        let mut held = parts.held.lock().await;
        parts.look(&mut held).await;
    }
}

impl Parts {
    fn is_served(&self) -> bool {
        self.service.get().is_some_and(|service| service.strong_count() > 0)
    }

    /// Takes up what others have approved since.
    pub(super) async fn look(&self, held: &mut MutexGuard<'_, Held>) {
        let Some(store) = &self.store else { return };
        match store.head().await {
            Ok(head) if held.settled.as_ref() == Some(&head) => {}
            Ok(head) => {
                self.reread(held, head.as_ref()).await;
                self.settle(held).await;
            }
            Err(fault) => tell(held, &fault),
        }
    }

    /// Reads a folder again that others may have written together with the store.
    async fn reread(&self, held: &mut Held, head: Option<&StoredHead>) {
        let Some(head) = head else { return };
        let is_as = |folder: &Arc<ProgramFolder>| digest_of(folder) == head.lock;
        if held.folder.as_ref().is_ok_and(is_as) {
            return;
        }
        if let Ok(folder) = self.read_folder().await
            && is_as(&folder)
        {
            held.take(folder);
        }
    }

    /// Serves what is to be served, and gives the store what it lacks.
    pub(super) async fn settle(&self, held: &mut Held) {
        for _ in 0..ATTEMPTS {
            let choice = self.choose(held, &held.folder).await;
            let (own, head, lacks) = (choice.own.clone(), choice.head.clone(), choice.lacks);
            let fault = choice.fault.clone();
            tell_source(held, &choice);
            if self.adopt(held, choice) {
                self.list_changed();
            }
            let Some(head) = head else {
                if let Some(fault) = &fault {
                    tell(held, fault);
                }
                return;
            };
            match self.publish(own.as_deref(), head.as_ref(), lacks).await {
                Ok(head) => {
                    held.settled = Some(head);
                    held.was_settled = true;
                    match &fault {
                        Some(fault) => tell(held, fault),
                        None => held.told = None,
                    }
                    return;
                }
                Err(StoreFault::Overtaken) => {}
                Err(fault) => return tell(held, &fault),
            }
        }
    }

    /// Has the upstreams list their tools anew, in the background, of which some are not as the programs that are served now were
    /// approved with: another replica may have approved what this one has not been told of.
    fn list_changed(&self) {
        let Some(upstreams) = self.upstreams.as_ref().map(|upstreams| upstreams.current()) else { return };
        let changed = changed_upstreams(&self.current.current(), &upstreams);
        if !changed.is_empty() {
            tokio::spawn(async move { upstreams.list_anew(&changed).await });
        }
    }

    /// Gives the store what it lacks; the head that it has then.
    async fn publish(
        &self,
        own: Option<&ProgramFolder>,
        head: Option<&StoredHead>,
        lacks: Lack,
    ) -> Result<Option<StoredHead>, StoreFault> {
        let (Some(store), Some(folder)) = (&self.store, own) else { return Ok(head.cloned()) };
        let Ok(lock) = &folder.lock else { return Ok(head.cloned()) };
        match (lacks, head) {
            (Lack::Lock, _) => {
                let published = store
                    .publish(head, WrittenLock { lock, text: &folder.lock_text }, &files_of(folder))
                    .await?;
                info!(
                    event = "programs_published",
                    revision = lock.revision,
                    former = head.map(|head| head.revision),
                    programs = lock.programs.len()
                );
                Ok(Some(published))
            }
            (Lack::Files, Some(head)) => {
                let files = store
                    .complete(head, WrittenLock { lock, text: &folder.lock_text }, &files_of(folder))
                    .await?;
                if files > 0 {
                    info!(event = "programs_published", revision = lock.revision, files);
                }
                Ok(Some(head.clone()))
            }
            _ => Ok(head.cloned()),
        }
    }

    /// What is to be served, with the folder as it is now.
    pub(super) async fn choose(&self, held: &Held, folder: &ReadFolder) -> Choice {
        let (own, source) = held.newest(folder);
        let mut choice = Choice {
            served: None,
            source,
            own: own.cloned(),
            head: None,
            copy: None,
            lacks: Lack::Nothing,
            fault: None,
        };
        let known = match &self.store {
            None => None,
            Some(store) => self.compare(store, held, own, &mut choice).await,
        };
        let chosen = known.as_ref().map(|copy| copy.folder.clone()).or_else(|| own.cloned());
        let is_other = |chosen: &Arc<ProgramFolder>| {
            held.served.as_ref().is_none_or(|served| !Arc::ptr_eq(served, chosen))
        };
        if let Some(chosen) = chosen.filter(is_other) {
            choice.served = time::spawn_blocking(move || ServedFolder::of(chosen)).await.ok();
        }
        choice.copy = known;
        choice
    }

    /// Compares a folder with the store. The programs of the store, if those are to be served.
    async fn compare(
        &self,
        store: &ProgramStore,
        held: &Held,
        own: Option<&Arc<ProgramFolder>>,
        choice: &mut Choice,
    ) -> Option<StoreCopy> {
        let revision = own.and_then(revision_of);
        let mut fault = StoreFault::Overtaken;
        for _ in 0..ATTEMPTS {
            let head = match store.head().await {
                Ok(head) => head,
                Err(failed) => {
                    fault = failed;
                    break;
                }
            };
            let is_newer = |head: &StoredHead| revision.is_none_or(|own| own < head.revision);
            let Some(found) = head.clone().filter(|head| revision.is_none_or(|own| own <= head.revision))
            else {
                // A folder that has approved nothing yet has nothing to say.
                let says_something = revision.is_some_and(|revision| revision > 0);
                choice.lacks = if says_something { Lack::Lock } else { Lack::Nothing };
                choice.head = Some(head);
                return None;
            };
            choice.head = Some(head);
            if own.is_some_and(|own| digest_of(own) == found.lock) {
                choice.lacks = match held.settled == Some(Some(found.clone())) {
                    true => Lack::Nothing,
                    false => held.sealing(store, &found, Lack::Files),
                };
                return None;
            }
            match self.copy(store, held, own, &found).await {
                Ok(copy) => {
                    let is_same = own.is_some_and(|own| has_same_approvals(own, &copy.folder));
                    choice.lacks = held.sealing(store, &found, Lack::Nothing);
                    choice.own = Some(copy.folder.clone());
                    if is_same {
                        return None;
                    }
                    choice.source = Source::Store { disagrees: !is_newer(&found) };
                    return Some(copy);
                }
                Err(StoreFault::Overtaken) => {}
                Err(StoreFault::Unavailable(reason)) => {
                    fault = StoreFault::Unavailable(reason);
                    break;
                }
                Err(unusable) => {
                    choice.fault = Some(unusable);
                    return None;
                }
            }
        }
        choice.head = None;
        choice.fault = Some(fault);
        None
    }

    /// The programs of the store. Those that are known here are not read again; the others are compiled anew.
    async fn copy(
        &self,
        store: &ProgramStore,
        held: &Held,
        own: Option<&Arc<ProgramFolder>>,
        head: &StoredHead,
    ) -> Result<StoreCopy, StoreFault> {
        if let Some(copy) = held.copy.as_ref().filter(|copy| copy.head == *head) {
            return Ok(copy.clone());
        }
        let text = match store.lock(head).await {
            Err(StoreFault::Unusable(_)) if is_overtaken(store, head).await => {
                return Err(StoreFault::Overtaken);
            }
            read => read?,
        };
        let (path, unread) = (self.settings.key.clone(), text.clone());
        let lock = time::spawn_blocking(move || {
            let key = key(path.as_deref())?.map(|key| key.verifying());
            ProgramsLock::parse(&unread, key.as_ref()).map_err(|fault| fault.to_string())
        });
        let lock = lock.await.map_err(|fault| StoreFault::Unusable(fault.to_string()))?;
        let lock = lock.map_err(|fault| {
            StoreFault::Unusable(format!("the lock of revision {} in the store: {fault}", head.revision))
        })?;
        let known = own.into_iter().chain(held.copy.as_ref().map(|copy| &copy.folder));
        let known: Vec<_> = known.collect();
        let known = |name: &ProgramName, digest: &str| {
            let mut known = known.iter().filter_map(|folder| folder.program(name));
            known.find(|program| *program.digest == *digest).cloned()
        };
        let mut programs = BTreeMap::new();
        let mut unknown: Vec<(ProgramName, String)> = Vec::new();
        for (name, digest) in lock.files() {
            match known(name, digest) {
                Some(program) => drop(programs.insert(name.clone(), Ok(program))),
                None => unknown.push((name.clone(), digest.to_owned())),
            }
        }
        let mut is_whole = true;
        for files in unknown.chunks(AT_A_TIME) {
            let digests: Vec<String> = files.iter().map(|(_, digest)| digest.clone()).collect();
            let texts = store.files(&digests).await?;
            is_whole &= files.iter().all(|(_, digest)| texts.contains_key(digest));
            let files = files.to_vec();
            let read = time::spawn_blocking(move || {
                files
                    .into_iter()
                    .map(|(name, digest)| (name.clone(), read_file(name, texts.get(&digest))))
                    .collect::<Vec<_>>()
            });
            programs.extend(read.await.map_err(|fault| StoreFault::Unusable(fault.to_string()))?);
        }
        if !is_whole && is_overtaken(store, head).await {
            return Err(StoreFault::Overtaken);
        }
        let folder = ProgramFolder::of_lock(&self.settings.dir, lock, text, programs);
        Ok(StoreCopy { head: head.clone(), folder: Arc::new(folder) })
    }

    /// Lets hold what was chosen. Whether another set is served.
    pub(super) fn adopt(&self, held: &mut Held, choice: Choice) -> bool {
        if choice.copy.is_some() {
            held.copy = choice.copy;
        }
        let Some(served) = choice.served else { return false };
        served.tell();
        held.served = Some(served.folder);
        if self.current.current().changes_to(&served.set).is_empty() {
            return false;
        }
        self.current.replace(served.set);
        if let Some(service) = self.service.get().and_then(Weak::upgrade) {
            service.refresh_tools();
        }
        true
    }
}

/// Whether the store has another head by now.
async fn is_overtaken(store: &ProgramStore, head: &StoredHead) -> bool {
    store.head().await.is_ok_and(|now| now.as_ref() != Some(head))
}

/// A file of the store.
fn read_file(name: ProgramName, text: Option<&Arc<str>>) -> Result<Arc<KeptProgram>, ProgramFault> {
    match text {
        Some(text) => KeptProgram::read(name, text).map(Arc::new),
        None => Err(ProgramFault::whole("the store does not have its text, or has another one")),
    }
}

/// The files of a folder, by their digests.
pub(super) fn files_of(folder: &ProgramFolder) -> BTreeMap<String, Arc<str>> {
    let programs = folder.programs.values().filter_map(|found| found.program.as_ref().ok());
    programs.map(|program| (program.digest.to_string(), program.text.clone())).collect()
}

fn revision_of(folder: &Arc<ProgramFolder>) -> Option<u64> {
    folder.lock.as_ref().ok().map(|lock| lock.revision)
}

/// Whether two folders have the same lock, signed or not.
fn has_same_approvals(one: &ProgramFolder, other: &ProgramFolder) -> bool {
    matches!((&one.lock, &other.lock), (Ok(one), Ok(other)) if one == other)
}

fn digest_of(folder: &ProgramFolder) -> String {
    sha256_hex(folder.lock_text.as_bytes())
}

/// Tells the log that what is chosen is the store's, and once of each lock of the folder that disagrees with it.
pub(super) fn tell_source(held: &mut Held, choice: &Choice) {
    let of_folder = held.folder.as_ref().ok();
    let (folder, lock) = (of_folder.and_then(revision_of), of_folder.map(|folder| digest_of(folder)));
    let disagrees = match choice.source {
        Source::Store { disagrees } => disagrees,
        Source::Folder => false,
    };
    if disagrees && lock != held.disagrees {
        error!(
            event = "programs_disagree",
            revision = folder,
            "this folder and another one have different locks of one revision; the lock of the store holds"
        );
    }
    held.disagrees = lock.filter(|_| disagrees);
    if let (Source::Store { disagrees: false }, Some(served)) = (choice.source, &choice.served) {
        info!(event = "programs_from_store", revision = revision_of(&served.folder), folder);
    }
}

/// Tells the log once why the store is not used.
pub(super) fn tell(held: &mut Held, fault: &StoreFault) {
    let reason = fault.to_string();
    if held.told.as_ref() == Some(&reason) {
        return;
    }
    match fault {
        StoreFault::Unusable(_) => error!(event = "programs_store_unusable", reason),
        StoreFault::Unavailable(_) | StoreFault::Overtaken => {
            warn!(event = "programs_store_unavailable", reason);
        }
    }
    held.told = Some(reason);
}
