//! Background tasks that keep the catalog up to date.

use super::runtime::Aggregator;
use futures_util::future::BoxFuture;
use ptc_base::time::{self, Instant};
use ptc_upstreams::upstream::{CallFault, FaultReason, Upstream, UpstreamEvent};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// Starts an upstream in the background, and retries if it does not start.
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

/// Bounds of the pause between two listings of an upstream that announces changes without end. It doubles as long as they
/// continue.
const LIST_PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// How often an upstream is listed that announces changes: at once after a quiet time, and ever more seldom while they
/// continue. There are servers that announce one with each list.
struct ListPace {
    last: Option<Instant>,
    pause: Duration,
}

impl Default for ListPace {
    fn default() -> Self {
        Self { last: None, pause: LIST_PAUSE.0 }
    }
}

impl ListPace {
    /// How long the listing for a change that was announced now has to wait.
    fn wait(&mut self, now: Instant) -> Duration {
        let since = self.last.map_or(Duration::MAX, |last| now.saturating_duration_since(last));
        let wait = self.pause.saturating_sub(since);
        self.pause = match since >= self.pause.saturating_mul(2) {
            true => LIST_PAUSE.0,
            false => (self.pause * 2).min(LIST_PAUSE.1),
        };
        self.last = Some(now + wait);
        wait
    }
}

/// What announced changes require.
enum Announced {
    /// The list may be another.
    List,
    /// The connection has ended as it should not have.
    Ended(CallFault),
    /// Nothing.
    Nothing,
    /// No change will be announced any more.
    End,
}

/// Waits for the next event, and until it is time to list.
async fn announced(events: &mut broadcast::Receiver<UpstreamEvent>, pace: &mut ListPace) -> Announced {
    let event = match events.recv().await {
        Ok(event) => event,
        // A change that was announced meanwhile is known where the list is.
        Err(RecvError::Lagged(_)) => UpstreamEvent::ToolsChanged,
        Err(RecvError::Closed) => return Announced::End,
    };
    match event {
        UpstreamEvent::ToolsChanged => {
            time::sleep(pace.wait(time::now())).await;
            // One listing serves all that has been announced by now.
            while !matches!(events.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
            Announced::List
        }
        UpstreamEvent::Started => Announced::List,
        UpstreamEvent::Ended { abnormal: true, fault } => Announced::Ended(fault),
        UpstreamEvent::Ended { .. }
        | UpstreamEvent::ResourcesChanged
        | UpstreamEvent::PromptsChanged
        | UpstreamEvent::ResourceUpdated { .. } => Announced::Nothing,
    }
}

/// Keeps the catalog of now, and with it a live one, current with the upstream.
pub(super) async fn follow(
    aggregator: Weak<Aggregator>,
    name: String,
    mut events: broadcast::Receiver<UpstreamEvent>,
) {
    let mut pace = ListPace::default();
    loop {
        match announced(&mut events, &mut pace).await {
            Announced::List => {}
            Announced::Ended(fault) => {
                let Some(aggregator) = aggregator.upgrade() else { return };
                aggregator.tell_end(&name, &fault);
                continue;
            }
            Announced::Nothing => continue,
            Announced::End => return,
        }
        let Some(aggregator) = aggregator.upgrade() else { return };
        let Some(member) = aggregator.members.get(&name) else { return };
        match member.handle.list_tools().await {
            Ok(tools) => aggregator.take_tools(member, &tools).await,
            Err(fault) => note_failed(&name, &fault),
        }
    }
}

/// Keeps the list of an account current with its own connection, until that is gone.
pub(super) fn follow_own(
    aggregator: Weak<Aggregator>,
    name: String,
    account: Arc<str>,
    own: &Arc<dyn Upstream>,
    mut events: broadcast::Receiver<UpstreamEvent>,
) -> BoxFuture<'static, ()> {
    let own = Arc::downgrade(own);
    // In a box, as what it takes may begin another one.
    Box::pin(async move {
        let mut pace = ListPace::default();
        loop {
            let announced = announced(&mut events, &mut pace).await;
            let Some(aggregator) = aggregator.upgrade() else { return };
            let (own, member) = match (announced, own.upgrade(), aggregator.members.get(&name)) {
                (Announced::Nothing, ..) => continue,
                (Announced::Ended(fault), ..) => {
                    aggregator.tell_end(&name, &fault);
                    continue;
                }
                (Announced::List, Some(own), Some(member)) => (own, member),
                _ => {
                    aggregator.own_lists.forget(&name, &account);
                    return;
                }
            };
            let turn = aggregator.own_lists.turn();
            let taken = match own.list_tools().await {
                Ok(tools) => aggregator.take_own(member, &account, &own, &tools, turn).await,
                Err(fault) => Err(fault),
            };
            if let Err(fault) = taken {
                note_failed(&name, &fault);
                aggregator.note_unknown(&name, &account, Some(&fault));
            }
        }
    })
}

impl Aggregator {
    /// Tells the operator that a connection has ended as it should not have.
    fn tell_end(&self, name: &str, fault: &CallFault) {
        tracing::warn!(event = "upstream_ended", upstream = %name, reason = %fault.reason,
            error = %self.redactor.scrub(&fault.message));
    }
}

pub(super) fn note_failed(name: &str, fault: &CallFault) {
    tracing::warn!(event = "upstream_list_failed", upstream = %name, reason = %fault.reason);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_changes_are_listed_ever_more_seldom_and_single_ones_at_once() {
        let (mut pace, mut now) = (ListPace::default(), Instant::now());
        let mut listings = 0;
        let start = now;
        while now - start < Duration::from_secs(3) {
            now += pace.wait(now) + Duration::from_millis(5);
            listings += 1;
        }
        assert!(listings <= 5, "{listings}");
        for _ in 0..20 {
            now += pace.wait(now);
        }
        assert_eq!(pace.wait(now), LIST_PAUSE.1);
        now += LIST_PAUSE.1 * 4;
        assert_eq!(pace.wait(now), Duration::ZERO);
        now += LIST_PAUSE.0 * 3;
        assert_eq!(pace.wait(now), Duration::ZERO, "it has been quiet since");
        assert_eq!(pace.wait(now), LIST_PAUSE.0);
    }
}
