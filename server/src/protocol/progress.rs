//! `notifications/progress`: reports on a running program, for a client that asked for them.
//!
//! A report is sent every second while the program runs, and sooner when upstream calls have ended, but never more
//! often than [`SHORTEST`]. The number increases from report to report, as the protocol requires.

use std::time::Duration;

use ptc_host::engine::CallsSoFar;
use ptc_mcp::json::Kind;
use ptc_mcp::message::params::Params;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::reply;

/// Interval of the reports on a program that waits or computes.
const LONGEST: Duration = Duration::from_secs(1);
/// Minimum interval of the reports on calls that have ended.
const SHORTEST: Duration = Duration::from_millis(100);
/// Longest token under which progress is reported, as JSON, in bytes: every report repeats it.
const MAX_TOKEN_BYTES: usize = 1024;

/// The reports of one call.
#[derive(Debug)]
pub struct Progress {
    /// JSON of the token to report under.
    token: String,
    calls: watch::Receiver<CallsSoFar>,
    began: Instant,
    last: Instant,
    reports: u64,
}

impl Progress {
    /// The reports that a request asks for, and the counter for its calls. `None` without a usable token: a string or
    /// an integer within the length limit.
    pub(crate) fn asked_for(params: &Params<'_>) -> Option<(Progress, watch::Sender<CallsSoFar>)> {
        let raw = params.meta.progress_token?;
        if raw.text().len() > MAX_TOKEN_BYTES || !matches!(raw.kind(), Kind::String | Kind::Integer) {
            return None;
        }
        let (sender, calls) = watch::channel(CallsSoFar::default());
        let now = Instant::now();
        Some((Progress { token: raw.text().to_owned(), calls, began: now, last: now, reports: 0 }, sender))
    }

    /// Waits until there is something to report, and returns the notification. May be dropped while it waits.
    pub async fn next(&mut self) -> Vec<u8> {
        let mut due = self.last + LONGEST;
        let mut told_off = false;
        loop {
            tokio::select! {
                () = sleep_until(due) => break,
                changed = self.calls.changed(), if !told_off => match changed {
                    Ok(()) if self.calls.borrow_and_update().ended > 0 => due = due.min(self.last + SHORTEST),
                    Ok(()) => {}
                    // The program has ended; its answer is on its way.
                    Err(_) => told_off = true,
                },
            }
        }
        self.last = Instant::now();
        self.reports += 1;
        reply::progress(&self.token, self.reports, &self.message())
    }

    fn message(&self) -> String {
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

    fn asking(token: &str) -> Option<(Progress, watch::Sender<CallsSoFar>)> {
        let meta = Meta { progress_token: Some(Raw::parse(token).unwrap()), ..Meta::default() };
        Progress::asked_for(&Params { meta, ..Params::default() })
    }

    async fn report(progress: &mut Progress) -> (u64, String) {
        let told: Value = serde_json::from_slice(&progress.next().await).unwrap();
        assert_eq!(told["params"]["progressToken"], "t");
        let number = told["params"]["progress"].as_u64().unwrap();
        (number, told["params"]["message"].as_str().unwrap().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_end_are_told_of_soon_but_not_each() {
        let (mut progress, calls) = asking("\"t\"").unwrap();
        assert_eq!(report(&mut progress).await, (1, "running for 1 s".into()));
        let began = Instant::now();
        for ended in 0..=7 {
            calls.send_replace(CallsSoFar { made: 10, ended });
        }
        let told = report(&mut progress).await;
        assert_eq!(told, (2, "7 of 10 upstream calls have ended, running for 1 s".into()));
        assert_eq!(began.elapsed(), SHORTEST);
        // Without further news it is the clock's turn again.
        let told = report(&mut progress).await;
        assert_eq!(told, (3, "7 of 10 upstream calls have ended, running for 2 s".into()));
        assert_eq!(began.elapsed(), SHORTEST + LONGEST);
        drop(calls);
        report(&mut progress).await;
        assert_eq!(began.elapsed(), SHORTEST + LONGEST * 2);
    }

    #[test]
    fn tokens_are_strings_or_integers_of_some_length() {
        assert!(asking("1").is_some() && asking("\"\"").is_some());
        for unusable in ["1.5", "null", "[1]", "{}", "true", &format!("\"{}\"", "x".repeat(1024))] {
            assert!(asking(unusable).is_none(), "{unusable}");
        }
    }
}
