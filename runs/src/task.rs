//! Runs as tasks of MCP clients (waiting.md 6.3).

use std::sync::Arc;
use std::time::Duration;

use super::held::Held;
use super::look::{WaitingRun, ended};
use super::record::{RunRecord, Status};
use super::{NotSeen, Runs, Seen, key};
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::{Instead, Task, TaskState};

/// A run, and how long it is kept.
#[derive(Debug)]
pub struct TaskRun {
    /// Its id.
    run_id: Arc<str>,
    /// When its call arrived, in milliseconds since 1970.
    created_ms: i64,
    /// When its status last changed or an answer came, in milliseconds since 1970.
    updated_ms: i64,
    /// The time until which it is kept at least, in milliseconds since 1970.
    until_ms: i64,
    /// Upstream calls that it has made.
    calls: u32,
    /// Its state.
    seen: Seen<()>,
}

impl TaskRun {
    /// Converts the run to a task. `requests` makes the `inputRequests` of a waiting run.
    pub fn into_task(self, requests: impl FnOnce(&WaitingRun) -> String) -> Task {
        let (message, state) = match self.seen {
            Seen::Running(()) => (Some(format!("{} upstream calls made", self.calls)), TaskState::Working),
            Seen::Waiting(waiting) => {
                let message = match waiting.questions.len() {
                    1 => "1 answer is needed before it goes on".to_owned(),
                    count => format!("{count} answers are needed before it goes on"),
                };
                (Some(message), TaskState::Input(requests(&waiting)))
            }
            Seen::Ended(Status::Cancelled, _) => {
                (Some("the run was cancelled".to_owned()), TaskState::Cancelled)
            }
            Seen::Ended(_, reply) => match reply.instead.as_deref() {
                Some(Instead::Refused(error)) => {
                    (Some(error.message.clone()), TaskState::Failed(error.clone()))
                }
                _ => (None, TaskState::Completed(reply)),
            },
        };
        Task {
            id: self.run_id,
            message,
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            ttl_ms: u64::try_from(self.until_ms - self.created_ms).unwrap_or(0),
            state,
        }
    }
}

impl Runs {
    /// The current state of the run. Reading it does not mark prints as reported.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable.
    pub async fn task(self: &Arc<Self>, principal: &Principal, id: &str) -> Result<TaskRun, NotSeen> {
        let task = self.as_task(principal, id).await?;
        match &task.seen {
            // Pages that are done answer their questions.
            Seen::Waiting(run) if !self.answer_by_pages(principal, run).await?.is_empty() => {
                self.as_task(principal, id).await
            }
            _ => Ok(task),
        }
    }

    async fn as_task(&self, principal: &Principal, id: &str) -> Result<TaskRun, NotSeen> {
        if let Some(task) = self.task_here(principal, id) {
            return Ok(task);
        }
        let key = key(principal, id)?;
        let (record, _) = self.look(&key).await?;
        let seen = match record.status {
            Status::Running => Seen::Running(()),
            Status::Waiting => Seen::Waiting(WaitingRun::of_record(key.id(), &record)),
            _ => ended(&record),
        };
        Ok(self.task_of(key.id().clone(), &record, seen))
    }

    /// Like [`task`](Self::task), for a run that this process holds.
    pub fn task_here(&self, principal: &Principal, id: &str) -> Option<TaskRun> {
        let held = self.here(principal, id)?;
        let seen = held.standing()?;
        Some(self.task_of(held.key.id().clone(), &held.record(), seen))
    }

    fn task_of(&self, run_id: Arc<str>, record: &RunRecord, seen: Seen<()>) -> TaskRun {
        let ttl = millis(self.settings.ttl);
        // The run is kept at least until then, whatever happens to it.
        let until_ms = match &seen {
            Seen::Running(()) => timestamp::shared_now_ms() + ttl,
            Seen::Waiting(run) => run.expires_at_ms + ttl,
            Seen::Ended(..) => record.updated_ms + ttl,
        };
        TaskRun {
            run_id,
            created_ms: record.began_ms,
            updated_ms: record.updated_ms,
            until_ms: until_ms.max(record.until_ms),
            calls: record.calls,
            seen,
        }
    }

    /// The time until which a run is kept whose client got a task: the time limit of its program, and the time that
    /// its end is kept.
    pub(super) fn promised_ms(&self, began_ms: i64) -> i64 {
        began_ms + millis(self.settings.timeout) + millis(self.settings.ttl)
    }

    /// The same for a run that was promised until `until_ms` (0: no promise) and now waits for people until
    /// `expires_at_ms`.
    pub(super) fn promised_past(&self, until_ms: i64, expires_at_ms: i64) -> i64 {
        if until_ms == 0 { 0 } else { until_ms.max(expires_at_ms + millis(self.settings.ttl)) }
    }

    /// Extends the promise of a resident run that waits.
    pub(super) fn promises_past(&self, held: &Held, expires_at_ms: i64) {
        held.promise(self.promised_past(held.record().until_ms, expires_at_ms));
    }

    /// How long the store keeps the record of a run that has ended.
    pub(super) fn rest_of(&self, record: &RunRecord) -> Duration {
        let promised = u64::try_from(record.until_ms - timestamp::shared_now_ms()).unwrap_or(0);
        self.settings.ttl.max(Duration::from_millis(promised))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4)
}
