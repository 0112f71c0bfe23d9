//! Commits that go ahead of the tables: their own thread appends them to the journal.

use std::sync::atomic::Ordering;

use tracing::warn;

use super::super::rows::judge;
use super::super::{Commit, StateError};
use super::plan::{Planned, content, counted, plan, targets};
use super::shared::Core;
use super::tables::{Entry, Row, Turnover};

/// Records that are ahead of the tables, and bytes of the journal, at which the writer is called, ahead of its time.
const FAR: (usize, u64) = (1024, 4 << 20);
/// The same at which it is waited for.
const TOO_FAR: (usize, u64) = (8 * FAR.0, 8 * FAR.1);
/// Bytes of a commit that the writer makes: a copy of it costs more than waiting for another thread.
const LARGE: usize = 256 << 10;
/// Nothing is known of a record without the file.
struct Unknown;

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
