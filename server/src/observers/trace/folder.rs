//! The folder of traces: opens, renames, trims and reads files in it. Nothing here follows a symbolic link, and
//! nothing but files with names of our own is ever touched.

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
/// Traces of one request id that are looked through for one of the right owner.
const CANDIDATES: usize = 32;

/// The folder, and which of our files are in it.
pub(super) struct Folder {
    path: PathBuf,
    max_files: usize,
    /// Our files from the oldest to the newest; `None` before the folder was read.
    files: Option<BTreeMap<u64, String>>,
    next: u64,
    opened: usize,
}

/// A trace that was looked for.
#[derive(Debug)]
pub struct Found {
    /// The name of its file.
    pub name: String,
    /// Its text; `None` where it is larger than asked for.
    pub text: Option<String>,
}

impl Folder {
    pub(super) fn new(path: PathBuf, max_files: usize) -> Self {
        Folder { path, max_files, files: None, next: 0, opened: 0 }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes the folder if it is missing; only we can look into one that we made.
    pub(super) fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// Deletes the oldest files of ours until one more fits. Tells of each that cannot be deleted.
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

    /// Makes a new file; it must not exist yet. Gives the number by which it can be renamed.
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

    /// Renames a file of ours. The caller sees to it that `to` does not exist.
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

    /// The newest finished trace of a request id or eval id that `admits` by its first bytes.
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

    /// The beginning of a file, and whether that is all of it.
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
