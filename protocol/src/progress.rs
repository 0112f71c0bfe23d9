//! `notifications/progress`: reports on a running program, for a client that asked for them.
//!
//! A report is sent every second while the program runs, and sooner when upstream calls have ended, but never more
//! often than [`SHORTEST`]. The number increases from report to report, as the protocol requires.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::engine::CallsSoFar;
use ptc_host::time::{self, Instant, sleep_until};
use ptc_mcp::json::Kind;
use ptc_mcp::message::params::Params;
use tokio::sync::watch;

use super::reply;

/// Interval of the reports on a program that waits or computes.
const LONGEST: Duration = Duration::from_secs(1);
/// Minimum interval of the reports on calls that have ended.
const SHORTEST: Duration = Duration::from_millis(100);
/// Longest token under which progress is reported, as JSON, in bytes: every report repeats it.
const MAX_TOKEN_BYTES: usize = 1024;

/// The senders of the facts in reports.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The program's upstream calls.
    pub(crate) calls: watch::Sender<CallsSoFar>,
    /// The progress of one of them, as its upstream reports it.
    pub(crate) upstreams: watch::Sender<Option<Arc<str>>>,
}

/// The reports of one call.
#[derive(Debug)]
pub(crate) struct ProgressReports {
    /// JSON of the token to report under.
    token: String,
    calls: watch::Receiver<CallsSoFar>,
    /// The latest progress that an upstream reported.
    said: watch::Receiver<Option<Arc<str>>>,
    /// True if that is not reported yet.
    is_news: bool,
    began: Instant,
    last: Instant,
    reports: u64,
}

impl ProgressReports {
    /// The reports that a request asks for, and the senders of their facts. `None` without a usable token: a string
    /// or an integer within the length limit.
    pub(crate) fn asked_for(params: &Params<'_>) -> Option<(ProgressReports, Sources)> {
        let raw = params.meta.progress_token?;
        if raw.text().len() > MAX_TOKEN_BYTES || !matches!(raw.kind(), Kind::String | Kind::Integer) {
            return None;
        }
        let (counter, calls) = watch::channel(CallsSoFar::default());
        let (upstreams, said) = watch::channel(None);
        let now = time::now();
        let token = raw.text().to_owned();
        Some((
            ProgressReports { token, calls, said, is_news: false, began: now, last: now, reports: 0 },
            Sources { calls: counter, upstreams },
        ))
    }

    /// Waits until there is something to report, and returns the notification. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        let mut due = self.last + if self.is_news { SHORTEST } else { LONGEST };
        let mut told_off = false;
        let mut silent = false;
        loop {
            tokio::select! {
                () = sleep_until(due) => break,
                changed = self.calls.changed(), if !told_off => match changed {
                    Ok(()) if self.calls.borrow_and_update().ended > 0 => due = due.min(self.last + SHORTEST),
                    Ok(()) => {}
                    // The program has ended; its answer follows.
                    Err(_) => told_off = true,
                },
                said = self.said.changed(), if !silent => match said {
                    Ok(()) => {
                        self.is_news = true;
                        due = due.min(self.last + SHORTEST);
                    }
                    Err(_) => silent = true,
                },
            }
        }
        self.last = time::now();
        self.reports += 1;
        let message = self.message();
        reply::progress(&self.token, self.reports, &message)
    }

    fn message(&mut self) -> String {
        // The next report is about the calls again, unless an upstream reports more.
        if std::mem::take(&mut self.is_news)
            && let Some(said) = &*self.said.borrow()
        {
            return said.to_string();
        }
        let seconds = self.last.duration_since(self.began).as_secs();
        match *self.calls.borrow() {
            CallsSoFar { made: 0, .. } => format!("running for {seconds} s"),
            CallsSoFar { made, ended } => {
                format!("{ended} of {made} upstream calls have ended, running for {seconds} s")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::Raw;
    use ptc_mcp::json::Value;
    use ptc_mcp::message::params::Meta;

    use super::*;

    fn asking(token: &str) -> Option<(ProgressReports, Sources)> {
        let meta = Meta { progress_token: Some(Raw::parse(token).unwrap()), ..Meta::default() };
        ProgressReports::asked_for(&Params { meta, ..Params::default() })
    }

    async fn report(progress: &mut ProgressReports) -> (u64, String) {
        let told: Value = serde_json::from_slice(&progress.next().await).unwrap();
        assert_eq!(told["params"]["progressToken"], "t");
        let number = told["params"]["progress"].as_u64().unwrap();
        (number, told["params"]["message"].as_str().unwrap().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_end_are_told_of_soon_but_not_each() {
        let (mut progress, Sources { calls, upstreams }) = asking("\"t\"").unwrap();
        assert_eq!(report(&mut progress).await, (1, "running for 1 s".into()));
        let began = Instant::now();
        for ended in 0..=7 {
            calls.send_replace(CallsSoFar { made: 10, ended });
        }
        let told = report(&mut progress).await;
        assert_eq!(told, (2, "7 of 10 upstream calls have ended, running for 1 s".into()));
        assert_eq!(began.elapsed(), SHORTEST);
        // Without further events the interval triggers the report.
        let told = report(&mut progress).await;
        assert_eq!(told, (3, "7 of 10 upstream calls have ended, running for 2 s".into()));
        assert_eq!(began.elapsed(), SHORTEST + LONGEST);
        // The progress of an upstream is reported soon, the latest only, and once.
        for far in ["10 %", "40 %: half of it"] {
            upstreams.send_replace(Some(format!("files.index {far}").into()));
        }
        assert_eq!(report(&mut progress).await, (4, "files.index 40 %: half of it".into()));
        assert_eq!(began.elapsed(), SHORTEST * 2 + LONGEST);
        drop((calls, upstreams));
        report(&mut progress).await;
        assert_eq!(began.elapsed(), SHORTEST * 2 + LONGEST * 2);
    }

    #[test]
    fn tokens_are_strings_or_integers_of_some_length() {
        assert!(asking("1").is_some() && asking("\"\"").is_some());
        for unusable in ["1.5", "null", "[1]", "{}", "true", &format!("\"{}\"", "x".repeat(1024))] {
            assert!(asking(unusable).is_none(), "{unusable}");
        }
    }
}
