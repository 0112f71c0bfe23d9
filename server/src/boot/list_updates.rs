//! Updates descriptions when the upstreams' lists change (upstreams.md 6.1): if the catalog is not frozen, and otherwise if other kept
//! programs are listed by it.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::{CurrentUpstreams, SnapshotMode};
use ptc_host::time;

use super::advertised::Advertised;
use ptc_protocol::Service;
use ptc_protocol::settings::Settings;

/// Changes within this time are announced together.
const GATHERED: Duration = Duration::from_millis(100);
/// The time between two announcements. An upstream whose list changes all the time is followed so often.
const SPACED: Duration = Duration::from_millis(900);

/// Refreshes the tools after each change of the catalog, or of the kept programs where it is frozen, until the server and its upstreams are dropped.
pub(super) fn follow(
    upstreams: Option<&Arc<CurrentUpstreams>>,
    service: &Arc<Service>,
    settings: &Settings,
    advertised: Option<&Advertised>,
) {
    let (Some(upstreams), Some(advertised)) = (upstreams, advertised) else { return };
    let is_frozen = settings.aggregator.snapshot_mode == SnapshotMode::Frozen;
    let mut kept = advertised.kept_revision().filter(|_| is_frozen);
    if is_frozen && kept.is_none() {
        return;
    }
    let mut changes = if is_frozen { upstreams.listings() } else { upstreams.changes() };
    // Changes before this point are part of these descriptions.
    changes.mark_changed();
    let (service, advertised) = (Arc::downgrade(service), advertised.clone());
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            time::sleep(GATHERED).await;
            changes.mark_unchanged();
            let Some(service) = service.upgrade() else { return };
            if is_frozen {
                // Programs alone are judged by what is listed by now. While upstreams start, the end of that tells of them.
                let now = advertised.kept_revision();
                if service.is_starting() || now == kept {
                    continue;
                }
                kept = now;
            }
            if advertised.refresh().is_none() {
                return;
            }
            service.refresh_tools();
            drop(service);
            time::sleep(SPACED).await;
        }
    });
}
