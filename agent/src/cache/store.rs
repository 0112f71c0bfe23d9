//! The result store.

use super::CacheKey;
use bytes::Bytes;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A result: kept from before, or fresh.
#[derive(Debug, Clone)]
pub(crate) struct Fetched {
    /// The result as JSON.
    pub json: Bytes,
    /// Whether it was there already.
    pub hit: bool,
    /// Why it is not kept for later calls; `None` if it is.
    pub refused: Option<NotKept>,
}

/// Why a result is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotKept {
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
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotKept::TooLarge { bytes, max } => {
                write!(f, "it is {bytes} bytes and this tool may keep {max}; ask for less, or in parts")
            }
            NotKept::Full { bytes, retained, max } => {
                write!(
                    f,
                    "it is {bytes} bytes, and of the {max} that may be kept {retained} are in use; ask for less"
                )
            }
            NotKept::Ambiguous => f.write_str("two of its arguments have the same name but for `-` and `_`"),
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

/// The results of one run, or of a chat that carries them over. A stored result is kept until the end; failures are
/// never stored.
#[derive(Debug, Default)]
pub(crate) struct ToolCache {
    state: Mutex<CacheEntries>,
}

#[derive(Debug, Default)]
struct CacheEntries {
    slots: HashMap<CacheKey, Arc<tokio::sync::Mutex<Option<Bytes>>>>,
    retained: usize,
}

impl ToolCache {
    fn state(&self) -> MutexGuard<'_, CacheEntries> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of JSON that are kept.
    #[must_use]
    pub(crate) fn retained_bytes(&self) -> usize {
        self.state().retained
    }

    /// The result under `key`, or that of `run`, which is kept if the limits allow. Calls that miss at the same time share one execution; if it fails, the next of them tries.
    ///
    /// # Errors
    /// That of `run`.
    pub(crate) async fn fetch<E>(
        &self,
        key: &CacheKey,
        limits: CacheLimits,
        run: impl Future<Output = Result<Bytes, E>>,
    ) -> Result<Fetched, E> {
        let slot = self.state().slots.entry(key.clone()).or_default().clone();
        let mut place = slot.lock().await;
        if let Some(json) = &*place {
            return Ok(Fetched { json: json.clone(), hit: true, refused: None });
        }
        let json = run.await?;
        let refused = self.reserve(json.len(), limits).err();
        if refused.is_none() {
            *place = Some(json.clone());
        }
        Ok(Fetched { json, hit: false, refused })
    }

    fn reserve(&self, bytes: usize, limits: CacheLimits) -> Result<(), NotKept> {
        if let Some(max) = limits.entry.filter(|max| bytes > *max) {
            return Err(NotKept::TooLarge { bytes, max });
        }
        let mut state = self.state();
        let retained = state.retained;
        if let Some(max) = limits.total.filter(|max| retained.saturating_add(bytes) > *max) {
            return Err(NotKept::Full { bytes, retained, max });
        }
        state.retained += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::canonical_key;
    use crate::tool::JsonMap;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn key(name: &str) -> CacheKey {
        canonical_key(name, &JsonMap::new()).unwrap()
    }

    async fn give(text: &'static str) -> Result<Bytes, ()> {
        Ok(Bytes::from(text))
    }

    #[tokio::test]
    async fn failures_are_tried_again_and_successes_kept() {
        let cache = ToolCache::default();
        assert!(cache.fetch(&key("a"), CacheLimits::default(), async { Err(()) }).await.is_err());
        assert!(!cache.fetch(&key("a"), CacheLimits::default(), give("1")).await.unwrap().hit);
        let again = cache.fetch(&key("a"), CacheLimits::default(), give("2")).await.unwrap();
        assert!(again.hit && again.json == "1");
        assert_eq!(cache.retained_bytes(), 1);
    }

    #[tokio::test]
    async fn limits_keep_what_was_promised() {
        let cache = ToolCache::default();
        let total = CacheLimits { total: Some(4), entry: None };
        assert!(cache.fetch(&key("a"), total, give("123")).await.unwrap().refused.is_none());
        let full = cache.fetch(&key("b"), total, give("12")).await.unwrap();
        assert_eq!(full.refused, Some(NotKept::Full { bytes: 2, retained: 3, max: 4 }));
        let small = CacheLimits { entry: Some(0), ..total };
        let large = cache.fetch(&key("c"), small, give("1")).await.unwrap();
        assert_eq!(large.refused, Some(NotKept::TooLarge { bytes: 1, max: 0 }));
        assert!(cache.fetch(&key("a"), total, give("x")).await.unwrap().hit);
    }

    #[tokio::test]
    async fn calls_at_the_same_time_run_once() {
        let cache = ToolCache::default();
        let runs = AtomicU32::new(0);
        let call = || async {
            let run = async {
                runs.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                give("1").await
            };
            cache.fetch(&key("a"), CacheLimits::default(), run).await.unwrap().hit
        };
        let (first, second, third) = tokio::join!(call(), call(), call());
        assert_eq!((first, second, third), (false, true, true));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }
}
