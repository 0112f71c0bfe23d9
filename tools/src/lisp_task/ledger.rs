//! Every upstream call of a task, recorded with its possible effect before it goes out (server.md 9.5).

use ptc_host::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};

use ptc_host::catalog::Catalog;
use ptc_host::engine::{CallObserver, CallRecord, CallStatus, RunContext};
use ptc_mcp::json::{Value, json};
use ptc_vm::machine::{HostRequest, Reply, UpstreamCall};

use ptc_host::digest::sha256_hex;

/// The possible effect of a call, as declared by the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    Write,
    Unknown,
}

impl Effect {
    fn name(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Unknown => "unknown",
        }
    }
}

/// One attempted call.
#[derive(Debug, Clone)]
struct Attempt {
    server: String,
    tool: String,
    effect: Effect,
    turn: u32,
    args_hash: String,
    /// Its outcome; `None` if it was interrupted.
    record: Option<CallRecord>,
}

#[derive(Debug, Default)]
struct Attempts {
    next: u64,
    open: BTreeMap<u64, Attempt>,
    /// In order of completion.
    done: Vec<Attempt>,
}

/// The calls of a task. Clones are the same ledger.
#[derive(Clone)]
pub(super) struct Ledger {
    catalog: Arc<Catalog>,
    state: Arc<Mutex<Attempts>>,
    turn: Arc<AtomicU32>,
}

impl Ledger {
    pub(super) fn new(catalog: Arc<Catalog>) -> Ledger {
        Ledger { catalog, state: Arc::default(), turn: Arc::default() }
    }

    /// Marks the beginning of a turn.
    pub(super) fn begin_turn(&self, turn: u32) {
        self.turn.store(turn, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, Attempts> {
        self.state.lock()
    }

    /// True if a call was attempted that may have changed something.
    pub(super) fn has_side_effects(&self) -> bool {
        let state = self.state();
        state.open.values().chain(&state.done).any(|entry| entry.effect != Effect::Read)
    }

    /// Records of the calls that ended.
    pub(super) fn records(&self) -> Vec<CallRecord> {
        self.state().done.iter().filter_map(|entry| entry.record.clone()).collect()
    }

    /// The calls as answers list them: in order of completion, interrupted ones last.
    pub(super) fn calls(&self) -> Vec<Value> {
        let state = self.state();
        state.done.iter().chain(state.open.values()).map(Attempt::json).collect()
    }

    fn effect(&self, server: &str, tool: &str) -> Effect {
        let hints = self.catalog.server(server).and_then(|server| server.tool(tool)?.annotations.as_ref());
        let hint = |name: &str| hints.and_then(|hints| hints.get(name)) == Some(&Value::Bool(true));
        match (hint("readOnlyHint"), hint("destructiveHint")) {
            (true, _) => Effect::Read,
            (_, true) => Effect::Write,
            _ => Effect::Unknown,
        }
    }

    /// Records a call that is about to go out; `None` if it never will, because its parts are invalid.
    fn note(&self, call: &UpstreamCall) -> Option<u64> {
        let (Ok(server), Ok(tool), Ok(arguments)) = (&call.server, &call.tool, &call.arguments) else {
            return None;
        };
        let entry = Attempt {
            server: server.clone(),
            tool: tool.clone(),
            effect: self.effect(server, tool),
            turn: self.turn.load(Ordering::Relaxed),
            args_hash: sha256_hex(&arguments.json),
            record: None,
        };
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, entry);
        Some(number)
    }

    /// Completes a record. A call without a result record was refused before it went out, and is removed.
    fn close(&self, number: u64, record: Option<CallRecord>) {
        let mut state = self.state();
        let Some(entry) = state.open.remove(&number) else { return };
        if record.is_some() {
            state.done.push(Attempt { record, ..entry });
        }
    }
}

impl CallObserver for Ledger {
    type Call = u64;

    fn before(&self, request: &HostRequest) -> Option<u64> {
        match request {
            HostRequest::Upstream(call) => self.note(call),
            _ => None,
        }
    }

    fn after(&self, number: u64, run: &RunContext, reply: &Reply) {
        // The upstreams record a call right before they answer it, on this thread: the last record is ours.
        let recorded = matches!(reply, Reply::Success { .. } | Reply::Fault { .. });
        self.close(number, recorded.then(|| run.log.last()).flatten());
    }
}

impl Attempt {
    fn json(&self) -> Value {
        let mut call = json!({"server": self.server, "tool": self.tool});
        let Some(record) = &self.record else {
            call["status"] = "attempted".into();
            call["duration_ms"] = 0.into();
            call["effect"] = self.effect.name().into();
            call["turn"] = self.turn.into();
            call["args_hash"] = self.args_hash.as_str().into();
            call["result_bytes"] = Value::Null;
            call["oversize"] = false.into();
            return call;
        };
        call["status"] = if record.status == CallStatus::Ok { "ok" } else { "error" }.into();
        call["duration_ms"] = record.duration_ms.into();
        call["effect"] = self.effect.name().into();
        call["turn"] = self.turn.into();
        call["args_hash"] = self.args_hash.as_str().into();
        call["result_bytes"] = record.result_bytes.into();
        call["oversize"] = record.oversize.into();
        for (name, text) in [("reason", &record.reason), ("error", &record.error)] {
            if let Some(text) = text {
                call[name] = text.as_str().into();
            }
        }
        call
    }
}
