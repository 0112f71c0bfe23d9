//! Kept results of upstream tools (agent.md 8.9).

use super::CacheKey;
use super::store::{CacheError, CacheLimits, refused};
use bytes::Bytes;
use std::collections::HashMap;

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
