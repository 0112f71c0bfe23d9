//! Results shared by native calls and programs within one run (agent.md 8.9).
//!
//! [`canonical_key`] computes the cache key of a call. [`ToolCache`] stores results by key and lets concurrent calls with the
//! same key share one execution. `results` holds the results of upstream tools.

mod key;
mod results;
mod store;

pub(crate) use key::{CacheKey, canonical_key, canonical_map};
pub(crate) use results::CacheError;
pub(crate) use results::CacheLimits;
pub(crate) use store::ToolCache;
