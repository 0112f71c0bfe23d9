//! Formats times for people: `52 min`, `2 h ago`.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A length of time in its largest whole unit; hours until there are two days.
pub(super) fn span(length: Duration) -> String {
    match length.as_secs() {
        seconds @ ..MINUTE => format!("{seconds} s"),
        seconds @ ..HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

/// A moment relative to another, both in Unix seconds.
pub(super) fn from(now: u64, then: u64) -> String {
    let length = span(Duration::from_secs(now.abs_diff(then)));
    if then > now { format!("in {length}") } else { format!("{length} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_in_their_largest_whole_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (2 * 86_400 - 1, "47 h"),
            (2 * 86_400, "2 d"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
        assert_eq!(from(1000, 1000 + 52 * 60), "in 52 min");
        assert_eq!(from(10_000, 10_000 - 7200), "2 h ago");
    }
}
