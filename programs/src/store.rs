//! The approved programs in a store, so that replicas serve one set: a head, the lock in parts, and each file by its digest.
//!
//! The head names the lock. Files and parts are written first and the head last, at the version that it had before: whoever is
//! overtaken is told so, and begins again. Records that the new head does not need go in the commit that writes it, so that none
//! goes that another head needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use ptc_host::digest::sha256_hex;
use ptc_host::state::{Commit, Key, Kind, Owner, StateError, StateStore, Write};
use ptc_mcp::json::{Value as Json, from_slice, json};

use crate::lock::{MAX_LOCK_BYTES, WrittenLock};

/// The owner of the records: no principal, as the kind is not of theirs either.
const OWNER: &str = "\0programs";
/// The id of the head.
const HEAD: &str = "head";
/// The form of the head.
const FORM: u64 = 1;
/// Most bytes of a part of the lock: those of the largest file.
const PART: usize = 512 << 10;
/// Most records that one commit removes; the next one removes more.
const REMOVED: usize = 100;
/// Records that are read or written at a time.
const AT_A_TIME: usize = 16;

/// Which lock a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHead {
    /// The version of the record.
    version: u64,
    /// The revision of the lock.
    pub revision: u64,
    /// The SHA-256 of the lock's text, in hex digits.
    pub lock: String,
    /// Parts of its text.
    parts: usize,
    /// The id of the line of the secret with which its records are sealed.
    seal: String,
}

/// Why approved programs are not had from a store, or not written into it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The store does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// What it has cannot be used by this build.
    #[error("{0}")]
    Unusable(String),
    /// Another process was first.
    #[error("another process has changed the programs of the store meanwhile")]
    Overtaken,
}

impl From<StateError> for StoreFault {
    fn from(error: StateError) -> StoreFault {
        match error {
            StateError::Conflict | StateError::Fenced => StoreFault::Overtaken,
            StateError::Gone => StoreFault::Unavailable(
                "the programs of the store were removed less than an hour ago, until when nothing takes their place"
                    .to_owned(),
            ),
            StateError::Corrupt => StoreFault::Unusable(
                "a record cannot be opened: it is damaged, or sealed with another secret (--state-secret-file)"
                    .to_owned(),
            ),
            other => StoreFault::Unavailable(other.to_string()),
        }
    }
}

/// The approved programs of a store.
#[derive(Clone)]
pub struct ProgramStore {
    store: Arc<dyn StateStore>,
    owner: Owner,
    seal: Arc<str>,
}

impl ProgramStore {
    /// Those of this one. `seal`: the [id](ptc_host::state::Secret::sealing_id) of the line of the secret with which it seals.
    pub fn new(store: Arc<dyn StateStore>, seal: &str) -> ProgramStore {
        ProgramStore { store, owner: Owner::principal(OWNER), seal: seal.into() }
    }

    /// Whether the records of a head are sealed with another line of the secret, which is to be taken out some day: to
    /// [publish](Self::publish) the same lock again seals them anew.
    #[must_use]
    pub fn is_sealed_otherwise(&self, head: &StoredHead) -> bool {
        *head.seal != *self.seal
    }

    fn key(&self, id: impl Into<Arc<str>>) -> Result<Key, StoreFault> {
        Key::new(&self.owner, Kind::Program, id).map_err(|fault| StoreFault::Unusable(fault.to_string()))
    }

