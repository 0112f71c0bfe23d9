//! An upstream and its configuration.

use super::sampler::SamplingCounts;
use ptc_base::sync::Mutex;
use ptc_upstreams::config::UpstreamConfig;
use ptc_upstreams::sign_in::Site;
use ptc_upstreams::upstream::{ToolInfo, Upstream};
use std::sync::{Arc, MutexGuard};

/// One configured upstream.
pub(super) struct ConfiguredUpstream {
    pub(super) config: UpstreamConfig,
    pub(super) handle: Arc<dyn Upstream>,
    /// How it is signed in to, if it is.
    pub(super) site: Option<Arc<Site>>,
    /// The list that the catalog's entry was made of.
    pub(super) taken: Mutex<Option<Arc<[ToolInfo]>>>,
    /// Held while the entry of a list is made.
    pub(super) taking: tokio::sync::Mutex<()>,
    /// Counts of its requests for a model's answer.
    pub(super) samplings: SamplingCounts,
}

impl ConfiguredUpstream {
    pub(super) fn taken(&self) -> MutexGuard<'_, Option<Arc<[ToolInfo]>>> {
        self.taken.lock()
    }
}
