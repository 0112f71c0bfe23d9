//! Looks up, awaits and cancels runs, on whichever replica they are.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::pace::apart;
use ptc_host::questions::QuestionId;
use ptc_host::state::{Claim, Claimed, Commit, End, Key, Versioned, Write};
use tokio::sync::broadcast;
use tracing::info;

use super::answering::RunMessage;
use super::record::{RunRecord, Status, cancellation, expiry};
use super::view::{RunError, RunView};
use super::{RunName, Runs, TOLD, key};
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Instant, timeout, timeout_at};
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// How long to wait for another replica to cancel a run: it reads its inbox once a second.
const OBEDIENCE: Duration = Duration::from_secs(15);

/// The shortest wait for the end of a lease.
const SHORTEST: Duration = Duration::from_millis(10);

/// How long the lease is held to record an end.
const BRIEF: Duration = Duration::from_secs(5);

impl Runs {
    /// Returns the run as soon as it ends, waits for people, or `patience` is over.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable.
    pub async fn wait(
        self: &Arc<Self>,
        principal: &Principal,
        id: &str,
        patience: Duration,
    ) -> Result<RunView, RunError> {
        self.wait_past(&[], principal, id, patience).await
    }

    /// Like [`wait`](Self::wait), but also waits while a question of `answered` is still open: its answer is under
    /// way.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn wait_past(
        self: &Arc<Self>,
        answered: &[QuestionId],
        principal: &Principal,
        id: &str,
        patience: Duration,
    ) -> Result<RunView, RunError> {
        let until = time::now() + patience;
        let key = key(principal, id)?;
        let mut under_way = answered.to_vec();
        let mut changes: Option<broadcast::Receiver<RunName>> = None;
        let mut has_looked_at_pages = false;
        self.renew_caller(&key, principal).await?;
        loop {
            let (run, read) = self.watch(&key, principal, until).await?;
            if run.status != Status::Waiting {
                return Ok(run);
            }
            if !has_looked_at_pages {
                // Answers given on pages are taken once.
                has_looked_at_pages = true;
                let by_pages = self.answer_by_pages(principal, &run).await?;
                if !by_pages.is_empty() {
                    under_way.extend(by_pages);
                    continue;
                }
            }
            let is_under_way = run.open().any(|question| under_way.contains(&question.id));
            if !is_under_way || time::now() >= until {
                return Ok(run);
            }
            match (read, &mut changes) {
                (Some(read), _) => self.changed(&key, &read, until).await?,
                (None, Some(changes)) => drop(timeout_at(until, changed_here(changes, &key)).await),
                // What changes between a look and the wait behind it counts.
                (None, none) => *none = Some(self.changes()),
            }
        }
    }

    /// Returns the run as soon as it ends, asks, or `until` is reached, and its record without the content; `None` if this
    /// process holds it.
    async fn watch(
        &self,
        key: &Key,
        principal: &Principal,
        until: Instant,
    ) -> Result<(RunView, Option<Versioned>), RunError> {
        loop {
            if let Some(run) = self.here(principal, key.id())
                && let Some(view) = run.watch(until).await
            {
                return Ok((view, None));
            }
            let (record, read) = self.look(key).await?;
            let read = Versioned { blob: None, ..read };
            let view = match record.status {
                Status::Running if time::now() >= until => self.progress_of(key, &record),
                Status::Running => {
                    self.changed(key, &read, until).await?;
                    continue;
                }
                _ => Runs::view_of_record(key, &record),
            };
            return Ok((view, Some(read)));
        }
    }

    /// Waits until the record has another version, or its lease has ended, since its process is gone then; at most `until` then.
    async fn changed(&self, key: &Key, read: &Versioned, until: Instant) -> Result<(), RunError> {
        let lease = read.lease.as_ref().map(|lease| time::now() + lease.left.max(SHORTEST));
        let until = lease.map_or(until, |lease| until.min(lease));
        match timeout_at(until, self.store.watch(key, read.version)).await {
            Ok(Err(error)) => Err(RunError::of(&error)),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    /// Cancels the run and returns how it has ended.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn cancel(self: &Arc<Self>, principal: &Principal, id: &str) -> Result<RunView, RunError> {
        let key = key(principal, id)?;
        if let Some(run) = self.here(principal, id) {
            run.orders.send_if_modified(|order| {
                let is_first = order.is_none();
                order.get_or_insert(Status::Cancelled);
                is_first
            });
            let _ = timeout(OBEDIENCE, run.ended()).await;
            if let Some(view) = run.view() {
                return Ok(view);
            }
        }
        let (record, _) = self.look(&key).await?;
        if record.needs_holder() {
            let pushed = self.store.push(&key, RunMessage::Cancel.to_bytes(), self.longest_life()).await;
            pushed.map_err(|error| RunError::of(&error))?;
            let open = record.questions().iter().filter(|question| question.is_open());
            let open: Vec<QuestionId> = open.map(|question| question.id).collect();
            return self.wait_past(&open, principal, id, OBEDIENCE).await;
        }
        if record.status == Status::Waiting {
            let cancelled = |record: &RunRecord, _: &Versioned| {
                (record.status == Status::Waiting).then(|| (Status::Cancelled, cancellation()))
            };
            self.end_unless_held(&key, cancelled).await?;
            self.has_changed(&key);
        }
        self.wait(principal, id, OBEDIENCE).await
    }

    /// Reads the record. If the run is orphaned or expired, its end is recorded first.
    pub(super) async fn look(&self, key: &Key) -> Result<(RunRecord, Versioned), RunError> {
        let read = self.store.read(key).await.map_err(|error| RunError::of(&error))?;
        let read = read.ok_or(RunError::NotFound)?;
        let record = record_of(&read).await?;
        if !self.is_over(&read, &record) {
            return Ok((record, read));
        }
        self.end_unless_held(key, |record, read| {
            if record.needs_holder() {
                return Some((Status::Interrupted, record.interruption()));
            }
            self.has_expired(read, record).then(|| (Status::Expired, expiry(self.settings.waiting_ttl)))
        })
        .await
    }

    /// True if the run is orphaned (no lease) or past its deadline, whatever its recorded status.
    pub(super) fn is_over(&self, read: &Versioned, record: &RunRecord) -> bool {
        let is_lost = record.needs_holder() && read.lease.is_none();
        is_lost || self.has_expired(read, record)
    }

    /// True if it has expired by the store's clock.
    pub(super) fn has_expired(&self, read: &Versioned, record: &RunRecord) -> bool {
        let is_kept = record.status == Status::Waiting && !record.needs_holder();
        is_kept && read.ends_in.is_some_and(|left| left <= record.tail(self.settings.ttl))
    }

    /// Records the end that `end` makes, of a run that no process holds.
    async fn end_unless_held(
        &self,
        key: &Key,
        end: impl FnOnce(&RunRecord, &Versioned) -> Option<(Status, ToolReply)>,
    ) -> Result<(RunRecord, Versioned), RunError> {
        let claim =
            Claim { holder: self.replica.clone(), lease: BRIEF, rest: None, known: 0, creates: false };
        let mut taken = match self.store.claim(key, claim).await.map_err(|error| RunError::of(&error))? {
            Claimed::Absent => return Err(RunError::NotFound),
            Claimed::Held(_) => {
                let read = self.store.read(key).await.map_err(|error| RunError::of(&error))?;
                let read = read.ok_or(RunError::NotFound)?;
                return Ok((record_of(&read).await?, read));
            }
            Claimed::Taken(taken) => taken,
        };
        let record = record_of(&taken).await?;
        let Some((status, reply)) = end(&record, &taken) else {
            let _ = self.store.renew(key, taken.fence, Duration::ZERO).await;
            return Ok((record, taken));
        };
        let (record, bytes) = record.ended(status, &reply).written().await;
        let write = Write::put(key.clone(), taken.version, bytes).under(taken.fence);
        let write = write.resting(self.rest_of(&record)).ending(End::Never);
        self.store.commit(Commit::one(write)).await.map_err(|error| RunError::of(&error))?;
        taken.version += 1;
        self.tells_status(key, &record);
        let run_hash = &short_hash(key.id().as_bytes())[..8];
        info!(event = "run_ended", run_hash, status = status.as_str());
        Ok((record, taken))
    }

    /// A run on another replica, or one that nobody drives.
    pub(super) fn view_of_record(key: &Key, record: &RunRecord) -> RunView {
        match record.status {
            Status::Running | Status::Waiting => RunView::of(key.id(), record),
            _ => RunView::ended(key.id(), record),
        }
    }

    /// A running program on another replica. Marks its prints as reported.
    fn progress_of(&self, key: &Key, record: &RunRecord) -> RunView {
        let mut all = self.told.lock();
        let name = (key.owner().name().clone(), key.id().clone());
        if all.len() >= TOLD && !all.contains_key(&name) {
            all.clear();
        }
        let told = all.entry(name).or_default();
        let (prints, omitted) = record.prints.after(*told);
        *told = record.prints.count();
        let elapsed = u64::try_from(timestamp::shared_now_ms() - record.began_ms).unwrap_or(0);
        let elapsed = Duration::from_millis(elapsed);
        RunView { prints, omitted, elapsed, ..RunView::of(key.id(), record) }
    }
}

/// Waits for a change of this run in this process.
pub(super) async fn changed_here(changes: &mut broadcast::Receiver<RunName>, key: &Key) {
    // Whoever missed some looks.
    while let Ok((owner, id)) = changes.recv().await
        && (&owner, &id) != (key.owner().name(), key.id())
    {}
}

/// Decodes the record. A large one is decoded on a thread of its own.
pub(super) async fn record_of(read: &Versioned) -> Result<RunRecord, RunError> {
    let blob = read.blob.clone().ok_or(RunError::NotFound)?;
    // Records of other builds are left alone.
    apart(blob.len(), move || RunRecord::from_bytes(&blob)).await.ok_or(RunError::NotFound)
}
