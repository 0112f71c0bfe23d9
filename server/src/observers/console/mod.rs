//! The operators' page (`--console`): what runs, what ran, what it fetched and what came back.
//!
//! The page itself is static and holds no data. Data comes from two read-only routes behind the same checks as the MCP
//! path, and every caller sees what is its own: its calls, its sessions. Upstreams and their catalog are what any caller
//! may look at from a program anyway.

mod live;
mod page;
mod state;
mod timeline;

pub use live::LiveCall;
pub use page::{Page, page};
pub use state::{Facts, catalog, state};

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ptc_host::engine::EvalId;

use crate::principal::Principal;
use crate::report::ptc_metrics::Metrics;
use live::Live;
use timeline::Timelines;

/// What the page shows besides the memory of recent calls.
#[derive(Default)]
pub struct Console {
    live: Mutex<Live>,
    timelines: Mutex<Timelines>,
}

impl Console {
    /// A call runs from now on.
    pub fn began(&self, eval_id: EvalId, call: LiveCall) {
        lock(&self.live).insert(eval_id, call);
    }

    /// A call does not run any more.
    pub fn over(&self, eval_id: EvalId) {
        lock(&self.live).remove(eval_id);
    }

    /// A call was answered.
    pub fn answered(&self, principal: &Principal, at: Timestamp, is_error: bool, metrics: Option<&Metrics>) {
        lock(&self.timelines).add(principal, at, is_error, metrics);
    }
}

/// Every critical section leaves the data whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
