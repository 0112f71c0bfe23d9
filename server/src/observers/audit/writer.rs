//! The thread that appends audit lines to their file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing::{info, warn};

/// Lines that wait to be written. Whoever has one more waits: nothing is lost because it comes fast.
const BACKLOG: usize = 1024;
/// Bytes that one write takes.
const BATCH: usize = 64 * 1024;

/// What the thread is told.
enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Takes lines for one file.
pub(super) struct Writer {
    messages: SyncSender<Message>,
    counts: Arc<Counts>,
}

/// Lines by what became of them.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) written: AtomicU64,
    pub(super) lost: AtomicU64,
}

impl Writer {
    /// Opens the file to append to it. A new one can be read by its owner only.
    ///
    /// # Errors
    /// The file cannot be opened, or there is no thread for it.
    pub(super) fn open(path: &Path) -> io::Result<Writer> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Writer::over(file)
    }

    fn over(file: File) -> io::Result<Writer> {
        let (messages, received) = sync_channel(BACKLOG);
        let counts = Arc::new(Counts::default());
        let thread = Thread { file, counts: counts.clone(), is_failing: false, is_torn: false };
        std::thread::Builder::new().name("ptc-audit".into()).spawn(move || thread.run(&received))?;
        Ok(Writer { messages, counts })
    }

    /// Takes one line, newline included. Waits where the file is slower than the lines come.
    pub(super) fn write(&self, line: Vec<u8>) {
        if self.messages.send(Message::Line(line)).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines so far are written, at most for `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, flushed) = sync_channel(1);
        if self.messages.send(Message::Flush(done)).is_ok() {
            // A disk that hangs must not keep the process.
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
    /// Whether the last write failed, which was told.
    is_failing: bool,
    /// Whether the file may end in the middle of a line.
    is_torn: bool,
}

impl Thread {
    /// Writes until all senders are gone. Lines that have come meanwhile share one write.
    fn run(mut self, messages: &Receiver<Message>) {
        let mut batch = Vec::new();
        while let Ok(first) = messages.recv() {
            let mut lines = 0;
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Line(line) => {
                        batch.extend_from_slice(&line);
                        lines += 1;
                    }
                    Message::Flush(done) => flushed.push(done),
                }
                next = if batch.len() < BATCH { messages.try_recv().ok() } else { None };
            }
            self.append(&batch, lines);
            batch.clear();
            for done in flushed {
                // Whoever waited may have given up.
                let _ = done.try_send(());
            }
        }
    }

    fn append(&mut self, batch: &[u8], lines: u64) {
        if lines == 0 {
            return;
        }
        // What a write that failed has left of a line ends here.
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
            let writer = Writer::open(&path).unwrap();
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
        assert!(Writer::open(folder.path()).is_err());
        assert!(Writer::open(&folder.path().join("none/audit")).is_err());
    }

    #[test]
    fn a_full_disk_loses_lines_and_counts_them() {
        let writer = Writer::over(OpenOptions::new().append(true).open("/dev/full").unwrap()).unwrap();
        for _ in 0..5 {
            writer.write(b"{}\n".to_vec());
        }
        writer.flush(PATIENCE);
        let counts = writer.counts();
        assert_eq!((counts.written.load(Ordering::Relaxed), counts.lost.load(Ordering::Relaxed)), (0, 5));
    }
}
