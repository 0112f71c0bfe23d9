//! Limits for work without a machine: compilation of a program, before there is one.

use super::{Account, Deadline, Reservation, overdue, pending_work, set_work_limit};
use crate::error::{Error, Result};
use std::rc::Rc;

/// The limits of a piece of work.
pub struct Allowance {
    /// Most bytes that it may hold at once.
    pub memory_bytes: u64,
    /// Most steps.
    pub steps: u64,
    /// The lender of its memory, if that is shared.
    pub reservation: Option<Rc<dyn Reservation>>,
    /// When it has to end.
    pub deadline: Option<Deadline>,
}

/// The resources used by a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// Steps.
    pub steps: u64,
    /// The largest number of bytes that it held at once.
    pub peak_bytes: u64,
}

impl Allowance {
    /// Does `work` on an account of its own.
    ///
    /// # Errors
    /// The work's own, or that of the limit that it came to: the memory, the steps, the time.
    pub fn spend<R>(self, work: impl FnOnce() -> Result<R>) -> Result<(R, ResourceUse)> {
        let mut account = match &self.reservation {
            Some(_) => Account::reserving(self.memory_bytes),
            None => Account::new(self.memory_bytes),
        };
        let (done, steps) = {
            let _installed = account.install_with(self.reservation, self.deadline);
            set_work_limit(self.steps);
            let done = work();
            match (overdue(), pending_work()) {
                (Some(error), steps) => (Err(error), steps),
                (None, steps) if steps > self.steps => (Err(Error::steps(self.steps)), steps),
                (None, steps) => (done, steps),
            }
        };
        done.map(|done| (done, ResourceUse { steps, peak_bytes: u64::try_from(account.peak).unwrap_or(0) }))
    }
}
