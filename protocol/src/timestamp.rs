//! The current time, and timestamps as clients and operators read them.

use jiff::Timestamp;
use ptc_host::state::time_of_day;
use ptc_host::time;

/// The time of day on this machine.
pub fn now() -> Timestamp {
    // A clock beyond the range of a calendar is as wrong as one of 1970.
    Timestamp::try_from(time::time_of_day()).unwrap_or_default()
}

/// The time of day in milliseconds since 1970, for readers of records at any replica: nothing expires by it.
pub fn shared_now_ms() -> i64 {
    i64::try_from(time_of_day()).unwrap_or(i64::MAX)
}

/// ISO 8601 in UTC, with six digits of the second: `2026-01-31T12:00:00.000000Z`.
pub fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The same for milliseconds since 1970; `None` beyond the range of a calendar.
pub fn of_millis(at_ms: i64) -> Option<String> {
    Timestamp::from_millisecond(at_ms).ok().map(instant)
}
