//! The thread that makes lines part of the chain and appends them to their file.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use nix::errno::Errno;
use ptc_host::digest::hex;
use ptc_host::time::{self, Instant};
use ptc_protocol::identity;
use ptc_protocol::settings::{AuditFull, AuditSync};
use tracing::{info, warn};

use super::chain::{CLOSED, ChainEnd, OPENED, OpenCause, RESUMED};
use super::file::{AuditFile, FileChange, FoundEnd, rotated_end};
use super::line::{LOG, line};

/// Capacity of the queue of lines. Senders wait when it is full: no line is dropped under load.
const BACKLOG: usize = 1024;
/// Bytes of one write.
const BATCH: usize = 64 * 1024;
/// Bytes of lines that are kept while the file cannot be written (`--audit-full stop`).
const MAX_HELD: usize = 4 << 20;
/// How long until the file is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// How long lines may be in the system's memory alone (`--audit-sync interval`).
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// A command for the writing thread.
enum AuditCommand {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
    /// Goes on in this file, which is empty.
    Switch(Box<AuditFile>),
    /// Writes the last line of the process.
    Close(SyncSender<()>),
}

/// Takes lines for one file.
pub(super) struct AuditWriter {
    messages: SyncSender<AuditCommand>,
    path: PathBuf,
    full: AuditFull,
    state: Arc<WriterState>,
}

/// What the thread tells of itself.
#[derive(Default)]
pub(super) struct WriterState {
    /// Lines that were written.
    pub(super) written: AtomicU64,
    /// Lines that were not, and will not be.
    pub(super) lost: AtomicU64,
    /// Calls that were refused because of it.
    pub(super) refused: AtomicU64,
    /// The number of the system's error with which the latest write failed; 0 if it did not.
    error: AtomicI32,
    /// Which file is written to: device and number.
    device: AtomicU64,
    inode: AtomicU64,
}

impl WriterState {
    /// Why lines cannot be written now.
    pub(super) fn fault(&self) -> Option<String> {
        match self.error.load(Ordering::Relaxed) {
            0 => None,
            // Without the number, which tells nobody anything.
            number => Some(Errno::from_raw(number).desc().to_owned()),
        }
    }
}

impl AuditWriter {
    /// Opens the file to append to it, and writes the line with which this process begins.
    ///
    /// # Errors
    /// The file cannot be opened or is none of that kind, or no thread can be started. With `AuditFull::Stop` also if it cannot
    /// be written.
    pub(super) fn open(path: &Path, full: AuditFull, sync: AuditSync) -> io::Result<AuditWriter> {
        AuditWriter::over(AuditFile::open(path)?, full, sync)
    }

    pub(super) fn over(mut file: AuditFile, full: AuditFull, sync: AuditSync) -> io::Result<AuditWriter> {
        let (end, after) = match file.find_end()? {
            FoundEnd::Chained(end) => (end, None),
            FoundEnd::Empty => match rotated_end(file.path()) {
                Some((name, end)) => (end, Some(name)),
                None => (new_chain()?, None),
            },
            FoundEnd::Foreign(why) => {
                warn!(event = "audit_chain_begins", path = %file.path().display(), "a new chain begins behind what is there: {why}");
                (new_chain()?, None)
            }
        };
        let (messages, received) = sync_channel(BACKLOG);
        let (path, state) = (file.path().to_owned(), Arc::new(WriterState::default()));
        let mut thread = Thread {
            file,
            end,
            after,
            opens: Some(OpenCause::Start),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            untold: 0,
            is_failing: false,
            has_sync_failed: false,
            unsynced: None,
            full,
            sync,
            state: state.clone(),
        };
        thread.note_identity()?;
        if let Err(error) = thread.write_chunk()
            && full == AuditFull::Stop
        {
            return Err(error);
        }
        let writer = AuditWriter { messages, path, full, state };
        let clock = time::Clock::current();
        std::thread::Builder::new().name("ptc-audit".into()).spawn(move || {
            let _entered = clock.enter();
            thread.run(&received);
        })?;
        Ok(writer)
    }

