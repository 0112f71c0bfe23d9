//! A run as its readers see it, and lists of runs for their principal and for operators.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::pace::apart;
use ptc_host::questions::PendingQuestion;
use ptc_host::state::{Key, Kind, Listed, Owner as StoreOwner, StateError, Versioned};
use ptc_mcp::json::Raw;
use tracing::warn;

use super::Runs;
use super::look::record_of;
use super::record::{RunRecord, Status, cancellation};
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{Instead, Task, TaskState, ToolReply};

/// A run as its readers see it.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Its principal.
    pub principal: Arc<str>,
    /// Its id.
    pub run_id: Arc<str>,
    /// Its status.
    pub status: Status,
    /// The tool that was called.
    pub tool: String,
    /// When the call arrived, in milliseconds since 1970.
    pub began_ms: i64,
    /// When its status last changed or an answer came, in milliseconds since 1970.
    pub updated_ms: i64,
    /// The time since its call arrived, where somebody waits for it.
    pub elapsed: Duration,
    /// The number of upstream calls, as far as known.
    pub calls: u32,
    /// When it expires unless it is answered, in milliseconds since 1970; `None` unless it waits.
    pub expires_at_ms: Option<i64>,
    /// The time until which it was promised to be kept, in milliseconds since 1970; 0 without a promise.
    pub until_ms: i64,
    /// Its questions, including those that are answered already.
    pub questions: Vec<PendingQuestion>,
    /// The number of this suspension of its program, from 1; 0 if it waits in its process.
    pub round: u32,
    /// The output printed since the last reply to a client, while it runs.
    pub prints: Vec<String>,
    /// Prints since then that were dropped.
    pub omitted: u64,
    /// Its program, while it is suspended in the store, for readers that do not wait for it.
    pub program: Option<String>,
    /// True if it has failed; `None` unless its program has ended by itself.
    pub has_failed: Option<bool>,
    /// The reply to its call, for those who wait for its end.
    pub reply: Option<Box<ToolReply>>,
}

/// Why a run is not shown, or not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunError {
    /// That principal has no run of that id.
    NotFound,
    /// The store is unavailable.
    Unavailable,
    /// The limit on runs is reached.
    TooMany,
    /// The store did not take the run, and its program has ended.
    NotStored,
}

impl RunError {
    /// The reply to the client that asked for the run.
    pub fn reply(self) -> ToolReply {
        match self {
            RunError::NotFound => ToolReply::failure(
                "run_not_found",
                "run not found",
                "No run of that run_id is yours; results are kept for a while only (--run-ttl-ms). Run the program again.",
            ),
            RunError::Unavailable => ToolReply::failure(
                "state_unavailable",
                "the state store is unavailable",
                "The run is not lost. Retry in a second.",
            ),
            RunError::TooMany => ToolReply::failure(
                "busy",
                "too many runs are kept",
                "As many programs run or wait as may (--max-runs, --max-runs-per-owner, --max-run-bytes-per-owner). \
                 Finish or stop one (lisp_resume, lisp_wait, lisp_cancel), and retry.",
            ),
            RunError::NotStored => {
                let message = "the state store is unavailable: this program could not be kept, and was ended";
                ToolReply::failure("state_unavailable", message, message)
            }
        }
    }

    /// Of an error of the store about a run.
    pub(super) fn of(error: &StateError) -> RunError {
        match error {
            StateError::Gone | StateError::Corrupt => RunError::NotFound,
            // A faster writer has recorded the end.
            StateError::Conflict | StateError::Fenced | StateError::Full | StateError::Unavailable(_) => {
                RunError::Unavailable
            }
        }
    }

    /// Of an error of the store about a run that it was to take.
    pub(super) fn not_stored(error: &StateError) -> RunError {
        warn!(event = "run_not_kept", reason = %error);
        match error {
            StateError::Full => RunError::TooMany,
            _ => RunError::NotStored,
        }
    }
}

