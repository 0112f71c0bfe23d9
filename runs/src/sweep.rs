//! Sweeps expired and orphaned runs and records their ends (waiting.md 6.2), so that the audit log has them even if
//! no client looks at the run.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ptc_host::state::{Key, Kind, Owner as StoreOwner};
use ptc_host::time::sleep;
use tracing::debug;

use super::Runs;
use super::look::record_of;

/// The shortest interval between two sweeps.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Sweeps all runs at intervals, until the runs are dropped.
pub(super) async fn sweep(runs: Weak<Runs>) {
    loop {
        // An expired record stays in the store for at least `ttl`, so that one of the sweeps finds it.
        let Some(pause) = runs.upgrade().map(|runs| runs.settings.ttl / 2) else { return };
        sleep(pause.clamp(SHORTEST, LONGEST)).await;
        let Some(runs) = runs.upgrade() else { return };
        runs.record_ends().await;
    }
}

impl Runs {
    /// Records the ends that are not recorded yet. If several replicas sweep at once, exactly one of them records
    /// each end.
    pub(super) async fn record_ends(self: &Arc<Self>) {
        // A store that is unavailable is tried again at the next sweep.
        let listed = self.store.list(None, Kind::Run).await.unwrap_or_default();
        for listed in listed.into_iter().filter(|listed| listed.lease.is_none()) {
            let Ok(Some(read)) = self.store.look(&listed).await else { continue };
            let Ok(record) = record_of(&read).await else { continue };
            if !self.is_over(&read, &record) {
                continue;
            }
            let owner = StoreOwner::principal(record.principal);
            let Ok(key) = Key::new(&owner, Kind::Run, &*listed.id) else { continue };
            let is_recorded = self.look(&key).await.is_ok();
            debug!(event = "run_swept", is_recorded);
            self.has_changed(&key);
        }
    }
}
