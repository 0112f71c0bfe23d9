//! The store in memory.

use std::sync::Arc;

use ptc_host::state::{MemoryState, StoreLimits};

use crate::{BackEnd, Handles};

pub(crate) struct Memory;

impl BackEnd for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn open(&self, limits: StoreLimits) -> Handles {
        let store = MemoryState::new(limits);
        Handles { one: Arc::new(store.clone()), other: Arc::new(store) }
    }
}
