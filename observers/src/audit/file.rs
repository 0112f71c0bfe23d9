//! The file of the log: how it is opened, what it ends with, and how lines are appended so that it ends with a whole one.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access, geteuid};
use ptc_host::time;
use tracing::warn;

use super::chain::{ChainEnd, ChainedLine, LineDigest, MAX_LINE};

/// How long a start waits for the process before it to end, in steps.
const LOCK_STEP: Duration = Duration::from_millis(100);
const LOCK_STEPS: u32 = 50;

/// What only lines have that name a chain.
const CHAIN_KEY: &[u8] = b"\"chain\":";

/// A file that lines are appended to.
#[derive(Debug)]
pub(super) struct AuditFile {
    file: File,
    /// The path that it was opened by.
    path: PathBuf,
    /// Where its last whole line ends, in bytes.
    len: u64,
    /// Bytes behind that, which are no whole line.
    torn: u64,
}

/// What the file of a log ended with when it was opened.
#[derive(Debug)]
pub(super) enum FoundEnd {
    /// It is empty.
    Empty,
    /// A line of a chain, which goes on.
    Chained(ChainEnd),
    /// Something else, which is not part of a chain: why.
    Foreign(&'static str),
}

/// What somebody else has done to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChange {
    /// It was cut, to be begun anew.
    Truncated,
    /// It has no name any more: what is written to it, nobody finds.
    Removed,
}

impl AuditFile {
    /// Opens a file to append to it. It must be an ordinary file of ours and no link, and no other process may write to it;
    /// afterwards only its owner can read it, whatever its permissions were.
    ///
    /// # Errors
    /// The file cannot be opened or is not of that kind.
    pub(super) fn open(path: &Path) -> io::Result<AuditFile> {
        Self::open_within(path, LOCK_STEPS)
    }

    /// The same, but for whether a process that is about to end is waited for.
    ///
    /// # Errors
    /// As above; of the kind [`ResourceBusy`](io::ErrorKind::ResourceBusy) if another process writes to it.
    pub(super) fn open_at_once(path: &Path) -> io::Result<AuditFile> {
        Self::open_within(path, 0)
    }

    fn open_within(path: &Path, lock_steps: u32) -> io::Result<AuditFile> {
        let refused = |why: &str| io::Error::other(why.to_owned());
        // A pipe without a reader must not block the start.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut options = OpenOptions::new();
        let opened =
            options.read(true).append(true).create(true).mode(0o600).custom_flags(flags.bits()).open(path);
        let file = opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ELOOP) => refused(LINK),
            Some(Errno::ENXIO) => refused(NO_FILE),
            _ => error,
        })?;
        let metadata = file.metadata()?;
        is_of_log(&metadata)?;
        wait_for(lock_steps, || file.try_lock())?;
        if metadata.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
            warn!(event = "audit_log_was_exposed", path = %path.display(), "others could read it; its mode is 0600 now");
        }
        // Another process may have written until it gave the lock back.
        let len = file.metadata()?.len();
        Ok(AuditFile { file, path: path.to_owned(), len, torn: 0 })
    }

    /// Whether [`open`](Self::open) would find such a file, or could make one. Nothing is made or changed.
    ///
    /// # Errors
    /// It would not.
    pub(super) fn check(path: &Path) -> io::Result<()> {
        let (place, flags) = match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => return Err(io::Error::other(LINK)),
            Ok(found) => {
                is_of_log(&found)?;
                (path, AccessFlags::R_OK | AccessFlags::W_OK)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                (folder.unwrap_or(Path::new(".")), AccessFlags::W_OK | AccessFlags::X_OK)
            }
            Err(error) => return Err(error),
        };
        access(place, flags).map_err(io::Error::from)
    }

    /// A file that is none of a log, for tests.
    #[cfg(test)]
    pub(super) fn over(path: &str) -> AuditFile {
        let file = OpenOptions::new().read(true).append(true).open(path).unwrap();
        AuditFile { file, path: path.into(), len: 0, torn: 0 }
    }

    /// Which file it is, whatever it is called: its device and its number there.
    ///
    /// # Errors
    /// The system does not tell.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        let metadata = self.file.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// The path that it was opened by.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of its path, without folders.
    pub(super) fn name(&self) -> String {
        name_of(&self.path)
    }

    /// The name that it has now, where the system tells: it may have been renamed.
    pub(super) fn present_name(&self) -> String {
        use std::os::fd::AsRawFd as _;
        let link = fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        match link {
            Ok(path) if !path.to_string_lossy().ends_with(" (deleted)") => name_of(&path),
            _ => self.name(),
        }
    }

    /// True if it has no whole line and no part of one.
    pub(super) fn is_empty(&self) -> bool {
        self.len + self.torn == 0
    }

    /// Bytes at its end that are no whole line.
    pub(super) fn torn_bytes(&self) -> u64 {
        self.torn
    }

    /// Looks what it ends with. From then on it is known which bytes of it are whole lines.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn find_end(&mut self) -> io::Result<FoundEnd> {
        let all = self.len + self.torn;
        let (found, torn) = end_of(&self.file, all)?;
        (self.len, self.torn) = (all - torn, torn);
        Ok(found)
    }

    /// What somebody has done to it since the last write. If it was truncated, its length is known again from then on.
    ///
    /// # Errors
    /// The system does not tell.
    pub(super) fn change(&mut self) -> io::Result<Option<FileChange>> {
        let metadata = self.file.metadata()?;
        if metadata.nlink() == 0 {
            return Ok(Some(FileChange::Removed));
        }
        if metadata.len() >= self.len {
            return Ok(None);
        }
        (self.len, self.torn) = (metadata.len(), 0);
        Ok(Some(FileChange::Truncated))
    }

    /// Appends whole lines. What cannot be written whole is taken back.
    ///
    /// # Errors
    /// They cannot be written; the file then ends as before, or with a part that [`torn_bytes`](Self::torn_bytes) counts.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let before = self.len + self.torn;
        // Ends what a write or a process before has left.
        let separator: &[u8] = if self.torn > 0 { b"\n" } else { b"" };
        let mut written = 0;
        for part in [separator, lines] {
            if let Err(error) = write_counted(&mut self.file, part, &mut written) {
                if written > 0 && self.file.set_len(before).is_err() {
                    self.torn += written;
                }
                return Err(error);
            }
        }
        (self.len, self.torn) = (before + written, 0);
        Ok(())
    }

    /// Has the system write it to the disk.
    ///
    /// # Errors
    /// The disk does not take it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Why a link is no file of a log.
