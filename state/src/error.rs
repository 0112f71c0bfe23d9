//! Errors of a store.

/// Errors of a store. Nothing of a [`Commit`](super::Commit) that failed has been written, except for
/// [`StateError::Unavailable`]: a lost answer does not say whether it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The record has been changed concurrently: its version is not the expected one.
    #[error("the record was changed by somebody else")]
    Conflict,
    /// Another holder has taken the record: the fence is no longer that of its lease.
    #[error("the record was taken by somebody else")]
    Fenced,
    /// The record has been deleted or has expired.
    #[error("the record was deleted or has expired")]
    Gone,
    /// The owner's records would take more bytes than an owner may have.
    #[error("the owner's records would take more bytes than they may")]
    Full,
    /// The store cannot be reached, refuses, or does not answer in time; its words.
    #[error("the state store is unavailable: {0}")]
    Unavailable(String),
    /// The record is not ours, is that of another key, or no secret at hand opens it. It counts as absent.
    #[error("the record cannot be opened")]
    Corrupt,
}
