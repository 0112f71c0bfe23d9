//! The time of day, for whoever reads a record: nothing ends by it.

use jiff::Timestamp;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
