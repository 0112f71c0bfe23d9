//! The trace folder: opens, renames, trims and reads files in it. It never follows a symbolic link and touches only
//! files with names of our own.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::SystemTime;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::index::FileIndex;
use super::names;

/// New files after which the folder is read again, because other processes may write to it, too.
const RELIST_AFTER: usize = 256;
/// Traces of one request id that are searched for one of the right owner.
const CANDIDATES: usize = 32;

/// The folder, and the index of our files in it.
pub(super) struct Folder {
    path: PathBuf,
    max_files: usize,
    max_bytes: u64,
    /// Our files; `None` until the folder is read.
    files: Option<FileIndex>,
    opened: usize,
    evicted: u64,
}

/// The file of a trace.
#[derive(Debug)]
pub struct TraceFile {
    /// The name of its file.
    pub name: String,
    /// Its text; `None` if it is larger than requested.
    pub text: Option<String>,
}

impl Folder {
    pub(super) fn new(path: PathBuf, max_files: usize, max_bytes: u64) -> Self {
        Folder { path, max_files, max_bytes, files: None, opened: 0, evicted: 0 }
    }

    /// Bytes of our files, and how many of them were evicted.
    pub(super) fn kept(&self) -> (u64, u64) {
        (self.files.as_ref().map_or(0, FileIndex::bytes), self.evicted)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates the folder if it is missing; only we have access to a folder that we created.
    pub(super) fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// Deletes our oldest files until one more of `bytes` fits; with `grows`, until that file of ours can grow by as
    /// many. Reports each file that cannot be deleted.
    ///
    /// # Errors
    /// If the folder cannot be read, and [`io::ErrorKind::FileTooLarge`] if even an empty folder would be too small.
    pub(super) fn make_room(
        &mut self,
        bytes: u64,
        grows: Option<&str>,
        mut failed: impl FnMut(&str, &io::Error),
    ) -> io::Result<()> {
        if self.files.is_none() || self.opened >= RELIST_AFTER {
            let mut listed = self.list()?;
            listed.sort();
            self.opened = 0;
            self.files = Some(FileIndex::of(listed.into_iter().map(|(_, name, bytes)| (name, bytes))));
        }
        let (path, max_files, max_bytes) = (&self.path, self.max_files, self.max_bytes);
        let Some(files) = &mut self.files else { return Ok(()) };
        let own = grows.map_or(0, |name| files.bytes_of(name));
        if own.saturating_add(bytes) > max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let more = usize::from(grows.is_none());
        while files.len() + more > max_files || files.bytes().saturating_add(bytes) > max_bytes {
            let Some(name) = files.take_oldest(grows) else { break };
            match std::fs::remove_file(path.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed(&name, &error),
                Ok(()) => self.evicted += 1,
            }
        }
        Ok(())
    }

    /// Creates a new file; it must not exist yet. [`grew`](Self::grew) reports the bytes written to it.
    pub(super) fn open_new(&mut self, name: &str) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path(name))?;
        self.opened += 1;
        if let Some(files) = &mut self.files {
            files.add(name.to_owned(), 0);
        }
        Ok(file)
    }

    /// Adds to the size of a file of ours.
    pub(super) fn grew(&mut self, name: &str, bytes: u64) {
        if let Some(files) = &mut self.files {
            files.grow(name, bytes);
        }
    }

    /// Deletes a useless file of ours.
    pub(super) fn discard(&mut self, name: &str) {
        // If even that fails, the original failure is the one to report.
        let _ = std::fs::remove_file(self.path(name));
        if let Some(files) = &mut self.files {
            files.remove(name);
        }
    }

    /// Opens a file of ours to continue writing.
    pub(super) fn open_again(&self, name: &str) -> io::Result<File> {
        let file =
            OpenOptions::new().append(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(self.path(name))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Renames a file of ours. The caller ensures that `to` does not exist.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path(from), self.path(to))?;
        if let Some(files) = &mut self.files {
            files.rename(from, to);
        }
        Ok(())
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Our files with the times of their last change and their sizes in bytes. Links and folders are not ours,
    /// whatever their names.
    fn list(&self) -> io::Result<Vec<(SystemTime, String, u64)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if names::parts(&name).is_none() {
                continue;
            }
            // A file that was deleted since it was listed is ignored.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push((changed, name, metadata.len()));
            }
        }
        Ok(found)
    }

    /// The newest finished trace of a request id or eval id whose first bytes satisfy `admits`.
    pub(super) fn find(
        &self,
        id: &str,
        max_bytes: usize,
        admits: impl Fn(&str) -> bool,
    ) -> Option<TraceFile> {
        let hash = names::hash8(id);
        let mut candidates: Vec<_> = self
            .list()
            .ok()?
            .into_iter()
            .filter(|(_, name, _)| {
                names::parts(name).is_some_and(|parts| {
                    (parts.hash == hash || parts.eval_id == Some(id)) && parts.status != names::PENDING
                })
            })
            .collect();
        candidates.sort();
        candidates.into_iter().rev().take(CANDIDATES).find_map(|(_, name, _)| {
            let (text, whole) = self.read(&name, max_bytes).ok()?;
            admits(&text).then_some(TraceFile { name, text: whole.then_some(text) })
        })
    }

    /// The beginning of a file, and whether that is the whole file.
    #[expect(clippy::disallowed_methods, reason = "entry point: Folder.read")]
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
