//! The rules for overwriting, for stores within one process.

use std::time::Duration;

use super::lease::{Taken, millis};
use super::{Change, End, StateError, Versioned, Write};

/// A record without its content. Times are milliseconds of the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) version: u64,
    /// Whether it is deleted, and only that is remembered.
    pub(super) is_buried: bool,
    /// The end, however much it is used.
    pub(super) end: Option<u64>,
    /// When it expires unused; never after its end.
    pub(super) expires: Option<u64>,
    /// Bytes of its content.
    pub(super) bytes: u64,
}

impl Head {
    /// Whether it is there at all at that time.
    pub(super) fn is_there(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// The same, used now, with this time to live unused.
    pub(super) fn used(mut self, rest: Option<Duration>, now: u64) -> Self {
        if let Some(rest) = rest {
            self.expires = earlier(Some(now.saturating_add(millis(rest))), self.end);
        }
        self
    }

    /// In the form for readers.
    pub(super) fn told(&self, taken: Option<&Taken>, now: u64) -> Versioned {
        let left = |at: u64| Duration::from_millis(at.saturating_sub(now));
        Versioned {
            version: self.version,
            fence: taken.map_or(0, Taken::fence),
            blob: None,
            ends_in: self.end.map(left),
            expires_in: self.expires.map(left),
            lease: taken.and_then(|taken| taken.lease(now)),
        }
    }
}

/// Whether `write` may be made over the present record, and the record afterwards; `None` for nothing.
pub(super) fn judge(
    there: Option<&Head>,
    taken: Option<&Taken>,
    write: &Write,
    now: u64,
) -> Result<Option<Head>, StateError> {
    let there = there.filter(|head| head.is_there(now));
    let is_buried = there.is_some_and(|head| head.is_buried);
    let found = there.map_or(0, |head| head.version);
    let expected = match &write.change {
        Change::Put { version, .. } => Some(*version),
        Change::Bury { version, .. } | Change::Remove { version } => *version,
    };
    if let Some(expected) = expected {
        if is_buried || (there.is_none() && expected > 0) {
            return Err(StateError::Gone);
        }
        if found != expected {
            return Err(StateError::Conflict);
        }
    }
    if write.fence.is_some_and(|fence| taken.is_none_or(|taken| taken.fence() != fence)) {
        return Err(StateError::Fenced);
    }
    Ok(match &write.change {
        Change::Put { version, blob, rest, end } => {
            let end = match end {
                End::Keep => there.and_then(|head| head.end),
                End::After(time) => Some(now.saturating_add(millis(*time))),
                End::Never => None,
            };
            let rest = rest.map(|rest| now.saturating_add(millis(rest)));
            let expires = earlier(rest, end);
            Some(Head { version: version + 1, is_buried: false, end, expires, bytes: blob.len() as u64 })
        }
        Change::Bury { life, .. } => {
            let expires = Some(now.saturating_add(millis(*life)));
            Some(Head { version: found, is_buried: true, end: expires, expires, bytes: 0 })
        }
        Change::Remove { .. } => None,
    })
}

/// The earlier of two times, of which either may be never.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
