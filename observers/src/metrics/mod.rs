//! Counts and distributions for Prometheus.
//!
//! Everything on the path of a call is an atomic created at start-up: no lock, no allocation, and a set of labels that
//! no client can enlarge. The one exception are the tools of upstreams, whose number is limited. Other sources (limiter, sessions, listener, upstreams) write their own families into the same
//! [`Exposition`] at each scrape.

mod exposition;
mod histogram;
mod process;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use ptc_host::engine::{CallRecord, CallStatus, EvalId};
use ptc_host::sync::RwLock;
use ptc_host::upstream::FaultReason;
use ptc_host::visible::visible_line;

pub use exposition::MetricKind;
#[cfg(feature = "otel")]
pub(crate) use exposition::{CollectedFamily, CollectedValue};
pub use exposition::{Exposition, Family, Format};
pub use histogram::Histogram;
pub(crate) use process::write_process;

use histogram::{BYTES, STEPS};
use ptc_protocol::observer::{AnswerSummary, CallEnd, CallObserver, CallOutcome, ObservedCall};
use ptc_protocol::report::CallReport;
use ptc_protocol::report::ErrorReason;

/// Outcomes besides those of [`ErrorReason`]: those of session tools and tasks, endings without an answer, and one name
/// for everything else.
const MORE_OUTCOMES: [&str; 20] = [
    "ok",
    "session_limit_exceeded",
    "session_conflict",
    "session_other_build",
    "state_unavailable",
    "session_args_error",
    "session_not_found",
    "session_closed",
    "session_busy",
    "sessions_disabled",
    "agent_failed",
    "partial_side_effects",
    "budget_exceeded",
    "agentic_config_error",
    "planner_timeout",
    "planner_error",
    "ptc_max_turns_exceeded",
    "ptc_budget_exhausted",
    "internal_error",
    OTHER,
];
const OUTCOMES: usize = MORE_OUTCOMES.len() + ErrorReason::ALL.len();
/// How many tools of upstreams have a label: Prometheus keeps a series for each of their outcomes.
const MAX_TOOLS: usize = 500;
/// Label of everything without its own label.
const OTHER: &str = "other";

/// Outcomes of an upstream call.
const UPSTREAM_OUTCOMES: [&str; 13] = [
    "ok",
    FaultReason::UpstreamUnavailable.as_str(),
    FaultReason::UpstreamError.as_str(),
    FaultReason::ToolError.as_str(),
    FaultReason::AuthFailed.as_str(),
    FaultReason::AuthRequired.as_str(),
    FaultReason::RateLimited.as_str(),
    FaultReason::Timeout.as_str(),
    FaultReason::ResponseTooLarge.as_str(),
    FaultReason::CapExhausted.as_str(),
    FaultReason::Declined.as_str(),
    FaultReason::Cancelled.as_str(),
    FaultReason::Unanswerable.as_str(),
];

fn outcome_at(at: usize) -> &'static str {
    MORE_OUTCOMES.get(at).copied().unwrap_or_else(|| ErrorReason::ALL[at - MORE_OUTCOMES.len()].name())
}

fn outcome_index(name: &str) -> usize {
    let other = MORE_OUTCOMES.len() - 1;
    (0..OUTCOMES).find(|at| outcome_at(*at) == name).unwrap_or(other)
}

/// The figures of calls.
#[derive(Debug)]
pub struct Metrics {
    tools: Vec<ToolMetrics>,
    in_flight: AtomicI64,
    duration: Histogram,
    steps: Histogram,
    memory: Histogram,
    returned_bytes: AtomicU64,
    upstreams: BTreeMap<String, Upstream>,
    /// Those that a reload brought.
    later: RwLock<BTreeMap<String, Arc<Upstream>>>,
    /// Calls of upstreams that are not configured; only a spent budget records them.
    other_upstream: Upstream,
    /// How many tools of upstreams have a label.
    labelled_tools: AtomicUsize,
    /// The calls of kept programs, by name.
    kept_programs: RwLock<BTreeMap<Arc<str>, Outcomes>>,
}

/// Counts of calls, by [`outcome_index`].
type Outcomes = [AtomicU64; OUTCOMES];

#[derive(Debug)]
struct ToolMetrics {
    name: Cow<'static, str>,
    outcomes: Outcomes,
}

#[derive(Debug)]
struct Upstream {
    outcomes: [AtomicU64; UPSTREAM_OUTCOMES.len()],
    duration: Histogram,
    fetched_bytes: AtomicU64,
    tools: RwLock<BTreeMap<Box<str>, UpstreamTool>>,
}

/// The calls of one tool of an upstream.
#[derive(Debug, Default)]
struct UpstreamTool {
    outcomes: [AtomicU64; UPSTREAM_OUTCOMES.len()],
    microseconds: AtomicU64,
}

impl UpstreamTool {
    fn count(&self, outcome: usize, microseconds: u64) {
        add(&self.outcomes[outcome], 1);
        add(&self.microseconds, microseconds);
    }
}

impl Upstream {
    fn new() -> Self {
        Upstream {
            outcomes: Default::default(),
            duration: Histogram::of_durations(),
            fetched_bytes: AtomicU64::new(0),
            tools: RwLock::default(),
        }
    }