impl RunView {
    pub(super) fn of(run_id: &Arc<str>, record: &RunRecord) -> RunView {
        RunView {
            principal: record.principal.clone(),
            status: record.status,
            tool: record.tool.clone(),
            began_ms: record.began_ms,
            updated_ms: record.updated_ms,
            calls: record.calls,
            expires_at_ms: record.wait.as_ref().map(|wait| wait.expires_at_ms),
            until_ms: record.until_ms,
            questions: record.questions().to_vec(),
            round: record.call.as_ref().map_or(0, |call| call.round),
            has_failed: record.has_failed(),
            ..RunView::running(run_id.clone())
        }
    }

    /// A run of which no more is known than that it runs.
    pub fn running(run_id: Arc<str>) -> RunView {
        RunView {
            principal: Arc::default(),
            run_id,
            status: Status::Running,
            tool: String::new(),
            began_ms: 0,
            updated_ms: 0,
            elapsed: Duration::ZERO,
            calls: 0,
            expires_at_ms: None,
            until_ms: 0,
            questions: Vec::new(),
            round: 0,
            prints: Vec::new(),
            omitted: 0,
            program: None,
            has_failed: None,
            reply: None,
        }
    }

    /// The same with its program, if that is suspended.
    pub(super) fn with_program(self, record: &RunRecord) -> RunView {
        let arguments = record.call.as_ref().and_then(|call| call.arguments.as_deref());
        let mut members = arguments.and_then(|text| Raw::parse(text).ok()).and_then(Raw::members);
        let program = members.as_mut().and_then(|members| members.find(|(name, _)| name == "program"));
        RunView { program: program.and_then(|(_, text)| Some(text.as_str()?.into_owned())), ..self }
    }

    /// The same with this reply to its call.
    pub(super) fn replying(self, reply: Option<ToolReply>) -> RunView {
        RunView { reply: reply.map(Box::new), ..self }
    }

    /// The same with the reply of a run that has ended.
    pub(super) fn ended(run_id: &Arc<str>, record: &RunRecord) -> RunView {
        let reply = match (&record.outcome, record.status) {
            (Some(outcome), _) => outcome.reply(),
            (None, Status::Cancelled) => cancellation(),
            (None, _) => record.interruption(),
        };
        RunView::of(run_id, record).replying(Some(reply))
    }

    /// Its open questions.
    pub fn open(&self) -> impl Iterator<Item = &PendingQuestion> {
        self.questions.iter().filter(|question| question.is_open())
    }

    /// The reply to its call, if it has ended; otherwise the run.
    ///
    /// # Errors
    /// It has not ended.
    pub fn into_reply(mut self) -> Result<ToolReply, Box<RunView>> {
        self.reply.take().map(|reply| *reply).ok_or_else(|| Box::new(self))
    }

    /// True if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.status == Status::Cancelled
    }

    /// Converts the run to a task. `requests` makes the `inputRequests` of a waiting run.
    pub fn into_task(mut self, requests: impl FnOnce(&RunView) -> String) -> Task {
        let reply = self.reply.take();
        let (message, state) = match (self.status, reply) {
            (Status::Cancelled, _) => (Some("the run was cancelled".to_owned()), TaskState::Cancelled),
            (_, Some(reply)) => match reply.instead.as_deref() {
                Some(Instead::Refused(error)) => {
                    (Some(error.message.clone()), TaskState::Failed(error.clone()))
                }
                _ => (None, TaskState::Completed(reply)),
            },
            (Status::Waiting, None) => {
                let message = match self.open().count() {
                    1 => "1 answer is needed before it goes on".to_owned(),
                    count => format!("{count} answers are needed before it goes on"),
                };
                (Some(message), TaskState::Input(requests(&self)))
            }
            (_, None) => (Some(format!("{} upstream calls made", self.calls)), TaskState::Working),
        };
        Task {
            id: self.run_id,
            message,
            created_ms: self.began_ms,
            updated_ms: self.updated_ms,
            ttl_ms: u64::try_from(self.until_ms - self.began_ms).unwrap_or(0),
            state,
        }
    }

    /// Its sort key: runs with open questions come first, then the latest.
    pub fn place(&self) -> (bool, Reverse<i64>, &str) {
        let waits = self.questions.iter().any(PendingQuestion::is_open);
        (!waits, Reverse(self.began_ms), &self.run_id)
    }

    /// Drops the arguments of the calls that it asks about, so that a long list does not hold them.
    fn without_arguments(mut self) -> RunView {
        for asked in &mut self.questions {
            asked.question.calls.iter_mut().for_each(|call| call.arguments = Box::default());
        }
        self
    }
}

