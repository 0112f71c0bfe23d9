//! The permit of a run: it has one while its program runs, and none while it waits for people (waiting.md 8).

use std::sync::{Arc, Mutex, PoisonError};

use crate::concurrency_limiter::{Full, Permit, PermitLoan};

/// The permit, shared by a program and what drives it.
#[derive(Clone, Default)]
pub(super) struct PermitSlot {
    permit: Arc<Mutex<Option<Permit>>>,
    loan: PermitLoan,
}

impl PermitSlot {
    /// With this permit.
    pub(super) fn of(permit: Permit) -> PermitSlot {
        let loan = permit.loan().clone();
        PermitSlot { permit: Arc::new(Mutex::new(Some(permit))), loan }
    }

    /// By what the program lends the permit that is there.
    pub(super) fn loan(&self) -> &PermitLoan {
        &self.loan
    }

    /// Whether there is one now: it is asked for if there is none.
    pub(super) fn fill(&self, ask: impl FnOnce() -> Result<Permit, Full>) -> bool {
        let mut slot = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = ask().ok();
            slot.iter_mut().for_each(|permit| self.loan.bind(permit));
        }
        slot.is_some()
    }

    /// Gives it back.
    pub(super) fn give_back(&self) {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
