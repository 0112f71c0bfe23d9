//! The limits that a program sets itself.

use std::time::Duration;

use ptc_host::engine::Limits;

/// Limits of a program's head. They hold within those of the server, whichever is lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramLimits {
    /// `:timeout-ms`
    pub timeout: Option<Duration>,
    /// `:steps`
    pub steps: Option<u64>,
    /// `:memory-bytes`
    pub memory_bytes: Option<u64>,
    /// `:calls`: upstream calls.
    pub calls: Option<u32>,
}

impl ProgramLimits {
    /// These limits within those of a server.
    #[must_use]
    pub fn within(&self, server: Limits) -> Limits {
        let least = |own: Option<u64>, most: u64| own.map_or(most, |own| own.min(most));
        Limits {
            timeout: self.timeout.map_or(server.timeout, |own| own.min(server.timeout)),
            steps: least(self.steps, server.steps),
            memory_bytes: least(self.memory_bytes, server.memory_bytes),
            ..server
        }
    }
}
