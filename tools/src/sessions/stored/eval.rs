//! Runs a program on a session of a store: takes the session, runs, commits and answers.

use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::engine::{
    CallRecord, EvalOutcome, EvalRequest, SessionDraft, SessionFault, SessionLimits, SessionReport,
    SessionRules,
};
use ptc_host::time;

use super::super::Directory;
use super::super::directory::Refusal;
use super::super::eval::{Said, answer};
use super::super::record::Record;
use super::saved_record::bytes_of;
use super::taken::Taken;
use super::{CONFLICT, FULL, NotUsed, PERHAPS};
use crate::lisp_eval::{EvalOptions, RequestSummary};
use crate::shaping::Shaper;
use ptc_protocol::principal::Owner;
use ptc_protocol::report::ErrorReason;
use ptc_protocol::tool::ToolReply;

/// How much longer than its program's time limit a lease lasts.
const LEASE_MARGIN: Duration = Duration::from_secs(5);

/// Runs a program on the session `id` of `owner`.
pub(in super::super) async fn run(
    directory: Arc<Directory>,
    options: Arc<EvalOptions>,
    shaper: Shaper,
    id: String,
    owner: Owner,
    request: EvalRequest,
) -> ToolReply {
    let asked = RequestSummary::of(&request);
    let eval_id = asked.eval_id();
    let lease = request.limits.timeout + LEASE_MARGIN;
    let reply = match directory.take(&id, &owner, lease).await {
        Ok(taken) => run_on(&directory, taken, request, asked, &options, &shaper).await,
        Err(not_used) => Err(not_used),
    };
    let reply = reply.unwrap_or_else(|not_used| {
        // Closed and busy sessions are reported like those in one process.
        let id = if not_used == NotUsed::Refused(Refusal::Busy) { id.as_str() } else { "" };
        not_used.reply(id)
    });
    ToolReply { eval_id: Some(eval_id), ..reply }
}

async fn run_on(
    directory: &Arc<Directory>,
    mut taken: Taken,
    request: EvalRequest,
    asked: RequestSummary,
    options: &EvalOptions,
    shaper: &Shaper,
) -> Result<ToolReply, NotUsed> {
    let rules = Arc::new(Rules { directory: directory.clone(), record: Mutex::new(taken.record.copy()) });
    let mut request =
        EvalRequest { session: Some(taken.id.clone()), session_rules: Some(rules.clone()), ..request };
    let mut outcome = loop {
        request.saved_session = Some(taken.saved());
        let outcome = evaluated(directory, &mut taken, request.clone()).await?;
        match outcome.session_fault {
            None => break outcome,
            // The values in this process were evicted for other sessions.
            Some(SessionFault::Missing) if taken.blob.is_none() => taken.fetch().await?,
            Some(fault) => return Err(directory.fault(fault, &taken.id, &taken.owner)),
        }
    };
    let id = taken.id.clone();
    let draft = outcome.session.as_mut().and_then(|report| report.saved.take());
    let record = rules.into_record();
    let said = match draft {
        None => {
            let record = taken.record.copy();
            taken.give_back(&record).await;
            Said::of(&record, &id, &directory.redactor)
        }
        Some(draft) => {
            let said = Said::of(&record, &id, &directory.redactor);
            match committed(taken, draft, &record).await {
                Ok(()) => said,
                Err(NotUsed::Refused(refusal)) => return Err(refusal.into()),
                Err(NotUsed::Conflict) => said.but(ErrorReason::SessionConflict, CONFLICT),
                Err(NotUsed::Full) => said.but(ErrorReason::SessionLimitExceeded, FULL),
                Err(_) => said.but(ErrorReason::StateUnavailable, PERHAPS),
            }
        }
    };
    Ok(answer(outcome, said, asked, options, shaper))
}

/// The outcome of the program, unless the session ends in the meantime.
async fn evaluated(
    directory: &Arc<Directory>,
    taken: &mut Taken,
    request: EvalRequest,
) -> Result<EvalOutcome, NotUsed> {
    let eval = directory.engine.eval(request);
    let left = taken.left;
    tokio::select! {
        biased;
        () = taken.killed() => Err(Refusal::Closed.into()),
        outcome = eval => Ok(outcome),
        () = time::sleep(left) => {
            directory.forget_here(&taken.id);
            Err(Refusal::Closed.into())
        }
    }
}

/// Commits the session's new state to the store.
async fn committed(taken: Taken, draft: SessionDraft, record: &Record) -> Result<(), NotUsed> {
    taken.commit(draft.blob.clone(), record, || draft.keep()).await
}

/// Keeps the record of the session until it is committed.
struct Rules {
    directory: Arc<Directory>,
    record: Mutex<Record>,
}

impl Rules {
    /// The record of the session after the program.
    fn into_record(self: Arc<Self>) -> Record {
        self.record.lock().copy()
    }
}

impl SessionRules for Rules {
    fn limits(&self) -> SessionLimits {
        self.directory.session_limits()
    }

    fn commit(&self, report: &SessionReport, prints: &[String], calls: &[CallRecord]) -> bool {
        let directory = &self.directory;
        let mut record = self.record.lock();
        record.committed(report);
        record.updated = directory.now();
        let redactor = directory.redactor_of(&record.owner);
        record.journal.note(prints, calls, &directory.settings, &redactor);
        true
    }

    fn saves(&self) -> Option<u64> {
        self.directory.most_source_bytes()
    }

    fn about(&self) -> Vec<u8> {
        bytes_of(&self.record.lock())
    }
}