    /// Queues one line, a JSON object. Waits if the file is slower than the lines come.
    pub(super) fn write(&self, line: Vec<u8>) {
        if self.messages.send(AuditCommand::Line(line)).is_err() {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines so far are written or lost, at most for `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        self.await_done(limit, AuditCommand::Flush);
    }

    /// The same with the last line of this process.
    pub(super) fn close(&self, limit: Duration) {
        self.await_done(limit, AuditCommand::Close);
    }

    fn await_done(&self, limit: Duration, command: impl FnOnce(SyncSender<()>) -> AuditCommand) {
        let (done, ended) = sync_channel(1);
        if self.messages.send(command(done)).is_ok() {
            // A disk that hangs must not block the process.
            let _ = ended.recv_timeout(limit);
        }
    }

    /// Opens the file at the same path anew; `None` if it is the one that is written to.
    ///
    /// # Errors
    /// It cannot be opened, is none of that kind, or is not empty.
    pub(super) fn reopened(&self) -> io::Result<Option<AuditFile>> {
        use std::os::unix::fs::MetadataExt as _;
        let own = (self.state.device.load(Ordering::Relaxed), self.state.inode.load(Ordering::Relaxed));
        match std::fs::symlink_metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == own => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file = AuditFile::open(&self.path)?;
        if !file.is_empty() {
            let text =
                "it is another file than before and not empty; move it away, so that a new one is made";
            return Err(io::Error::other(text));
        }
        Ok(Some(file))
    }

    /// Goes on in a file of [`reopened`](Self::reopened).
    pub(super) fn switch(&self, file: AuditFile) {
        // Without a thread there is nothing to go on.
        let _ = self.messages.send(AuditCommand::Switch(Box::new(file)));
    }

    /// What becomes of calls while lines cannot be written.
    pub(super) fn full(&self) -> AuditFull {
        self.full
    }

    pub(super) fn state(&self) -> &WriterState {
        &self.state
    }
}

/// A chain of a random name.
fn new_chain() -> io::Result<ChainEnd> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(ChainEnd::new(hex(&name)))
}

struct Thread {
    file: AuditFile,
    /// The last line that was written.
    end: ChainEnd,
    /// The name of the file before, where this one continues it.
    after: Option<String>,
    /// Why this process begins to write to the file, until that has the line which says so.
    opens: Option<OpenCause>,
    /// Lines that are not written yet, the oldest first.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// Lines that were lost and that no line tells of yet.
    untold: u64,
    /// True if the last write failed.
    is_failing: bool,
    /// True if the lines could be written, and the disk did not take them.
    has_sync_failed: bool,
    /// Since when there are lines in the system's memory alone.
    unsynced: Option<Instant>,
    full: AuditFull,
    sync: AuditSync,
    state: Arc<WriterState>,
}

impl Thread {
    /// Writes until all senders are dropped. Lines that arrive together share one write.
    fn run(mut self, messages: &Receiver<AuditCommand>) {
        loop {
            let first = match self.patience() {
                None => messages.recv().map_err(RecvTimeoutError::from),
                Some(patience) => messages.recv_timeout(patience),
            };
            let mut next = match first {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (mut bytes, mut done) = (0, Vec::new());
            let mut closes = false;
            while let Some(message) = next {
                match message {
                    AuditCommand::Line(line) => {
                        bytes += line.len();
                        self.takes(line);
                    }
                    AuditCommand::Flush(waiter) => done.push(waiter),
                    AuditCommand::Close(waiter) => {
                        done.push(waiter);
                        closes = true;
                        break;
                    }
                    AuditCommand::Switch(file) => {
                        self.write();
                        self.switch(*file);
                    }
                }
                next = if bytes < BATCH { messages.try_recv().ok() } else { None };
            }
            if closes {
                self.close();
            } else {
                self.write();
            }
            for waiter in done {
                // The waiter may have given up.
                let _ = waiter.try_send(());
            }
        }
    }

    /// How long the next command may take before there is something to do; `None`: as long as it wants.
    fn patience(&self) -> Option<Duration> {
        if self.is_failing {
            return Some(RETRY);
        }
        let since = self.unsynced?;
        Some(SYNC_INTERVAL.saturating_sub(time::since(since)))
    }

    /// Takes a line, unless there is no room to keep it until the file can be written.
    fn takes(&mut self, line: Vec<u8>) {
        if self.is_failing && self.waiting_bytes + line.len() > MAX_HELD {
            self.lose(1);
            return;
        }
        self.waiting_bytes += line.len();
        self.waiting.push_back(line);
    }

    fn lose(&mut self, lines: u64) {
        self.untold += lines;
        self.state.lost.fetch_add(lines, Ordering::Relaxed);
    }

    /// Writes all lines, and has the system write them to the disk where it is time.
    fn write(&mut self) {
        while !self.waiting.is_empty() || self.owes_line() {
            if self.write_chunk().is_err() {
                return;
            }
        }
        let is_due = match (self.sync, self.unsynced) {
            (AuditSync::Interval, Some(since)) => time::since(since) >= SYNC_INTERVAL,
            // One of its syncs has failed.
            (AuditSync::Always, Some(_)) => true,
            _ => false,
        };
        if is_due {
            match self.sync_now() {
                Ok(()) => self.recovers(),
                Err(error) => self.fails(&error),
            }
        }
    }

    /// True if a line about the log itself must be written although nothing else waits.
    fn owes_line(&self) -> bool {
        self.opens.is_some() || self.is_failing && !self.has_sync_failed
    }

    /// Writes as many lines as go into one write, behind one about the log itself where that is owed.
    fn write_chunk(&mut self) -> io::Result<()> {
        match self.try_chunk() {
            Ok(()) => {
                if !self.has_sync_failed {
                    self.recovers();
                }
                Ok(())
            }
            Err(error) => {
                self.fails(&error);
                Err(error)
            }
        }
    }

    /// Notes that the file can be written.
    fn recovers(&mut self) {
        self.state.error.store(0, Ordering::Relaxed);
        if std::mem::take(&mut self.is_failing) {
            let lost = self.state.lost.load(Ordering::Relaxed);
            info!(event = "audit_log_written_again", lost, "the audit log is written again");
        }
    }

    fn try_chunk(&mut self) -> io::Result<()> {
        match self.file.change()? {
            None => {}
            // Somebody has copied it and begins it anew.
            Some(FileChange::Truncated) => {
                self.after = Some(self.file.present_name());
                self.opens = Some(OpenCause::Truncation);
                self.file.find_end()?;
            }
            Some(FileChange::Removed) => self.replace_removed()?,
        }
        let (mut end, mut out) = (self.end.clone(), Vec::with_capacity(BATCH));
        let about = self.about();
        if let Some(about) = &about {
            end.append(about, &mut out);
        }
        let mut count = 0;
        for line in &self.waiting {
            if out.len() >= BATCH {
                break;
            }
            end.append(line, &mut out);
            count += 1;
        }
        self.file.append(&out)?;
        self.end = end;
        let written = count as u64 + u64::from(about.is_some());
        self.state.written.fetch_add(written, Ordering::Relaxed);
        for line in self.waiting.drain(..count) {
            self.waiting_bytes -= line.len();
        }
        self.untold = 0;
        if self.opens.take().is_some() {
            let digest = self.end.digest.map(|digest| digest.hex()).unwrap_or_default();
            let (path, chain) = (self.file.path().display(), &self.end.chain);
            info!(event = "audit_log_opened", %path, chain, seq = self.end.seq, digest);
        }
        self.after = None;
        match self.sync {
            AuditSync::None => Ok(()),
            AuditSync::Always => self.sync_now(),
            AuditSync::Interval => {
                self.unsynced.get_or_insert_with(time::now);
                Ok(())
            }
        }
    }

    /// Goes on in a new file at the path of the one that was removed: what is written to that one, nobody finds.
    fn replace_removed(&mut self) -> io::Result<()> {
        let file = AuditFile::open_at_once(self.file.path())?;
        if !file.is_empty() {
            // It may be the log of somebody else.
            return Err(Errno::EEXIST.into());
        }
        let (path, seq) = (file.path().display(), self.end.seq);
        warn!(event = "audit_log_removed", %path, seq, "the audit log was removed, with its lines up to this number; it goes on in a new file");
        (self.file, self.after, self.opens) = (file, None, Some(OpenCause::Removal));
        (self.unsynced, self.has_sync_failed) = (None, false);
        self.note_identity()
    }

    /// The line about the log itself that is to stand before the next ones, if one is.
    fn about(&self) -> Option<Vec<u8>> {
        let torn = self.file.torn_bytes();
        let resumes = self.is_failing && !self.has_sync_failed;
        if self.opens.is_none() && !resumes && self.untold == 0 && torn == 0 {
            return None;
        }
        Some(line(LOG, |line| {
            if let Some(cause) = self.opens {
                line.string("event", OPENED);
                line.string("cause", cause.as_str());
                line.string("file", &self.file.name());
                line.string("chain", &self.end.chain);
                if let Some(after) = &self.after {
                    line.string("after", after);
                }
                line.string("version", identity::VERSION);
            } else {
                line.string("event", RESUMED);
            }
            if resumes {
                line.integer("refused_calls", self.state.refused.load(Ordering::Relaxed));
            }
            if self.untold > 0 {
                line.integer("lost", self.untold);
            }
            if torn > 0 {
                line.integer("torn_bytes", torn);
            }
        }))
    }

    /// Has the system write all lines to the disk.
    fn sync_now(&mut self) -> io::Result<()> {
        // Until it is done.
        self.unsynced.get_or_insert_with(time::now);
        self.has_sync_failed = true;
        self.file.sync()?;
        (self.unsynced, self.has_sync_failed) = (None, false);
        Ok(())
    }

    /// Notes that the file cannot be written.
    fn fails(&mut self, error: &io::Error) {
        let number = error.raw_os_error().unwrap_or(Errno::EIO as i32);
        self.state.error.store(number, Ordering::Relaxed);
        let first = !std::mem::replace(&mut self.is_failing, true);
        match self.full {
            AuditFull::Stop if first => {
                warn!(event = "audit_log_failed", reason = %error, "the audit log cannot be written; calls are refused until it can be (--audit-full drop lets them run unrecorded)");
            }
            AuditFull::Drop if first => {
                warn!(event = "audit_log_failed", reason = %error, "the audit log cannot be written; its lines are lost until it can be");
            }
            AuditFull::Stop | AuditFull::Drop => {}
        }
        if self.full == AuditFull::Drop {
            self.give_up();
        }
    }

    /// Loses all lines that wait.
    fn give_up(&mut self) {
        self.lose(self.waiting.len() as u64);
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    /// Goes on in another file, which is empty.
    fn switch(&mut self, file: AuditFile) {
        if self.sync != AuditSync::None
            && let Err(error) = self.file.sync()
        {
            warn!(event = "audit_log_failed", reason = %error, "the end of the file before may not be on the disk");
        }
        // Where it has no line of this process yet, it has no end to go on from, and neither has the new one.
        self.after = (self.end.seq > 0).then(|| self.file.present_name());
        (self.file, self.opens) = (file, Some(OpenCause::Rotation));
        (self.unsynced, self.has_sync_failed) = (None, false);
        if let Err(error) = self.note_identity() {
            self.fails(&error);
        }
        self.write();
    }

    /// Writes the last line of this process.
    fn close(&mut self) {
        let before = self.state.lost.load(Ordering::Relaxed);
        self.write();
        if !self.is_failing {
            self.takes(line(LOG, |line| line.string("event", CLOSED)));
            self.write();
        }
        if !self.is_failing && self.sync != AuditSync::None {
            match self.sync_now() {
                Ok(()) => {}
                Err(error) => self.fails(&error),
            }
        }
        self.give_up();
        let digest = self.end.digest.map(|digest| digest.hex()).unwrap_or_default();
        let (path, chain) = (self.file.path().display(), &self.end.chain);
        let lost = self.state.lost.load(Ordering::Relaxed) - before;
        if lost > 0 {
            warn!(event = "audit_log_closed", %path, chain, seq = self.end.seq, digest, lost, "the last lines could not be written");
        } else {
            info!(event = "audit_log_closed", %path, chain, seq = self.end.seq, digest);
        }
    }

    /// Notes which file is written to.
    fn note_identity(&self) -> io::Result<()> {
        let (device, inode) = self.file.identity()?;
        self.state.device.store(device, Ordering::Relaxed);
        self.state.inode.store(inode, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions, Permissions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::verify::{AuditSource, FindingKind, Report, Verifier};
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn open(path: &Path) -> io::Result<AuditWriter> {
        AuditWriter::open(path, AuditFull::Stop, AuditSync::None)
    }

    fn numbered(number: usize) -> Vec<u8> {
        format!(r#"{{"n":{number}}}"#).into_bytes()
    }

    /// What a check of these files finds.
    fn checked(paths: &[&Path]) -> Report {
        let source = |path: &&Path| AuditSource {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            reader: io::Cursor::new(fs::read(path).unwrap()),
        };
        Verifier::new(false).verify(paths.iter().map(source)).unwrap()
    }

    #[test]
    fn lines_are_appended_in_order_for_the_owner_only_across_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for round in 0..2 {
            let writer = open(&path).unwrap();
            for at in 0..3000 {
                writer.write(numbered(round * 3000 + at));
            }
            writer.close(PATIENCE);
            assert_eq!(writer.state().written.load(Ordering::Relaxed), 3002, "with those about the log");
            let refused = open_at_once(&path);
            assert!(refused.contains("another process writes to it"), "{refused}");
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix(r#"{"n":"#)?.split(',').next());
        let all: Vec<usize> = lines.map(|number| number.parse().unwrap()).collect();
        assert_eq!(all, (0..6000).collect::<Vec<_>>());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let report = checked(&[&path]);
        assert!(report.is_good() && report.notes.is_empty(), "{report:?}");
        assert_eq!((report.files[0].first_seq, report.files[0].last_seq), (Some(1), Some(6004)));
        assert!(open(folder.path()).is_err());
        assert!(open(&folder.path().join("none/audit")).is_err());
    }

    /// Why a file cannot be opened that is in use, without waiting for that to end.
    fn open_at_once(path: &Path) -> String {
        let clock = time::Clock::stepped();
        let waiting = clock.clone();
        let path = path.to_owned();
        let opening = std::thread::spawn(move || {
            let _entered = waiting.enter();
            open(&path).err().map(|error| error.to_string()).unwrap_or_default()
        });
        while !opening.is_finished() {
            clock.advance(Duration::from_secs(1));
            std::thread::yield_now();
        }
        opening.join().unwrap()
    }

    #[test]
    fn a_rotated_file_is_named_by_the_next_one_while_running_and_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let writer = open(&at("audit")).unwrap();
        writer.write(numbered(1));
        writer.flush(PATIENCE);
        assert!(writer.reopened().unwrap().is_none(), "it is in its place");
        fs::rename(at("audit"), at("audit.2")).unwrap();
        writer.write(numbered(2));
        writer.switch(writer.reopened().unwrap().unwrap());
        writer.write(numbered(3));
        writer.close(PATIENCE);
        drop(writer);
        fs::rename(at("audit"), at("audit.1")).unwrap();
        // The thread gives the lock back when it has ended.
        let writer = open(&at("audit")).unwrap();
        writer.write(numbered(4));
        writer.close(PATIENCE);
        let report = checked(&[&at("audit"), &at("audit.1"), &at("audit.2")]);
        assert!(report.is_good(), "{report:?}");
        let places: Vec<_> =
            report.files.iter().map(|file| (&*file.name, file.first_seq, file.last_seq)).collect();
        assert_eq!(
            places,
            [("audit.2", Some(1), Some(3)), ("audit.1", Some(4), Some(6)), ("audit", Some(7), Some(9)),]
        );
        let text = fs::read_to_string(at("audit")).unwrap();
        assert!(text.lines().next().unwrap().contains(r#""after":"audit.1""#), "{text}");
        let report = checked(&[&at("audit"), &at("audit.2")]);
        assert_eq!(report.findings[0].kind, FindingKind::FileMissing { from: 4, to: 6 });
    }

    #[test]
    fn a_file_that_was_copied_and_truncated_is_continued() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let writer = open(&at("audit")).unwrap();
        writer.write(numbered(1));
        writer.flush(PATIENCE);
        fs::copy(at("audit"), at("copy")).unwrap();
        OpenOptions::new().write(true).open(at("audit")).unwrap().set_len(0).unwrap();
        writer.write(numbered(2));
        writer.close(PATIENCE);
        let report = checked(&[&at("copy"), &at("audit")]);
        assert!(report.is_good(), "{report:?}");
        assert_eq!(report.files[1].first_seq, Some(3));
    }

    #[test]
    fn a_file_that_is_removed_is_begun_anew_in_the_same_chain() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let writer = open(&at("audit")).unwrap();
        writer.write(numbered(1));
        writer.flush(PATIENCE);
        fs::hard_link(at("audit"), at("kept")).unwrap();
        fs::remove_file(at("audit")).unwrap();
        writer.write(numbered(2));
        writer.flush(PATIENCE);
        fs::remove_file(at("kept")).unwrap();
        writer.write(numbered(3));
        writer.flush(PATIENCE);
        let text = fs::read_to_string(at("audit")).unwrap();
        let opened = text.lines().next().unwrap();
        assert!(opened.contains(r#""cause":"removal""#) && opened.contains(r#""seq":4"#), "{text}");
        assert!(text.contains(r#"{"n":3,"#) && writer.state().fault().is_none(), "{text}");
        // Another one that came in its place may be somebody's.
        fs::remove_file(at("audit")).unwrap();
        fs::write(at("audit"), "{}\n").unwrap();
        writer.write(numbered(4));
        writer.flush(PATIENCE);
        assert!(writer.state().fault().is_some());
        fs::remove_file(at("audit")).unwrap();
        writer.close(PATIENCE);
        let text = fs::read_to_string(at("audit")).unwrap();
        assert!(text.contains(r#"{"n":4,"#), "nothing is lost: {text}");
        assert_eq!(checked(&[&at("audit")]).findings[0].kind.as_str(), "older_missing");
    }

    #[test]
    fn a_file_that_was_removed_before_a_restart_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let writer = open(&at("audit")).unwrap();
        fs::rename(at("audit"), at("audit.1")).unwrap();
        writer.switch(writer.reopened().unwrap().unwrap());
        writer.close(PATIENCE);
        drop(writer);
        fs::remove_file(at("audit")).unwrap();
        // The thread gives the lock back when it has ended.
        open(&at("audit")).unwrap().close(PATIENCE);
        let report = checked(&[&at("audit.1"), &at("audit")]);
        let notes: Vec<_> = report.notes.iter().map(|note| (&*note.file, note.kind.as_str())).collect();
        assert_eq!(notes, [("audit", "not_closed")], "{report:?}");
        assert!(report.has_open_starts());
    }

    #[test]
    fn what_a_killed_process_has_left_is_ended_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let writer = open(&path).unwrap();
        writer.write(numbered(1));
        writer.flush(PATIENCE);
        drop(writer);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(br#"{"n":2,"se"#).unwrap();
        let writer = open(&path).unwrap();
        writer.close(PATIENCE);
        let report = checked(&[&path]);
        assert!(report.is_good(), "{report:?}");
        let notes: Vec<_> = report.notes.iter().map(|note| (note.line, note.kind.as_str())).collect();
        assert_eq!(notes, [(3, "torn"), (4, "not_closed")]);
    }

    #[test]
    fn a_log_of_an_older_version_is_continued_by_a_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        fs::write(&path, "{\"kind\":\"run\"}\n").unwrap();
        for _ in 0..2 {
            let writer = open(&path).unwrap();
            writer.close(PATIENCE);
        }
        let report = checked(&[&path]);
        assert!(report.is_good(), "{report:?}");
        assert_eq!((report.files[0].first_seq, report.files[0].last_seq), (Some(1), Some(4)));
        assert_eq!(report.notes[0].kind.as_str(), "unchained");
    }

    #[test]
    fn a_log_that_others_could_read_becomes_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn links_pipes_and_devices_are_no_audit_logs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let why = |path: &Path| {
            let told = open(path).err().map(|error| error.to_string());
            assert_eq!(
                AuditFile::check(path).err().map(|error| error.to_string()),
                told,
                "the same before a start"
            );
            told
        };
        assert_eq!(why(&at("link")).as_deref(), Some("it is a link; name the file itself"));
        for path in [at("pipe"), "/dev/null".into()] {
            assert_eq!(why(&path).as_deref(), Some("it is no ordinary file"), "{path:?}");
        }
    }

    #[test]
    fn a_full_disk_keeps_a_server_from_starting_unless_lines_may_be_lost() {
        let over = |full| AuditWriter::over(AuditFile::over("/dev/full"), full, AuditSync::None);
        assert_eq!(
            over(AuditFull::Stop).err().and_then(|error| error.raw_os_error()),
            Some(Errno::ENOSPC as i32)
        );
        let writer = over(AuditFull::Drop).unwrap();
        for number in 0..5 {
            writer.write(numbered(number));
        }
        writer.flush(PATIENCE);
        let state = writer.state();
        assert_eq!((state.written.load(Ordering::Relaxed), state.lost.load(Ordering::Relaxed)), (0, 5));
    }
}
