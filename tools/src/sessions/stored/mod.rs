//! Sessions in a store: any process that shares the store serves any of them (state.md 4).
//!
//! The store is the authority. A program takes its session with a lease ([`Taken`]), runs on values in this process,
//! and commits before its answer is sent. A process caches the values of the sessions that it used last, by version
//! ([`Here`]), so that no values are transferred while no other process changes them.

mod here;
pub(super) mod saved_record;
pub(super) mod taken;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use ptc_host::state::{Owner as StoreOwner, StateStore};

use self::here::Here;
use super::environment::Environment;
use ptc_protocol::principal::Owner;

/// Where sessions are stored.
#[derive(Clone)]
pub struct Keeping {
    /// The store.
    pub store: Arc<dyn StateStore>,
    /// The name of this process among those that share it.
    pub replica: Arc<str>,
}

/// Sessions in a store, with this process's cache.
pub(super) struct Stored {
    env: Arc<Environment>,
    keeping: Keeping,
    here: Here,
}

impl Stored {
    pub(super) fn new(keeping: Keeping, env: Arc<Environment>) -> Arc<Self> {
        let here = Here::new(env.settings.max);
        Arc::new(Stored { env, keeping, here })
    }

    fn store(&self) -> &dyn StateStore {
        &*self.keeping.store
    }
}

/// The owner in the form of stores.
fn owner_in_store(owner: &Owner) -> StoreOwner {
    let name = owner.principal.known_name().clone();
    match &owner.http_session {
        Some(id) => StoreOwner::conversation(name, id.clone()),
        None => StoreOwner::principal(name),
    }
}
