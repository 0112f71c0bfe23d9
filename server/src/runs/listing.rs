//! The runs that are kept, for whoever looks at them: their principal, and operators.

use std::sync::Arc;

use ptc_host::state::{Key, Kind, Owner as StoreOwner, Versioned};
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
}

impl Runs {
    /// The runs of one principal, or of all of them for operators; the latest first.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn list(&self, of: Option<&Principal>) -> Result<Vec<RunView>, NotSeen> {
        let owner = of.map(|principal| StoreOwner::principal(principal.shared_name()));
        let listed = self.store.list(owner.as_ref(), Kind::Run).await.map_err(|error| not_seen(&error))?;
        let mut views = Vec::with_capacity(listed.len());
        for listed in listed {
            // One that cannot be read hides no other.
            let read = match self.store.look(&listed).await {
                Ok(read) => read,
                Err(error) => {
                    warn!(event = "run_not_read", reason = %error);
                    continue;
                }
            };
            if let Some(record) = read.and_then(|read| self.as_it_is(&listed.id, &read)) {
                views.push(RunView::of(&listed.id, &record));
            }
        }
        views.sort_by_key(|view| std::cmp::Reverse(view.began_ms));
        Ok(views)
    }

    /// A record with what has become of it since, which nobody has written down yet.
    fn as_it_is(&self, id: &Arc<str>, read: &Versioned) -> Option<RunRecord> {
        let record = record_of(read).ok()?;
        let name = (record.principal.clone(), id.clone());
        if let Some(held) = self.held().get(&name).filter(|held| !held.has_ended()) {
            return Some(held.record());
        }
        if record.needs_holder() && read.lease.is_none() {
            let reply = record.interruption();
            return Some(record.ended(Status::Interrupted, &reply));
        }
        match self.has_expired(read, &record) {
            true => Some(record.ended(Status::Expired, &super::record::expiry(self.settings.waiting_ttl))),
            false => Some(record),
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
