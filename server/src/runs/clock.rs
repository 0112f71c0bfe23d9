//! The time of day, for whoever reads a record at any replica: nothing ends by it.

use ptc_host::state::time_of_day;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    i64::try_from(time_of_day()).unwrap_or(i64::MAX)
}
