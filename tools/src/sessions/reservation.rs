//! A session reserved for one program, wherever it is.

use ptc_host::sync::Mutex;
use std::sync::Arc;

use ptc_host::engine::{
    CallRecord, EvalOutcome, EvalRequest, SavedFailure, SessionLimits, SessionReport, SessionRules,
};
use ptc_host::time;

use super::environment::Environment;
use super::record::{Description, Record};
use super::refusal::Refusal;
use super::resident::{Resident, ResidentReservation};
use super::stored::saved_record::bytes_of;
use super::stored::taken::Taken;

/// A session reserved for one program, until this is dropped.
pub(super) enum Reservation {
    Process(ResidentReservation),
    Store(Taken),
}

impl Reservation {
    /// Runs the program of `request` on the session, unless the session ends in the meantime.
    pub(super) async fn eval(&mut self, mut request: EvalRequest) -> Result<EvalOutcome, Refusal> {
        let limits = request.authority.as_ref().map(|authority| authority.grant.limits());
        let memory_quota = limits.and_then(|limits| limits.session_memory_bytes);
        let (id, place) = match self {
            Reservation::Process(session) => {
                let (directory, id) = (session.directory.clone(), session.id.clone());
                (id.clone(), Place::Process { directory, id })
            }
            Reservation::Store(taken) => {
                (taken.id.clone(), Place::Store { env: taken.env().clone(), record: taken.record.clone() })
            }
        };
        let rules = Rules { place, memory_quota };
        request.session = Some(id);
        request.session_rules = Some(Arc::new(rules));
        loop {
            let mut again = None;
            if let Reservation::Store(taken) = self {
                request.saved_session = Some(taken.saved());
                again = taken.blob.is_none().then(|| request.clone());
            }
            let outcome = self.attempt(request).await?;
            let (Reservation::Store(taken), Some(fault)) = (&mut *self, outcome.session_fault) else {
                return Ok(outcome);
            };
            taken.recover(SavedFailure::Fault(fault)).await?;
            request = again.ok_or(Refusal::Unavailable)?;
        }
    }

    async fn attempt(&mut self, request: EvalRequest) -> Result<EvalOutcome, Refusal> {
        let (env, left) = match self {
            Reservation::Process(session) => (session.directory.env(), session.left),
            Reservation::Store(taken) => (taken.env(), taken.left),
        };
        let eval = env.engine.eval(request);
        let ttl = async { time::sleep(left).await };
        tokio::select! {
            biased;
            () = self.killed() => Err(Refusal::Closed),
            outcome = eval => Ok(outcome),
            () = ttl => {
                match self {
                    Reservation::Process(session) => session.expire(),
                    Reservation::Store(taken) => taken.expire(),
                }
                Err(Refusal::Closed)
            }
        }
    }

    /// Completes when the session is closed during the program.
    async fn killed(&mut self) {
        match self {
            Reservation::Process(session) => session.killed().await,
            Reservation::Store(taken) => taken.killed().await,
        }
    }

    /// Stores what the program has changed, releases the session and describes it. A store may refuse the changes.
    pub(super) async fn settle(
        self,
        report: Option<&mut SessionReport>,
    ) -> Result<(Description, Option<Refusal>), Refusal> {
        match self {
            Reservation::Process(session) => {
                // The engine has stored the changes.
                if report.is_some_and(|report| report.closed) {
                    return Err(Refusal::Closed);
                }
                Ok((session.end(), None))
            }
            Reservation::Store(taken) => taken.settle(report.and_then(|report| report.saved.take())).await,
        }
    }
}

/// The rules by which the engine decides whether to store the program's result.
struct Rules {
    place: Place,
    /// Bytes that the policy gives the session.
    memory_quota: Option<u64>,
}

/// Where a session is, and its record.
enum Place {
    Process {
        directory: Arc<Resident>,
        id: Arc<str>,
    },
    /// The record is stored with the values.
    Store {
        env: Arc<Environment>,
        record: Arc<Mutex<Record>>,
    },
}

impl Rules {
    fn env(&self) -> &Environment {
        match &self.place {
            Place::Process { directory, .. } => directory.env(),
            Place::Store { env, .. } => env,
        }
    }
}

impl SessionRules for Rules {
    fn limits(&self) -> SessionLimits {
        self.env().session_limits(self.memory_quota)
    }

    fn commit(&self, report: &SessionReport, prints: &[String], calls: &[CallRecord]) -> bool {
        let note = |record: &mut Record| record.committed(report, prints, calls, self.env());
        match &self.place {
            Place::Process { directory, id } => directory.with_open(id, note).is_some(),
            Place::Store { record, .. } => {
                note(&mut record.lock());
                true
            }
        }
    }

    fn saves(&self) -> Option<u64> {
        matches!(self.place, Place::Store { .. }).then_some(self.env().settings.source_bytes)
    }

    fn about(&self) -> Vec<u8> {
        match &self.place {
            Place::Process { .. } => Vec::new(),
            Place::Store { record, .. } => bytes_of(&record.lock()),
        }
    }
}
