//! Commits that go ahead of the tables: their own thread appends them to the journal.

use ptc_base::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tracing::warn;

use super::super::rows::judge;
use super::super::{Change, Commit, StateError};
use super::Core;
use super::journal::{Entry, Journal};
use super::plan::{Planned, counted, plan, targets};
use super::tables::{Row, Turnover};

/// Records that are ahead of the tables, and bytes of the journal, at which the writer is called, ahead of its time.
const FAR: (usize, u64) = (1024, 4 << 20);
/// The same at which it is waited for.
const TOO_FAR: (usize, u64) = (8 * FAR.0, 8 * FAR.1);
/// Bytes of a commit that the writer makes: a copy of it costs more than waiting for another thread.
const LARGE: usize = 256 << 10;
/// Tries to get at the journal while another commit is appended, which takes some microseconds.
const TRIES: u32 = 200;

/// The journal, and who may use it: commits while the writer does not.
pub(super) struct Gate {
    journal: Mutex<Journal>,
    /// Whether the writer has it or waits for it.
    is_closed: AtomicBool,
    /// Whether the writer has been called since it was here last.
    is_called: AtomicBool,
}

/// The writer's hold on the journal: nothing goes ahead of the tables meanwhile.
pub(super) struct Closed<'a> {
    gate: &'a Gate,
    pub(super) journal: MutexGuard<'a, Journal>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.is_closed.store(false, Ordering::Release);
    }
}

/// Nothing is known of a record without the file.
struct Unknown;

impl Gate {
    pub(super) fn new(journal: Journal) -> Self {
        let (is_closed, is_called) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { journal: Mutex::new(journal), is_closed, is_called }
    }

    /// Has all commits go to the writer until the hold ends.
    pub(super) fn close(&self) -> Closed<'_> {
        self.is_closed.store(true, Ordering::Release);
        let journal = self.journal.lock();
        self.is_called.store(false, Ordering::Release);
        Closed { gate: self, journal }
    }

    /// The journal, for a moment; `None` while the writer has it, which may take as long as a disk does.
    fn enter(&self) -> Option<MutexGuard<'_, Journal>> {
        for _ in 0..TRIES {
            if self.is_closed.load(Ordering::Acquire) {
                return None;
            }
            match self.journal.try_lock() {
                Some(journal) => return Some(journal),
                None => std::hint::spin_loop(),
            }
        }
        None
    }
}

/// The outcome of a commit made by its own thread.
pub(super) struct Made {
    pub(super) outcome: Result<(), StateError>,
    /// Whether the writer is to be called.
    pub(super) calls_writer: bool,
}

impl Made {
    fn refused(reason: StateError) -> Self {
        Self { outcome: Err(reason), calls_writer: false }
    }
}

impl Core {
    /// Makes a commit, if that needs neither the tables nor their writer.
    pub(super) fn commit_ahead(&self, commit: &Commit) -> Option<Made> {
        let gate = self.gate.as_ref()?;
        let bytes = commit.writes().iter().map(|write| content(&write.change).len()).sum::<usize>();
        if bytes > LARGE {
            return None;
        }
        // Names are digests, which nobody is kept waiting for.
        let targets = targets(commit);
        let mut journal = gate.enter().filter(|journal| journal.is_usable())?;
        let now = self.now();
        let mut local = self.local.lock();
        if local.ahead_count() >= TOO_FAR.0 || journal.length() >= TOO_FAR.1 {
            return None;
        }
        let planned = plan(
            commit,
            targets,
            |target| local.found(&target.full).ok_or(Unknown),
            |target, there, write| judge(there, local.taken(&target.full), write, now),
        );
        let plan = match planned {
            Ok(Ok(plan)) => plan,
            Ok(Err(refused)) => return Some(Made::refused(refused)),
            Err(Unknown) => return None,
        };
        let (before, after) = counted(&plan);
        if after != before {
            let principal = &plan.first()?.target.name.principal;
            let held = (local.held(principal)? + after).saturating_sub(before);
            // Where it does not fit, the writer looks for what has expired.
            if after > before && held > self.limits.owner_bytes {
                return None;
            }
            local.hold(principal, held);
        }
        let entries: Vec<Entry> = plan
            .iter()
            .zip(commit.writes())
            .map(|(planned, write)| {
                let row = planned.after.map(|head| Row { head, blob: content(&write.change).clone() });
                Entry { kind: planned.target.kind, name: planned.target.name.clone(), row }
            })
            .collect();
        if let Err(error) = journal.append(&entries) {
            warn!(event = "state_journal_failed", reason = %error);
            local.forget_held();
            return None;
        }
        for ((Planned { target, before, after }, entry), write) in
            plan.into_iter().zip(entries).zip(commit.writes())
        {
            local.count_on(&[Turnover {
                kind: target.kind,
                principal: target.name.principal,
                before,
                after,
            }]);
            local.go_ahead(&target.full, entry, write.keeps_lease);
        }
        let is_far = local.ahead_count() >= FAR.0 || journal.length() >= FAR.1;
        Some(Made { outcome: Ok(()), calls_writer: is_far && !gate.is_called.swap(true, Ordering::AcqRel) })
    }
}

/// The content that a change leaves.
pub(super) fn content(change: &Change) -> &Bytes {
    static NOTHING: Bytes = Bytes::new();
    match change {
        Change::Put { blob, .. } => blob,
        _ => &NOTHING,
    }
}
