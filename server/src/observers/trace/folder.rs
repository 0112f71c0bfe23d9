//! The trace folder: opens, renames, trims and reads files in it. It never follows a symbolic link and touches only
//! files with names of our own.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::SystemTime;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::names;

/// New files after which the folder is read again, because others may write to it, too.
const RELIST_AFTER: usize = 256;
/// Traces of one request id that are searched for one of the right owner.
const CANDIDATES: usize = 32;

/// The folder, and the index of our files in it.
pub(super) struct Folder {
    path: PathBuf,
    max_files: usize,
    /// Our files from the oldest to the newest; `None` until the folder is read.
    files: Option<BTreeMap<u64, String>>,
    next: u64,
    opened: usize,
}

/// The result of a search for a trace.
#[derive(Debug)]
pub struct Found {
    /// The name of its file.
    pub name: String,
    /// Its text; `None` if it is larger than requested.
    pub text: Option<String>,
}

impl Folder {
    pub(super) fn new(path: PathBuf, max_files: usize) -> Self {
        Folder { path, max_files, files: None, next: 0, opened: 0 }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates the folder if it is missing; only we have access to a folder that we created.
    pub(super) fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// Deletes our oldest files until one more fits. Reports each that cannot be deleted.
    pub(super) fn make_room(&mut self, mut failed: impl FnMut(&str, &io::Error)) -> io::Result<()> {
        if self.files.is_none() || self.opened >= RELIST_AFTER {
            let mut listed = self.list()?;
            listed.sort();
            self.opened = 0;
            self.next = listed.len() as u64;
            self.files = Some((0..).zip(listed.into_iter().map(|(_, name)| name)).collect());
        }
        let path = &self.path;
        let Some(files) = &mut self.files else { return Ok(()) };
        while files.len() >= self.max_files {
            let Some((_, name)) = files.pop_first() else { break };
            match std::fs::remove_file(path.join(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => failed(&name, &error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Creates a new file; it must not exist yet. Returns the number by which it can be renamed.
    pub(super) fn open_new(&mut self, name: &str) -> io::Result<(u64, File)> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path(name))?;
        let number = self.next;
        self.next += 1;
        self.opened += 1;
        if let Some(files) = &mut self.files {
            files.insert(number, name.to_owned());
        }
        Ok((number, file))
    }

    /// Opens a file of ours to go on writing.
    pub(super) fn open_again(&self, name: &str) -> io::Result<File> {
        let file =
            OpenOptions::new().append(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(self.path(name))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Renames a file of ours. The caller ensures that `to` does not exist.
    pub(super) fn rename(&mut self, number: u64, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path(from), self.path(to))?;
        if let Some(name) = self.files.as_mut().and_then(|files| files.get_mut(&number)) {
            *name = to.to_owned();
        }
        Ok(())
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Our files with the times of their last change. Links and folders are not ours, whatever they are called.
    fn list(&self) -> io::Result<Vec<(SystemTime, String)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if names::parts(&name).is_none() {
                continue;
            }
            // Gone since it was listed is as good as never there.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                found.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), name));
            }
        }
        Ok(found)
    }

    /// The newest finished trace of a request id or eval id whose first bytes satisfy `admits`.
    pub(super) fn find(&self, id: &str, max_bytes: usize, admits: impl Fn(&str) -> bool) -> Option<Found> {
        let hash = names::hash8(id);
        let mut candidates: Vec<_> = self
            .list()
            .ok()?
            .into_iter()
            .filter(|(_, name)| {
                names::parts(name).is_some_and(|parts| {
                    (parts.hash == hash || parts.eval_id == Some(id)) && parts.status != names::PENDING
                })
            })
            .collect();
        candidates.sort();
        candidates.into_iter().rev().take(CANDIDATES).find_map(|(_, name)| {
            let (text, whole) = self.read(&name, max_bytes).ok()?;
            admits(&text).then_some(Found { name, text: whole.then_some(text) })
        })
    }

    /// The beginning of a file, and whether that is the whole file.
    fn read(&self, name: &str, max_bytes: usize) -> io::Result<(String, bool)> {
        let file =
            OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(self.path(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        file.take(max_bytes as u64).read_to_end(&mut bytes)?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), metadata.len() <= max_bytes as u64))
    }
}
