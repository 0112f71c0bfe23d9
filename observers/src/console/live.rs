//! The running calls.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ptc_host::aggregator::SentCall;
use ptc_host::engine::EvalId;
use ptc_host::sync::Mutex;
use ptc_host::time::{self, Instant};

use ptc_protocol::principal::Principal;

/// Upstream calls of a running program that are kept: the newest ones, those in flight before those that have ended.
const UPSTREAM_CALLS: usize = 50;
/// Characters of the name of a tool that are kept.
const NAME_CHARS: usize = 128;

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
    /// Its upstream calls so far.
    pub(super) upstream_calls: Mutex<LiveUpstreamCalls>,
}

/// Upstream calls of a running program.
#[derive(Debug, Default)]
pub(super) struct LiveUpstreamCalls {
    /// How many it has sent.
    pub(super) sent: u64,
    /// The newest of them, in the order in which they were sent.
    pub(super) newest: VecDeque<LiveUpstreamCall>,
}

/// An upstream call of a running program.
#[derive(Debug, Clone)]
pub(super) struct LiveUpstreamCall {
    number: u32,
    /// The upstream.
    pub(super) upstream: Box<str>,
    /// The tool.
    pub(super) tool: Box<str>,
    /// When it was made, relative to the start of its program.
    pub(super) offset_ms: u64,
    began: Instant,
    /// Its end, if it has ended.
    pub(super) end: Option<LiveUpstreamEnd>,
}

/// The end of an upstream call.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveUpstreamEnd {
    duration_ms: u64,
    /// Why it failed.
    pub(super) fault: Option<&'static str>,
}

impl LiveUpstreamCall {
    /// How long it took, or has taken so far.
    pub(super) fn duration_ms(&self) -> u64 {
        self.end.map_or_else(|| time::since(self.began).as_millis() as u64, |end| end.duration_ms)
    }
}

impl LiveUpstreamCalls {
    /// Adds a call that has been sent.
    pub(super) fn add(&mut self, call: &SentCall<'_>) {
        if self.newest.len() == UPSTREAM_CALLS {
            let ended = self.newest.iter().position(|kept| kept.end.is_some());
            self.newest.remove(ended.unwrap_or(0));
        }
        self.sent += 1;
        self.newest.push_back(LiveUpstreamCall {
            number: call.number,
            upstream: call.upstream.into(),
            tool: call.tool.chars().take(NAME_CHARS).collect(),
            offset_ms: call.offset_ms,
            began: call.began,
            end: None,
        });
    }

    /// Notes the end of a call, if it is kept.
    pub(super) fn end(&mut self, number: u32, fault: Option<&'static str>) {
        if let Some(call) = self.newest.iter_mut().rev().find(|call| call.number == number) {
            call.end = Some(LiveUpstreamEnd { duration_ms: call.duration_ms(), fault });
        }
    }
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

    /// The call that is this evaluation.
    pub(super) fn of_eval(&self, eval_id: EvalId) -> Option<Arc<LiveCall>> {
        self.0.get(&eval_id).cloned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_upstream_calls_are_kept_and_those_in_flight_the_longest() {
        let (mut calls, eval, began) = (LiveUpstreamCalls::default(), EvalId::new(), time::now());
        for number in 1..=120 {
            calls.add(&SentCall { eval, number, upstream: "fs", tool: "read", began, offset_ms: 0 });
            // The first one never ends, and an end is noted once.
            if number > 1 {
                calls.end(number, (number == 120).then_some("timeout"));
            }
        }
        assert_eq!((calls.sent, calls.newest.len()), (120, UPSTREAM_CALLS));
        let numbers: Vec<u32> = calls.newest.iter().map(|call| call.number).collect();
        assert_eq!((numbers[0], numbers[1], numbers[49]), (1, 72, 120));
        assert!(calls.newest[0].end.is_none());
        assert_eq!(calls.newest[49].end.and_then(|end| end.fault), Some("timeout"));
        calls.end(2, None);
    }
}
