//! Why a machine cannot be written or read.

use crate::error::Error;
use crate::graph::{DecodeError, EncodeError};
use std::fmt;

/// Why a run cannot leave its process.
#[derive(Clone, Debug)]
pub enum SnapshotError {
    /// Something of it runs still, has not been taken by the host, or is over.
    NotWaiting,
    /// The text of one of its programs was not kept at compilation.
    NoText,
    /// A builtin of this kind cannot be written in the middle of this work.
    Frame(&'static str),
    /// It exceeds a limit of snapshots; the word names the part.
    TooLarge(&'static str),
    /// The restored machine would exceed the program's memory limit: versions of collections share less than before.
    Memory,
    /// The memory of all programs is used up, or there is no time left.
    Refused(Error),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::NotWaiting => f.write_str("the program does not wait"),
            SnapshotError::NoText => f.write_str("the text of a program is not kept"),
            SnapshotError::Frame(kind) => write!(f, "`{kind}` cannot be written in the middle of its work"),
            SnapshotError::TooLarge(what) => write!(f, "the program holds more {what} than a snapshot may"),
            SnapshotError::Memory => {
                f.write_str("the program would take more memory than it may once it is read again")
            }
            SnapshotError::Refused(error) => f.write_str(error.message()),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<EncodeError> for SnapshotError {
    fn from(unwritten: EncodeError) -> SnapshotError {
        match unwritten {
            EncodeError::TooLarge(what) => SnapshotError::TooLarge(what),
            EncodeError::Refused(error) => SnapshotError::Refused(error),
        }
    }
}

/// Why bytes are no machine. The texts are those of waiting.md 2.5.
#[derive(Clone, Debug)]
pub enum RestoreError {
    /// They are not ours, or were changed; the word says which part is wrong.
    Invalid(&'static str),
    /// Another build has written them, or would compile a text to other code.
    OtherBuild,
    /// There is no room for the machine, or no time.
    Refused(Error),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Invalid(part) => write!(f, "invalid snapshot: {part}"),
            RestoreError::OtherBuild => {
                f.write_str("this program was started by another build of ptc; run it again")
            }
            RestoreError::Refused(error) => f.write_str(error.message()),
        }
    }
}

impl std::error::Error for RestoreError {}

impl From<DecodeError> for RestoreError {
    fn from(unread: DecodeError) -> RestoreError {
        match unread {
            DecodeError::Invalid(part) => RestoreError::Invalid(part),
            DecodeError::Refused(error) => RestoreError::Refused(error),
        }
    }
}

impl From<Error> for RestoreError {
    fn from(error: Error) -> RestoreError {
        RestoreError::Refused(error)
    }
}