const LINK: &str = "it is a link; name the file itself";
/// Why a pipe or a device is none.
const NO_FILE: &str = "it is no ordinary file";

/// Checks that this is an ordinary file of ours.
///
/// # Errors
/// It is not.
fn is_of_log(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        return Err(io::Error::other(NO_FILE));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it belongs to somebody else; name a file of your own"));
    }
    Ok(())
}

/// Writes all of `bytes`, and counts those that were written, however it ends.
fn write_counted(file: &mut File, bytes: &[u8], written: &mut u64) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(count) => {
                *written += count as u64;
                rest = &rest[count..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes the file for this process, and waits so many steps for one that is about to end.
fn wait_for(steps: u32, take: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
    for step in 0.. {
        match take() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if step < steps => time::block(LOCK_STEP),
            Err(TryLockError::WouldBlock) => {
                let text = "another process writes to it; give each server an audit log of its own";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
            }
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
    Ok(())
}

/// What the first `len` bytes of a file end with, and how many bytes behind its last line feed are no whole line.
fn end_of(file: &File, len: u64) -> io::Result<(FoundEnd, u64)> {
    let begin = len.saturating_sub(2 * MAX_LINE as u64);
    let mut tail = vec![0; usize::try_from(len - begin).unwrap_or_default()];
    file.read_exact_at(&mut tail, begin)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let torn = (tail.len() - whole) as u64;
    let Some(lines) = tail[..whole].strip_suffix(b"\n") else {
        let found = if begin > 0 {
            FoundEnd::Foreign("it has no line feed near its end")
        } else if torn > 0 {
            FoundEnd::Foreign("it has no whole line")
        } else {
            FoundEnd::Empty
        };
        return Ok((found, torn));
    };
    let line = lines.iter().rposition(|byte| *byte == b'\n').map_or(lines, |at| &lines[at + 1..]);
    let Ok(last) = ChainedLine::read(line) else {
        return Ok((FoundEnd::Foreign("its last line has no number of a chain"), torn));
    };
    let named = lines.rsplit(|byte| *byte == b'\n').find_map(chain_named_by);
    let Some(chain) = named.map_or_else(|| chain_in(file, len).transpose(), |chain| Some(Ok(chain))) else {
        return Ok((FoundEnd::Foreign("no line of it names its chain"), torn));
    };
    let chain = chain?;
    let end = ChainEnd { chain, seq: last.seq, digest: Some(LineDigest::of(line)) };
    Ok((FoundEnd::Chained(end), torn))
}

/// The chain that the first line of a file names.
fn chain_in(file: &File, len: u64) -> io::Result<Option<String>> {
    let mut head = vec![0; usize::try_from(len.min(64 << 10)).unwrap_or_default()];
    file.read_exact_at(&mut head, 0)?;
    Ok(head.split(|byte| *byte == b'\n').next().and_then(chain_named_by))
}

fn chain_named_by(line: &[u8]) -> Option<String> {
    // Most lines do not, and need not be read.
    let begins = line.windows(CHAIN_KEY.len()).any(|bytes| bytes == CHAIN_KEY);
    begins.then(|| ChainedLine::read(line).ok()?.event?.chain).flatten()
}

/// The end of the chain in the newest file beside `path` that a rotation has given a name of digits: `audit.jsonl.1`,
/// `audit.jsonl-20260301`. With its name.
pub(super) fn rotated_end(path: &Path) -> Option<(String, ChainEnd)> {
    let (folder, own) = (path.parent()?, path.file_name()?.to_str()?);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name();
        let suffix = name.to_str().and_then(|name| name.strip_prefix(own));
        let is_rotated = suffix.and_then(|suffix| suffix.strip_prefix(['.', '-'])).is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || b"-_.:T".contains(&byte))
        });
        let Some(metadata) = entry.metadata().ok().filter(|found| is_rotated && found.is_file()) else {
            continue;
        };
        let Ok(written) = metadata.modified() else { continue };
        if newest.as_ref().is_none_or(|(latest, _)| written > *latest) {
            newest = Some((written, entry.path()));
        }
    }
    let (_, path) = newest?;
    let file = File::open(&path).ok()?;
    // One that another process writes to has another chain.
    wait_for(LOCK_STEPS, || file.try_lock_shared()).ok()?;
    let len = file.metadata().ok()?.len();
    match end_of(&file, len) {
        Ok((FoundEnd::Chained(end), 0)) => Some((name_of(&path), end)),
        _ => None,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
