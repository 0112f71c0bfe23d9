//! Looks up, awaits and cancels runs, on whichever replica they are.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::pace::apart;
use ptc_host::questions::{PendingQuestion, QuestionId};
use ptc_host::state::{Claim, Claimed, Commit, End, Key, StateError, Versioned, Write};
use tokio::sync::broadcast;
use tracing::info;

use super::answering::Message;
use super::held::Progress;
use super::record::{RunRecord, Status, cancellation, expiry};
use super::{Name, Runs, TOLD, key};
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Instant, timeout, timeout_at};
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// A run as a client sees it.
#[derive(Debug)]
pub enum Seen<P = Progress> {
    /// Its program runs, and has come this far.
    Running(P),
    /// It waits for people.
    Waiting(WaitingRun),
    /// It has ended with that status and reply.
    Ended(Status, Box<ToolReply>),
}

/// A run that waits for people.
#[derive(Clone, Debug)]
pub struct WaitingRun {
    /// Its id.
    pub run_id: Arc<str>,
    /// When it expires unless it is answered, in milliseconds since 1970.
    pub expires_at_ms: i64,
    /// The open questions.
    pub questions: Vec<PendingQuestion>,
    /// The number of this suspension of its program, from 1; 0 if it waits in its process.
    pub round: u32,
}

impl WaitingRun {
    pub(super) fn of_record(run_id: &Arc<str>, record: &RunRecord) -> WaitingRun {
        WaitingRun {
            run_id: run_id.clone(),
            expires_at_ms: record.wait.as_ref().map_or(record.began_ms, |wait| wait.expires_at_ms),
            questions: open(record).cloned().collect(),
            round: record.call.as_ref().map_or(0, |call| call.round),
        }
    }
}

impl Seen {
    /// True if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Seen::Ended(Status::Cancelled, _))
    }
}

/// Why a run cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSeen {
    /// That principal has no run of that id.
    NotFound,
    /// The store is unavailable.
    Unavailable,
}

