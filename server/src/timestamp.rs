//! Points in time as clients and operators read them.

use jiff::Timestamp;

/// ISO 8601 in UTC, with six digits of the second: `2026-01-31T12:00:00.000000Z`.
pub(crate) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The same of milliseconds since 1970; `None` beyond what a calendar has.
pub(crate) fn of_millis(at_ms: i64) -> Option<String> {
    Timestamp::from_millisecond(at_ms).ok().map(instant)
}