    async fn read(&self, id: &str) -> Result<Option<(u64, Bytes)>, StoreFault> {
        match self.store.read(&self.key(id)?).await {
            Ok(found) => Ok(found.and_then(|found| Some((found.version, found.blob?)))),
            Err(StateError::Gone) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The head; `None` if nothing was ever published.
    ///
    /// # Errors
    /// The store does not answer, or has one of another build.
    pub async fn head(&self) -> Result<Option<StoredHead>, StoreFault> {
        let Some((version, bytes)) = self.read(HEAD).await? else { return Ok(None) };
        match StoredHead::parse(version, &bytes) {
            Some(head) => Ok(Some(head)),
            None => Err(StoreFault::Unusable("they were written by another build of ptc".to_owned())),
        }
    }

    /// The text of the lock.
    ///
    /// # Errors
    /// The store does not answer, or does not have it whole: it was removed, or another lock has taken its place.
    pub async fn lock(&self, head: &StoredHead) -> Result<Arc<str>, StoreFault> {
        let ids: Vec<String> = head.lock_ids().collect();
        let parts = self.read_all(&ids).await?;
        let whole = ids.iter().map(|id| parts.get(id).map(|part| &part[..])).collect::<Option<Vec<_>>>();
        let text = whole.and_then(|parts| String::from_utf8(parts.concat()).ok());
        match text.filter(|text| sha256_hex(text.as_bytes()) == head.lock) {
            Some(text) => Ok(text.into()),
            None => Err(StoreFault::Unusable(format!(
                "the lock of revision {} is not whole in the store",
                head.revision
            ))),
        }
    }

    /// The files with these digests, as far as they are there and have them.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn files(&self, digests: &[String]) -> Result<BTreeMap<String, Arc<str>>, StoreFault> {
        let found = self.read_all(digests).await?;
        let texts = found.into_iter().filter_map(|(digest, bytes)| {
            let text =
                std::str::from_utf8(&bytes).ok().filter(|text| sha256_hex(text.as_bytes()) == digest)?;
            Some((digest, text.into()))
        });
        Ok(texts.collect())
    }

    /// The records with these ids, as far as they are there and can be opened.
    async fn read_all(&self, ids: &[String]) -> Result<BTreeMap<String, Bytes>, StoreFault> {
        let mut found = BTreeMap::new();
        for ids in ids.chunks(AT_A_TIME) {
            let read = join_all(ids.iter().map(|id| self.read(id))).await;
            for (id, read) in ids.iter().zip(read) {
                match read {
                    Ok(Some((_, bytes))) => drop(found.insert(id.clone(), bytes)),
                    Ok(None) | Err(StoreFault::Unusable(_)) => {}
                    Err(fault) => return Err(fault),
                }
            }
        }
        Ok(found)
    }

    /// Writes the files that the store lacks. `files`: by their digests.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn complete(
        &self,
        head: &StoredHead,
        lock: WrittenLock<'_>,
        files: &BTreeMap<String, Arc<str>>,
    ) -> Result<usize, StoreFault> {
        self.write_missing(head, lock, files, false).await.map(|(written, _)| written)
    }

    /// Puts a lock and its files in the place of `over`, as [`head`](Self::head) gave it. `files`: by their digests; those that
    /// are missing here stay as the store has them.
    ///
    /// # Errors
    /// Another process was first, or the store does not answer.
    pub async fn publish(
        &self,
        over: Option<&StoredHead>,
        WrittenLock { lock, text }: WrittenLock<'_>,
        files: &BTreeMap<String, Arc<str>>,
    ) -> Result<StoredHead, StoreFault> {
        let version = over.map_or(0, |over| over.version);
        let head = StoredHead {
            version: version + 1,
            revision: lock.revision,
            lock: sha256_hex(text.as_bytes()),
            parts: text.len().div_ceil(PART),
            seal: self.seal.to_string(),
        };
        if text.len() as u64 > MAX_LOCK_BYTES {
            return Err(StoreFault::Unusable(format!("a lock has at most {MAX_LOCK_BYTES} bytes")));
        }
        let seals_anew = over.is_some_and(|over| self.is_sealed_otherwise(over));
        let (_, unneeded) = self.write_missing(&head, WrittenLock { lock, text }, files, seals_anew).await?;
        let mut commit = Commit::one(Write::put(self.key(HEAD)?, version, head.bytes()));
        for id in unneeded.into_iter().take(REMOVED) {
            commit = commit.and(Write::remove(self.key(id)?));
        }
        self.store.commit(commit).await?;
        Ok(head)
    }

    /// Writes what the store lacks for a head, or all of it anew; how many records, and which ones the head does not need.
    async fn write_missing(
        &self,
        head: &StoredHead,
        WrittenLock { lock, text }: WrittenLock<'_>,
        files: &BTreeMap<String, Arc<str>>,
        anew: bool,
    ) -> Result<(usize, Vec<Arc<str>>), StoreFault> {
        let listed = self.store.list(Some(&self.owner), Kind::Program).await?;
        let there: BTreeMap<Arc<str>, u64> =
            listed.into_iter().map(|listed| (listed.id, listed.version)).collect();
        // The version that is written over; `None` for a record that stays as it is.
        let over = |id: &str| match there.get(id) {
            None => Some(0),
            Some(version) => anew.then_some(*version),
        };
        let mut needed: BTreeSet<String> = lock.files().into_values().map(str::to_owned).collect();
        let mut missing: Vec<(String, u64, Bytes)> = Vec::new();
        for digest in &needed {
            if let (Some(file), Some(version)) = (files.get(digest), over(digest)) {
                missing.push((digest.clone(), version, Bytes::copy_from_slice(file.as_bytes())));
            }
        }
        for (id, part) in head.lock_ids().zip(text.as_bytes().chunks(PART)) {
            if let Some(version) = over(&id) {
                missing.push((id.clone(), version, Bytes::copy_from_slice(part)));
            }
            needed.insert(id);
        }
        needed.insert(HEAD.to_owned());
        for records in missing.chunks(AT_A_TIME) {
            let puts = records.iter().map(|(id, version, bytes)| async {
                let write = Write::put(self.key(id.as_str())?, *version, bytes.clone());
                match self.store.commit(Commit::one(write)).await {
                    // Its id says what it holds: whoever wrote it wrote the same. One that an operator has removed stays so for a
                    // while.
                    Ok(()) | Err(StateError::Conflict | StateError::Gone) => Ok(()),
                    Err(error) => Err(StoreFault::from(error)),
                }
            });
            join_all(puts).await.into_iter().collect::<Result<(), StoreFault>>()?;
        }
        let unneeded = there.into_keys().filter(|id| !needed.contains(&**id)).collect();
        Ok((missing.len(), unneeded))
    }
}

