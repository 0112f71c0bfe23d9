//! Limits how often the log reports repeated faults of one client.

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::time::Duration;

use ptc_host::text::clip;
use ptc_host::time::{self, Instant};

/// How long a client's lines are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// Lines of one client within that time.
const MOST_LINES: u32 = 10;
/// Most clients that are tracked separately.
const MAX_CLIENTS: usize = 1024;
/// Bytes of a name that are compared.
const MAX_NAME: usize = 128;

/// The lines that clients have left in the current window.
#[derive(Debug, Default)]
pub struct LogBudget(Mutex<HashMap<Box<str>, Lines>>);

#[derive(Debug)]
struct Lines {
    since: Instant,
    told: u32,
    left_out: u64,
}

impl LogBudget {
    /// Whether the next event of `client` is logged; if so, how many of its events before were not.
    pub fn line(&self, client: &str) -> Option<u64> {
        let client = clip(client, MAX_NAME);
        let now = time::now();
        let mut clients = self.0.lock();
        if !clients.contains_key(client) {
            if clients.len() >= MAX_CLIENTS {
                clients.retain(|_, lines| now.saturating_duration_since(lines.since) < WINDOW);
            }
            if clients.len() >= MAX_CLIENTS {
                return None;
            }
            clients.insert(client.into(), Lines { since: now, told: 0, left_out: 0 });
        }
        let lines = clients.get_mut(client)?;
        if now.saturating_duration_since(lines.since) >= WINDOW {
            (lines.since, lines.told) = (now, 0);
        }
        if lines.told == MOST_LINES {
            lines.left_out += 1;
            return None;
        }
        lines.told += 1;
        Some(std::mem::take(&mut lines.left_out))
    }
}

#[cfg(test)]
mod tests {
    use ptc_host::time::Clock;

    use super::*;

    #[test]
    fn a_client_has_ten_lines_in_ten_seconds_and_the_next_one_counts_the_rest() {
        let clock = Clock::stepped();
        let _entered = clock.enter();
        let budget = LogBudget::default();
        let told = (0..1000).filter(|_| budget.line("a").is_some()).count();
        assert_eq!((told, budget.line("b")), (10, Some(0)));
        clock.advance(WINDOW);
        assert_eq!((budget.line("a"), budget.line("a")), (Some(990), Some(0)));
        // New names cost no more memory, and no more lines.
        let told = (0..5000).filter(|n| budget.line(&n.to_string()).is_some()).count();
        assert!(told <= MAX_CLIENTS, "{told}");
    }
}
