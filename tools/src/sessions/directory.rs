//! What the tools do with sessions, wherever those are: in this process or in a store.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use jiff::Timestamp;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, SessionState};
use tracing::info;

use super::environment::{Environment, MODE, SessionTime, later};
use super::record::Record;
use super::refusal::Refusal;
use super::reservation::Reservation;
use super::resident::Resident;
use super::stored::{Keeping, Stored};
use super::text::Values;
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_observers::sources::{SessionSource, SessionSummaries};
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::settings::Sessions;

/// How much longer than its program's time limit a lease lasts.
const LEASE_MARGIN: Duration = Duration::from_secs(5);

/// All sessions of a server.
pub struct Directory {
    pub(super) env: Arc<Environment>,
    pub(super) place: Place,
}

/// Where the sessions are.
pub(super) enum Place {
    Process(Arc<Resident>),
    Store(Arc<Stored>),
}

impl Directory {
    /// The sessions of a store, or none yet of this process. Values are on `engine`; those of a store's sessions only
    /// while they are used.
    pub fn new(
        keeping: Option<Keeping>,
        engine: Engine,
        settings: Sessions,
        redactor: Redactor,
        clock: SessionTime,
    ) -> Arc<Self> {
        let env = Environment::new(engine, settings, redactor, clock);
        let place = match keeping {
            None => Place::Process(Resident::new(env.clone())),
            Some(keeping) => Place::Store(Stored::new(keeping, env.clone())),
        };
        Arc::new(Directory { env, place })
    }

    /// Sweeps expired sessions periodically, for as long as the directory is in use. A store does so itself.
    pub fn keep_swept(&self) {
        if let Place::Process(resident) = &self.place {
            resident.keep_swept();
        }
    }

    /// Opens a session and returns its id and its end. A requested lifetime can only shorten it.
    pub(super) async fn open(
        &self,
        owner: &Owner,
        title: Option<String>,
        ttl: Option<Duration>,
    ) -> Result<(Arc<str>, Timestamp), Refusal> {
        let (env, now) = (&self.env, self.env.now());
        let ttl = ttl.unwrap_or(env.settings.ttl).min(env.settings.ttl);
        let (id, expires) = (new_id(), later(now, ttl));
        let record = Record::new(owner.clone(), title, now, expires);
        match &self.place {
            Place::Process(resident) => resident.add(&id, record)?,
            Place::Store(stored) => stored.add(&id, &record, ttl).await?,
        }
        env.note_start();
        let owner_hash = owner.principal.hash();
        info!(event = "ptc_lisp.session.start", count = 1, session_id = &*id, owner_hash, mode = MODE);
        Ok((id, expires))
    }

    /// Summaries of an owner's sessions, the latest used one first.
    pub(super) async fn list(&self, owner: &Owner) -> Result<Vec<String>, Refusal> {
        let found = match &self.place {
            Place::Process(resident) => resident.summaries(owner),
            Place::Store(stored) => stored.summaries(owner).await?,
        };
        Ok(latest_first(found).collect())
    }

    /// Closes a session and ends its running program.
    pub(super) async fn end(&self, id: &str, owner: &Owner) -> Result<(), Refusal> {
        match &self.place {
            Place::Process(resident) => resident.close(id, owner),
            Place::Store(stored) => stored.close(id, owner).await,
        }
    }

    /// Closes all sessions of an owner.
    pub(super) fn end_all(&self, owner: &Owner) {
        match &self.place {
            Place::Process(resident) => resident.close_all(owner),
            Place::Store(stored) => stored.close_all(owner),
        }
    }

    /// Closes all sessions of an owner, each once its program has finished.
    pub(super) fn revoke(&self, owner: &Owner) {
        match &self.place {
            Place::Process(resident) => resident.revoke(owner),
            Place::Store(stored) => stored.revoke(owner),
        }
    }

    /// Reads a session, which counts as a use of it: its record, its values as of the last commit, and whether a program runs on it.
    pub(super) async fn look(&self, id: &str, owner: &Owner) -> Result<(Record, Values, bool), Refusal> {
        match &self.place {
            Place::Process(resident) => resident.look(id, owner).await,
            Place::Store(stored) => stored.look(id, owner).await,
        }
    }

    /// Changes the values of a session together with its record, between two programs.
    pub(super) async fn change<R: Send + 'static>(
        &self,
        id: &str,
        owner: &Owner,
        change: impl Fn(&mut SessionState, &mut Record) -> R + Clone + Send + 'static,
    ) -> Result<(R, Record), Refusal> {
        match &self.place {
            Place::Process(resident) => resident.change(id, owner, change).await,
            Place::Store(stored) => stored.change(id, owner, change).await,
        }
    }

    /// Reserves a session for one program with this time limit. A session of this process is reserved or refused at
    /// once, and one in a store when the future runs.
    pub(super) fn reserve(
        &self,
        id: &str,
        owner: &Owner,
        time_limit: Duration,
    ) -> Result<BoxFuture<'static, Result<Reservation, Refusal>>, Refusal> {
        match &self.place {
            Place::Process(resident) => {
                let session = resident.reserve(id, owner)?;
                Ok(ready(Ok(Reservation::Process(session))).boxed())
            }
            Place::Store(stored) => {
                let (stored, id, owner) = (stored.clone(), id.to_owned(), owner.clone());
                let taken = async move { stored.take(&id, &owner, time_limit + LEASE_MARGIN).await };
                Ok(taken.map(|taken| taken.map(Reservation::Store)).boxed())
            }
        }
    }
}

/// Summaries by their times, the latest one first.
fn latest_first(mut found: Vec<(Timestamp, String)>) -> impl Iterator<Item = String> {
    found.sort_by_key(|(updated, _)| std::cmp::Reverse(*updated));
    found.into_iter().map(|(_, summary)| summary)
}

/// `ptcs_` and 18 random bytes.
fn new_id() -> Arc<str> {
    let mut bytes = [0; 18];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    format!("ptcs_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)).into()
}

impl SessionSource for Directory {
    fn summaries_of(&self, principal: Option<&Principal>) -> SessionSummaries {
        match &self.place {
            Place::Process(resident) => resident.summaries_of(principal),
            Place::Store(stored) => stored.summaries_here(principal),
        }
    }

    fn is_part(&self) -> bool {
        matches!(self.place, Place::Store(_))
    }

    fn write_metrics(&self, to: &mut Exposition) {
        // The store knows of more sessions, but a scrape of metrics does not search it.
        let ((open, running, bytes), [of_open, of_running, of_bytes]) = match &self.place {
            Place::Process(resident) => {
                let described = [
                    "Open sessions.",
                    "Sessions on which a program runs.",
                    "Size of the definitions of all sessions.",
                ];
                (resident.count(), described)
            }
            Place::Store(stored) => {
                let described = [
                    "Sessions of the store that this process has used last.",
                    "Sessions of the store on which a program of this process runs.",
                    "Size of the definitions of the sessions that this process has used last.",
                ];
                (stored.count_here(), described)
            }
        };
        to.family("ptc_sessions_open", of_open, MetricKind::Gauge).sample(&[], open);
        to.family("ptc_sessions_running", of_running, MetricKind::Gauge).sample(&[], running);
        to.family("ptc_session_memory_bytes", of_bytes, MetricKind::Gauge).sample(&[], bytes);
        self.env.write_counts(to);
    }
}
