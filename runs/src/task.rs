//! Runs as tasks of MCP clients (waiting.md 6.3).

use std::sync::Arc;
use std::time::Duration;

use super::active::ActiveRun;
use super::driver::ResidentQuestions;
use super::record::{RunRecord, Status};
use super::view::RunView;
use super::{RunError, Runs, key};
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;

impl Runs {
    /// The current state of the run. Reading it does not mark prints as reported.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable.
    pub async fn task(self: &Arc<Self>, principal: &Principal, id: &str) -> Result<RunView, RunError> {
        let run = self.as_task(principal, id).await?;
        // Pages that are done answer their questions.
        match run.status == Status::Waiting && !self.answer_by_pages(principal, &run).await?.is_empty() {
            true => self.as_task(principal, id).await,
            false => Ok(run),
        }
    }

    async fn as_task(&self, principal: &Principal, id: &str) -> Result<RunView, RunError> {
        if let Some(run) = self.task_here(principal, id) {
            return Ok(run);
        }
        let key = key(principal, id)?;
        let (record, _) = self.look(&key).await?;
        Ok(self.kept_for(Runs::view_of_record(&key, &record)))
    }

    /// Like [`task`](Self::task), for a run that this process holds.
    pub fn task_here(&self, principal: &Principal, id: &str) -> Option<RunView> {
        self.here(principal, id)?.peek().map(|run| self.kept_for(run))
    }

    /// The run with the time until which it is kept at least, whatever happens to it.
    fn kept_for(&self, run: RunView) -> RunView {
        let from_ms = match run.status {
            Status::Running => timestamp::shared_now_ms(),
            Status::Waiting => run.expires_at_ms.unwrap_or(run.began_ms),
            _ => run.updated_ms,
        };
        RunView { until_ms: run.until_ms.max(from_ms + millis(self.settings.ttl)), ..run }
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

    /// Notes that the program of a run waits in this process, and extends the promise for it.
    pub(super) fn waits(&self, run: &ActiveRun, asked: ResidentQuestions) {
        let expires_at_ms = self.expires_at_ms();
        run.waits(asked, expires_at_ms);
        run.promise(self.promised_past(run.record().until_ms, expires_at_ms));
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
