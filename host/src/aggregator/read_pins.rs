//! How the tools of an upstream stand to the lock, as the operator is told of it: in the log and by figures.

use ptc_base::sync::Mutex;
use ptc_base::time::{self, Instant};
use ptc_upstreams::config::PinReport;
use std::sync::Arc;
use std::time::Duration;

/// Shortest time between two reports of one upstream in the log: there are upstreams that change their list each second.
const LOG_PAUSE: Duration = Duration::from_secs(10);
/// Changed tools of one report that the log has a line for, and the bytes of each diff.
const MAX_LINES: usize = 8;
const DIFF_BYTES: usize = 800;
/// Names of new tools and of tools that are gone in one line.
const MAX_NAMES: usize = 8;

/// How the list that was read last stands to the lock.
#[derive(Default)]
pub(super) struct ReadPins(Mutex<State>);

#[derive(Default)]
struct State {
    last: Option<Arc<PinReport>>,
    /// The one that the log has, and when it was written.
    logged: Option<(Arc<PinReport>, Instant)>,
}

impl ReadPins {
    /// The report on the list that was read last.
    pub(super) fn last(&self) -> Option<Arc<PinReport>> {
        self.0.lock().last.clone()
    }

    /// Keeps the report on a list that was read, and tells the log what differs, unless it has been told that already or was
    /// told something a moment ago.
    pub(super) fn note(&self, upstream: &str, report: &Arc<PinReport>) {
        let now = time::now();
        {
            let mut state = self.0.lock();
            state.last = Some(report.clone());
            let is_told = state.logged.as_ref().is_some_and(|(logged, at)| {
                logged == report || now.saturating_duration_since(*at) < LOG_PAUSE
            });
            let was_well = state.logged.as_ref().is_none_or(|(logged, _)| logged.is_empty());
            if is_told || (report.is_empty() && was_well) {
                return;
            }
            state.logged = Some((report.clone(), now));
        }
        if report.is_empty() {
            tracing::info!(event = "upstream_pins_fit", upstream = %upstream, "its tools are as they were accepted");
            return;
        }
        let outcome = if report.refuses { "withheld" } else { "offered" };
        for changed in report.changed.iter().take(MAX_LINES) {
            tracing::warn!(event = "upstream_tool_changed", upstream = %upstream, tool = %changed.name,
                changed = %changed.facts_text(), outcome, diff = %changed.diff(DIFF_BYTES, true));
        }
        tracing::warn!(event = "upstream_pins", upstream = %upstream, changed = report.changed.len(),
            new = %names(&report.new), gone = %names(&report.gone), outcome,
            "{}; to look: ptc check --pins; to accept: ptc pin {upstream}", report.summary());
    }
}

fn names(names: &[String]) -> String {
    let mut text = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        text.push_str(&format!(" and {} more", names.len() - MAX_NAMES));
    }
    text
}
