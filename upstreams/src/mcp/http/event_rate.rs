//! How fast a server may talk on a stream that stays open.

use std::time::Duration;

use ptc_base::time::Instant;

/// Events of one stream that are read in any second, comments and blank lines among them. More of them close it.
pub(super) const EVENTS_PER_SECOND: u64 = 1000;

/// The present second of a stream.
#[derive(Debug, Default)]
pub(super) struct EventRate {
    second: Option<(Instant, u64)>,
}

impl EventRate {
    /// Notes `events` that have come `now`. Whether the stream keeps to the rate.
    pub(super) fn admits(&mut self, events: u64, now: Instant) -> bool {
        let (began, had) = match self.second {
            Some(second) if now.saturating_duration_since(second.0) < Duration::from_secs(1) => second,
            _ => (now, 0),
        };
        let had = had.saturating_add(events);
        self.second = Some((began, had));
        had <= EVENTS_PER_SECOND
    }
}

/// Tells the operator of a stream that is closed for it.
pub(super) fn warn_too_fast(upstream: &str) {
    tracing::warn!(upstream, limit = EVENTS_PER_SECOND, "upstream_stream_too_fast: closed for a while");
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::time;

    #[test]
    fn a_stream_has_a_thousand_events_in_each_second() {
        let began = time::now();
        let mut rate = EventRate::default();
        assert!(rate.admits(EVENTS_PER_SECOND, began));
        assert!(!rate.admits(1, began + Duration::from_millis(999)));
        let next = began + Duration::from_secs(1);
        assert!(rate.admits(EVENTS_PER_SECOND, next), "the next second has as many");
        assert!(!rate.admits(1, next));
    }
}
