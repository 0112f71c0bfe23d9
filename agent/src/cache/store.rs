//! The result store.

use super::CacheKey;
use super::results::{CacheError, CacheLimits, KeptResults, refused};
use bytes::Bytes;
use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

/// A result: kept from before, or fresh.
#[derive(Debug, Clone)]
pub(crate) struct CachedResult {
    /// The result as JSON.
    pub json: Bytes,
    /// Whether it was there already.
    pub hit: bool,
    /// Why it is not kept for later calls; `None` if it is.
    pub refused: Option<CacheError>,
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
    upstream: KeptResults,
}

impl ToolCache {
    fn state(&self) -> MutexGuard<'_, CacheEntries> {
        self.state.lock()
    }

    /// Bytes of JSON that are kept.
    #[must_use]
    pub(crate) fn retained_bytes(&self) -> usize {
        let state = self.state();
        state.retained + state.upstream.bytes()
    }

    /// Keeps a result of an upstream tool in the place of an earlier one.
    ///
    /// # Errors
    /// Why it is not kept; nor is the earlier one then.
    pub(crate) fn keep(&self, key: CacheKey, json: Bytes, limits: CacheLimits) -> Result<(), CacheError> {
        let mut state = self.state();
        let others = state.retained;
        state.upstream.put(key, json, limits, others)
    }

    /// The result of an upstream tool that is kept.
    pub(crate) fn kept(&self, key: &CacheKey) -> Option<Bytes> {
        self.state().upstream.get(key)
    }

    /// Drops the kept result of an upstream tool: the model has read a newer one.
    pub(crate) fn forget(&self, key: &CacheKey) {
        self.state().upstream.forget(key);
    }

    /// Forgets all results of upstream tools: a new run begins.
    pub(crate) fn forget_upstreams(&self) {
        self.state().upstream.clear();
    }

    /// The result under `key`, or that of `run`, which is kept if the limits allow and `keeps` still says so then. Calls that
    /// miss at the same time share one execution; if it fails, the next of them tries.
    ///
    /// # Errors
    /// That of `run`.
    pub(crate) async fn fetch<E>(
        &self,
        key: &CacheKey,
        limits: CacheLimits,
        keeps: &AtomicBool,
        run: impl Future<Output = Result<Bytes, E>>,
    ) -> Result<CachedResult, E> {
        let slot = self.state().slots.entry(key.clone()).or_default().clone();
        let mut place = slot.lock().await;
        if let Some(json) = &*place {
            return Ok(CachedResult { json: json.clone(), hit: true, refused: None });
        }
        let json = run.await?;
        let refused = match keeps.load(Ordering::Relaxed) {
            true => self.reserve(json.len(), limits).err(),
            false => Some(CacheError::Declined),
        };
        if refused.is_none() {
            *place = Some(json.clone());
        }
        Ok(CachedResult { json, hit: false, refused })
    }

    fn reserve(&self, bytes: usize, limits: CacheLimits) -> Result<(), CacheError> {
        let mut state = self.state();
        refused(bytes, limits, state.retained + state.upstream.bytes())?;
        state.retained += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::canonical_key;
    use crate::tool::JsonMap;
    use std::sync::atomic::AtomicU32;

    static KEEPS: AtomicBool = AtomicBool::new(true);

    fn key(name: &str) -> CacheKey {
        canonical_key(name, &JsonMap::new()).unwrap()
    }

    async fn give(text: &'static str) -> Result<Bytes, ()> {
        Ok(Bytes::from(text))
    }

    #[tokio::test]
    async fn failures_are_tried_again_and_successes_kept() {
        let cache = ToolCache::default();
        assert!(cache.fetch(&key("a"), CacheLimits::default(), &KEEPS, async { Err(()) }).await.is_err());
        assert!(!cache.fetch(&key("a"), CacheLimits::default(), &KEEPS, give("1")).await.unwrap().hit);
        let again = cache.fetch(&key("a"), CacheLimits::default(), &KEEPS, give("2")).await.unwrap();
        assert!(again.hit && again.json == "1");
        assert_eq!(cache.retained_bytes(), 1);
    }

    #[tokio::test]
    async fn limits_keep_what_was_promised() {
        let cache = ToolCache::default();
        let total = CacheLimits { total: Some(4), entry: None };
        assert!(cache.fetch(&key("a"), total, &KEEPS, give("123")).await.unwrap().refused.is_none());
        let full = cache.fetch(&key("b"), total, &KEEPS, give("12")).await.unwrap();
        assert_eq!(full.refused, Some(CacheError::Full { bytes: 2, retained: 3, max: 4 }));
        let small = CacheLimits { entry: Some(0), ..total };
        let large = cache.fetch(&key("c"), small, &KEEPS, give("1")).await.unwrap();
        assert_eq!(large.refused, Some(CacheError::TooLarge { bytes: 1, max: 0 }));
        assert!(cache.fetch(&key("a"), total, &KEEPS, give("x")).await.unwrap().hit);
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
            cache.fetch(&key("a"), CacheLimits::default(), &KEEPS, run).await.unwrap().hit
        };
        let (first, second, third) = tokio::join!(call(), call(), call());
        assert_eq!((first, second, third), (false, true, true));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_result_that_its_tool_declines_is_not_kept() {
        let cache = ToolCache::default();
        let declined = AtomicBool::new(false);
        let first = cache.fetch(&key("a"), CacheLimits::default(), &declined, give("1")).await.unwrap();
        assert_eq!((first.refused, cache.retained_bytes()), (Some(CacheError::Declined), 0));
        assert!(!cache.fetch(&key("a"), CacheLimits::default(), &KEEPS, give("2")).await.unwrap().hit);
    }

    #[test]
    fn results_of_upstreams_are_replaced_and_count() {
        let cache = ToolCache::default();
        let limits = CacheLimits { total: Some(4), entry: Some(3) };
        cache.keep(key("a"), Bytes::from("1"), limits).unwrap();
        cache.keep(key("a"), Bytes::from("123"), limits).unwrap();
        assert_eq!((cache.kept(&key("a")), cache.retained_bytes()), (Some("123".into()), 3));
        let full = CacheError::Full { bytes: 2, retained: 3, max: 4 };
        assert_eq!(cache.keep(key("b"), Bytes::from("12"), limits), Err(full));
        assert_eq!(
            cache.keep(key("a"), Bytes::from("1234"), limits),
            Err(CacheError::TooLarge { bytes: 4, max: 3 })
        );
        assert_eq!(
            (cache.kept(&key("a")), cache.retained_bytes()),
            (None, 0),
            "it is not what was read last"
        );
        cache.keep(key("a"), Bytes::from("1"), limits).unwrap();
        cache.keep(key("b"), Bytes::from("1"), limits).unwrap();
        cache.forget(&key("a"));
        assert_eq!(cache.retained_bytes(), 1);
        cache.forget_upstreams();
        assert_eq!((cache.kept(&key("b")), cache.retained_bytes()), (None, 0));
    }
}
