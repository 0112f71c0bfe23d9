//! Updates descriptions when the upstreams' lists change, if the catalog is not frozen (upstreams.md 6.1).

use std::sync::{Arc, Weak};
use std::time::Duration;

use ptc_host::aggregator::{Aggregator, SnapshotMode};
use ptc_host::time;

use super::assembly::upstream_card;
use ptc_protocol::Service;
use ptc_protocol::settings::Settings;
use ptc_tools::descriptions::SharedCard;

/// Changes within this time are announced together.
const GATHERED: Duration = Duration::from_millis(100);

/// Refreshes the tools after each change of the catalog, until the server and its upstreams are dropped.
pub(super) fn follow(
    upstreams: Option<&Arc<Aggregator>>,
    service: &Arc<Service>,
    settings: &Settings,
    card: Option<&SharedCard>,
) {
    let (Some(upstreams), Some(card)) = (upstreams, card) else { return };
    if settings.aggregator.snapshot_mode == SnapshotMode::Frozen {
        return;
    }
    service.begin_following();
    let mut changes = upstreams.changes();
    // Changes before this point are part of these descriptions.
    changes.mark_changed();
    let (upstreams, service) = (Arc::downgrade(upstreams), Arc::downgrade(service));
    let (settings, card) = (settings.clone(), card.clone());
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            time::sleep(GATHERED).await;
            changes.mark_unchanged();
            if tell(&upstreams, &service, &settings, &card).is_none() {
                return;
            }
        }
    });
}

/// `None` if the service or the upstreams are gone.
fn tell(
    upstreams: &Weak<Aggregator>,
    service: &Weak<Service>,
    settings: &Settings,
    card: &SharedCard,
) -> Option<()> {
    card.set(upstream_card(settings, &upstreams.upgrade()?.unfiltered()));
    service.upgrade()?.refresh_tools();
    Some(())
}
