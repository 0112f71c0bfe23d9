//! For whom connections are open.

use ptc_base::sync::Mutex;
use std::sync::{Arc, MutexGuard};
use tokio::sync::Notify;

/// Whose questions are open on the stream that all calls of a connection share.
#[derive(Debug, Default)]
pub(crate) struct OpenFor {
    pub(super) principals: Mutex<Vec<ConnectionOwner>>,
    pub(super) closed: Arc<Notify>,
}

impl OpenFor {
    /// A question of this principal is open, until the result is dropped.
    pub(crate) fn begin(self: &Arc<Self>, principal: ConnectionOwner) -> ConnectionQuestion {
        self.lock().push(principal.clone());
        ConnectionQuestion { of: self.clone(), principal }
    }

    /// Whether a question of another principal is open.
    pub(super) fn is_of_others(&self, principal: Option<&Arc<str>>) -> bool {
        self.lock().iter().any(|whose| whose.as_ref() != principal)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ConnectionOwner>> {
        self.principals.lock()
    }
}

/// A principal; all without a name are one.
pub(super) type ConnectionOwner = Option<Arc<str>>;

/// A question that is open.
#[derive(Debug)]
pub(crate) struct ConnectionQuestion {
    of: Arc<OpenFor>,
    principal: ConnectionOwner,
}

impl Drop for ConnectionQuestion {
    fn drop(&mut self) {
        let mut open = self.of.lock();
        if let Some(at) = open.iter().position(|whose| *whose == self.principal) {
            open.swap_remove(at);
        }
        drop(open);
        self.of.closed.notify_waiters();
    }
}
