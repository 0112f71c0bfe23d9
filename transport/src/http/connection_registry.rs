//! All open connections: the holder of each, its state, and the order of eviction when there are too many.
//!
//! No client can lock others out by holding connections. Each principal has a share of the places; beyond its own
//! limit it evicts its own connections. When all places are taken, connections that wait for their client are closed,
//! those of holders above their share first. Among these the order is: connections that never sent a request,
//! connections with an incomplete request, idle ones, and last those that only listen. Within each kind, the holder
//! with the most connections loses its oldest ones first. A connection with a request in progress is never evicted. A
//! connection of a holder within its share is not evicted while a holder above its share has a waiting one, even if
//! that one has only just connected.

use ptc_host::sync::Mutex;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit};

use ptc_host::time::{self, Instant};
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_protocol::principal::Principal;

/// Connections closed at a time: a search through all of them should free more than one place.
const CLOSED_AT_ONCE: usize = 32;
/// Grace period of a connection that waits for its client: its next bytes are usually on their way.
const SPARED: Duration = Duration::from_millis(100);
/// A request that takes its client longer than this to send is slow.
const SLOW: Duration = Duration::from_secs(1);

/// Limits on open connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    /// Of all holders together.
    pub(super) all: usize,
    /// Of one principal.
    pub(super) per_owner: usize,
}

/// The holder of a connection: the caller of the last request with credentials, and before that its address.
#[derive(Debug)]
enum Holder {
    Address(IpAddr),
    Principal(Principal),
}

/// The key by which holders are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum HolderKey {
    Address(IpAddr),
    Principal(usize),
}

/// The activity of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<ConnectionUsage>,
    /// The number of the principal that holds it; 0 if there is none. It saves further requests of the same caller
    /// the lock.
    holder: AtomicUsize,
    unwanted: Notify,
}

#[derive(Debug)]
struct ConnectionUsage {
    holder: Holder,
    /// Requests in progress, by [`Phase`].
    requests: [usize; PHASES],
    /// True if any request has been answered.
    served: bool,
    joined: Instant,
    /// Since when it waits for its client, if it does.
    since: Instant,
    limit: Duration,
    /// True if it has been asked to close.
    unwanted: bool,
}

/// The phase of a request in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The server works on it.
    Working,
    /// The rest of its body is missing.
    Receiving,
    /// Its client listens for notifications.
    Listening,
}

const PHASES: usize = 3;

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// It has been idle for too long.
    Idle,
    /// Its place is needed.
    Unwanted,
    /// The server is about to stop.
    Closing,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The server works on a request.
    Busy,
    /// No request has arrived yet.
    Silent,
    /// It is idle between requests.
    Served,
    /// A request is incomplete.
    Receiving,
    /// Its client listens for notifications.
    Listening,
}

/// Kinds of connections in metrics, in the order of [`Rest`].
const KINDS: [&str; 5] = ["busy", "silent", "idle", "receiving", "listening"];

impl ConnectionUsage {
    fn rest(&self) -> Rest {
        match self.requests {
            [0, 0, 0] if self.served => Rest::Served,
            [0, 0, 0] => Rest::Silent,
            [0, 0, _] => Rest::Listening,
            [0, _, _] => Rest::Receiving,
            _ => Rest::Busy,
        }
    }

    /// True if it waits for its client and is in its grace period only because it has just connected. An older
    /// connection that is used again and again is not new: it may stay in its grace period for ever.
    fn is_new(&self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.joined);
        !self.unwanted && age < SPARED && self.rest() != Rest::Busy
    }

    /// Its class in the order of eviction, lowest first; `None` if it is not evicted now.
    fn order(&self, now: Instant) -> Option<u8> {
        let waits = now.saturating_duration_since(self.since);
        if self.unwanted || waits < SPARED {
            return None;
        }
        match self.rest() {
            Rest::Busy => None,
            Rest::Silent => Some(0),
            Rest::Receiving if waits >= SLOW => Some(1),
            Rest::Served => Some(2),
            Rest::Receiving => Some(3),
            Rest::Listening => Some(4),
        }
    }
}

impl Activity {
    /// A new connection from `peer`, which must send its first request within `limit`.
    fn new(peer: IpAddr, limit: Duration) -> Arc<Self> {
        let now = time::now();
        let state = ConnectionUsage {
            holder: Holder::Address(peer),
            requests: [0; PHASES],
            served: false,
            joined: now,
            since: now,
            limit,
            unwanted: false,
        };
        Arc::new(Activity { state: Mutex::new(state), holder: AtomicUsize::new(0), unwanted: Notify::new() })
    }