impl StoredHead {
    #[expect(clippy::disallowed_methods, reason = "entry point: StoredHead.parse")]
    fn parse(version: u64, bytes: &[u8]) -> Option<StoredHead> {
        let head: Json = from_slice(bytes).ok()?;
        let number = |name: &str| head.get(name).and_then(Json::as_u64);
        let parts = usize::try_from(number("parts")?)
            .ok()
            .filter(|parts| parts * PART <= MAX_LOCK_BYTES as usize + PART)?;
        let lock = head.get("lock").and_then(Json::as_str)?.to_owned();
        let revision = number("revision")?;
        let seal = head.get("seal").and_then(Json::as_str)?.to_owned();
        (number("form")? == FORM).then_some(StoredHead { version, revision, lock, parts, seal })
    }

    fn bytes(&self) -> Bytes {
        let StoredHead { revision, lock, parts, seal, .. } = self;
        json!({"form": FORM, "revision": revision, "lock": lock, "parts": parts, "seal": seal})
            .to_string()
            .into()
    }

    fn lock_ids(&self) -> impl Iterator<Item = String> {
        (0..self.parts).map(|part| format!("{}-{part}", self.lock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{Approval, ProgramsLock};
    use crate::name::ProgramName;
    use ptc_host::state::{MemoryState, StoreLimits};

    fn store() -> (ProgramStore, Arc<MemoryState>) {
        let memory = Arc::new(MemoryState::new(StoreLimits { owner_bytes: 10 }));
        (ProgramStore::new(memory.clone(), "one"), memory)
    }

    /// A lock of these programs, each with its text, and its files.
    fn lock(revision: u64, files: &[(&str, &str)]) -> (ProgramsLock, BTreeMap<String, Arc<str>>) {
        let mut lock = ProgramsLock { revision, ..ProgramsLock::default() };
        let mut texts = BTreeMap::new();
        for (name, text) in files {
            let digest = sha256_hex(text.as_bytes());
            texts.insert(digest.clone(), Arc::from(*text));
            let approval = Approval {
                digest: digest.into(),
                calls: BTreeMap::new(),
                language: 1,
                tools: BTreeMap::new(),
                by: String::new(),
                at: String::new(),
            };
            lock.programs.insert(ProgramName::new(name).unwrap(), approval.into());
        }
        (lock, texts)
    }

    async fn ids(memory: &MemoryState) -> usize {
        memory.list(None, Kind::Program).await.unwrap().len()
    }

    #[tokio::test]
    async fn what_was_published_is_read_and_what_no_lock_names_goes() {
        let (store, memory) = store();
        assert_eq!(store.head().await, Ok(None));
        let (one, texts) = lock(1, &[("a", "one"), ("b", "two")]);
        let text = one.text(None);
        let first = store.publish(None, WrittenLock { lock: &one, text: &text }, &texts).await.unwrap();
        assert_eq!(store.head().await.unwrap().as_ref(), Some(&first));
        assert_eq!(*store.lock(&first).await.unwrap(), *text);
        let digests: Vec<String> = texts.keys().cloned().chain(["0".repeat(64)]).collect();
        assert_eq!(store.files(&digests).await.unwrap(), texts);
        assert_eq!(ids(&memory).await, 4);
        let (two, next) = lock(2, &[("a", "one"), ("b", "three")]);
        let second = store
            .publish(Some(&first), WrittenLock { lock: &two, text: &two.text(None) }, &next)
            .await
            .unwrap();
        assert_eq!((second.revision, ids(&memory).await), (2, 4));
        assert_eq!(store.files(&digests).await.unwrap().len(), 1, "the file of the former b is gone");
        assert!(store.lock(&first).await.is_err());
    }

    #[tokio::test]
    async fn of_two_publications_one_is_overtaken_and_loses_nothing_of_the_other() {
        let (store, memory) = store();
        let (one, texts) = lock(1, &[("a", "one")]);
        let first =
            store.publish(None, WrittenLock { lock: &one, text: &one.text(None) }, &texts).await.unwrap();
        let (mine, my_texts) = lock(2, &[("a", "one"), ("b", "mine")]);
        let (other, other_texts) = lock(2, &[("a", "one"), ("b", "other")]);
        let second = store
            .publish(Some(&first), WrittenLock { lock: &other, text: &other.text(None) }, &other_texts)
            .await
            .unwrap();
        let told =
            store.publish(Some(&first), WrittenLock { lock: &mine, text: &mine.text(None) }, &my_texts).await;
        assert_eq!(told, Err(StoreFault::Overtaken));
        let told = store.publish(None, WrittenLock { lock: &mine, text: &mine.text(None) }, &my_texts).await;
        assert_eq!(told, Err(StoreFault::Overtaken));
        assert_eq!(store.head().await.unwrap(), Some(second.clone()));
        assert_eq!(store.files(&other_texts.keys().cloned().collect::<Vec<_>>()).await.unwrap(), other_texts);
        // What the one that was overtaken wrote goes with the next one.
        let (next, next_texts) = lock(3, &[("a", "one")]);
        store
            .publish(Some(&second), WrittenLock { lock: &next, text: &next.text(None) }, &next_texts)
            .await
            .unwrap();
        assert_eq!(ids(&memory).await, 3);
    }

    #[tokio::test]
    async fn a_file_that_is_missing_is_written_again_and_one_that_is_another_is_none() {
        let (store, memory) = store();
        let (one, texts) = lock(1, &[("a", "one"), ("b", "two")]);
        let text = one.text(None);
        let head = store.publish(None, WrittenLock { lock: &one, text: &text }, &texts).await.unwrap();
        let digest = sha256_hex(b"one");
        let key = store.key(digest.as_str()).unwrap();
        memory.commit(Commit::one(Write::remove(key.clone()))).await.unwrap();
        assert_eq!(store.complete(&head, WrittenLock { lock: &one, text: &text }, &texts).await, Ok(1));
        assert_eq!(store.complete(&head, WrittenLock { lock: &one, text: &text }, &texts).await, Ok(0));
        memory.commit(Commit::one(Write::put(key, 1, &b"another"[..]))).await.unwrap();
        assert!(store.files(&[digest]).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn records_are_sealed_anew_with_the_line_of_the_secret_that_came_in_front() {
        let (store, memory) = store();
        let (one, texts) = lock(1, &[("a", "one"), ("b", "two")]);
        let text = one.text(None);
        let first = store.publish(None, WrittenLock { lock: &one, text: &text }, &texts).await.unwrap();
        let next = ProgramStore::new(memory.clone(), "two");
        assert!(!store.is_sealed_otherwise(&first) && next.is_sealed_otherwise(&first));
        let second =
            next.publish(Some(&first), WrittenLock { lock: &one, text: &text }, &texts).await.unwrap();
        assert!(!next.is_sealed_otherwise(&next.head().await.unwrap().unwrap()));
        let written = memory.list(None, Kind::Program).await.unwrap();
        assert_eq!(written.iter().map(|record| record.version).collect::<Vec<_>>(), [2; 4]);
        assert_eq!((*next.lock(&second).await.unwrap()).len(), text.len());
    }

    #[tokio::test]
    async fn a_large_lock_lies_in_parts_and_a_head_of_another_form_is_told() {
        let (store, memory) = store();
        let names: Vec<String> = (0..5000).map(|number| format!("p{number}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let (all, texts) = lock(1, &files);
        let text = all.text(None);
        assert!(text.len() > PART);
        let head = store.publish(None, WrittenLock { lock: &all, text: &text }, &texts).await.unwrap();
        assert_eq!(*store.lock(&head).await.unwrap(), *text);
        assert_eq!(ids(&memory).await, 5001 + text.len().div_ceil(PART));
        let key = store.key(HEAD).unwrap();
        let later = br#"{"form":2,"revision":9,"lock":"","parts":0,"seal":""}"#;
        memory.commit(Commit::one(Write::put(key, 1, &later[..]))).await.unwrap();
        assert_eq!(store.head().await.unwrap_err().to_string(), "they were written by another build of ptc");
    }
}
