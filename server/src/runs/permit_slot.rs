//! The permit of a run: it has one while its program runs, and none while it waits for people (waiting.md 8).

use std::sync::{Arc, Mutex, PoisonError};

use crate::concurrency_limiter::{Full, Permit};

/// The permit, shared by a program and what drives it.
#[derive(Clone, Default)]
pub(super) struct PermitSlot(Arc<Mutex<Option<Permit>>>);

impl PermitSlot {
    /// With this permit.
    pub(super) fn of(permit: Permit) -> PermitSlot {
        PermitSlot(Arc::new(Mutex::new(Some(permit))))
    }

    /// Whether there is one now: it is asked for if there is none.
    pub(super) fn fill(&self, ask: impl FnOnce() -> Result<Permit, Full>) -> bool {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = ask().ok();
        }
        slot.is_some()
    }

    /// Gives it back.
    pub(super) fn give_back(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
