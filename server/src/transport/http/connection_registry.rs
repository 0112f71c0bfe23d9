//! All open connections: the state of each, and which to close when there are too many.
//!
//! No client can lock others out by holding connections. At the limit, idle connections are closed: those that never
//! sent a request first, and the oldest first among them. A connection that is being served is never closed for this.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Connections closed at a time: the search through all of them should free more than one.
const CLOSED_AT_ONCE: usize = 32;
/// How long an idle connection is spared: the first request of a new one is on its way.
const SPARED: Duration = Duration::from_millis(100);

/// The activity of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<Usage>,
    unwanted: Notify,
}

#[derive(Debug)]
struct Usage {
    requests: usize,
    served: bool,
    since: Instant,
    limit: Duration,
}

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// It has been idle for too long.
    Idle,
    /// Its place is needed.
    Unwanted,
    /// The server is about to stop.
    Closing,
}

/// Whether a connection is idle, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// A request is being answered.
    Busy,
    /// It has never brought a request.
    Silent,
    /// Its last request is answered.
    Served,
}

impl Activity {
    /// A new connection, which must send its first request within `limit`.
    fn new(limit: Duration) -> Arc<Self> {
        let state = Usage { requests: 0, served: false, since: Instant::now(), limit };
        Arc::new(Activity { state: Mutex::new(state), unwanted: Notify::new() })
    }

    /// Marks a request as being answered until the returned value is dropped; `idle` is then the longest idle time.
    pub(super) fn request(self: &Arc<Self>, idle: Duration) -> Busy {
        self.lock().requests += 1;
        Busy { activity: self.clone(), idle }
    }

    /// Its current activity.
    pub(super) fn rest(&self) -> Rest {
        match *self.lock() {
            Usage { requests: 1.., .. } => Rest::Busy,
            Usage { served: true, .. } => Rest::Served,
            Usage { .. } => Rest::Silent,
        }
    }

    /// Completes when the connection is to be closed.
    pub(super) async fn over(&self) -> Over {
        loop {
            let deadline = {
                let state = self.lock();
                let from = if state.requests > 0 { Instant::now() } else { state.since };
                from + state.limit
            };
            if deadline <= Instant::now() {
                return Over::Idle;
            }
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {}
                () = self.unwanted.notified() => return Over::Unwanted,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy {
    activity: Arc<Activity>,
    idle: Duration,
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.requests -= 1;
        state.served = true;
        state.since = Instant::now();
        state.limit = self.idle;
    }
}

/// The connections of a listener.
#[derive(Debug, Default)]
pub(super) struct ConnectionRegistry {
    registered: Mutex<HashMap<u64, Arc<Activity>>>,
    next: AtomicU64,
}

impl ConnectionRegistry {
    /// Registers a new connection, until the returned value is dropped.
    pub(super) fn join(self: &Arc<Self>, limit: Duration) -> Registration {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let activity = Activity::new(limit);
        self.registered().insert(number, activity.clone());
        Registration { registry: self.clone(), number, activity }
    }

    /// Closes some idle connections, and returns their number.
    pub(super) fn make_room(&self) -> usize {
        let (registered, now) = (self.registered(), Instant::now());
        let mut resting: Vec<_> = registered
            .values()
            .filter_map(|activity| {
                let state = activity.lock();
                let rests = state.requests == 0 && now.saturating_duration_since(state.since) >= SPARED;
                rests.then_some((state.served, state.since, activity))
            })
            .collect();
        let count = resting.len().min(CLOSED_AT_ONCE);
        if count < resting.len() {
            resting.select_nth_unstable_by_key(count, |(served, since, _)| (*served, *since));
        }
        resting[..count].iter().for_each(|(_, _, activity)| activity.unwanted.notify_one());
        count
    }

    fn registered(&self) -> MutexGuard<'_, HashMap<u64, Arc<Activity>>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place in the registry.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Arc<ConnectionRegistry>,
    number: u64,
    /// Its activity.
    pub(super) activity: Arc<Activity>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.registered().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_that_never_asked_go_first_and_the_oldest_of_them_but_none_that_has_just_come() {
        let registry = Arc::new(ConnectionRegistry::default());
        let long = Duration::from_secs(1000);
        let served: Vec<_> = (0..40).map(|_| registry.join(long)).collect();
        served.iter().for_each(|registration| drop(registration.activity.request(long)));
        let mut silent = Vec::new();
        for _ in 0..40 {
            tokio::time::advance(Duration::from_millis(1)).await;
            silent.push(registry.join(long));
        }
        let busy = registry.join(long);
        let _request = busy.activity.request(long);
        let over = |registration: &Registration| registration.activity.over().now_or_never();
        assert_eq!(registry.make_room(), 0, "requests of those that have just come are on their way");
        tokio::time::advance(SPARED).await;
        let young = registry.join(long);
        assert_eq!(registry.make_room(), 32);
        assert_eq!(over(&young), None);
        drop(young);
        let gone: Vec<_> = silent.iter().map(over).collect();
        assert_eq!(gone[..32], [Some(Over::Unwanted); 32]);
        assert_eq!(gone[32..], [None; 8]);
        silent.clear();
        assert_eq!(registry.make_room(), 32);
        assert_eq!(served.iter().filter_map(over).count(), 32);
        drop(served);
        assert_eq!((registry.make_room(), over(&busy)), (0, None));
    }

    #[tokio::test(start_paused = true)]
    async fn rest_is_measured_from_the_last_answer() {
        let registration = Arc::new(ConnectionRegistry::default()).join(Duration::from_secs(5));
        let busy = registration.activity.request(Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(1000)).await;
        assert_eq!(registration.activity.over().now_or_never(), None);
        drop(busy);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(registration.activity.over().now_or_never(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(registration.activity.over().await, Over::Idle);
    }
}
