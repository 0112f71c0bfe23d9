//! State that outlives a process, for the parts of a server (state.md).

use std::sync::Arc;

use ptc_host::sign_in::store::{AuthStore, SharedStore};
use ptc_host::state::{Secret, StateStore, WatchedState};

/// The store, the secret, and the name of this replica.
#[derive(Debug, Clone)]
pub struct ServerState {
    /// The operator's secret, if there is one.
    pub secret: Option<Secret>,
    /// The store, if any state outlives the process.
    pub store: Option<WatchedState>,
    /// True if other processes use the store too.
    pub is_shared: bool,
    /// True if the server is not ready while the store is down.
    pub is_required: bool,
    /// The unique name of this replica.
    pub replica: Arc<str>,
}

impl ServerState {
    /// No state outlives the process.
    pub fn none() -> ServerState {
        ServerState {
            secret: None,
            store: None,
            is_shared: false,
            is_required: false,
            replica: "process".into(),
        }
    }

    /// The store, for parts that keep records in it.
    pub fn shared_store(&self) -> Option<Arc<dyn StateStore>> {
        Some(Arc::new(self.store.clone()?))
    }

    /// The sign-ins to upstreams, if they are records of the store. Those of a single machine are files of their own.
    pub fn sign_ins(&self) -> Option<Arc<dyn AuthStore>> {
        let store = self.shared_store().filter(|_| self.is_shared)?;
        Some(Arc::new(SharedStore::new(store, self.replica.clone())))
    }

    /// True if the server cannot work because the store is down.
    pub fn is_lost(&self) -> bool {
        self.is_required && self.store.as_ref().is_some_and(WatchedState::is_down)
    }
}
