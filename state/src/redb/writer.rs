//! The one thread that writes. All waiting jobs form one transaction, and are answered once it is as durable as configured.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use bytes::Bytes;
use redb::{Database, ReadableTable as _, StorageError};
use tokio::sync::oneshot;
use tracing::{error, info};

use super::super::names::Name;
use super::super::rows::{Head, judge};
use super::super::tally::Tally;
use super::super::{Commit, Kind, StateError};
use super::gate::Gate;
use super::journal::Journal;
use super::local::{after, name_of};
use super::plan::{Planned, content, counted, plan, targets};
use super::shared::{Core, unavailable};
use super::tables::{Entry, Tables, full_name};
use ptc_base::time;

/// Jobs of one transaction.
const TOGETHER: usize = 256;
/// How often the writer does its background work.
const TICK: Duration = Duration::from_secs(1);
/// How often expired records are looked for.
const SWEEP: Duration = Duration::from_secs(60);
/// Records that one search removes, of each kind, and that it looks at.
const SWEPT: usize = 1000;
const LOOKED_AT: usize = 50_000;

/// The outcome of a job: its answer, unless the file failed.
pub(super) type Done<T> = Result<Result<T, StateError>, redb::Error>;

/// Work for the writer, which returns the callback for its outcome.
pub(super) type Job = Box<dyn FnOnce(Option<&mut Batch<'_, '_>>) -> Result<Told, (Told, redb::Error)> + Send>;

/// Reports to the waiting caller that its work is in the file, or why nothing is.
pub(super) type Told = Box<dyn FnOnce(Option<StateError>) + Send>;

/// A job, and its answer.
pub(super) fn job<T: Send + 'static>(
    work: impl FnOnce(&mut Batch<'_, '_>) -> Done<T> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, StateError>>) {
    let (told, answer) = oneshot::channel();
    let job: Job = Box::new(move |batch| {
        let Some(batch) = batch else {
            return Ok(Box::new(move |fault: Option<StateError>| {
                // Whoever asked may have stopped waiting.
                let _ = told.send(Err(fault.unwrap_or(StateError::Gone)));
            }) as Told);
        };
        match work(batch) {
            Ok(result) => Ok(Box::new(move |fault: Option<StateError>| {
                let _ = told.send(fault.map_or(result, Err));
            }) as Told),
            Err(error) => {
                let tell = Box::new(move |fault: Option<StateError>| {
                    let _ = told.send(Err(fault.unwrap_or(StateError::Gone)));
                }) as Told;
                Err((tell, error))
            }
        }
    });
    (job, answer)
}

/// A transaction that is being made.
pub(super) struct Batch<'t, 'c> {
    tables: Tables<'t>,
    core: &'c Core,
    now: u64,
    /// Published once it is in the file: records, and whether their leases are kept.
    changed: Vec<(String, Option<Head>, bool)>,
    /// Runs that got messages.
    pushed: Vec<String>,
    /// Kinds whose records it has counted.
    counted: Vec<(Kind, Tally)>,
    is_changed: bool,
}

impl Batch<'_, '_> {
    fn current_head(&mut self, kind: Kind, name: &Name) -> Result<Option<Head>, StorageError> {
        let full = full_name(name);
        // What this transaction has written itself is newer than any use.
        if let Some((_, head, _)) = self.changed.iter().rev().find(|(changed, ..)| *changed == full) {
            return Ok(*head);
        }
        // Nobody else writes the file: what is known of a record is so.
        if let Some(known) = self.core.local(|local, _| local.known(&full)) {
            return Ok(Some(known));
        }
        let head = self.tables.head(kind, name)?;
        Ok(head.map(|head| self.core.local(|local, _| local.current(&full, head))))
    }

