//! The store in memory.

use std::sync::Arc;

use ptc_host::state::{MemoryState, StoreLimits};
use ptc_host::time::Clock;

use crate::{BackEnd, Handles, Time};

pub(crate) struct Memory;

impl BackEnd for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn open(&self, limits: StoreLimits) -> Handles {
        let store = MemoryState::new(limits);
        Handles {
            one: Arc::new(store.clone()),
            other: Arc::new(store),
            time: Time::Stepped(Clock::current()),
        }
    }
}