    /// Marks a request as being answered until the returned value is dropped; `idle` is then the longest idle time.
    pub(super) fn request(self: &Arc<Self>, idle: Duration) -> Busy {
        self.lock().requests[Phase::Working as usize] += 1;
        Busy { activity: self.clone(), phase: Phase::Working, idle }
    }

    /// The holder in whose turns its worker serves it.
    pub(super) fn turns_of(&self) -> Option<Arc<str>> {
        Some(match &self.lock().holder {
            Holder::Address(address) => format!("address {address}").into(),
            Holder::Principal(principal) => principal.shared_name(),
        })
    }

    /// Its state now. Within the grace period it counts as busy.
    pub(super) fn rest(&self) -> Rest {
        let mut state = self.lock();
        // The caller acts on the state; after that the connection may be asked to close again.
        state.unwanted = false;
        match state.rest() {
            Rest::Receiving if time::since(state.since) < SPARED => Rest::Busy,
            rest => rest,
        }
    }

    /// Completes when the connection is to be closed.
    pub(super) async fn over(&self) -> CloseReason {
        loop {
            let deadline = {
                let state = self.lock();
                let rests = state.requests == [0; PHASES];
                let from = if rests { state.since } else { time::now() };
                from + state.limit
            };
            if deadline <= time::now() {
                return CloseReason::Idle;
            }
            tokio::select! {
                () = time::sleep_until(deadline) => {}
                () = self.unwanted.notified() => return CloseReason::Unwanted,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionUsage> {
        self.state.lock()
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Busy {
    activity: Arc<Activity>,
    phase: Phase,
    idle: Duration,
}

impl Busy {
    /// Enters another phase.
    pub(super) fn enter(&mut self, phase: Phase) {
        let mut state = self.activity.lock();
        state.requests[self.phase as usize] -= 1;
        // Further requests of the same kind do not make a connection look younger.
        if phase == Phase::Working || state.requests[phase as usize] == 0 {
            state.since = time::now();
        }
        state.requests[phase as usize] += 1;
        self.phase = phase;
    }

    /// Assigns the connection to `principal`. If that principal is at its limit, its oldest connection that waits for
    /// its client is evicted.
    ///
    /// # Errors
    /// The principal's limit, if all of its connections are busy.
    pub(super) fn belongs_to(
        &self,
        principal: &Principal,
        registry: &ConnectionRegistry,
    ) -> Result<(), usize> {
        let number = principal.number();
        if self.activity.holder.load(Ordering::Relaxed) == number {
            return Ok(());
        }
        let own = &principal.usage().connections;
        if !own.try_take(1, registry.limits.per_owner) {
            if !registry.make_room_of(principal) {
                return Err(registry.limits.per_owner);
            }
            own.take(1);
        }
        let mut state = self.activity.lock();
        let before = std::mem::replace(&mut state.holder, Holder::Principal(principal.clone()));
        self.activity.holder.store(number, Ordering::Relaxed);
        drop(state);
        before.leave();
        Ok(())
    }
}

impl Holder {
    fn key(&self) -> HolderKey {
        match self {
            Holder::Address(address) => HolderKey::Address(*address),
            Holder::Principal(principal) => HolderKey::Principal(principal.number()),
        }
    }

    /// Releases a connection of this holder.
    fn leave(&self) {
        if let Holder::Principal(principal) = self {
            principal.usage().connections.give_back(1);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.requests[self.phase as usize] -= 1;
        state.served = true;
        state.since = time::now();
        state.limit = self.idle;
    }
}

/// The rank of a connection for eviction, lowest first: whether its holder is within its share, its
/// [class](ConnectionUsage::order), how many the holder has, and since when it waits.
type Rank = (bool, u8, Reverse<usize>, Instant);

/// The connections of a listener.
#[derive(Debug)]
pub(super) struct ConnectionRegistry {
    limits: ConnectionLimits,
    registered: Mutex<HashMap<u64, Arc<Activity>>>,
    next: AtomicU64,
    /// Connections closed because their place was needed.
    evicted: AtomicU64,
}

impl ConnectionRegistry {
    /// No connections.
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(ConnectionRegistry {
            limits,
            registered: Mutex::default(),
            next: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        })
    }

    /// Registers a new connection from `peer` at its place among all, until the returned value is dropped.
    pub(super) fn join(
        self: &Arc<Self>,
        peer: IpAddr,
        limit: Duration,
        place: OwnedSemaphorePermit,
    ) -> Registration {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let activity = Activity::new(peer, limit);
        self.registered().insert(number, activity.clone());
        Registration { registry: self.clone(), number, activity, _place: place }
    }

    /// True if a connection that was asked to close is still open.
    pub(super) fn is_making_room(&self) -> bool {
        self.registered().values().any(|activity| activity.lock().unwanted)
    }

    /// Evicts some connections that wait for their clients, and returns their number. If it returns 0, a retry a
    /// moment later may succeed: new connections have a grace period, and while they have it, connections of holders
    /// within their share stay open, too. So do these while others that were asked to close are still open.
    pub(super) fn make_room(&self) -> usize {
        self.make_room_of_all(false)
    }

    /// The same for callers that cannot retry.
    pub(super) fn make_room_at_once(&self) -> usize {
        self.make_room_of_all(true)
    }

    fn make_room_of_all(&self, at_once: bool) -> usize {
        let (registered, now) = (self.registered(), time::now());
        let mut held: HashMap<HolderKey, usize> = HashMap::new();
        let mut waiting: HashMap<HolderKey, Vec<_>> = HashMap::new();
        let mut spared = HashSet::new();
        let mut is_making_room = false;
        for activity in registered.values() {
            let state = activity.lock();
            if state.unwanted {
                // Its place will be free in a moment.
                is_making_room = true;
                continue;
            }
            let holder = state.holder.key();
            *held.entry(holder).or_default() += 1;
            if let Some(order) = state.order(now) {
                waiting.entry(holder).or_default().push((order, state.since, activity));
            } else if state.is_new(now) {
                spared.insert(holder);
            }
        }
        let share = self.limits.all / 4;
        let is_greedy_spared = !at_once && spared.iter().any(|holder| held[holder] > share);
        let mut ranked: Vec<_> = waiting
            .iter_mut()
            .flat_map(|(holder, theirs)| {
                theirs.sort_by_key(|(order, since, _)| (*order, *since));
                // Each eviction lowers the count of its holder.
                let levels = (1..=held[holder]).rev();
                theirs.iter().zip(levels).map(|((order, since, activity), level)| {
                    ((level <= share, *order, Reverse(level), *since), *activity)
                })
            })
            .collect();
        let is_within_share = |((within, ..), _): &(Rank, _)| *within;
        if is_making_room || is_greedy_spared || !ranked.iter().all(is_within_share) {
            ranked.retain(|place| !is_within_share(place));
        }
        let count = ranked.len().min(CLOSED_AT_ONCE);
        if count < ranked.len() {
            ranked.select_nth_unstable_by_key(count, |(rank, _)| *rank);
        }
        ranked[..count].iter().for_each(|(_, activity)| self.evict(activity));
        count
    }

    /// Evicts the least valuable connection of `principal`; `false` if all of them are busy.
    fn make_room_of(&self, principal: &Principal) -> bool {
        let (registered, now) = (self.registered(), time::now());
        let number = principal.number();
        let own = registered.values().filter(|activity| activity.holder.load(Ordering::Relaxed) == number);
        let waiting = own.filter_map(|activity| {
            let state = activity.lock();
            Some(((state.order(now)?, state.since), activity))
        });
        let Some((_, activity)) = waiting.min_by_key(|(rank, _)| *rank) else { return false };
        self.evict(activity);
        true
    }

    fn evict(&self, activity: &Activity) {
        activity.lock().unwanted = true;
        activity.unwanted.notify_one();
        self.evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the metric families of connections.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let mut counts = [0_usize; KINDS.len()];
        for activity in self.registered().values() {
            counts[activity.lock().rest() as usize] += 1;
        }
        to.family("ptc_http_connections_max", "Connections that may be open.", MetricKind::Gauge)
            .sample(&[], self.limits.all);
        let mut family = to.family(
            "ptc_http_connections_open",
            "Open connections, by what they wait for.",
            MetricKind::Gauge,
        );
        for (kind, count) in KINDS.iter().zip(counts) {
            family.sample(&[("state", kind)], count);
        }
        to.family(
            "ptc_http_connections_evicted",
            "Connections closed because their place was needed.",
            MetricKind::Counter,
        )
        .sample(&[], self.evicted.load(Ordering::Relaxed));
    }

    fn registered(&self) -> MutexGuard<'_, HashMap<u64, Arc<Activity>>> {
        self.registered.lock()
    }
}

/// A connection's place in the registry.
#[derive(Debug)]
pub(super) struct Registration {
    registry: Arc<ConnectionRegistry>,
    number: u64,
    /// Its activity.
    pub(super) activity: Arc<Activity>,
    /// Freed last: whoever gets it at once may be the same holder, whose share must have room by then.
    _place: OwnedSemaphorePermit,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.activity.lock().holder.leave();
        self.registry.registered().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};

    use futures_util::FutureExt;
    use tokio::sync::Semaphore;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const LONG: Duration = Duration::from_secs(1000);

    fn registry(all: usize, per_owner: usize) -> Arc<ConnectionRegistry> {
        ConnectionRegistry::new(ConnectionLimits { all, per_owner })
    }

    fn place() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn join(registry: &Arc<ConnectionRegistry>) -> Registration {
        registry.join(HERE, LONG, place())
    }

    fn over(registration: &Registration) -> Option<CloseReason> {
        registration.activity.over().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_never_asked_go_first_and_the_oldest_of_them_but_none_that_has_just_come() {
        let registry = registry(1000, 1000);
        let served: Vec<_> = (0..40).map(|_| join(&registry)).collect();
        served.iter().for_each(|registration| drop(registration.activity.request(LONG)));
        let mut silent = Vec::new();
        for _ in 0..40 {
            tokio::time::advance(Duration::from_millis(1)).await;
            silent.push(join(&registry));
        }
        let busy = join(&registry);
        let _request = busy.activity.request(LONG);
        assert_eq!(registry.make_room(), 0, "requests of those that have just come are on their way");
        tokio::time::advance(SPARED).await;
        let young = join(&registry);
        assert_eq!(registry.make_room(), 32);
        assert_eq!(over(&young), None);
        drop(young);
        let gone: Vec<_> = silent.iter().map(over).collect();
        assert_eq!(gone[..32], [Some(CloseReason::Unwanted); 32]);
        assert_eq!(gone[32..], [None; 8]);
        silent.clear();
        assert_eq!(registry.make_room(), 32);
        assert_eq!(served.iter().filter_map(over).count(), 32);
        drop(served);
        assert_eq!((registry.make_room(), over(&busy)), (0, None));
    }

    /// A connection that `principal` holds and that waits in `phase`.
    fn held(registry: &Arc<ConnectionRegistry>, principal: &Principal, phase: Phase) -> (Registration, Busy) {
        let registration = join(registry);
        let mut busy = registration.activity.request(LONG);
        busy.belongs_to(principal, registry).unwrap();
        busy.enter(phase);
        (registration, busy)
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_do_not_come_and_listeners_make_room_but_not_what_the_server_works_on() {
        let registry = registry(100, 100);
        let me = Principal::named("me");
        let of = |phase| (0..3).map(|_| held(&registry, &me, phase)).collect::<Vec<_>>();
        let (working, receiving, listening) =
            (of(Phase::Working), of(Phase::Receiving), of(Phase::Listening));
        let at_rest = join(&registry);
        drop(at_rest.activity.request(LONG));
        tokio::time::advance(SLOW).await;
        let fresh = of(Phase::Receiving);
        assert_eq!(registry.make_room(), 7);
        for (registration, _) in receiving.iter().chain(&listening) {
            assert_eq!(over(registration), Some(CloseReason::Unwanted));
        }
        for (registration, _) in working.iter().chain(&fresh) {
            assert_eq!(over(registration), None);
        }
        // A request that was completed in the meantime is in progress.
        let (registration, mut busy) = receiving.into_iter().next().unwrap();
        busy.enter(Phase::Working);
        assert_eq!(registration.activity.rest(), Rest::Busy);
        assert_eq!(me.usage().connections.get(), 10, "those that were dropped are not counted");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_holds_more_than_a_share_loses_its_own_first() {
        let registry = registry(40, 40);
        let [greedy, small] = ["greedy", "small"].map(Principal::named);
        let old: Vec<_> = (0..5).map(|_| held(&registry, &small, Phase::Receiving)).collect();
        tokio::time::advance(SLOW).await;
        let listening: Vec<_> = (0..35).map(|_| held(&registry, &greedy, Phase::Listening)).collect();
        tokio::time::advance(SPARED).await;
        assert_eq!(registry.make_room(), 25, "until no more than a share is left");
        // Although they connected later and only listen.
        let gone = |held: &[(Registration, Busy)]| held.iter().filter_map(|(one, _)| over(one)).count();
        assert_eq!((gone(&listening), gone(&old)), (25, 0));
        drop(listening);
        assert_eq!((registry.make_room(), gone(&old)), (5, 5), "where nobody has more, all that wait do");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_holds_little_loses_nothing_to_one_whose_connections_have_just_come() {
        let registry = registry(40, 40);
        let [greedy, small] = ["greedy", "small"].map(Principal::named);
        let (patient, _body) = held(&registry, &small, Phase::Receiving);
        tokio::time::advance(SLOW).await;
        let fresh: Vec<_> = (0..39).map(|_| held(&registry, &greedy, Phase::Receiving)).collect();
        assert_eq!((registry.make_room(), over(&patient)), (0, None), "there is room in a moment");
        tokio::time::advance(SPARED).await;
        assert_eq!((registry.make_room(), over(&patient)), (29, None), "until no more than a share is left");
        for _ in 0..2 {
            assert_eq!(
                (registry.make_room(), over(&patient)),
                (0, None),
                "on a busy machine they take a while to go"
            );
        }
        drop(fresh);
        // A connection that is used again and again does not keep the others' places for ever.
        let used: Vec<_> = (0..39).map(|_| join(&registry)).collect();
        tokio::time::advance(SPARED).await;
        used.iter().for_each(|one| one.activity.request(LONG).belongs_to(&greedy, &registry).unwrap());
        assert_eq!((registry.make_room(), over(&patient)), (1, Some(CloseReason::Unwanted)));
        drop(used);
        let _ = patient.activity.rest();
        // If no holder is above its share, any waiting connection can be evicted.
        let _fresh: Vec<_> = (0..5).map(|_| held(&registry, &greedy, Phase::Receiving)).collect();
        assert_eq!((registry.make_room(), over(&patient)), (1, Some(CloseReason::Unwanted)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_ask_again_finds_room_at_once() {
        let registry = registry(40, 40);
        let [greedy, small] = ["greedy", "small"].map(Principal::named);
        let (patient, _body) = held(&registry, &small, Phase::Receiving);
        tokio::time::advance(SLOW).await;
        let _fresh: Vec<_> = (0..39).map(|_| held(&registry, &greedy, Phase::Receiving)).collect();
        assert_eq!((registry.make_room_at_once(), over(&patient)), (1, Some(CloseReason::Unwanted)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_principal_takes_further_places_from_itself() {
        let registry = registry(40, 3);
        let [greedy, other] = ["greedy", "other"].map(Principal::named);
        let mut own: Vec<_> = (0..3).map(|_| held(&registry, &greedy, Phase::Receiving)).collect();
        let _neighbour = held(&registry, &other, Phase::Receiving);
        let next = join(&registry);
        let request = next.activity.request(LONG);
        assert_eq!(request.belongs_to(&greedy, &registry), Err(3), "all have just come");
        tokio::time::advance(SPARED).await;
        assert_eq!(request.belongs_to(&greedy, &registry), Ok(()));
        assert_eq!(request.belongs_to(&greedy, &registry), Ok(()), "it is counted once");
        assert_eq!(own.iter().filter_map(|(registration, _)| over(registration)).count(), 1);
        own.clear();
        assert_eq!(greedy.usage().connections.get(), 1);
        // Another caller on the same connection takes it over.
        assert_eq!(request.belongs_to(&other, &registry), Ok(()));
        assert_eq!([&greedy, &other].map(|who| who.usage().connections.get()), [0, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn rest_is_measured_from_the_last_answer() {
        let registration = registry(9, 9).join(HERE, Duration::from_secs(5), place());
        let busy = registration.activity.request(Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(1000)).await;
        assert_eq!(registration.activity.over().now_or_never(), None);
        drop(busy);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(registration.activity.over().now_or_never(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(registration.activity.over().await, CloseReason::Idle);
    }

    /// Takes a connection of a principal's share as soon as there is a place for it.
    struct Next(Principal, AtomicUsize);

    impl Wake for Next {
        fn wake(self: Arc<Self>) {
            let is_refused = !self.0.usage().connections.try_take(1, 1);
            self.1.store(1 + usize::from(is_refused), Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_only_when_its_holder_may_take_it() {
        let (registry, me, places) = (registry(1, 1), Principal::named("me"), Arc::new(Semaphore::new(1)));
        let registration = registry.join(HERE, LONG, places.clone().try_acquire_owned().unwrap());
        registration.activity.request(LONG).belongs_to(&me, &registry).unwrap();
        let next = Arc::new(Next(me, AtomicUsize::new(0)));
        let mut freed = pin!(places.acquire_owned());
        let waker = Waker::from(next.clone());
        assert!(freed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(registration);
        assert_eq!(next.1.load(Ordering::Relaxed), 1, "woken, and not refused");
    }
}
