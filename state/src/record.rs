//! The read side of records.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::Kind;

/// The current state of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// One more with each commit, from 1 on; 0 for a record that was claimed before there was one.
    pub version: u64,
    /// The fence of the last lease; 0 if there was none.
    pub fence: u64,
    /// Its content. `None` if the claim named this version as known, or there is none yet.
    pub blob: Option<Bytes>,
    /// Time until its end, independent of its use; `None` if it has none.
    pub ends_in: Option<Duration>,
    /// Time until it expires unused; `None` if it stays.
    pub expires_in: Option<Duration>,
    /// Its current lease, if there is one.
    pub lease: Option<Lease>,
}

/// A lease that has not run out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The replica that holds it.
    pub holder: Arc<str>,
    /// Time until it runs out, by the store's clock.
    pub left: Duration,
}

/// How a record is taken for a while (state.md 4.2): one round trip reads it, leases it and counts as a use of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The replica that leases it.
    pub holder: Arc<str>,
    /// For how long.
    pub lease: Duration,
    /// Time to live unused, from now on; `None` leaves it unchanged. It never exceeds the record's end.
    pub rest: Option<Duration>,
    /// The version whose content the holder has, which is then not sent. 0 for none.
    pub known: u64,
    /// Whether a record that does not exist is leased too: no other holder can then create it meanwhile.
    pub creates: bool,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// There is no such record.
    Absent,
    /// Another holder has it; nothing was changed.
    Held(Lease),
    /// It is taken. [`Versioned::fence`] is the fence of the lease.
    Taken(Versioned),
}

/// A record of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The owner's name in this store: 32 hex digits of a digest, or in memory the principal itself.
    pub owner: Arc<str>,
    /// The conversation's name in this store, if the owner is one.
    pub conversation: Option<Arc<str>>,
    /// The kind.
    pub kind: Kind,
    /// Its id.
    pub id: Arc<str>,
    /// Its version.
    pub version: u64,
    /// Bytes of its content, as they lie in the store.
    pub bytes: u64,
    /// Time until it expires unused; `None` if it stays.
    pub expires_in: Option<Duration>,
    /// Its current lease, if there is one.
    pub lease: Option<Lease>,
}
