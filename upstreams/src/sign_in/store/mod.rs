//! The store of sign-ins (auth.md 7): records under keys, each with its own lock that holds across processes.
//!
//! * [`AuthStore`] — read, lock, write, delete, list.
//! * [`FileStore`] — a file a record below the state folder, sealed if there is a key.
//! * [`SharedStore`] — rows of a store of state, for several machines.
//! * [`MemoryStore`] — for tests and embedders: gone with the process.

mod envelope;
mod file;
mod memory;
mod shared;
#[cfg(test)]
mod tests;

pub use file::FileStore;
pub use memory::MemoryStore;
pub use ptc_secret::sealing::SealingKeys;
pub use shared::SharedStore;

use std::any::Any;
use std::fmt;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use ptc_secret::digest::hex_digest;
use ptc_secret::private_folder::PrivateFault;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// The tokens of a principal at an upstream.
    Token,
    /// A registration with an authorization server.
    Client,
    /// Which tokens an upstream and a principal use.
    Binding,
    /// A sign-in that a person has begun.
    Pending,
}

impl RecordKind {
    /// Its word, which its files begin with.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Client => "client",
            Self::Binding => "binding",
            Self::Pending => "pending",
        }
    }
}

/// The name of a record: its kind, and the parts of its key. Neither a redirect port of tokens nor a version of ours is among
/// them: an upgrade must not invalidate sign-ins.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RecordKey {
    kind: RecordKind,
    parts: Vec<String>,
}

/// The key of a pending sign-in is a secret.
impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

impl RecordKey {
    /// The key of these tokens. `upstream` is the name of the entry: two entries may be two accounts at one server.
    pub fn token(upstream: &str, issuer: &str, client_id: &str, resource: &str, principal: &str) -> Self {
        Self::new(RecordKind::Token, &[upstream, issuer, client_id, resource, principal])
    }

    /// The key of a registration for these redirect URIs.
    pub fn client<'u>(issuer: &'u str, redirect_uris: impl IntoIterator<Item = &'u str>) -> Self {
        let mut parts = vec![issuer];
        parts.extend(redirect_uris);
        Self::new(RecordKind::Client, &parts)
    }

    /// The key of the binding of an upstream and a principal. An entry of the same name and another URL is another upstream.
    pub fn binding(upstream: &str, url: &str, principal: &str) -> Self {
        Self::new(RecordKind::Binding, &[upstream, url, principal])
    }

    /// The key of a sign-in that was begun with this `state`.
    pub fn pending(state: &str) -> Self {
        Self::new(RecordKind::Pending, &[state])
    }

    fn new(kind: RecordKind, parts: &[&str]) -> Self {
        Self { kind, parts: parts.iter().map(|part| (*part).to_owned()).collect() }
    }

    /// The kind of its record.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// `kind-` and 32 hex digits.
    fn name(&self) -> String {
        format!("{}-{}", self.kind.as_str(), hex_digest(&self.parts.join("\0"), 32))
    }

    /// The associated data that a seal binds a record to.
    fn associated_data(&self) -> Vec<u8> {
        format!("{}\0{}", self.kind.as_str(), self.parts.join("\0")).into_bytes()
    }
}

/// The text of a record: JSON that may hold secrets.
pub type RecordText = Zeroizing<String>;

/// A record of a listing.
pub struct RecordSummary {
    /// Its key.
    pub key: RecordKey,
    /// Its text, or why it cannot be read.
    pub text: Result<RecordText, StoreError>,
}

/// The text is secret.
impl fmt::Debug for RecordSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordSummary").field(&self.key).field(&self.text.as_ref().err()).finish()
    }
}

/// Why the store refuses or fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No key at hand opens the record. It counts as absent, and only a new sign-in overwrites it.
    #[error("sealed_with_another_key")]
    SealedWithAnotherKey,
    /// The file or folder could be read or changed by others.
    #[error("{path} must belong to you and have mode {mode}")]
    Exposed {
        /// Which.
        path: String,
        /// The mode that it must have, for instance `0600`.
        mode: &'static str,
    },
    /// Another process has held the lock for too long.
    #[error("the sign-in is in use by another process")]
    Busy,
    /// The operating system refuses.
    #[error("{path}: {error}")]
    Io {
        /// Which file.
        path: String,
        /// Its words.
        error: String,
    },
    /// The file is not ours.
    #[error("{path} is no record of a sign-in")]
    Malformed {
        /// Which.
        path: String,
    },
    /// The guard is that of another record.
    #[error("the lock is that of another record")]
    OtherLock,
}

impl From<PrivateFault> for StoreError {
    fn from(fault: PrivateFault) -> StoreError {
        match fault {
            PrivateFault::Exposed { path, mode } => StoreError::Exposed { path, mode },
            PrivateFault::Busy { .. } => StoreError::Busy,
            PrivateFault::Io { path, error } => StoreError::Io { path, error },
            PrivateFault::TooLarge { path } => StoreError::Malformed { path },
        }
    }
}

/// The lock of one record. It is released when it is dropped, and by the operating system when the process dies.
pub struct Guard {
    key: RecordKey,
    held: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.key).finish()
    }
}

impl Guard {
    /// A guard for `key`, for as long as `held` is.
    pub fn new(key: RecordKey, held: impl Any + Send + Sync) -> Self {
        Self { key, held: Box::new(held) }
    }

    /// Its content, if that is a `T`.
    fn held<T: 'static>(&self) -> Option<&T> {
        self.held.downcast_ref()
    }

    /// The locked key.
    pub fn key(&self) -> &RecordKey {
        &self.key
    }
}

/// How records lie in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// As plain JSON, which the mode of the files protects.
    Plain,
    /// Encrypted.
    Sealed,
    /// In the memory of this process.
    Memory,
}

impl Protection {
    /// As `ptc auth` shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sealed => "sealed",
            Self::Memory => "memory",
        }
    }
}

/// A store of sign-ins. A process keeps one for its life and never falls back to another.
///
/// None of its operations blocks the runtime.
pub trait AuthStore: Send + Sync {
    /// The record under `key`, if there is one.
    ///
    /// # Errors
    /// It cannot be read or opened.
    fn read<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Option<RecordText>, StoreError>>;

    /// Waits for the lock of `key`, at most 30 s.
    ///
    /// # Errors
    /// [`StoreError::Busy`], or the lock cannot be acquired at all.
    fn lock<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Guard, StoreError>>;

    /// Writes the record whose lock is held. When this resolves it survives the loss of power.
    ///
    /// # Errors
    /// It cannot be written; the record of before is untouched then.
    fn write<'a>(&'a self, guard: &'a Guard, text: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes the record whose lock is held, if there is one.
    ///
    /// # Errors
    /// It cannot be deleted.
    fn delete<'a>(&'a self, guard: &'a Guard) -> BoxFuture<'a, Result<(), StoreError>>;

    /// All records of a kind, in no order. Pending sign-ins are not listed: their keys are secrets.
    ///
    /// # Errors
    /// The store cannot be read at all; a record that cannot be is listed with its own error.
    fn list(&self, kind: RecordKind) -> BoxFuture<'_, Result<Vec<RecordSummary>, StoreError>>;

    /// How records lie in it.
    fn protection(&self) -> Protection;
}
