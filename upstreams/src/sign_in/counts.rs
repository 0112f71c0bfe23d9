//! Counts of sign-ins and renewals, for operators.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts of one upstream since the process began.
#[derive(Debug, Default)]
pub struct SignInCounts {
    refreshed: AtomicU64,
    refused: AtomicU64,
    unavailable: AtomicU64,
    signed_in: AtomicU64,
    failed: AtomicU64,
    needed: AtomicBool,
}

impl SignInCounts {
    /// Renewals by outcome: `ok`, `refused`, `unavailable`.
    pub fn refreshes(&self) -> [(&'static str, u64); 3] {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("ok", load(&self.refreshed)),
            ("refused", load(&self.refused)),
            ("unavailable", load(&self.unavailable)),
        ]
    }

    /// Sign-ins that were completed in this process, by outcome: `ok`, `failed`.
    pub fn sign_ins(&self) -> [(&'static str, u64); 2] {
        [("ok", self.signed_in.load(Ordering::Relaxed)), ("failed", self.failed.load(Ordering::Relaxed))]
    }

    /// Whether the latest call met that a person has to sign in.
    pub fn is_sign_in_needed(&self) -> bool {
        self.needed.load(Ordering::Relaxed)
    }

    pub(super) fn note_refreshed(&self) {
        self.refreshed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_sign_in(&self, succeeded: bool) {
        let count = if succeeded { &self.signed_in } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_unavailable(&self) {
        self.unavailable.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes whether one is needed; yields whether that is news.
    pub(super) fn note_needed(&self, needed: bool) -> bool {
        self.needed.swap(needed, Ordering::Relaxed) != needed
    }
}
