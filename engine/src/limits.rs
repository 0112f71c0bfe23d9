//! Resource limits of a program.

use std::time::Duration;

/// The resource limits of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock from its first step, waiting on upstreams included.
    pub timeout: Duration,
    /// Bytes of live values.
    pub memory_bytes: u64,
    /// Steps; see [`Limits::steps_for`].
    pub steps: u64,
    /// Bytes of program text.
    pub program_bytes: usize,
}

/// Chosen values of [`Limits`]; the others have their defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChosenLimits {
    /// Wall clock.
    pub timeout: Option<Duration>,
    /// Bytes of live values.
    pub memory_bytes: Option<u64>,
    /// Steps.
    pub steps: Option<u64>,
    /// Bytes of program text.
    pub program_bytes: Option<usize>,
}

impl Limits {
    /// The limits that were chosen, with or without upstreams. Steps follow the time, unless they were chosen as well.
    pub fn with(chosen: ChosenLimits, upstreams: bool) -> Limits {
        let defaults = if upstreams { Limits::aggregator() } else { Limits::plain() };
        let timeout = chosen.timeout.unwrap_or(defaults.timeout);
        Limits {
            timeout,
            memory_bytes: chosen.memory_bytes.unwrap_or(defaults.memory_bytes),
            steps: chosen.steps.unwrap_or_else(|| Limits::steps_for(timeout)),
            program_bytes: chosen.program_bytes.unwrap_or(defaults.program_bytes),
        }
    }

    /// Steps that a program of this time limit gets by default (ruling 4), so that a runaway loop is stopped by
    /// steps, which are the same on every run, and not by the clock.
    pub fn steps_for(timeout: Duration) -> u64 {
        25_000_000u64.saturating_mul(whole_millis(timeout)) / 1000
    }

    /// The time limit in whole milliseconds, as error texts name it.
    pub(super) fn timeout_ms(&self) -> u64 {
        whole_millis(self.timeout)
    }

    /// The defaults without upstreams (ruling 5): 1 s, 10 MiB, 65 536 program bytes.
    pub fn plain() -> Limits {
        let timeout = Duration::from_secs(1);
        Limits { timeout, memory_bytes: 10 << 20, steps: Limits::steps_for(timeout), program_bytes: 65_536 }
    }

    /// The defaults with upstreams: 10 s, 100 MiB, 65 536 program bytes.
    pub fn aggregator() -> Limits {
        let timeout = Duration::from_secs(30);
        Limits { timeout, memory_bytes: 100 << 20, steps: Limits::steps_for(timeout), program_bytes: 65_536 }
    }
}

/// A duration in nanoseconds; the largest number for one that has more.
pub(super) fn whole_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A duration in whole milliseconds; the largest number for one that has more.
pub fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
