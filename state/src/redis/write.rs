//! One record of a commit, as scripts take it.

use std::time::Duration;

use super::super::Change;
use super::super::lease::millis;
use super::super::names::Name;

/// One record of a commit, by its name.
pub(super) struct Write {
    pub(super) name: Name,
    pub(super) fence: Option<u64>,
    pub(super) keeps_lease: bool,
    pub(super) counts: bool,
    pub(super) change: Change,
}

/// Milliseconds as Lua can count them.
pub(super) fn signed(time: Duration) -> i64 {
    // Beyond 2^53 its numbers are not exact; that is 285 000 years.
    i64::try_from(millis(time)).unwrap_or(i64::MAX).min(1 << 52)
}
