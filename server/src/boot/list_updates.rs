//! Updates descriptions when the upstreams' lists change, if the catalog is not frozen (upstreams.md 6.1).

use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::{CurrentUpstreams, SnapshotMode};
use ptc_host::time;

use super::advertised::Advertised;
use ptc_protocol::Service;
use ptc_protocol::settings::Settings;

/// Changes within this time are announced together.
const GATHERED: Duration = Duration::from_millis(100);

/// Refreshes the tools after each change of the catalog, until the server and its upstreams are dropped.
pub(super) fn follow(
    upstreams: Option<&Arc<CurrentUpstreams>>,
    service: &Arc<Service>,
    settings: &Settings,
    advertised: Option<&Advertised>,
) {
    let (Some(upstreams), Some(advertised)) = (upstreams, advertised) else { return };
    if settings.aggregator.snapshot_mode == SnapshotMode::Frozen {
        return;
    }
    let mut changes = upstreams.changes();
    // Changes before this point are part of these descriptions.
    changes.mark_changed();
    let (service, advertised) = (Arc::downgrade(service), advertised.clone());
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            time::sleep(GATHERED).await;
            changes.mark_unchanged();
            let Some(service) = service.upgrade().filter(|_| advertised.refresh().is_some()) else { return };
            service.refresh_tools();
        }
    });
}
