//! Who may use the journal: commits while the writer does not.

use ptc_base::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use super::journal::Journal;

/// Tries to get at the journal while another commit is appended, which takes some microseconds.
const TRIES: u32 = 200;

/// The journal, and who may use it: commits while the writer does not.
pub(super) struct Gate {
    journal: Mutex<Journal>,
    /// Whether the writer has it or waits for it.
    is_closed: AtomicBool,
    /// Whether the writer has been called since it was here last.
    pub(super) is_called: AtomicBool,
}

/// The writer's hold on the journal: nothing goes ahead of the tables meanwhile.
pub(super) struct Closed<'a> {
    gate: &'a Gate,
    pub(super) journal: MutexGuard<'a, Journal>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.is_closed.store(false, Ordering::Release);
    }
}

impl Gate {
    pub(super) fn new(journal: Journal) -> Self {
        let (is_closed, is_called) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { journal: Mutex::new(journal), is_closed, is_called }
    }

    /// Has all commits go to the writer until the hold ends.
    pub(super) fn close(&self) -> Closed<'_> {
        self.is_closed.store(true, Ordering::Release);
        let journal = self.journal.lock();
        self.is_called.store(false, Ordering::Release);
        Closed { gate: self, journal }
    }

    /// The journal, for a moment; `None` while the writer has it, which may take as long as a disk does.
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, Journal>> {
        for _ in 0..TRIES {
            if self.is_closed.load(Ordering::Acquire) {
                return None;
            }
            match self.journal.try_lock() {
                Some(journal) => return Some(journal),
                None => std::hint::spin_loop(),
            }
        }
        None
    }
}