    /// Makes all changes, or none.
    pub(super) fn commit(&mut self, commit: &Commit) -> Done<()> {
        let (core, now) = (self.core, self.now);
        let planned = plan(
            commit,
            targets(commit),
            |target| self.current_head(target.kind, &target.name),
            |target, there, write| core.local(|local, _| judge(there, local.taken(&target.full), write, now)),
        );
        let plan = match planned? {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused)),
        };
        let (before, after) = counted(&plan);
        if after > before && !self.fits(&plan[0].target.name.principal, after - before)? {
            return Ok(Err(StateError::Full));
        }
        for (write, Planned { target, after, .. }) in commit.writes().iter().zip(plan) {
            let row = after.as_ref().map(|head| (head, &content(&write.change)[..]));
            self.tables.set(target.kind, &target.name, row)?;
            self.changed.push((target.full, after, write.keeps_lease));
        }
        self.is_changed = true;
        Ok(Ok(()))
    }

    /// Whether a principal may have so many bytes more. Its expired records go first.
    fn fits(&mut self, principal: &str, more: u64) -> Result<bool, StorageError> {
        let limit = self.core.limits.owner_bytes;
        if self.tables.held(principal)? + more <= limit {
            return Ok(true);
        }
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_counted()) {
            let (core, now) = (self.core, self.now);
            let is_over = |name: &Name, head: &Head| is_over(core, name, head, now);
            for name in self.tables.expired_of(kind, principal, is_over)? {
                self.remove(kind, &name)?;
            }
        }
        Ok(self.tables.held(principal)? + more <= limit)
    }

    fn remove(&mut self, kind: Kind, name: &Name) -> Result<(), StorageError> {
        self.tables.set(kind, name, None)?;
        self.changed.push((full_name(name), None, true));
        self.is_changed = true;
        Ok(())
    }

    /// Buries a record, regardless of its lease. Returns whether it existed.
    pub(super) fn bury(&mut self, name: &Name, kind: Kind, life: Duration) -> Done<bool> {
        let there = self.current_head(kind, name)?;
        let Some(head) = there.filter(|head| head.is_there(self.now) && !head.is_buried) else {
            return Ok(Ok(false));
        };
        let expires = Some(after(self.now, life));
        let head = Head { version: head.version, is_buried: true, end: expires, expires, bytes: 0 };
        self.tables.set(kind, name, Some((&head, &[])))?;
        self.changed.push((full_name(name), Some(head), false));
        self.is_changed = true;
        Ok(Ok(true))
    }

    pub(super) fn spend(&mut self, key: &[u8], life: Duration) -> Done<bool> {
        let is_spent = self.tables.spent()?.get(key)?.is_some_and(|until| self.now < until.value());
        if !is_spent {
            self.tables.spent()?.insert(key, after(self.now, life))?;
            self.is_changed = true;
        }
        Ok(Ok(!is_spent))
    }

    /// Counts the records of a kind.
    pub(super) fn count(&mut self, kind: Kind) -> Done<()> {
        let tally = self.tables.tally(kind)?;
        self.counted.push((kind, tally));
        Ok(Ok(()))
    }

    pub(super) fn push(&mut self, full: &str, message: &[u8], life: Duration) -> Done<()> {
        let last = {
            let mut messages = self.tables.inboxes()?.range((full, 0)..=(full, u64::MAX))?;
            let last = messages.next_back().transpose()?;
            last.map(|(key, message)| (key.value().1, message.value().0))
        };
        if last.is_some_and(|(_, until)| self.now >= until) {
            self.take_messages(full)?;
        }
        let number = last.map_or(0, |(number, _)| number + 1);
        // The latest message says how long the inbox lives.
        let until = last.map_or(0, |(_, until)| until).max(after(self.now, life));
        self.tables.inboxes()?.insert((full, number), (until, message))?;
        self.pushed.push(full.to_owned());
        self.is_changed = true;
        Ok(Ok(()))
    }

    pub(super) fn drain(&mut self, full: &str) -> Done<Vec<Bytes>> {
        let messages = self.take_messages(full)?;
        let is_over = messages.last().is_none_or(|(until, _)| self.now >= *until);
        if is_over {
            return Ok(Ok(Vec::new()));
        }
        Ok(Ok(messages.into_iter().map(|(_, message)| message).collect()))
    }

    fn take_messages(&mut self, full: &str) -> Result<Vec<(u64, Bytes)>, StorageError> {
        let mut taken = Vec::new();
        let all = self.tables.inboxes()?.extract_from_if((full, 0)..=(full, u64::MAX), |_, _| true)?;
        for message in all {
            let (_, message) = message?;
            let (until, message) = message.value();
            taken.push((until, Bytes::copy_from_slice(message)));
        }
        self.is_changed |= !taken.is_empty();
        Ok(taken)
    }

    /// Has records that were used expire later.
    fn put_off_expiry(&mut self, used: &[(String, u64)]) -> Result<(), StorageError> {
        for (full, expires) in used {
            let is_written = self.changed.iter().any(|(changed, ..)| changed == full);
            if let Some((kind, name)) = name_of(full).filter(|_| !is_written) {
                self.tables.set_expiry(kind, &name, *expires)?;
                self.is_changed = true;
            }
        }
        Ok(())
    }

    /// Removes some expired records, from `from` on in each table; updates `from` to where to continue.
    fn sweep(&mut self, from: &mut [String; Kind::ALL.len()]) -> Result<(), StorageError> {
        let (core, now) = (self.core, self.now);
        for (kind, from) in Kind::ALL.into_iter().zip(from) {
            let is_over = |name: &Name, head: &Head| is_over(core, name, head, now);
            let (expired, next) = self.tables.expired(kind, from, LOOKED_AT, SWEPT, is_over)?;
            for name in expired {
                self.remove(kind, &name)?;
            }
            *from = next.unwrap_or_default();
        }
        let mut swept = 0;
        self.tables.spent()?.retain(|_, until| {
            let goes = now >= until && swept < SWEPT;
            swept += usize::from(goes);
            !goes
        })?;
        let mut messages = 0;
        self.tables.inboxes()?.retain(|_, (until, _)| {
            let goes = now >= until && messages < SWEPT;
            messages += usize::from(goes);
            !goes
        })?;
        self.is_changed |= swept + messages > 0;
        Ok(())
    }
}

