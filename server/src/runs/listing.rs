//! The runs that are kept, for whoever looks at them: their principal, and operators.

use std::cmp::Reverse;
use std::sync::Arc;

use ptc_host::pace::apart;
use ptc_host::state::{Key, Kind, Listed, Owner as StoreOwner, Versioned};
use ptc_mcp::json::Raw;
use tracing::warn;

use super::look::{not_seen, record_of};
use super::question::KeptQuestion;
use super::record::{RunRecord, Status};
use super::{NotSeen, Runs};
use crate::principal::Principal;

/// A run as somebody sees it who does not wait for it.
#[derive(Clone, Debug)]
pub(crate) struct RunView {
    /// Whose it is.
    pub(crate) principal: Arc<str>,
    /// Its id.
    pub(crate) run_id: Arc<str>,
    /// What it is doing.
    pub(crate) status: Status,
    /// The tool that was called.
    pub(crate) tool: String,
    /// When the call came, in milliseconds since 1970.
    pub(crate) began_ms: i64,
    /// Upstream calls that are known to have been made.
    pub(crate) calls: u32,
    /// When it ends unless somebody answers, in milliseconds since 1970; `None` unless it waits.
    pub(crate) expires_at_ms: Option<i64>,
    /// What it waits for, those among it that are answered included.
    pub(crate) questions: Vec<KeptQuestion>,
    /// Its program, while it waits where any process can go on with it.
    pub(crate) program: Option<String>,
    /// Whether it has failed; `None` unless it has ended by itself.
    pub(crate) has_failed: Option<bool>,
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

    /// Its place among all: what waits for answers comes first, then the latest.
    pub(crate) fn place(&self) -> (bool, Reverse<i64>, &str) {
        let waits = self.questions.iter().any(|asked| asked.answer.is_none());
        (!waits, Reverse(self.began_ms), &self.run_id)
    }

    /// Leaves out the arguments of the calls that it asks about: a list of many runs does not hold them.
    fn without_arguments(mut self) -> RunView {
        for asked in &mut self.questions {
            asked.question.calls.iter_mut().for_each(|call| call.arguments = Box::default());
        }
        self
    }
}

impl Runs {
    /// The runs of one principal, or of all of them for operators, in the order of their [places](RunView::place). The calls that they ask
    /// about are without their arguments.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn list(&self, of: Option<&Principal>) -> Result<Vec<RunView>, NotSeen> {
        let mut views = Vec::new();
        for listed in self.listed(of).await? {
            views.extend(self.view_of(&listed).await.map(RunView::without_arguments));
            // Reading each takes a while.
            tokio::task::yield_now().await;
        }
        views.sort_by(|a, b| a.place().cmp(&b.place()));
        Ok(views)
    }

    /// One run, whole, if it is that of the principal; that of anybody for operators.
    ///
    /// # Errors
    /// There is none, or the store does not answer.
    pub(crate) async fn view(&self, of: Option<&Principal>, run_id: &str) -> Result<RunView, NotSeen> {
        let listed = self.listed(of).await?.into_iter().find(|listed| *listed.id == *run_id);
        self.view_of(&listed.ok_or(NotSeen::NotFound)?).await.ok_or(NotSeen::NotFound)
    }

    async fn listed(&self, of: Option<&Principal>) -> Result<Vec<Listed>, NotSeen> {
        let owner = of.map(|principal| StoreOwner::principal(principal.shared_name()));
        self.store.list(owner.as_ref(), Kind::Run).await.map_err(|error| not_seen(&error))
    }

    /// The run of that record. One that cannot be read hides no other.
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

    /// A record with what has become of it since, which nobody has written down yet.
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

    /// Tells whoever listens that a run waits.
    pub(super) fn tells_waiting(&self, key: &Key, record: &RunRecord) {
        if let Some(told) = self.on_waiting.get() {
            told(&RunView::of(key.id(), record));
        }
        self.tells_status(key, record);
        self.has_changed(key);
    }

    /// Tells whoever keeps a record of runs that this one has begun, waits, goes on, or has ended.
    pub(super) fn tells_status(&self, key: &Key, record: &RunRecord) {
        if let Some(told) = self.on_status.get() {
            told(&RunView::of(key.id(), record));
        }
    }
}
