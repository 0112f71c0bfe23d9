//! Why a store does not do what it is asked for.

/// Why a store does not do what it is asked for. Nothing of a [`Commit`](super::Commit) that failed has been written, but for
/// [`StateError::Unavailable`]: an answer that was lost does not say whether it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Somebody else has changed the record: its version is not the one that was expected.
    #[error("the record was changed by somebody else")]
    Conflict,
    /// Somebody else has taken the record: the fence is not the one of its lease any more.
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
    /// The record is none of ours, is that of another key, or no secret at hand opens it. It counts as absent.
    #[error("the record cannot be opened")]
    Corrupt,
}