#[cfg(test)]
impl Batch<'_, '_> {
    pub(super) fn held_by(&mut self, principal: &str) -> u64 {
        use super::super::key::PRINCIPAL_DIGITS;
        use ptc_secret::digest::hex_digest;
        self.tables.held(&hex_digest(principal, PRINCIPAL_DIGITS)).unwrap()
    }

    pub(super) fn sweep_all(&mut self) -> Result<(), StorageError> {
        self.sweep(&mut Default::default())
    }
}

fn is_over(core: &Core, name: &Name, head: &Head, now: u64) -> bool {
    !core.local(|local, _| local.current(&full_name(name), *head)).is_there(now)
}

/// Writes until no handle is left.
pub(super) fn run(core: &Arc<Core>, jobs: &Receiver<Job>) {
    let mut places: [String; Kind::ALL.len()] = Default::default();
    let mut swept = time::now();
    loop {
        let first = match jobs.recv_timeout(TICK) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let waiting = first.into_iter().chain(std::iter::from_fn(|| jobs.try_recv().ok())).take(TOGETHER);
        let waiting: Vec<Job> = waiting.collect();
        let sweeps = time::since(swept) >= SWEEP;
        if sweeps {
            swept = time::now();
        }
        write_together(core, waiting, sweeps.then_some(&mut places));
    }
    write_together(core, Vec::new(), None);
}

/// Makes one transaction of all these jobs and of the journal's entries, and answers them.
fn write_together(core: &Core, jobs: Vec<Job>, sweep: Option<&mut [String; Kind::ALL.len()]>) {
    // From here on nothing changes what is known of records but this transaction.
    let mut closed = core.gate.as_ref().map(Gate::close);
    let (used, ahead) = core.local(|local, _| (local.take_used(), local.ahead()));
    if jobs.is_empty() && used.is_empty() && ahead.is_empty() && sweep.is_none() {
        reopen_if_lost(core);
        return;
    }
    let file = core.file().or_else(|lost| if reopen_if_lost(core) { core.file() } else { Err(lost) });
    let mut told = Vec::with_capacity(jobs.len());
    let outcome = match &file {
        Ok(file) => {
            let known = Known {
                used: &used,
                ahead: &ahead,
                journal: closed.as_mut().map(|closed| &mut *closed.journal),
            };
            write_to(core, file, jobs, known, sweep, &mut told).map_err(|error| {
                error!(event = "state_write_failed", reason = %error);
                unavailable(&error)
            })
        }
        Err(lost) => {
            told.extend(jobs.into_iter().map(|job| job(None).unwrap_or_else(|(told, _)| told)));
            Err(lost.clone())
        }
    };
    if file.is_ok() && outcome.is_err() {
        drop(file);
        // After a failure the library reads and writes nothing more: the file is opened again.
        core.file.write().take();
        core.local(|local, _| local.forget_counts());
        if let Some(closed) = &mut closed {
            closed.journal.unsettled();
        }
    }
    drop(closed);
    let fault = outcome.err();
    told.into_iter().for_each(|tell| tell(fault.clone()));
}

