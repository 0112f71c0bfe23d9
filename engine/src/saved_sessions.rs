//! Work on saved sessions besides programs: looking at one, changing one, letting go of its values.

use super::handle::Engine;
use super::outcome::{Failure, SavedSession, SessionDraft, SessionFault};
use super::restore::{read_saved, restore};
use super::running_turn::{nanoseconds, nanoseconds_at};
use super::session::saved::Trouble;
use super::session::{SessionState, SessionView};
use super::work::Work;
use super::worker::Worker;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_base::time;
use ptc_vm::meter::Deadline;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long reading a session may take for work that is no program's.
const READING: Duration = Duration::from_secs(10);

/// Why work on a saved session was not done.
#[derive(Debug)]
pub enum SavedFailure {
    /// It cannot be read.
    Fault(SessionFault),
    /// There was no memory or time for it.
    Failed(Failure),
    /// A program runs on it here.
    Busy,
    /// The engine has been shut down.
    Gone,
}

impl From<Trouble> for SavedFailure {
    fn from(trouble: Trouble) -> SavedFailure {
        match trouble {
            Trouble::Fault(fault) => SavedFailure::Fault(fault),
            Trouble::Refused(error) => SavedFailure::Failed(Failure::from(&error)),
        }
    }
}

impl Engine {
    /// Reads a saved session, on the worker that owns session `key` and in turns of `principal`. A resident session of another
    /// version is neither used nor replaced.
    pub fn look_at_saved<R: Send + 'static>(
        &self,
        key: &str,
        principal: Option<Arc<str>>,
        saved: SavedSession,
        look: impl FnOnce(&SessionView<'_>) -> R + Send + 'static,
    ) -> BoxFuture<'static, Result<R, SavedFailure>> {
        let session: Arc<str> = key.into();
        self.in_turns(key, principal.clone(), move |worker| {
            let place = worker.sessions.get(&session);
            // A copy: looking gives way to others, who may take the place.
            let here = place.and_then(|place| place.borrow().copy_of(saved.version));
            if let Some(here) = here {
                return Ok(here.view(look));
            }
            let memory = worker.memory.as_ref().map(|memory| memory.of(principal.as_ref()));
            let state = read_saved(&worker.programs, &saved, memory.as_ref(), deadline())?;
            Ok(state.view(look))
        })
    }

    /// Changes a saved session, on the worker that owns session `key` and in turns of `principal`. `change` also returns the
    /// data that is saved besides values. Returns its result, and the session as bytes.
    pub fn change_saved<R: Send + 'static>(
        &self,
        key: &str,
        principal: Option<Arc<str>>,
        saved: SavedSession,
        change: impl FnOnce(&mut SessionState) -> (R, Vec<u8>) + Send + 'static,
    ) -> BoxFuture<'static, Result<(R, SessionDraft), SavedFailure>> {
        let session: Arc<str> = key.into();
        self.in_turns(key, principal.clone(), move |worker| {
            let memory = worker.memory.as_ref().map(|memory| memory.of(principal.as_ref()));
            let place =
                restore(&worker.sessions, &worker.programs, &session, &saved, memory.as_ref(), deadline())?;
            // Nobody else has it meanwhile: writing gives way to others.
            let mut state = place.borrow_mut().take().ok_or(SavedFailure::Busy)?;
            let (result, about) = change(&mut state);
            let written = state.save(&about);
            if written.is_err() {
                // It is of no version any more.
                state.lose_version();
            }
            let discarded = state.take_discarded();
            place.borrow_mut().give_back(state);
            drop(discarded);
            match written {
                Ok(draft) => Ok((result, draft)),
                Err(error) => Err(SavedFailure::Failed(Failure::from(&error))),
            }
        })
    }

    /// Lets go of the values of session `key`, unless a program runs on it: they can be read again.
    pub fn drop_saved(&self, key: &str) {
        let session: Arc<str> = key.into();
        self.on_worker_of(key, move |worker| {
            let is_idle = worker.sessions.get(&session).is_some_and(|place| place.borrow().is_idle());
            if is_idle && worker.sessions.close(&session) {
                worker.scheduler.discard(Work::Discard(worker.sessions.take_discarded(&session)));
            }
        });
    }

    /// Does `work` on the worker that owns session `key`, on a stack of its own and in turns of `principal`.
    fn in_turns<R: Send + 'static>(
        &self,
        key: &str,
        principal: Option<Arc<str>>,
        work: impl FnOnce(&Rc<Worker>) -> Result<R, SavedFailure> + Send + 'static,
    ) -> BoxFuture<'static, Result<R, SavedFailure>> {
        let (sender, receiver) = oneshot::channel();
        self.on_worker_of(key, move |worker| {
            let here = worker.clone();
            let task = Box::new(move || {
                let _ = sender.send(work(&here));
            });
            worker.scheduler.see_through(Work::Task(principal, task));
        });
        async move { receiver.await.unwrap_or(Err(SavedFailure::Gone)) }.boxed()
    }
}

/// When reading has to be done that begins now.
fn deadline() -> Deadline {
    let allowed = u64::try_from(READING.as_millis()).unwrap_or(u64::MAX);
    Deadline {
        clock: nanoseconds,
        at: nanoseconds_at(time::now()).saturating_add(allowed * 1_000_000),
        allowed_ms: allowed,
    }
}
