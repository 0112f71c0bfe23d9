//! What clients see of runs, wherever they are, and what they want of them.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::state::{Claim, Claimed, Commit, End, Key, StateError, Versioned, Write};
use tokio::time::{Instant, sleep};
use tracing::info;

use super::held::{Order, Progress, locked};
use super::record::{RunRecord, Status, cancellation};
use super::{LOOK, Runs, TOLD, clock, drive, key};
use crate::principal::Principal;
use crate::protocol::tool::ToolReply;
use ptc_host::digest::short_hash;

/// A run as a client sees it.
#[derive(Debug)]
pub(crate) enum Seen {
    /// It goes on.
    Running(Progress),
    /// It has ended so.
    Ended(Status, Box<ToolReply>),
}

impl Seen {
    /// Whether somebody has stopped it.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Seen::Ended(Status::Cancelled, _))
    }
}

/// Why a run is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSeen {
    /// There is none of that id for that principal.
    NotFound,
    /// The store does not answer.
    Unavailable,
}

/// How long a holder elsewhere is waited for that was told to cancel a run: it hears of it within a second.
const OBEDIENCE: Duration = Duration::from_secs(15);

/// How long taking a run lasts, to record its end.
const BRIEF: Duration = Duration::from_secs(5);

impl Runs {
    /// The run, as soon as it ends or `patience` does.
    ///
    /// # Errors
    /// It is not there, or the store is not.
    pub(crate) async fn wait(
        &self,
        principal: &Principal,
        id: &str,
        patience: Duration,
    ) -> Result<Seen, NotSeen> {
        let until = Instant::now() + patience;
        if let Some(held) = self.here(principal, id) {
            return Ok(held.seen(until).await);
        }
        let key = key(principal, id)?;
        loop {
            match self.look(&key).await? {
                (record, true) if record.status == Status::Running => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(Seen::Running(self.progress_of(&key, &record)));
                    }
                    sleep(LOOK.min(left)).await;
                }
                (record, _) => return Ok(ended(&record)),
            }
        }
    }

    /// Stops the run, and tells how it has ended.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub(crate) async fn cancel(&self, principal: &Principal, id: &str) -> Result<Seen, NotSeen> {
        if let Some(held) = self.here(principal, id) {
            held.orders.send_if_modified(|order| {
                let goes_on = *order == Order::GoOn;
                if goes_on {
                    *order = Order::Cancel;
                }
                goes_on
            });
            return Ok(held.seen(Instant::now() + OBEDIENCE).await);
        }
        let key = key(principal, id)?;
        if let (record, true) = self.look(&key).await?
            && record.status == Status::Running
        {
            let pushed = self.store.push(&key, drive::CANCEL.into(), self.longest_life()).await;
            pushed.map_err(|error| not_seen(&error))?;
        }
        self.wait(principal, id, OBEDIENCE).await
    }

    /// The record, and whether somebody holds it. Of one that runs and that nobody holds, the end is recorded first.
    async fn look(&self, key: &Key) -> Result<(RunRecord, bool), NotSeen> {
        let read = self.store.read(key).await.map_err(|error| not_seen(&error))?;
        let read = read.ok_or(NotSeen::NotFound)?;
        let is_held = read.lease.is_some();
        let record = record_of(&read)?;
        if record.status != Status::Running || is_held {
            return Ok((record, is_held));
        }
        self.interrupted(key).await
    }

    /// Records that the process of a run has ended, unless it is held after all.
    async fn interrupted(&self, key: &Key) -> Result<(RunRecord, bool), NotSeen> {
        let claim =
            Claim { holder: self.replica.clone(), lease: BRIEF, rest: None, known: 0, creates: false };
        let taken = match self.store.claim(key, claim).await.map_err(|error| not_seen(&error))? {
            Claimed::Absent => return Err(NotSeen::NotFound),
            Claimed::Held(_) => {
                let read = self.store.read(key).await.map_err(|error| not_seen(&error))?;
                return Ok((record_of(&read.ok_or(NotSeen::NotFound)?)?, true));
            }
            Claimed::Taken(taken) => taken,
        };
        let record = record_of(&taken)?;
        if record.status != Status::Running {
            let _ = self.store.renew(key, taken.fence, Duration::ZERO).await;
            return Ok((record, false));
        }
        let reply = record.interruption();
        let record = record.ended(Status::Interrupted, &reply);
        let write = Write::put(key.clone(), taken.version, record.to_bytes()).under(taken.fence);
        let write = write.resting(self.settings.ttl).ending(End::Keep);
        self.store.commit(Commit::one(write)).await.map_err(|error| not_seen(&error))?;
        info!(event = "run_interrupted", run_hash = &short_hash(key.id().as_bytes())[..8]);
        Ok((record, false))
    }

    /// How far a run of another replica is, and that a client is told.
    fn progress_of(&self, key: &Key, record: &RunRecord) -> Progress {
        let mut all = locked(&self.told);
        let name = (key.owner().name().clone(), key.id().clone());
        if all.len() >= TOLD && !all.contains_key(&name) {
            all.clear();
        }
        let told = all.entry(name).or_default();
        let (prints, omitted) = record.prints.after(*told);
        *told = record.prints.count();
        let elapsed = u64::try_from(clock::now_ms() - record.began_ms).unwrap_or(0);
        Progress {
            run_id: Arc::clone(key.id()),
            elapsed: Duration::from_millis(elapsed),
            calls: record.calls,
            prints,
            omitted,
        }
    }
}

fn record_of(read: &Versioned) -> Result<RunRecord, NotSeen> {
    // What another build has written is left alone.
    read.blob.as_deref().and_then(RunRecord::from_bytes).ok_or(NotSeen::NotFound)
}

fn ended(record: &RunRecord) -> Seen {
    let reply = match (&record.outcome, record.status) {
        (Some(outcome), _) => outcome.reply(),
        (None, Status::Cancelled) => cancellation(),
        (None, _) => record.interruption(),
    };
    Seen::Ended(record.status, Box::new(reply))
}

fn not_seen(error: &StateError) -> NotSeen {
    match error {
        StateError::Gone | StateError::Corrupt => NotSeen::NotFound,
        // Whoever was faster has told the end.
        StateError::Conflict | StateError::Fenced | StateError::Full | StateError::Unavailable(_) => {
            NotSeen::Unavailable
        }
    }
}
