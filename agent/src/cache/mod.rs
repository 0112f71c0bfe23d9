//! Results shared by native calls and programs within one run (agent.md 8.9).
//!
//! [`canonical_key`] is the one function that says which calls are the same; [`ToolCache`] keeps results under it,
//! and lets calls of the same key share one execution.

mod key;
mod store;

pub(crate) use key::canonical_map;
pub use key::{CacheKey, canonical_key};
pub use store::{CacheLimits, Fetched, NotKept, ToolCache};
