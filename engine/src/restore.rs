//! Putting a saved session where a worker keeps sessions.

use super::cache::KnownPrograms;
use super::compile::compiled_again;
use super::outcome::{SavedSession, SessionFault};
use super::session::saved::{Trouble, read_session};
use super::session::{SessionKey, SessionPlace, SessionState, SessionStore};
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_vm::meter::{Allowance, Deadline, Reservation};
use std::cell::RefCell;
use std::rc::Rc;

/// Most memory for reading the values of one session.
const MOST_BYTES: u64 = 1 << 30;

/// The place of session `key`, which is the saved one from now on.
///
/// The caller has the session to itself: a resident program of it has been given up, and its end has no effect.
pub(super) fn restore(
    sessions: &SessionStore,
    programs: &KnownPrograms,
    key: &SessionKey,
    saved: &SavedSession,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
) -> Result<Rc<RefCell<SessionPlace>>, Trouble> {
    let place = sessions.open(key);
    let known = place.borrow().state().map(SessionState::saved_version);
    if known == Some(saved.version) {
        return Ok(place);
    }
    let state = read_saved(programs, saved, memory, deadline)?;
    let (place, before) = sessions.put(key, state);
    drop(before);
    Ok(place)
}

/// The saved session.
pub(super) fn read_saved(
    programs: &KnownPrograms,
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
    let mut compile = |text: &str| compiled_again(programs, text, memory, deadline);
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
    match memory {
        Some(budget) => state.reserving(MemoryReservation::new(budget.clone())).map_err(Trouble::Refused),
        None => Ok(state),
    }
}
