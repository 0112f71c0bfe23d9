//! Drafts as files of the state folder: `STATE/drafts/PRINCIPAL/NAME.json`, where PRINCIPAL has 32 hex digits of its digest. Other
//! processes see them while a server runs.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::digest::hex_digest;
use ptc_host::private_folder::{self, PrivateFault};
use ptc_host::time;

use crate::draft::{Draft, MAX_DRAFT_BYTES, MAX_DRAFTS, MAX_RECORD_BYTES};
use crate::draft_store::{DraftFault, DraftList, DraftStore, MOST_LISTED};
use crate::name::ProgramName;

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The lock of a principal's folder.
const LOCK: &str = ".lock";
/// Hex digits of a principal's digest.
const DIGITS: usize = 32;

/// Drafts as files.
#[derive(Clone, Debug)]
pub struct DraftFiles {
    folder: Arc<Path>,
}

impl DraftFiles {
    /// Those below the state folder `state`. Nothing is made before the first draft.
    #[must_use]
    pub fn new(state: &Path) -> DraftFiles {
        DraftFiles { folder: state.join("drafts").into() }
    }

    fn folder_of(&self, principal: &str) -> PathBuf {
        self.folder.join(hex_digest(principal, DIGITS))
    }

    /// Runs file operations on a blocking thread.
    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, DraftFault> + Send + 'static,
    ) -> Result<T, DraftFault> {
        let (files, folder) = (self.clone(), self.folder.clone());
        time::spawn_blocking(move || work(&files)).await.unwrap_or_else(|error| {
            let path = folder.display().to_string();
            Err(PrivateFault::Io { path, error: error.to_string() }.into())
        })
    }

    fn list_now(&self, principal: Option<&str>) -> Result<DraftList, DraftFault> {
        let folders = match principal {
            Some(principal) => vec![self.folder_of(principal)],
            None => entries(&self.folder)?
                .filter(|entry| entry.file_name().len() == DIGITS)
                .map(|entry| entry.path())
                .collect(),
        };
        let mut list = DraftList::default();
        for folder in folders {
            for (name, path) in records(&folder)? {
                if list.drafts.len() + list.unreadable.len() >= MOST_LISTED {
                    list.is_part = true;
                    break;
                }
                match read_now(&path, &name) {
                    // A file that was moved to another folder is not that of its principal.
                    Ok(Some(draft)) if self.folder_of(&draft.principal) == folder => {
                        list.drafts.push(draft.summary());
                    }
                    Ok(Some(_)) => {
                        list.unreadable.push(format!("{}: it is of another principal", path.display()));
                    }
                    Ok(None) => {}
                    Err(fault) => list.unreadable.push(fault.to_string()),
                }
            }
        }
        list.drafts.sort_by(|a, b| (&a.principal, &a.name).cmp(&(&b.principal, &b.name)));
        Ok(list)
    }
}

/// What a folder holds; nothing if there is none.
fn entries(folder: &Path) -> Result<impl Iterator<Item = DirEntry> + use<>, DraftFault> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(PrivateFault::io(folder, &error).into()),
    };
    Ok(entries.into_iter().flatten().filter_map(Result::ok))
}

/// The records of a folder, with the names of their drafts.
fn records(folder: &Path) -> Result<Vec<(ProgramName, PathBuf)>, DraftFault> {
    let named = |entry: DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some((ProgramName::new(name.strip_suffix(".json")?).ok()?, entry.path()))
    };
    Ok(entries(folder)?.filter_map(named).take(MOST_LISTED + 1).collect())
}

fn file_name(name: &ProgramName) -> String {
    format!("{name}.json")
}

fn read_now(path: &Path, name: &ProgramName) -> Result<Option<Draft>, DraftFault> {
    let Some(bytes) = private_folder::read(path, MAX_RECORD_BYTES)? else { return Ok(None) };
    let read = Draft::of_record(name, &bytes);
    read.map(Some).map_err(|why| DraftFault::Unreadable(format!("{} {why}", path.display())))
}

/// Whether a folder has room for a record of so many bytes under this name.
fn has_room(folder: &Path, name: &ProgramName, bytes: u64) -> Result<bool, DraftFault> {
    let (mut count, mut taken) = (1, bytes);
    for (other, path) in records(folder)? {
        if other != *name {
            count += 1;
            taken += std::fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        }
    }
    Ok(count <= MAX_DRAFTS && taken <= MAX_DRAFT_BYTES)
}

impl DraftStore for DraftFiles {
    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn put<'a>(&'a self, draft: &'a Draft) -> BoxFuture<'a, Result<bool, DraftFault>> {
        async move {
            let folder = self.folder_of(&draft.principal);
            let held = private_folder::lock(&folder, LOCK, PATIENCE).await?;
            let (name, record) = (draft.name.clone(), draft.record());
            self.away(move |_| {
                if !has_room(&folder, &name, record.len() as u64)? {
                    return Err(DraftFault::Full);
                }
                let existed = folder.join(file_name(&name)).exists();
                private_folder::replace(&folder, &file_name(&name), record.as_bytes())?;
                drop(held);
                Ok(existed)
            })
            .await
        }
        .boxed()
    }

    fn list<'a>(&'a self, principal: Option<&'a str>) -> BoxFuture<'a, Result<DraftList, DraftFault>> {
        let principal = principal.map(str::to_owned);
        self.away(move |files| files.list_now(principal.as_deref())).boxed()
    }

    fn read<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
    ) -> BoxFuture<'a, Result<Option<Draft>, DraftFault>> {
        let (principal, name) = (principal.to_owned(), name.clone());
        self.away(move |files| {
            let read = read_now(&files.folder_of(&principal).join(file_name(&name)), &name)?;
            Ok(read.filter(|draft| *draft.principal == *principal))
        })
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        principal: &'a str,
        name: &'a ProgramName,
        digest: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, DraftFault>> {
        async move {
            let folder = self.folder_of(principal);
            let path = folder.join(file_name(name));
            let is_there = {
                let path = path.clone();
                self.away(move |_| Ok(path.exists())).await?
            };
            if !is_there {
                return Ok(false);
            }
            let held = private_folder::lock(&folder, LOCK, PATIENCE).await?;
            let (name, digest) = (name.clone(), digest.map(str::to_owned));
            self.away(move |_| {
                if let Some(digest) = digest
                    && read_now(&path, &name)?.is_some_and(|draft| draft.digest() != digest)
                {
                    return Err(DraftFault::Replaced);
                }
                let existed = private_folder::remove(&folder, &file_name(&name))?;
                drop(held);
                Ok(existed)
            })
            .await
        }
        .boxed()
    }
}