    /// Counts a call of a tool: under its own name, or under [`OTHER`] if `labels` tools have one already.
    fn count_tool(&self, labels: &AtomicUsize, name: &str, outcome: usize, microseconds: u64) {
        if let Some(tool) = self.tools.read().get(name) {
            return tool.count(outcome, microseconds);
        }
        let has_room = labels.fetch_add(1, Ordering::Relaxed) < MAX_TOOLS;
        let mut tools = self.tools.write();
        let is_known = tools.contains_key(name);
        if is_known || !has_room {
            labels.fetch_sub(1, Ordering::Relaxed);
        }
        let name = if is_known || has_room { name } else { OTHER };
        tools.entry(name.into()).or_default().count(outcome, microseconds);
    }
}

fn no_outcomes() -> Outcomes {
    std::array::from_fn(|_| AtomicU64::new(0))
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// Figures of these tools and upstreams, all zero.
    pub fn new(
        tools: impl IntoIterator<Item = Cow<'static, str>>,
        upstreams: impl IntoIterator<Item = String>,
    ) -> Self {
        let tool = |name| ToolMetrics { name, outcomes: no_outcomes() };
        Metrics {
            tools: tools.into_iter().map(tool).collect(),
            in_flight: AtomicI64::new(0),
            duration: Histogram::of_durations(),
            steps: Histogram::new(&STEPS),
            memory: Histogram::new(&BYTES),
            returned_bytes: AtomicU64::new(0),
            upstreams: upstreams.into_iter().map(|name| (name, Upstream::new())).collect(),
            later: RwLock::default(),
            other_upstream: Upstream::new(),
            labelled_tools: AtomicUsize::new(0),
            kept_programs: RwLock::default(),
        }
    }

    /// Counts the calls of these upstreams by their names from now on, too.
    pub fn add_upstreams<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut later = self.later.write();
        for name in names.into_iter().filter(|name| !self.upstreams.contains_key(*name)) {
            later.entry(name.to_owned()).or_insert_with(|| Arc::new(Upstream::new()));
        }
    }

    /// Counts a call that ended with this outcome: `ok`, or a reason.
    fn count(&self, tool: &str, outcome: &str, eval_id: EvalId, report: Option<&CallReport>) {
        if let Some(tool) = self.tools.iter().find(|known| known.name == tool) {
            add(&tool.outcomes[outcome_index(outcome)], 1);
        }
        let Some(report) = report else { return };
        if let Some(usage) = report.usage {
            self.duration.observe(usage.duration.as_micros() as u64, Some(eval_id));
            self.steps.observe(usage.steps, Some(eval_id));
            self.memory.observe(usage.memory_peak_bytes, Some(eval_id));
        }
        add(&self.returned_bytes, report.payload.final_result_bytes());
        report.payload.upstream_calls.iter().for_each(|call| self.upstream_call(call));
    }

    /// Counts a call of a kept program: under its own name, or under [`OTHER`] if so many have one already.
    fn count_kept(&self, name: &Arc<str>, outcome: &str) {
        let at = outcome_index(outcome);
        if let Some(outcomes) = self.kept_programs.read().get(name) {
            return add(&outcomes[at], 1);
        }
        let mut kept = self.kept_programs.write();
        let name = if kept.len() < MAX_TOOLS { name.clone() } else { OTHER.into() };
        add(&kept.entry(name).or_insert_with(no_outcomes)[at], 1);
    }

    fn upstream_call(&self, call: &CallRecord) {
        let later;
        let upstream = match self.upstreams.get(&call.server) {
            Some(upstream) => upstream,
            None => {
                later = self.later.read().get(&call.server).cloned();
                later.as_deref().unwrap_or(&self.other_upstream)
            }
        };
        let outcome = match call.status {
            CallStatus::Ok => "ok",
            CallStatus::Error => call.reason.as_deref().unwrap_or("upstream_error"),
        };
        let known = UPSTREAM_OUTCOMES.iter().position(|known| *known == outcome);
        // The set is closed; any other outcome counts as an error of the upstream.
        let (outcome, microseconds) = (known.unwrap_or(2), call.duration_ms.saturating_mul(1000));
        add(&upstream.outcomes[outcome], 1);
        upstream.duration.observe(microseconds, None);
        upstream.count_tool(&self.labelled_tools, &call.tool, outcome, microseconds);
        add(&upstream.fetched_bytes, call.result_bytes.unwrap_or(0));
    }

    /// Writes all families of calls.
    pub fn write(&self, to: &mut Exposition) {
        let mut family = to.family("ptc_evals", "Evaluations by tool and outcome.", MetricKind::Counter);
        for tool in self.tools.iter().filter(|tool| is_eval(&tool.name)) {
            write_outcomes(&mut family, ("tool", &tool.name), &tool.outcomes);
        }
        let kept = self.kept_programs.read();
        if !kept.is_empty() {
            let help = "Calls of kept programs by program and outcome.";
            let mut family = to.family("ptc_kept_program_calls", help, MetricKind::Counter);
            for (name, outcomes) in &*kept {
                write_outcomes(&mut family, ("program", name), outcomes);
            }
        }
        drop(kept);
        let mut family = to.family(
            "ptc_session_calls",
            "Calls of session tools by tool and outcome.",
            MetricKind::Counter,
        );
        for tool in self.tools.iter().filter(|tool| !is_eval(&tool.name)) {
            write_outcomes(&mut family, ("tool", &tool.name), &tool.outcomes);
        }
        to.family("ptc_calls_in_flight", "Tool calls that run now.", MetricKind::Gauge)
            .sample(&[], self.in_flight.load(Ordering::Relaxed).max(0));
        to.family(
            "ptc_eval_duration_seconds",
            "Time from a program's first step to its end, waiting included.",
            MetricKind::Histogram,
        )
        .histogram(&[], &self.duration);
        to.family("ptc_eval_steps", "Steps of a program.", MetricKind::Histogram).histogram(&[], &self.steps);
        to.family(
            "ptc_eval_memory_peak_bytes",
            "Most bytes a program held at a time.",
            MetricKind::Histogram,
        )
        .histogram(&[], &self.memory);
        to.family("ptc_result_bytes", "Bytes of results given to clients.", MetricKind::Counter)
            .sample(&[], get(&self.returned_bytes));
        self.write_upstreams(to);
    }

    fn write_upstreams(&self, to: &mut Exposition) {
        let later = self.later.read();
        let named = || {
            let used = self.other_upstream.outcomes.iter().any(|count| get(count) > 0);
            let all = self.upstreams.iter().map(|(name, upstream)| (name.as_str(), upstream));
            let all = all.chain(later.iter().map(|(name, upstream)| (name.as_str(), &**upstream)));
            all.chain(used.then_some(("(not configured)", &self.other_upstream)))
        };
        let mut family =
            to.family("ptc_upstream_calls", "Upstream calls by server and outcome.", MetricKind::Counter);
        for (server, upstream) in named() {
            for (outcome, count) in UPSTREAM_OUTCOMES.iter().zip(&upstream.outcomes) {
                family.sample(&[("server", server), ("outcome", outcome)], get(count));
            }
        }
        let mut family = to.family(
            "ptc_upstream_call_duration_seconds",
            "Time of an upstream call.",
            MetricKind::Histogram,
        );
        for (server, upstream) in named() {
            family.histogram(&[("server", server)], &upstream.duration);
        }
        let help = "Upstream calls by server, tool and outcome.";
        let mut family = to.family("ptc_upstream_tool_calls", help, MetricKind::Counter);
        for (server, upstream) in named() {
            for (tool, calls) in &*upstream.tools.read() {
                let counts = UPSTREAM_OUTCOMES.iter().zip(&calls.outcomes);
                for (outcome, count) in counts.map(|(outcome, count)| (outcome, get(count))) {
                    if count > 0 {
                        let labels =
                            [("server", server), ("tool", &visible_line(tool)), ("outcome", outcome)];
                        family.sample(&labels, count);
                    }
                }
            }
        }
        let help = "Time that calls of a tool took together.";
        let mut family = to.family("ptc_upstream_tool_seconds", help, MetricKind::Counter);
        for (server, upstream) in named() {
            for (tool, calls) in &*upstream.tools.read() {
                let seconds = get(&calls.microseconds) as f64 / 1e6;
                family.sample(&[("server", server), ("tool", &visible_line(tool))], seconds);
            }
        }
        let mut family = to.family(
            "ptc_upstream_fetched_bytes",
            "Bytes of results that upstreams gave.",
            MetricKind::Counter,
        );
        for (server, upstream) in named() {
            family.sample(&[("server", server)], get(&upstream.fetched_bytes));
        }
    }
}

