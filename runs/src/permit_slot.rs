//! The permit of a run, held while its program runs and released while it waits for people (waiting.md 8).

use ptc_host::sync::Mutex;
use std::sync::Arc;

use ptc_protocol::concurrency_limiter::{Permit, PermitLoan};

/// The permit, shared by a program and the task that drives it.
#[derive(Clone, Default)]
pub(super) struct PermitSlot {
    permit: Arc<Mutex<Option<Permit>>>,
    loan: PermitLoan,
}

impl PermitSlot {
    /// A slot that holds this permit.
    pub(super) fn of(permit: Permit) -> PermitSlot {
        let loan = permit.loan().clone();
        PermitSlot { permit: Arc::new(Mutex::new(Some(permit))), loan }
    }

    /// The loan through which the program uses the current permit.
    pub(super) fn loan(&self) -> &PermitLoan {
        &self.loan
    }

    /// Puts a permit into the slot.
    pub(super) fn put(&self, mut permit: Permit) {
        self.loan.bind(&mut permit);
        *self.permit.lock() = Some(permit);
    }

    /// Releases the permit.
    pub(super) fn give_back(&self) {
        self.permit.lock().take();
    }
}
