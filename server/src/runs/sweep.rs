//! Records the ends of runs at which nobody looks (waiting.md 6.2): of those that nobody answered in time, and of those whose process has
//! died. So they are in the audit log too.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ptc_host::state::{Key, Kind, Owner as StoreOwner};
use ptc_host::time::sleep;
use tracing::debug;

use super::Runs;
use super::look::record_of;

/// Bounds of the time between two sweeps.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Looks at all runs now and then, for as long as there is anybody to tell.
pub(super) async fn sweep(runs: Weak<Runs>) {
    loop {
        // The record of a run that nobody answered lies there for at least that long: one of these looks finds it.
        let Some(pause) = runs.upgrade().map(|runs| runs.settings.ttl / 2) else { return };
        sleep(pause.clamp(SHORTEST, LONGEST)).await;
        let Some(runs) = runs.upgrade() else { return };
        runs.record_ends().await;
    }
}

impl Runs {
    /// Records the ends that nobody has recorded yet. Of several processes that do so at once one does.
    pub(super) async fn record_ends(self: &Arc<Self>) {
        // A store that is away is asked again next time.
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