impl CallObserver for Metrics {
    fn announced(&self, _call: &ObservedCall) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let (outcome, report) = match &end.outcome {
            CallOutcome::Answered(AnswerSummary { is_error: false, report, .. }) => ("ok", report.as_deref()),
            CallOutcome::Answered(AnswerSummary { reason, report, .. }) => {
                (reason.as_deref().unwrap_or(OTHER), report.as_deref())
            }
            CallOutcome::Crashed(_) => ("internal_error", None),
            CallOutcome::Cancelled => ("cancelled", None),
            CallOutcome::Discarded => return,
        };
        if let Some(kept) = &call.kept_program {
            self.count_kept(&kept.name, outcome);
        }
        self.count(&call.tool, outcome, call.eval_id, report);
    }
}

/// True for a tool that runs programs rather than manages sessions.
fn is_eval(tool: &str) -> bool {
    matches!(tool, "lisp_eval" | "lisp_session_eval" | "lisp_task")
}

/// Writes the outcomes that have happened, and `ok` in any case.
fn write_outcomes(family: &mut Family<'_>, label: (&str, &str), outcomes: &Outcomes) {
    for (at, count) in outcomes.iter().enumerate() {
        let (outcome, count) = (outcome_at(at), get(count));
        if count > 0 || outcome == "ok" {
            family.sample(&[label, ("outcome", outcome)], count);
        }
    }
}