/// Data that a transaction writes besides its jobs.
struct Known<'a> {
    /// When records expire that were used.
    used: &'a [(String, u64)],
    /// Records that the tables do not have yet.
    ahead: &'a [Entry],
    /// The journal that has those.
    journal: Option<&'a mut Journal>,
}

fn write_to(
    core: &Core,
    file: &Database,
    jobs: Vec<Job>,
    Known { used, ahead, journal }: Known<'_>,
    sweep: Option<&mut [String; Kind::ALL.len()]>,
    told: &mut Vec<Told>,
) -> Result<(), redb::Error> {
    let mut jobs = jobs.into_iter();
    // The journal, if it gets a new number.
    let renumbered = journal.filter(|journal| !ahead.is_empty() || !journal.is_usable());
    let outcome = (|| {
        let writing = file.begin_write()?;
        let (changed, pushed, (counted, turnover, sums), is_changed) = {
            let mut tables = Tables::of(&writing);
            if !core.says_form.load(Ordering::Relaxed) {
                tables.say_form()?;
            }
            // What comes after it sees in the tables all that there is.
            tables.catch_up(ahead)?;
            if let Some(journal) = &renumbered {
                tables.number_journal(Some(journal.next()))?;
            }
            let mut batch = Batch {
                tables,
                core,
                now: core.now(),
                changed: Vec::new(),
                pushed: Vec::new(),
                counted: Vec::new(),
                is_changed: renumbered.is_some(),
            };
            for job in jobs.by_ref() {
                match job(Some(&mut batch)) {
                    Ok(tell) => told.push(tell),
                    Err((tell, error)) => {
                        told.push(tell);
                        return Err(error);
                    }
                }
            }
            batch.put_off_expiry(used)?;
            if let Some(places) = sweep {
                batch.sweep(places)?;
                core.local(|local, now| local.forget_leases(now));
            }
            let Tables { turnover, sums, .. } = batch.tables;
            (batch.changed, batch.pushed, (batch.counted, turnover, sums), batch.is_changed)
        };
        if is_changed {
            writing.commit()?;
            core.says_form.store(true, Ordering::Relaxed);
            if let Some(journal) = renumbered {
                journal.settled();
            }
        } else {
            // Nothing is flushed for those who were refused.
            writing.abort()?;
        }
        core.local(|local, now| {
            if is_changed {
                local.used_is_written(used);
                local.caught_up();
                sums.iter().for_each(|(principal, held)| local.hold(principal, *held));
            }
            local.counted(counted);
            local.count_on(&turnover);
            changed.iter().for_each(|(full, head, keeps_lease)| local.changed(full, *head, *keeps_lease));
            pushed.iter().for_each(|full| local.wake(full, now));
        });
        Ok(())
    })();
    // Whoever was not reached is told as well.
    told.extend(jobs.map(|job| job(None).unwrap_or_else(|(tell, _)| tell)));
    outcome
}

/// Reopens a file that could not be used, once the old one has no readers. Returns whether it can be used now.
fn reopen_if_lost(core: &Core) -> bool {
    let mut slot = core.file.write();
    if slot.is_some() {
        return true;
    }
    match core.opener.open() {
        Ok(file) => {
            info!(event = "state_file_reopened");
            core.says_form.store(false, Ordering::Relaxed);
            *slot = Some(Arc::new(file));
            true
        }
        Err(_) => false,
    }
}
