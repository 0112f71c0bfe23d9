//! How the tools of an upstream stand to the lock, as the operator is told of it: in the log and by figures.

use super::own_lists::Follower;
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Instant};
use ptc_upstreams::config::PinReport;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

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
    /// Logs what holds after the pause, if a list differed within it.
    postponed: Option<Follower>,
}

impl State {
    /// Whether the log lacks the report on the list that was read last.
    fn is_untold(&self) -> bool {
        let Some(last) = &self.last else { return false };
        match &self.logged {
            Some((logged, _)) => logged != last,
            None => !last.is_empty(),
        }
    }
}

impl ReadPins {
    /// The report on the list that was read last.
    pub(super) fn last(&self) -> Option<Arc<PinReport>> {
        self.0.lock().last.clone()
    }

    /// Keeps the report on a list that was read, and tells the log what differs, unless it has been told that already. If it was
    /// told something a moment ago, a task of `owner` tells it what holds after the pause.
    pub(super) fn note(self: &Arc<Self>, upstream: &str, report: &Arc<PinReport>, owner: &Handle) {
        let mut state = self.0.lock();
        state.last = Some(report.clone());
        if !state.is_untold() || state.postponed.is_some() {
            return;
        }
        let now = time::now();
        let due = state.logged.as_ref().map(|(_, at)| *at + LOG_PAUSE).filter(|due| *due > now);
        match due {
            None => {
                state.logged = Some((report.clone(), now));
                drop(state);
                log(upstream, report);
            }
            Some(due) => {
                // The task goes with the upstream: what is dropped stops it.
                let (pins, upstream) = (Arc::downgrade(self), upstream.to_owned());
                let task = async move {
                    time::sleep_until(due).await;
                    if let Some(pins) = pins.upgrade() {
                        pins.log_postponed(&upstream);
                    }
                };
                state.postponed = Some(Follower(owner.spawn(task).abort_handle()));
            }
        }
    }

    fn log_postponed(&self, upstream: &str) {
        let mut state = self.0.lock();
        state.postponed = None;
        let Some(report) = state.last.clone().filter(|_| state.is_untold()) else { return };
        state.logged = Some((report.clone(), time::now()));
        drop(state);
        log(upstream, &report);
    }
}

/// Writes the lines about one report.
fn log(upstream: &str, report: &PinReport) {
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

fn names(names: &[String]) -> String {
    let mut text = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        text.push_str(&format!(" and {} more", names.len() - MAX_NAMES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::time::Clock;
    use ptc_test_support::wait_until_async;

    fn report(new: &[&str]) -> Arc<PinReport> {
        let new = new.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(PinReport { is_pinned: true, new, ..PinReport::default() })
    }

    impl ReadPins {
        fn logged(&self) -> Option<Vec<String>> {
            self.0.lock().logged.as_ref().map(|(report, _)| report.new.clone())
        }
    }

    #[tokio::test]
    async fn a_change_within_the_pause_is_logged_after_it_as_it_then_is() {
        let clock = Clock::stepped();
        let _entered = clock.enter();
        let (pins, owner) = (Arc::new(ReadPins::default()), Handle::current());
        pins.note("u", &report(&[]), &owner);
        assert_eq!(pins.logged(), None, "it has always been well");
        pins.note("u", &report(&["a"]), &owner);
        assert_eq!(pins.logged().unwrap(), ["a"]);
        for n in 0..50 {
            pins.note("u", &report(&[&format!("b{n}")]), &owner);
        }
        assert_eq!(pins.logged().unwrap(), ["a"]);
        assert_eq!(owner.metrics().num_alive_tasks(), 1, "one task, however many lists");
        clock.advance(LOG_PAUSE);
        wait_until_async("the last list is logged", async || pins.logged().unwrap() == ["b49"]).await;
        // It holds as for one that was logged at once: what differs next waits, and what went back says nothing.
        pins.note("u", &report(&["c"]), &owner);
        pins.note("u", &report(&["b49"]), &owner);
        let logged_at = pins.0.lock().logged.as_ref().unwrap().1;
        clock.advance(LOG_PAUSE);
        wait_until_async("the task ends", async || owner.metrics().num_alive_tasks() == 0).await;
        assert_eq!(pins.0.lock().logged.as_ref().unwrap().1, logged_at);
        pins.note("u", &report(&[]), &owner);
        assert_eq!(pins.logged().unwrap(), [""; 0], "after the pause it is logged at once");
    }

    #[tokio::test]
    async fn a_postponed_line_goes_with_its_upstream() {
        let (pins, owner) = (Arc::new(ReadPins::default()), Handle::current());
        pins.note("u", &report(&["a"]), &owner);
        pins.note("u", &report(&["b"]), &owner);
        assert_eq!(owner.metrics().num_alive_tasks(), 1);
        drop(pins);
        wait_until_async("the task ends", async || owner.metrics().num_alive_tasks() == 0).await;
    }
}
