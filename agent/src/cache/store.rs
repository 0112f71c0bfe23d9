//! Where results are kept.

use super::CacheKey;
use bytes::Bytes;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A result: kept from before, or fresh.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The result as JSON.
    pub json: Bytes,
    /// Whether it was there already.
    pub hit: bool,
    /// Whether it is kept for later calls.
    pub kept: bool,
}

/// The results of one run. Nothing that was kept is dropped before the run ends; failures are never kept.
#[derive(Debug, Default)]
pub struct ToolCache {
    state: Mutex<State>,
    limit: Option<usize>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<CacheKey, Arc<tokio::sync::Mutex<Option<Bytes>>>>,
    retained: usize,
}

impl ToolCache {
    /// An empty cache that keeps at most `limit` bytes of JSON.
    #[must_use]
    pub fn new(limit: Option<usize>) -> ToolCache {
        ToolCache { state: Mutex::default(), limit }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of JSON that are kept.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        self.state().retained
    }

    /// The result under `key`, or that of `run`, which is kept if it is at most `max_bytes` long and the cache has
    /// room. Calls that miss at the same time share one execution; if it fails, the next of them tries.
    ///
    /// # Errors
    /// That of `run`.
    pub async fn fetch<E>(
        &self,
        key: &CacheKey,
        max_bytes: Option<usize>,
        run: impl Future<Output = Result<Bytes, E>>,
    ) -> Result<Fetched, E> {
        let slot = self.state().slots.entry(key.clone()).or_default().clone();
        let mut place = slot.lock().await;
        if let Some(json) = &*place {
            return Ok(Fetched { json: json.clone(), hit: true, kept: true });
        }
        let json = run.await?;
        let kept = max_bytes.is_none_or(|max| json.len() <= max) && self.reserve(json.len());
        if kept {
            *place = Some(json.clone());
        }
        Ok(Fetched { json, hit: false, kept })
    }

    fn reserve(&self, bytes: usize) -> bool {
        let mut state = self.state();
        let fits = self.limit.is_none_or(|limit| state.retained.saturating_add(bytes) <= limit);
        if fits {
            state.retained += bytes;
        }
        fits
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
        let cache = ToolCache::new(None);
        assert!(cache.fetch(&key("a"), None, async { Err(()) }).await.is_err());
        assert!(!cache.fetch(&key("a"), None, give("1")).await.unwrap().hit);
        let again = cache.fetch(&key("a"), None, give("2")).await.unwrap();
        assert!(again.hit && again.json == "1");
        assert_eq!(cache.retained_bytes(), 1);
    }

    #[tokio::test]
    async fn limits_keep_what_was_promised() {
        let cache = ToolCache::new(Some(4));
        assert!(cache.fetch(&key("a"), None, give("123")).await.unwrap().kept);
        assert!(!cache.fetch(&key("b"), None, give("12")).await.unwrap().kept);
        assert!(!cache.fetch(&key("c"), Some(0), give("1")).await.unwrap().kept);
        assert!(cache.fetch(&key("a"), None, give("x")).await.unwrap().hit);
    }

    #[tokio::test]
    async fn calls_at_the_same_time_run_once() {
        let cache = ToolCache::new(None);
        let runs = AtomicU32::new(0);
        let call = || async {
            let run = async {
                runs.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                give("1").await
            };
            cache.fetch(&key("a"), None, run).await.unwrap().hit
        };
        let (first, second, third) = tokio::join!(call(), call(), call());
        assert_eq!((first, second, third), (false, true, true));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }
}
