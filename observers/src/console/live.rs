//! The running calls.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ptc_host::engine::EvalId;
use ptc_host::time::Instant;

use ptc_protocol::principal::Principal;

/// A running call.
#[derive(Debug)]
pub(super) struct LiveCall {
    /// Its principal.
    pub(super) principal: Principal,
    /// Its JSON-RPC id as text, scrubbed.
    pub(super) request_id: String,
    /// The tool.
    pub(super) tool: Cow<'static, str>,
    /// The program under the payload policy, as JSON.
    pub(super) program: Option<String>,
    /// When it began.
    pub(super) started: Instant,
}

/// All of them.
#[derive(Default)]
pub(super) struct LiveCalls(HashMap<EvalId, Arc<LiveCall>>);

impl LiveCalls {
    pub(super) fn insert(&mut self, eval_id: EvalId, call: LiveCall) {
        self.0.insert(eval_id, Arc::new(call));
    }

    pub(super) fn remove(&mut self, eval_id: EvalId) {
        self.0.remove(&eval_id);
    }

    /// The number of those of `principal`, or of all callers.
    pub(super) fn count(&self, principal: Option<&Principal>) -> usize {
        self.0.values().filter(|call| principal.is_none_or(|own| call.principal == *own)).count()
    }

    /// How many each caller has, by its name.
    pub(super) fn counts(&self) -> HashMap<Arc<str>, u64> {
        let mut counts = HashMap::new();
        for call in self.0.values() {
            *counts.entry(call.principal.shared_name()).or_default() += 1;
        }
        counts
    }

    /// Those of `principal`, or of all callers, the oldest first.
    pub(super) fn of(&self, principal: Option<&Principal>) -> Vec<(EvalId, Arc<LiveCall>)> {
        let seen = self.0.iter().filter(|(_, call)| principal.is_none_or(|own| call.principal == *own));
        let mut seen: Vec<_> = seen.map(|(eval_id, call)| (*eval_id, call.clone())).collect();
        seen.sort_by_key(|(_, call)| call.started);
        seen
    }
}
