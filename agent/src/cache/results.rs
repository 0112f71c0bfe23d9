//! Kept results of upstream tools (agent.md 8.9).

use super::CacheKey;
use bytes::Bytes;
use std::collections::HashMap;
use std::fmt;

/// Results of upstream tools of which the model has read a preview, each until the model makes the same call again or the run
/// ends. Unlike those of app tools they are replaced: an upstream's world changes, and a result that the model was not promised
/// is requested again.
#[derive(Debug, Default)]
pub(crate) struct KeptResults {
    results: HashMap<CacheKey, Bytes>,
    bytes: usize,
}

impl KeptResults {
    /// Keeps a result in the place of an earlier one. `others` are the bytes that are kept elsewhere.
    ///
    /// # Errors
    /// The limits do not allow it. The earlier result is removed all the same: it is no longer the one the model read last.
    pub(super) fn put(
        &mut self,
        key: CacheKey,
        json: Bytes,
        limits: CacheLimits,
        others: usize,
    ) -> Result<(), CacheError> {
        self.forget(&key);
        refused(json.len(), limits, others.saturating_add(self.bytes))?;
        self.bytes += json.len();
        self.results.insert(key, json);
        Ok(())
    }

    pub(super) fn get(&self, key: &CacheKey) -> Option<Bytes> {
        self.results.get(key).cloned()
    }

    pub(super) fn forget(&mut self, key: &CacheKey) {
        if let Some(old) = self.results.remove(key) {
            self.bytes -= old.len();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = KeptResults::default();
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Why a result is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheError {
    /// It is larger than its tool may keep.
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// All results together would be larger than may be kept.
    Full {
        /// Its size.
        bytes: usize,
        /// Bytes that are kept already.
        retained: usize,
        /// The limit.
        max: usize,
    },
    /// Two of its arguments have the same name once `-` and `_` are one.
    Ambiguous,
    /// Its tool said so.
    Declined,
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheError::TooLarge { bytes, max } => {
                write!(f, "it is {bytes} bytes and this tool may keep {max}; ask for less, or in parts")
            }
            CacheError::Full { bytes, retained, max } => {
                write!(
                    f,
                    "it is {bytes} bytes, and of the {max} that may be kept {retained} are in use; ask for less"
                )
            }
            CacheError::Declined => f.write_str("a program's call gives more than this"),
            CacheError::Ambiguous => {
                f.write_str("two of its arguments have the same name but for `-` and `_`")
            }
        }
    }
}

/// The size limits of kept results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheLimits {
    /// Bytes of JSON of one result.
    pub entry: Option<usize>,
    /// Bytes of JSON of all results.
    pub total: Option<usize>,
}

/// Whether limits keep a result out, where `retained` bytes are kept already.
pub(super) fn refused(bytes: usize, limits: CacheLimits, retained: usize) -> Result<(), CacheError> {
    if let Some(max) = limits.entry.filter(|max| bytes > *max) {
        return Err(CacheError::TooLarge { bytes, max });
    }
    match limits.total.filter(|max| retained.saturating_add(bytes) > *max) {
        Some(max) => Err(CacheError::Full { bytes, retained, max }),
        None => Ok(()),
    }
}
