//! Time and size limits of a model's response.

use std::time::Duration;

/// Time limits of one request, each with its own message, and the largest answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// Name, TCP and TLS, where no connection is open; 10 s.
    pub connect: Duration,
    /// From the request to the head of the answer; 120 s. Without streaming that is nearly the whole time of the model.
    pub first_byte: Duration,
    /// Between two pieces of an answer; 120 s.
    pub idle: Duration,
    /// From the request to the end of the answer; 600 s.
    pub total: Duration,
    /// Bytes of the answer on the wire; 16 MiB.
    pub max_bytes: usize,
}

/// The value for "no limit": times that are added to a clock must fit it.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

impl TimeLimits {
    /// These limits, none longer than a year.
    pub(super) fn finite(self) -> TimeLimits {
        TimeLimits {
            connect: self.connect.min(LONGEST),
            first_byte: self.first_byte.min(LONGEST),
            idle: self.idle.min(LONGEST),
            total: self.total.min(LONGEST),
            max_bytes: self.max_bytes,
        }
    }
}

impl Default for TimeLimits {
    fn default() -> TimeLimits {
        TimeLimits {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(600),
            max_bytes: 16 << 20,
        }
    }
}
