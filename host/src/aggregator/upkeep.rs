//! Background tasks that keep the catalog up to date.

use super::runtime::Aggregator;
use crate::time;
use crate::upstream::{FaultReason, UpstreamEvent};
use std::sync::Weak;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Starts an upstream that nobody waits for, and tries again if it does not start.
pub(super) async fn bring_up(aggregator: Weak<Aggregator>, name: String) {
    let Some(strong) = aggregator.upgrade() else { return };
    let Err(fault) = strong.load(&name).await else { return };
    tracing::warn!(event = "upstream_not_loaded", upstream = %name, reason = %fault.reason,
        error = %strong.redactor.scrub(&fault.message));
    drop(strong);
    if !matches!(fault.reason, FaultReason::AuthFailed | FaultReason::AuthRequired) {
        retry(aggregator, name).await;
    }
}

/// Tries an upstream that is not required until it loads (ruling 22).
pub(super) async fn retry(aggregator: Weak<Aggregator>, name: String) {
    let mut pause = Duration::from_secs(1);
    loop {
        time::sleep(pause).await;
        let Some(aggregator) = aggregator.upgrade() else { return };
        match aggregator.load(&name).await {
            Ok(()) => {
                tracing::info!(event = "upstream_loaded", upstream = %name);
                return;
            }
            // A refused credential does not get better by asking again.
            Err(fault) if matches!(fault.reason, FaultReason::AuthFailed | FaultReason::AuthRequired) => {
                return;
            }
            Err(_) => pause = (pause * 2).min(Duration::from_secs(60)),
        }
    }
}

/// Keeps the catalog of now, and with it a live one, current with the upstream.
pub(super) async fn follow(
    aggregator: Weak<Aggregator>,
    name: String,
    mut events: broadcast::Receiver<UpstreamEvent>,
) {
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            // A change that was announced meanwhile is known where the list is.
            Err(RecvError::Lagged(_)) => UpstreamEvent::ToolsChanged,
            Err(RecvError::Closed) => return,
        };
        let Some(aggregator) = aggregator.upgrade() else { return };
        let Some(member) = aggregator.members.get(&name) else { return };
        let listed = match event {
            UpstreamEvent::Started | UpstreamEvent::ToolsChanged => member.handle.list_tools().await,
            UpstreamEvent::Ended { .. }
            | UpstreamEvent::ResourcesChanged
            | UpstreamEvent::PromptsChanged
            | UpstreamEvent::ResourceUpdated { .. } => continue,
        };
        match listed {
            Ok(tools) => aggregator.take_tools(member, &tools).await,
            Err(fault) => {
                tracing::warn!(event = "upstream_list_failed", upstream = %name, reason = %fault.reason)
            }
        }
    }
}
