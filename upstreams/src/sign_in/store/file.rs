//! The file store: one file a record in `STATE/auth`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{
    AuthStore, Guard, Protection, RecordKey, RecordKind, RecordSummary, RecordText, SealingKeys, StoreError,
    envelope,
};
use ptc_base::time;
use ptc_secret::private_folder::{self, PrivateFault};

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest record file.
const MAX_RECORD: u64 = 4 * 1024 * 1024;
/// Age at which an unfinished sign-in is swept.
const PENDING_AGE: Duration = Duration::from_secs(3600);

/// Records as files of their own. Processes share it: each record has a lock file beside it.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: Arc<Path>,
    keys: Option<SealingKeys>,
}

impl FileStore {
    /// The store below the state folder `state`, whose records are sealed with `keys` if there are any. Nothing is created
    /// before the first write.
    pub fn new(state: &Path, keys: Option<SealingKeys>) -> Self {
        Self { folder: state.join("auth").into(), keys }
    }

    /// Where the records are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: &RecordKey) -> PathBuf {
        self.folder.join(file_name(key))
    }

    fn read_now(&self, key: &RecordKey) -> Result<Option<RecordText>, StoreError> {
        let path = self.path(key);
        let Some(bytes) = private_folder::read(&path, MAX_RECORD)? else { return Ok(None) };
        envelope::decode(&bytes, key, self.keys.as_ref(), || path.display().to_string()).map(Some)
    }

    fn write_now(&self, key: &RecordKey, text: &str) -> Result<(), StoreError> {
        let malformed = || StoreError::Malformed { path: self.path(key).display().to_string() };
        let bytes = envelope::encode(key, text, self.keys.as_ref()).ok_or_else(malformed)?;
        Ok(private_folder::replace(&self.folder, &file_name(key), &bytes)?)
    }

    fn list_now(&self, kind: RecordKind) -> Result<Vec<RecordSummary>, StoreError> {
        let mut listed = Vec::new();
        for path in self.files(kind)? {
            let Some(bytes) = private_folder::read(&path, MAX_RECORD)? else { continue };
            let Some(key) = envelope::key_of(&bytes, kind) else { continue };
            // A file that was renamed is not that of its key.
            if path == self.path(&key) {
                let text = envelope::decode(&bytes, &key, self.keys.as_ref(), || path.display().to_string());
                listed.push(RecordSummary { key, text });
            }
        }
        Ok(listed)
    }

    fn files(&self, kind: RecordKind) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(PrivateFault::io(&self.folder, &error).into()),
        };
        let prefix = format!("{}-", kind.as_str());
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let records = names.filter(|name| name.starts_with(&prefix) && name.ends_with(".json"));
        Ok(records.map(|name| self.folder.join(name)).collect())
    }

    /// Sweeps abandoned state: sign-ins that were begun long ago, and their lock files, whose names are never reused.
    fn sweep(&self) {
        let old = |path: &Path| {
            let changed = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
            changed.is_ok_and(|at| time::time_of_day().duration_since(at).is_ok_and(|age| age > PENDING_AGE))
        };
        for path in self.files(RecordKind::Pending).unwrap_or_default().into_iter().filter(|path| old(path)) {
            let _ = std::fs::remove_file(&path);
        }
        let locks = std::fs::read_dir(&*self.folder).into_iter().flatten().filter_map(Result::ok);
        let pending = locks.filter(|entry| entry.file_name().to_string_lossy().starts_with("pending-"));
        for path in
            pending.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "lock"))
        {
            if old(&path) {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    /// Runs file operations on a blocking thread.
    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        let folder = self.folder.clone();
        time::spawn_blocking(move || work(&store)).await.unwrap_or_else(|error| {
            Err(StoreError::Io { path: folder.display().to_string(), error: error.to_string() })
        })
    }
}

fn file_name(key: &RecordKey) -> String {
    format!("{}.json", key.name())
}

impl AuthStore for FileStore {
    fn read<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Option<RecordText>, StoreError>> {
        let key = key.clone();
        self.away(move |store| store.read_now(&key)).boxed()
    }

    fn lock<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Guard, StoreError>> {
        async {
            let held = private_folder::lock(&self.folder, &format!("{}.lock", key.name()), PATIENCE).await?;
            Ok(Guard::new(key.clone(), held))
        }
        .boxed()
    }

    fn write<'a>(&'a self, guard: &'a Guard, text: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (key, text) = (guard.key().clone(), RecordText::new(text.to_owned()));
        self.away(move |store| {
            if key.kind() == RecordKind::Pending {
                store.sweep();
            }
            store.write_now(&key, &text)
        })
        .boxed()
    }

    fn delete<'a>(&'a self, guard: &'a Guard) -> BoxFuture<'a, Result<(), StoreError>> {
        let (name, key) = (file_name(guard.key()), guard.key().clone());
        self.away(move |store| {
            private_folder::remove(&store.folder, &name)?;
            if key.kind() == RecordKind::Pending {
                // Nobody uses the name of this lock again.
                private_folder::remove(&store.folder, &format!("{}.lock", key.name()))?;
            }
            Ok(())
        })
        .boxed()
    }

    fn list(&self, kind: RecordKind) -> BoxFuture<'_, Result<Vec<RecordSummary>, StoreError>> {
        if kind == RecordKind::Pending {
            return std::future::ready(Ok(Vec::new())).boxed();
        }
        self.away(move |store| store.list_now(kind)).boxed()
    }

    fn protection(&self) -> Protection {
        if self.keys.is_some() { Protection::Sealed } else { Protection::Plain }
    }
}
