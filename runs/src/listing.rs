//! Lists runs for their principal and for operators.

use std::cmp::Reverse;
use std::sync::Arc;

use ptc_host::pace::apart;
use ptc_host::questions::PendingQuestion;
use ptc_host::state::{Key, Kind, Listed, Owner as StoreOwner, Versioned};
use ptc_mcp::json::Raw;
use tracing::warn;

use super::look::{not_seen, record_of};
use super::record::{RunRecord, Status};
use super::{NotSeen, Runs};
use ptc_protocol::principal::Principal;

/// A run as it is listed, for readers that do not wait for it.
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
    /// The number of upstream calls, as far as known.
    pub calls: u32,
    /// When it expires unless it is answered, in milliseconds since 1970; `None` unless it waits.
    pub expires_at_ms: Option<i64>,
    /// Its questions, including those that are answered already.
    pub questions: Vec<PendingQuestion>,
    /// Its program, while it is suspended in the store.
    pub program: Option<String>,
    /// True if it has failed; `None` unless its program has ended by itself.
    pub has_failed: Option<bool>,
}

impl RunView {
    pub(super) fn of(run_id: &Arc<str>, record: &RunRecord) -> RunView {
        let arguments = record.call.as_ref().and_then(|call| call.arguments.as_deref());
        let mut members = arguments.and_then(|text| Raw::parse(text).ok()).and_then(Raw::members);
        let program = members.as_mut().and_then(|members| members.find(|(name, _)| name == "program"));
        RunView {
            principal: record.principal.clone(),
            run_id: run_id.clone(),
            status: record.status,
            tool: record.tool.clone(),
            began_ms: record.began_ms,
            calls: record.calls,
            expires_at_ms: record.wait.as_ref().map(|wait| wait.expires_at_ms),
            questions: record.questions().to_vec(),
            program: program.and_then(|(_, text)| Some(text.as_str()?.into_owned())),
            has_failed: record.has_failed(),
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
    pub async fn list(&self, of: Option<&Principal>) -> Result<Vec<RunView>, NotSeen> {
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
    pub async fn view(&self, of: Option<&Principal>, run_id: &str) -> Result<RunView, NotSeen> {
        let listed = self.listed(of).await?.into_iter().find(|listed| *listed.id == *run_id);
        self.view_of(&listed.ok_or(NotSeen::NotFound)?).await.ok_or(NotSeen::NotFound)
    }

    async fn listed(&self, of: Option<&Principal>) -> Result<Vec<Listed>, NotSeen> {
        let owner = of.map(|principal| StoreOwner::principal(principal.shared_name()));
        self.store.list(owner.as_ref(), Kind::Run).await.map_err(|error| not_seen(&error))
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
        Some(apart(bytes, move || RunView::of(&id, &record)).await)
    }

    /// A record with the end that has happened since, but that no replica has recorded yet.
    fn as_it_is(&self, id: &Arc<str>, read: &Versioned, record: RunRecord) -> RunRecord {
        let name = (record.principal.clone(), id.clone());
        if let Some(held) = self.held().get(&name).filter(|held| !held.has_ended()) {
            return held.record();
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
            told(&RunView::of(key.id(), record));
        }
        self.tells_status(key, record);
        self.has_changed(key);
    }

    /// Reports to the listener that this run has begun, waits, resumes or has ended.
    pub(super) fn tells_status(&self, key: &Key, record: &RunRecord) {
        if let Some(told) = self.on_status.get() {
            told(&RunView::of(key.id(), record));
        }
    }
}
