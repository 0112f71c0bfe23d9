//! Limits of compiled patterns.

/// Bytes of scratch memory for lazily built states.
pub(super) const CACHE_LIMIT: usize = 256 << 10;

/// Most bytes that a compiled pattern may take (ruling 7).
pub(super) const SIZE_LIMIT: usize = 1 << 20;
