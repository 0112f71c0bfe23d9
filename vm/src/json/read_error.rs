//! Why a text was not read.

use crate::error::Error;

/// Why reading stops.
pub(super) enum ReadError {
    /// The text is not JSON.
    NotJson,
    /// The program's limits are reached.
    Limit(Error),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> ReadError {
        ReadError::Limit(error)
    }
}

pub(super) type ReadResult<T> = std::result::Result<T, ReadError>;

/// Deepest nesting of arrays and objects that is read (ruling 10).
pub const MAX_NESTING: usize = 128;
