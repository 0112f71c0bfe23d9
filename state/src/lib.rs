//! State that outlives a request or a process, and how processes share it (state.md).
//!
//! * [`StateStore`] — the trait of all back ends: versioned records under an [`Owner`], leases with fences, ids that are spent
//!   once, inboxes, and announcements between replicas.
//! * [`MemoryState`] — the back end without a disk or a server: gone with the process.
//! * [`WatchedState`] — counts a store's operations, and pauses them while it is down.
//! * [`Commit`], [`Claim`] — writes, all or nothing; how a record is leased.
//! * [`Secret`], [`Seals`], [`SealedState`] — the operator's secret, and what is sealed with it.
//!
//! Blobs are bytes to a store. Their format, and whether it can still be read, is the matter of their writer.

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod change;
mod changes;
mod clock;
mod error;
mod key;
mod lease;
mod memory;
mod names;
mod record;
#[cfg(feature = "stores")]
mod redb;
#[cfg(feature = "stores")]
mod redis;
mod replica;
mod rows;
mod sealed;
mod shared_time;
mod store;
mod tally;
mod watched;

pub use change::{Change, Commit, End, Write};
pub use clock::StoreClock;
pub use error::StateError;
pub use key::{BadId, Key, Kind, MAX_ID, Owner, is_id};
pub use memory::MemoryState;
pub use ptc_secret::sealing::{NotOpened, Seals, Secret, SecretError};
pub use record::{Claim, Claimed, Lease, Listed, Versioned};
#[cfg(feature = "stores")]
pub use redb::{Flushing, RedbError, RedbOptions, RedbState};
#[cfg(feature = "stores")]
pub use redis::{RedisAddressError, RedisOptions, RedisState};
pub use replica::{News, Replica};
pub use sealed::SealedState;
pub use shared_time::{follow_store, store_time, time_of_day, time_of_day_by};
pub use store::{Answer, Room, StateStore, StoreLimits, TOMBSTONE_LIFE};
pub use watched::{OperationFigures, WatchedState};
