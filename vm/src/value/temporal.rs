//! Dates, instants and durations (language.md 2.8).

/// A point or span of time as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Temporal {
    /// A calendar day, in days since 1970-01-01.
    Date(i64),
    /// A UTC instant.
    Instant {
        /// Microseconds since 1970-01-01T00:00:00Z.
        micros: i64,
        /// Fraction digits to print, 0 to 6: as many as the value was given with.
        digits: u8,
    },
    /// A span in milliseconds.
    Duration(i64),
}
