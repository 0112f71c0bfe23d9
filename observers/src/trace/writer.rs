//! The state of the thread that writes traces.

use super::call_facts::{CallFinish, CallStart};
use super::status::Status;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};

use jiff::{SignedDuration, Timestamp};
use tracing::{error, warn};

use super::folder::{Folder, TraceFile};
use super::lines::TraceHead;
use super::names;
use super::options::{TraceOptions, trace_id};
use ptc_host::digest::hex;

/// The prefix of a trace, in bytes, that contains its owner.
const OWNER_WITHIN: usize = 512;

/// The failure of a trace with more bytes than all traces together may have.
const TOO_LARGE: &str = "the trace has more bytes than --trace-max-bytes";

pub(super) struct TraceWriter {
    options: TraceOptions,
    folder: Folder,
    open: HashMap<u64, OpenTrace>,
    /// Faults that were logged and still persist.
    failing: HashSet<&'static str>,
}

struct OpenTrace {
    head: TraceHead,
    name: String,
    stem: String,
    began: Timestamp,
}

impl TraceWriter {
    pub(super) fn new(options: TraceOptions) -> Self {
        let folder = Folder::new(options.folder.clone(), options.max_files, options.max_bytes);
        let mut writer = TraceWriter { options, folder, open: HashMap::new(), failing: HashSet::new() };
        let made = writer.folder.create();
        writer.note("trace_dir_create_failed", "", made.as_ref().err());
        writer
    }

    /// Opens the file of a call and writes the known facts; `false` if the call proceeds untraced.
    pub(super) fn begin(&mut self, key: u64, begun: &CallStart) -> bool {
        let eval_id = begun.eval_id.map(|eval_id| eval_id.to_string());
        let stem = names::stem(&begun.request_id, eval_id.as_deref());
        let mut head =
            TraceHead::new(begun.eval_id.map_or_else(random_id, trace_id), begun, &self.options.recording);
        let text = head.begin(begun, &self.options.recording);
        let name = self.free_name(begun.at, &stem, names::PENDING);
        let written = self.write_new(&name, &text);
        let is_traced = written.is_ok();
        match written {
            Ok(()) => {
                self.note("trace_open_failed", &name, None);
                self.open.insert(key, OpenTrace { head, name, stem, began: begun.at });
            }
            Err(failure) => self.note("trace_open_failed", &name, Some(&failure)),
        }
        is_traced
    }

    /// Bytes of the trace files, and how many were evicted.
    pub(super) fn kept(&self) -> (u64, u64) {
        self.folder.kept()
    }

    fn write_new(&mut self, name: &str, text: &str) -> io::Result<()> {
        let bytes = text.len() as u64;
        let room = self.make_room(bytes, None);
        let room = match room {
            // The folder was removed.
            Err(failure) if failure.kind() == io::ErrorKind::NotFound => {
                self.folder.create().and_then(|()| self.make_room(bytes, None))
            }
            other => other,
        };
        room?;
        let opened = match self.folder.open_new(name) {
            Err(failure) if failure.kind() == io::ErrorKind::NotFound => {
                self.folder.create().and_then(|()| self.folder.open_new(name))
            }
            other => other,
        };
        if let Err(failure) = opened?.write_all(text.as_bytes()) {
            // On a full disk half a trace is deleted.
            self.folder.discard(name);
            return Err(failure);
        }
        self.folder.grew(name, bytes);
        Ok(())
    }

    fn make_room(&mut self, bytes: u64, grows: Option<&str>) -> io::Result<()> {
        let mut failures = Vec::new();
        let made = self.folder.make_room(bytes, grows, |name, failure| {
            failures.push((name.to_owned(), failure.to_string()));
        });
        if failures.is_empty() {
            self.failing.remove("trace_evict_failed");
        }
        for (name, reason) in failures {
            if self.failing.insert("trace_evict_failed") {
                let path = self.folder.path(&name);
                warn!(event = "trace_evict_failed", path = %path.display(), reason);
            }
        }
        made.map_err(|failure| match failure.kind() {
            io::ErrorKind::FileTooLarge => io::Error::new(failure.kind(), TOO_LARGE),
            _ => failure,
        })
    }

    /// Writes the rest of a call and gives its file the final name. `None` for a call without a file.
    pub(super) fn end(&mut self, key: u64, ended: &CallFinish) -> Option<bool> {
        let mut open = self.open.remove(&key)?;
        let text = open.head.end(ended, &self.options.recording, self.options.aggregator);
        let appended = match self.folder.open_again(&open.name) {
            // It was the oldest file and was evicted.
            Err(failure) if failure.kind() == io::ErrorKind::NotFound => return Some(false),
            Err(failure) => Err(failure),
            Ok(file) => self.append(&open.name, file, text.as_bytes()),
        };
        self.note("trace_write_failed", &open.name, appended.as_ref().err());
        if appended.as_ref().is_err_and(|failure| failure.kind() == io::ErrorKind::FileTooLarge) {
            // A partial file would look like a call that never ended.
            self.folder.discard(&open.name);
            return Some(false);
        }
        let at = if ended.status == Status::Crashed { open.began } else { ended.at };
        let name = self.free_name(at, &open.stem, ended.status.name());
        let renamed = self.folder.rename(&open.name, &name);
        self.note("trace_rename_failed", &open.name, renamed.as_ref().err());
        Some(appended.is_ok() && renamed.is_ok())
    }

    /// Appends all of `bytes` to a file or nothing: on a full disk, the file remains valid JSON Lines.
    fn append(&mut self, name: &str, mut file: File, bytes: &[u8]) -> io::Result<()> {
        self.make_room(bytes.len() as u64, Some(name))?;
        let before = file.metadata()?.len();
        let written = file.write_all(bytes);
        match written {
            Ok(()) => self.folder.grew(name, bytes.len() as u64),
            // Truncation needs no room; if even that fails, the first failure is the one to report.
            Err(_) => drop(file.set_len(before)),
        }
        written
    }

    /// The latest trace of an id that belongs to `owner_hash`.
    pub(super) fn find(&self, id: &str, owner_hash: &str, max_bytes: usize) -> Option<TraceFile> {
        // The head of the first line is ours; data of clients comes after it.
        let mark = format!("\"owner_hash\":\"{owner_hash}\",\"trace_kind\"");
        let is_theirs =
            |text: &str| text.split_once(&mark).is_some_and(|(head, _)| head.len() < OWNER_WITHIN);
        self.folder.find(id, max_bytes.max(OWNER_WITHIN), is_theirs)
    }

    /// An unused name: the time is advanced by a microsecond if necessary.
    fn free_name(&self, mut at: Timestamp, stem: &str, status: &str) -> String {
        loop {
            let name = names::name(at, stem, status);
            if !self.folder.exists(&name) {
                return name;
            }
            at = at.checked_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MIN);
        }
    }

    /// Logs a fault when it appears, and resets it when it has passed: a disk that stays full causes one line.
    fn note(&mut self, event: &'static str, name: &str, failure: Option<&io::Error>) {
        match failure {
            None => {
                self.failing.remove(event);
            }
            Some(failure) if self.failing.insert(event) => {
                let path = self.folder.path(name);
                error!(event, path = %path.display(), reason = %failure, "calls go on untraced");
            }
            Some(_) => {}
        }
    }
}

/// 32 hex digits.
fn random_id() -> String {
    let mut bytes = [0; 16];
    // Without entropy all ids are equal, and the traces are still valid.
    let _ = getrandom::fill(&mut bytes);
    hex(&bytes)
}
