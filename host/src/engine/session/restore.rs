//! Putting a saved session where a worker keeps sessions.

use super::saved::{Restored, Trouble, Values, drafted, read_session};
use super::state::Discarded;
use super::{SavedSession, SessionDraft, SessionFault, SessionPlace, SessionState, SessionView};
use crate::engine::compile::compiled_again;
use crate::engine::worker::Worker;
use crate::memory::{MemoryBudget, MemoryReservation};
use ptc_vm::meter::{Allowance, Deadline, Reservation};
use std::cell::RefCell;
use std::rc::Rc;

/// What reading the values of one session may take at most.
const MOST_BYTES: u64 = 1 << 30;

/// Sees to it that the session at `place` is the saved one. One that a program runs on is left as it is.
pub(in super::super) fn restore(
    worker: &Worker,
    place: &Rc<RefCell<SessionPlace>>,
    saved: &SavedSession,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<(), Trouble> {
    match place.borrow().state() {
        Some(state) if state.saved_version() != saved.version => {}
        _ => return Ok(()),
    }
    let state = read_saved(worker, saved, memory, deadline)?;
    let before = {
        let mut place = place.borrow_mut();
        // Reading gives way to others, one of which may have taken the place.
        let Some(here) = place.state_mut() else { return Ok(()) };
        std::mem::replace(here, state)
    };
    drop(before);
    Ok(())
}

/// The saved session.
pub(in super::super) fn read_saved(
    worker: &Worker,
    saved: &SavedSession,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<SessionState, Trouble> {
    let blob = saved.blob.as_ref().ok_or(SessionFault::Missing)?;
    let reservation = memory.cloned().map(|budget| Rc::new(MemoryReservation::new(budget)));
    let allowance = Allowance {
        memory_bytes: MOST_BYTES,
        steps: u64::MAX >> 1,
        reservation: reservation.clone().map(|reservation| reservation as Rc<dyn Reservation>),
        deadline: Some(deadline),
    };
    let mut fault = None;
    let mut compile = |text: &str| compiled_again(worker, text, memory, deadline);
    let restored = allowance.spend(|| match read_session(blob, &mut compile) {
        Ok(restored) => Ok(Some(restored)),
        Err(Trouble::Refused(error)) => Err(error),
        Err(Trouble::Fault(found)) => {
            fault = Some(found);
            Ok(None)
        }
    });
    let (restored, _) = restored?;
    let restored = restored.ok_or_else(|| fault.unwrap_or(SessionFault::Corrupt("session")))?;
    let state = SessionState::restored(restored, saved.version);
    if let Some(budget) = memory {
        let held = MemoryReservation::new(budget.clone());
        if !held.resize(state.held_bytes()) {
            return Err(Trouble::Refused(held.refusal()));
        }
        return Ok(state.reserving(held));
    }
    Ok(state)
}

impl SessionState {
    fn restored(restored: Restored, version: u64) -> SessionState {
        SessionState {
            namespace: restored.namespace,
            history: restored.history,
            turn: restored.turn,
            journal: restored.journal,
            summaries: restored.summaries,
            sizes: restored.sizes,
            history_sizes: restored.history_sizes,
            journal_bytes: restored.journal_bytes,
            version,
            ..SessionState::default()
        }
    }

    /// The session as bytes, with what is saved besides.
    pub(in super::super) fn save(&mut self, about: &[u8]) -> ptc_vm::Result<SessionDraft> {
        let [first, second, third] = &self.history;
        let values = Values {
            namespace: &self.namespace,
            history: [first, second, third],
            turn: self.turn,
            journal: &self.journal,
            summaries: &self.summaries,
            sizes: &self.sizes,
            history_sizes: self.history_sizes,
            journal_bytes: self.journal_bytes,
        };
        let draft = drafted(&values, self.reservation.as_ref())?;
        Ok(self.next_version(draft.finish(about)))
    }

    /// What was forgotten, to be freed.
    pub(in super::super) fn take_discarded(&mut self) -> Discarded {
        std::mem::take(&mut self.discarded)
    }

    /// Looks at it.
    pub(in super::super) fn view<R>(&self, look: impl FnOnce(&SessionView<'_>) -> R) -> R {
        let bindings = self.namespace.bindings();
        let bindings = bindings.into_iter().map(|(name, binding)| (&**name, binding)).collect();
        look(&SessionView { bindings, history: &self.history, sizes: &self.sizes })
    }

    fn held_bytes(&self) -> u64 {
        self.memory_bytes().saturating_add(self.history_sizes.iter().sum()).saturating_add(self.journal_bytes)
    }

    fn reserving(mut self, held: MemoryReservation) -> SessionState {
        self.reservation = Some(held);
        self
    }
}
