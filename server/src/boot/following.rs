//! Descriptions that follow what the upstreams list, where the catalog is not frozen (upstreams.md 6.1).

use std::sync::{Arc, Weak};
use std::time::Duration;

use ptc_host::aggregator::{Aggregator, SnapshotMode};
use ptc_host::time;

use super::assembly::upstream_card;
use crate::protocol::Service;
use crate::settings::Settings;
use crate::tools::descriptions::SharedCard;

/// Changes that come together are told together.
const GATHERED: Duration = Duration::from_millis(100);

/// Has the tools told anew with each change of the catalog, for as long as the server and its upstreams are there.
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
    // What came before these descriptions were followed.
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

/// `None` if there is nobody left to be told.
fn tell(
    upstreams: &Weak<Aggregator>,
    service: &Weak<Service>,
    settings: &Settings,
    card: &SharedCard,
) -> Option<()> {
    card.set(upstream_card(settings, &*upstreams.upgrade()?));
    service.upgrade()?.refresh_tools();
    Some(())
}