impl NotSeen {
    /// The reply to the client that asked for the run.
    pub fn reply(self) -> ToolReply {
        match self {
            NotSeen::NotFound => ToolReply::failure(
                "run_not_found",
                "run not found",
                "No run of that run_id is yours; results are kept for a while only (--run-ttl-ms). Run the program again.",
            ),
            NotSeen::Unavailable => ToolReply::failure(
                "state_unavailable",
                "the state store is unavailable",
                "The run is not lost. Retry in a second.",
            ),
        }
    }
}

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
    ) -> Result<Seen, NotSeen> {
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
    ) -> Result<Seen, NotSeen> {
        let until = time::now() + patience;
        let key = key(principal, id)?;
        let mut under_way = answered.to_vec();
        let mut changes: Option<broadcast::Receiver<Name>> = None;
        let mut has_looked_at_pages = false;
        loop {
            let (seen, read) = self.seen(&key, principal, until).await?;
            let Seen::Waiting(run) = &seen else { return Ok(seen) };
            if !has_looked_at_pages {
                // Answers given on pages are taken once.
                has_looked_at_pages = true;
                let by_pages = self.answer_by_pages(principal, run).await?;
                if !by_pages.is_empty() {
                    under_way.extend(by_pages);
                    continue;
                }
            }
            let is_under_way = run.questions.iter().any(|question| under_way.contains(&question.id));
            if !is_under_way || time::now() >= until {
                return Ok(seen);
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
    async fn seen(
        &self,
        key: &Key,
        principal: &Principal,
        until: Instant,
    ) -> Result<(Seen, Option<Versioned>), NotSeen> {
        loop {
            if let Some(held) = self.here(principal, key.id())
                && let Some(seen) = held.seen(until).await
            {
                return Ok((seen, None));
            }
            let (record, read) = self.look(key).await?;
            let read = Versioned { blob: None, ..read };
            let seen = match record.status {
                Status::Running if time::now() >= until => Seen::Running(self.progress_of(key, &record)),
                Status::Running => {
                    self.changed(key, &read, until).await?;
                    continue;
                }
                Status::Waiting => Seen::Waiting(WaitingRun::of_record(key.id(), &record)),
                _ => ended(&record),
            };
            return Ok((seen, Some(read)));
        }
    }

    /// Waits until the record has another version, or its lease has ended, since its process is gone then; at most `until` then.
    async fn changed(&self, key: &Key, read: &Versioned, until: Instant) -> Result<(), NotSeen> {
        let lease = read.lease.as_ref().map(|lease| time::now() + lease.left.max(SHORTEST));
        let until = lease.map_or(until, |lease| until.min(lease));
        match timeout_at(until, self.store.watch(key, read.version)).await {
            Ok(Err(error)) => Err(not_seen(&error)),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    /// Cancels the run and returns how it has ended.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn cancel(self: &Arc<Self>, principal: &Principal, id: &str) -> Result<Seen, NotSeen> {
        let key = key(principal, id)?;
        if let Some(held) = self.here(principal, id) {
            held.orders.send_if_modified(|order| {
                let is_first = order.is_none();
                order.get_or_insert(Status::Cancelled);
                is_first
            });
            let _ = timeout(OBEDIENCE, held.ended()).await;
            if let Some(seen) = held.seen(time::now()).await {
                return Ok(seen);
            }
        }
        let (record, _) = self.look(&key).await?;
        if record.needs_holder() {
            let pushed = self.store.push(&key, Message::Cancel.to_bytes(), self.longest_life()).await;
            pushed.map_err(|error| not_seen(&error))?;
            let open: Vec<QuestionId> = open(&record).map(|question| question.id).collect();
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
    pub(super) async fn look(&self, key: &Key) -> Result<(RunRecord, Versioned), NotSeen> {
        let read = self.store.read(key).await.map_err(|error| not_seen(&error))?;
        let read = read.ok_or(NotSeen::NotFound)?;
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
    ) -> Result<(RunRecord, Versioned), NotSeen> {
        let claim =
            Claim { holder: self.replica.clone(), lease: BRIEF, rest: None, known: 0, creates: false };
        let mut taken = match self.store.claim(key, claim).await.map_err(|error| not_seen(&error))? {
            Claimed::Absent => return Err(NotSeen::NotFound),
            Claimed::Held(_) => {
                let read = self.store.read(key).await.map_err(|error| not_seen(&error))?;
                let read = read.ok_or(NotSeen::NotFound)?;
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
        self.store.commit(Commit::one(write)).await.map_err(|error| not_seen(&error))?;
        taken.version += 1;
        self.tells_status(key, &record);
        let run_hash = &short_hash(key.id().as_bytes())[..8];
        info!(event = "run_ended", run_hash, status = status.as_str());
        Ok((record, taken))
    }

    /// The progress of a run on another replica. Marks its prints as reported.
    fn progress_of(&self, key: &Key, record: &RunRecord) -> Progress {
        let mut all = self.told.lock();
        let name = (key.owner().name().clone(), key.id().clone());
        if all.len() >= TOLD && !all.contains_key(&name) {
            all.clear();
        }
        let told = all.entry(name).or_default();
        let (prints, omitted) = record.prints.after(*told);
        *told = record.prints.count();
        let elapsed = u64::try_from(timestamp::shared_now_ms() - record.began_ms).unwrap_or(0);
        Progress {
            run_id: Arc::clone(key.id()),
            elapsed: Duration::from_millis(elapsed),
            calls: record.calls,
            prints,
            omitted,
        }
    }
}

/// Waits for a change of this run in this process.
pub(super) async fn changed_here(changes: &mut broadcast::Receiver<Name>, key: &Key) {
    // Whoever missed some looks.
    while let Ok((owner, id)) = changes.recv().await
        && (&owner, &id) != (key.owner().name(), key.id())
    {}
}

/// Decodes the record. A large one is decoded on a thread of its own.
pub(super) async fn record_of(read: &Versioned) -> Result<RunRecord, NotSeen> {
    let blob = read.blob.clone().ok_or(NotSeen::NotFound)?;
    // Records of other builds are left alone.
    apart(blob.len(), move || RunRecord::from_bytes(&blob)).await.ok_or(NotSeen::NotFound)
}

/// The open questions of a run.
fn open(record: &RunRecord) -> impl Iterator<Item = &PendingQuestion> {
    record.questions().iter().filter(|question| question.is_open())
}

pub(super) fn ended<P>(record: &RunRecord) -> Seen<P> {
    let reply = match (&record.outcome, record.status) {
        (Some(outcome), _) => outcome.reply(),
        (None, Status::Cancelled) => cancellation(),
        (None, _) => record.interruption(),
    };
    Seen::Ended(record.status, Box::new(reply))
}

pub(super) fn not_seen(error: &StateError) -> NotSeen {
    match error {
        StateError::Gone | StateError::Corrupt => NotSeen::NotFound,
        // A faster writer has recorded the end.
        StateError::Conflict | StateError::Fenced | StateError::Full | StateError::Unavailable(_) => {
            NotSeen::Unavailable
        }
    }
}
