//! A suspended program that waits for answers, and the faults of one that cannot be resumed.

use crate::questions::PendingQuestion;
use bytes::Bytes;
use std::fmt;

/// A program that was written because it waits for answers.
#[derive(Clone, Debug)]
pub struct Suspended {
    /// The program, for [`Resume`](crate::Resume).
    pub snapshot: Bytes,
    /// The questions that it waits for.
    pub questions: Vec<PendingQuestion>,
}

/// Why bytes cannot be resumed as a program. The texts are those of waiting.md 2.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeFault {
    /// Another build has written them.
    OtherBuild,
    /// They are not ours, or were changed; the word says which part is wrong.
    Invalid(&'static str),
}

impl fmt::Display for ResumeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeFault::OtherBuild => {
                f.write_str("this program was started by another build of ptc; run it again")
            }
            ResumeFault::Invalid(part) => write!(f, "invalid snapshot: {part}"),
        }
    }
}

impl std::error::Error for ResumeFault {}
