//! The thread that appends audit lines to their file.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use tracing::{info, warn};

/// Capacity of the queue of lines. Senders wait when it is full: no line is dropped under load.
const BACKLOG: usize = 1024;
/// Bytes of one write.
const BATCH: usize = 64 * 1024;

/// A command for the writing thread.
enum AuditCommand {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Takes lines for one file.
pub(super) struct AuditWriter {
    messages: SyncSender<AuditCommand>,
    counts: Arc<Counts>,
}

/// Counts of lines by outcome.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) written: AtomicU64,
    pub(super) lost: AtomicU64,
}

impl AuditWriter {
    /// Opens the file to append to it. It must be an ordinary file of ours and no link; afterwards only its owner can
    /// read it, whatever its permissions were.
    ///
    /// # Errors
    /// The file cannot be opened or is not of that kind, or no thread can be started.
    pub(super) fn open(path: &Path) -> io::Result<AuditWriter> {
        let refused = |why: &str| io::Error::other(why.to_owned());
        // A pipe without a reader must not block the start.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(0o600).custom_flags(flags.bits()).open(path);
        let file = opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ELOOP) => refused("it is a link; name the file itself"),
            Some(Errno::ENXIO) => refused("it is no ordinary file"),
            _ => error,
        })?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !metadata.is_file() {
            return Err(refused("it is no ordinary file"));
        }
        if metadata.uid() != geteuid().as_raw() {
            return Err(refused("it belongs to somebody else; name a file of your own"));
        }
        if metadata.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
            warn!(event = "audit_log_was_exposed", path = %path.display(), "others could read it; its mode is 0600 now");
        }
        AuditWriter::over(file)
    }

    fn over(file: File) -> io::Result<AuditWriter> {
        let (messages, received) = sync_channel(BACKLOG);
        let counts = Arc::new(Counts::default());
        let thread = Thread { file, counts: counts.clone(), is_failing: false, is_torn: false };
        std::thread::Builder::new().name("ptc-audit".into()).spawn(move || thread.run(&received))?;
        Ok(AuditWriter { messages, counts })
    }

    /// Queues one line, newline included. Waits if the file is slower than the lines come.
    pub(super) fn write(&self, line: Vec<u8>) {
        if self.messages.send(AuditCommand::Line(line)).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines so far are written, at most for `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, flushed) = sync_channel(1);
        if self.messages.send(AuditCommand::Flush(done)).is_ok() {
            // A disk that hangs must not block the process.
            let _ = flushed.recv_timeout(limit);
        }
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }
}

struct Thread {
    file: File,
    counts: Arc<Counts>,
    /// True if the last write failed, which was reported.
    is_failing: bool,
    /// True if the file may end in the middle of a line.
    is_torn: bool,
}

impl Thread {
    /// Writes until all senders are dropped. Lines that arrive together share one write.
    fn run(mut self, messages: &Receiver<AuditCommand>) {
        let mut batch = Vec::new();
        while let Ok(first) = messages.recv() {
            let mut lines = 0;
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    AuditCommand::Line(line) => {
                        batch.extend_from_slice(&line);
                        lines += 1;
                    }
                    AuditCommand::Flush(done) => flushed.push(done),
                }
                next = if batch.len() < BATCH { messages.try_recv().ok() } else { None };
            }
            self.append(&batch, lines);
            batch.clear();
            for done in flushed {
                // The waiter may have given up.
                let _ = done.try_send(());
            }
        }
    }

    fn append(&mut self, batch: &[u8], lines: u64) {
        if lines == 0 {
            return;
        }
        // Ends a partial line that a failed write has left.
        let separated = if self.is_torn { self.file.write_all(b"\n") } else { Ok(()) };
        match separated.and_then(|()| self.file.write_all(batch)) {
            Ok(()) => {
                self.counts.written.fetch_add(lines, Ordering::Relaxed);
                self.is_torn = false;
                if std::mem::take(&mut self.is_failing) {
                    let lost = self.counts.lost.load(Ordering::Relaxed);
                    info!(event = "audit_log_written_again", lost, "the audit log is written again");
                }
            }
            Err(error) => {
                self.counts.lost.fetch_add(lines, Ordering::Relaxed);
                self.is_torn = true;
                if !std::mem::replace(&mut self.is_failing, true) {
                    warn!(event = "audit_log_failed", reason = %error, "the audit log cannot be written; its lines are lost until it can be");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn lines_are_appended_in_order_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for round in 0..2 {
            let writer = AuditWriter::open(&path).unwrap();
            for at in 0..3000 {
                writer.write(format!("{}\n", round * 3000 + at).into_bytes());
            }
            writer.flush(PATIENCE);
            assert_eq!(writer.counts().written.load(Ordering::Relaxed), 3000);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let all: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(all, (0..6000).collect::<Vec<_>>());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(AuditWriter::open(folder.path()).is_err());
        assert!(AuditWriter::open(&folder.path().join("none/audit")).is_err());
    }

    #[test]
    fn a_log_that_others_could_read_becomes_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, "{}\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        AuditWriter::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
    }

    #[test]
    fn links_pipes_and_devices_are_no_audit_logs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let why = |path: &Path| AuditWriter::open(path).err().map(|error| error.to_string());
        assert_eq!(why(&at("link")).as_deref(), Some("it is a link; name the file itself"));
        for path in [at("pipe"), "/dev/null".into()] {
            assert_eq!(why(&path).as_deref(), Some("it is no ordinary file"), "{path:?}");
        }
    }

    #[test]
    fn a_full_disk_loses_lines_and_counts_them() {
        let writer = AuditWriter::over(OpenOptions::new().append(true).open("/dev/full").unwrap()).unwrap();
        for _ in 0..5 {
            writer.write(b"{}\n".to_vec());
        }
        writer.flush(PATIENCE);
        let counts = writer.counts();
        assert_eq!((counts.written.load(Ordering::Relaxed), counts.lost.load(Ordering::Relaxed)), (0, 5));
    }
}
