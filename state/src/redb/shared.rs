//! What the writer and all handles of a store share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ptc_base::sync::{Mutex, RwLock};
use redb::Database;

use super::super::clock::StoreClock;
use super::super::{StateError, StoreLimits};
use super::gate::Gate;
use super::local::Local;
use super::opening::Opener;

/// State shared by the writer and all handles.
pub(super) struct Core {
    /// Missing while the file cannot be used.
    pub(super) file: RwLock<Option<Arc<Database>>>,
    pub(super) opener: Opener,
    /// Whether the file says which form its tables have.
    pub(super) says_form: AtomicBool,
    pub(super) local: Mutex<Local>,
    /// The journal, where commits go ahead of the tables.
    pub(super) gate: Option<Gate>,
    pub(super) clock: StoreClock,
    pub(super) limits: StoreLimits,
}

impl Core {
    pub(super) fn file(&self) -> Result<Arc<Database>, StateError> {
        let file = self.file.read().clone();
        file.ok_or_else(|| StateError::Unavailable("the state file cannot be used".to_owned()))
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    pub(super) fn local<T>(&self, work: impl FnOnce(&mut Local, u64) -> T) -> T {
        let now = self.now();
        work(&mut self.local.lock(), now)
    }
}

/// An error of the file as a failure of the store.
pub(super) fn unavailable(error: &redb::Error) -> StateError {
    StateError::Unavailable(error.to_string())
}