impl Runs {
    /// The runs of one principal, or of all principals for operators, sorted by their [places](RunView::place). The
    /// calls that they ask about come without arguments.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn list(&self, of: Option<&Principal>) -> Result<Vec<RunView>, RunError> {
        let mut views = Vec::new();
        for listed in self.listed(of).await? {
            views.extend(self.view_of(&listed).await.map(RunView::without_arguments));
            // Reading each record takes time: let other tasks run.
            tokio::task::yield_now().await;
        }
        views.sort_by(|a, b| a.place().cmp(&b.place()));
        Ok(views)
    }

    /// One whole run: of that principal, or of any principal for operators.
    ///
    /// # Errors
    /// There is no such run, or the store is unavailable.
    pub async fn view(&self, of: Option<&Principal>, run_id: &str) -> Result<RunView, RunError> {
        let listed = self.listed(of).await?.into_iter().find(|listed| *listed.id == *run_id);
        self.view_of(&listed.ok_or(RunError::NotFound)?).await.ok_or(RunError::NotFound)
    }

    async fn listed(&self, of: Option<&Principal>) -> Result<Vec<Listed>, RunError> {
        let owner = of.map(|principal| StoreOwner::principal(principal.shared_name()));
        self.store.list(owner.as_ref(), Kind::Run).await.map_err(|error| RunError::of(&error))
    }

    /// The run of a listed record. An unreadable record does not hide the others.
    async fn view_of(&self, listed: &Listed) -> Option<RunView> {
        let read = match self.store.look(listed).await {
            Ok(read) => read?,
            Err(error) => {
                warn!(event = "run_not_read", reason = %error);
                return None;
            }
        };
        let bytes = read.blob.as_ref().map_or(0, |blob| blob.len());
        let record = record_of(&read).await.ok()?;
        let record = self.as_it_is(&listed.id, &read, record);
        let id = listed.id.clone();
        Some(apart(bytes, move || RunView::of(&id, &record).with_program(&record)).await)
    }

    /// A record with the end that has happened since, but that no replica has recorded yet.
    fn as_it_is(&self, id: &Arc<str>, read: &Versioned, record: RunRecord) -> RunRecord {
        let name = (record.principal.clone(), id.clone());
        if let Some(run) = self.active().get(&name).filter(|run| !run.has_ended()) {
            return run.record();
        }
        if record.needs_holder() && read.lease.is_none() {
            let reply = record.interruption();
            return record.ended(Status::Interrupted, &reply);
        }
        match self.has_expired(read, &record) {
            true => record.ended(Status::Expired, &super::record::expiry(self.settings.waiting_ttl)),
            false => record,
        }
    }

    /// Reports to the listener that a run waits.
    pub(super) fn tells_waiting(&self, key: &Key, record: &RunRecord) {
        if let Some(told) = self.on_waiting.get() {
            told(&RunView::of(key.id(), record).with_program(record));
        }
        self.tells_status(key, record);
        self.has_changed(key);
    }

    /// Reports to the listener that this run has begun, waits, resumes or has ended.
    pub(super) fn tells_status(&self, key: &Key, record: &RunRecord) {
        if let Some(told) = self.on_status.get() {
            told(&RunView::of(key.id(), record).with_program(record));
        }
    }
}
