//! What was recorded a moment ago, so that repeats are counted and not recorded.

use std::collections::HashMap;
use std::time::Duration;

use ptc_host::sync::Mutex;
use ptc_host::text::clip;
use ptc_host::time::{self, Instant};

/// Most things that are remembered. Beyond that all are forgotten: there may be a line too many, and none too few.
const MAX_KEYS: usize = 4096;
/// Bytes of a key that are compared.
const MAX_KEY: usize = 512;

/// What happened lately, by a key.
#[derive(Debug, Default)]
pub(super) struct Recently(Mutex<HashMap<Box<str>, Repeats>>);

#[derive(Debug)]
struct Repeats {
    recorded: Instant,
    since: u64,
}

impl Recently {
    /// Whether what has this key is to be recorded, as it was not within `pause`; if so, how often it happened since it was.
    pub(super) fn is_due(&self, key: &str, pause: Duration) -> Option<u64> {
        let (key, now) = (clip(key, MAX_KEY), time::now());
        let mut known = self.0.lock();
        if let Some(repeats) = known.get_mut(key) {
            if now.saturating_duration_since(repeats.recorded) < pause {
                repeats.since += 1;
                return None;
            }
            repeats.recorded = now;
            return Some(std::mem::take(&mut repeats.since));
        }
        if known.len() >= MAX_KEYS {
            known.retain(|_, repeats| now.saturating_duration_since(repeats.recorded) < pause);
        }
        if known.len() >= MAX_KEYS {
            known.clear();
        }
        known.insert(key.into(), Repeats { recorded: now, since: 0 });
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use ptc_host::time::Clock;

    use super::*;

    #[test]
    fn repeats_within_the_pause_are_counted() {
        let clock = Clock::stepped();
        let _entered = clock.enter();
        let (recently, pause) = (Recently::default(), Duration::from_secs(60));
        assert_eq!(recently.is_due("a", pause), Some(0));
        assert_eq!((recently.is_due("a", pause), recently.is_due("b", pause)), (None, Some(0)));
        assert_eq!(recently.is_due("a", pause), None);
        clock.advance(pause);
        assert_eq!((recently.is_due("a", pause), recently.is_due("b", pause)), (Some(2), Some(0)));
    }

    #[test]
    fn any_number_of_keys_costs_bounded_memory() {
        let recently = Recently::default();
        for number in 0..3 * MAX_KEYS {
            assert_eq!(recently.is_due(&number.to_string(), Duration::from_secs(60)), Some(0));
        }
        assert!(recently.0.lock().len() <= MAX_KEYS);
    }
}
