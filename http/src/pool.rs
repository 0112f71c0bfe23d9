//! The idle connections of one origin.

use ptc_base::sync::Mutex;
use std::sync::MutexGuard;
use std::task::{Context, Poll};
use std::thread::ThreadId;
use std::time::Duration;

use hyper::body::Incoming;

use super::exchange::{H1, IdleConnection, poll_data};
use super::shared::H2;
use ptc_base::time::{self, Instant};

/// Connections that wait at most, unless calls may be more at once.
const MAX_IDLE: usize = 64;
/// How long a connection waits at most.
const MAX_AGE: Duration = Duration::from_secs(55);
/// A connection that has waited for less is used without asking the kernel whether its server has hung up: that would be one
/// system call in three. If it has, its kernel refuses the request, which another connection then carries.
const JUST_USED: Duration = Duration::from_millis(1);
/// The time that a server has to end an answer that is no longer read.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);
/// How often connections that have waited too long are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The connections of one origin. A connection belongs to the thread whose reactor watches it; each thread prefers
/// its own, and one that takes another's makes it its own.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<PoolState>,
    /// Held while a connection of unknown or shared version is opened, so that many first requests do not open many
    /// HTTP/2 connections.
    pub(super) opening: tokio::sync::Mutex<()>,
}

struct PoolState {
    /// Idle connections, by owner, the one used last at the end. There are as many owners as threads that ever called.
    idle: Vec<(ThreadId, Vec<Idle>)>,
    /// How many wait.
    waiting: usize,
    max_waiting: usize,
    /// When the old ones were last thrown out.
    swept: Option<Instant>,
    shared: Vec<H2>,
    version: Version,
}

impl Default for PoolState {
    fn default() -> Self {
        PoolState {
            idle: Vec::new(),
            waiting: 0,
            max_waiting: MAX_IDLE,
            swept: None,
            shared: Vec::new(),
            version: Version::Unknown,
        }
    }
}

struct Idle {
    h1: Box<H1>,
    /// The rest of an answer that is still to be thrown away.
    rest: Option<Incoming>,
}

/// The origin's HTTP version, as far as known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Version {
    #[default]
    Unknown,
    H1,
    H2,
}

impl Pool {
    /// A connection that can carry a request now, one of this thread's if possible.
    pub(super) fn take(&self, cx: &mut Context<'_>) -> Option<IdleConnection> {
        let thread = std::thread::current().id();
        let mut not_yet = Vec::new();
        let mut taken = None;
        // What waits is asked how it is without the lock: that asks the kernel, and other threads wait for the lock.
        loop {
            let now = time::now();
            let mut idle = match self.next(thread, now, not_yet.is_empty()) {
                Some(Checkout::Shared(h2)) => return Some(IdleConnection::H2(h2)),
                Some(Checkout::Idle(idle)) => idle,
                None => break,
            };
            match idle.settle(cx, now) {
                IdleState::Ready if idle.h1.move_to(thread) => {
                    taken = Some(IdleConnection::H1(idle.h1));
                    break;
                }
                IdleState::NotYet => not_yet.push(idle),
                IdleState::Ready | IdleState::Dead => {}
            }
        }
        if !not_yet.is_empty() {
            let mut state = self.lock();
            not_yet.into_iter().rev().for_each(|idle| state.keep(idle));
        }
        taken
    }

    /// A connection for a request of this thread, taken out of the pool if it is not shared. `first` is false for a retry.
    fn next(&self, thread: ThreadId, now: Instant, first: bool) -> Option<Checkout> {
        let mut state = self.lock();
        if !state.shared.is_empty() && first {
            state.shared.retain(H2::is_open);
            if let Some(h2) = state.shared.iter().find(|h2| h2.thread() == thread) {
                return Some(Checkout::Shared(h2.clone()));
            }
        }
        state.drop_old(now);
        state.pop(thread).map(Checkout::Idle)
    }

    /// The origin's HTTP version, as far as known.
    pub(super) fn version(&self) -> Version {
        self.lock().version
    }

    /// Lets so many connections wait, if that is more than may wait anyway.
    pub(super) fn make_room(&self, connections: usize) {
        let mut state = self.lock();
        state.max_waiting = state.max_waiting.max(connections);
    }

    /// Notes a connection that was just opened; one that can be shared is.
    pub(super) fn opened(&self, connection: &IdleConnection) {
        let mut state = self.lock();
        match connection {
            IdleConnection::H1(_) => state.version = Version::H1,
            IdleConnection::H2(h2) => {
                state.version = Version::H2;
                state.shared.push(h2.clone());
            }
        }
    }

    /// Takes a shared connection out of use. Its current exchanges continue.
    pub(super) fn retire(&self, h2: &H2) {
        self.lock().shared.retain(|shared| !shared.is(h2));
    }

    /// Keeps a connection for its next request.
    pub(super) fn put(&self, h1: Box<H1>) {
        self.keep(h1, None);
    }

    /// Keeps a connection whose answer is not at its end, in the hope that the end is near.
    pub(super) fn put_draining(&self, h1: Box<H1>, rest: Incoming) {
        self.keep(h1, Some(rest));
    }

    fn keep(&self, mut h1: Box<H1>, rest: Option<Incoming>) {
        h1.idle_since = time::now();
        let mut state = self.lock();
        if state.waiting < state.max_waiting {
            state.keep(Idle { h1, rest });
        }
    }

    /// Closes all connections that wait, and those that are shared once they are done.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.idle.clear();
        state.waiting = 0;
        state.shared.clear();
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

/// A connection for a request.
enum Checkout {
    Shared(H2),
    Idle(Idle),
}

impl PoolState {
    fn keep(&mut self, idle: Idle) {
        let thread = idle.h1.thread;
        self.waiting += 1;
        match self.idle.iter_mut().find(|(owner, _)| *owner == thread) {
            Some((_, own)) => own.push(idle),
            None => self.idle.push((thread, vec![idle])),
        }
    }

    /// The connection that was used last, of this thread's if there are any: the others may grow old and go.
    fn pop(&mut self, thread: ThreadId) -> Option<Idle> {
        let own = self.idle.iter_mut().find(|(owner, _)| *owner == thread).and_then(|(_, own)| own.pop());
        let idle = own.or_else(|| self.idle.iter_mut().find_map(|(_, others)| others.pop()));
        self.waiting -= usize::from(idle.is_some());
        idle
    }

    fn drop_old(&mut self, now: Instant) {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP_INTERVAL) {
            return;
        }
        self.swept = Some(now);
        let is_young = |idle: &Idle| {
            let age = now.saturating_duration_since(idle.h1.idle_since);
            age < if idle.rest.is_some() { DRAIN_PATIENCE } else { MAX_AGE }
        };
        self.waiting = 0;
        self.idle.retain_mut(|(_, idle)| {
            idle.retain(is_young);
            self.waiting += idle.len();
            !idle.is_empty()
        });
    }
}

enum IdleState {
    Ready,
    NotYet,
    Dead,
}

impl Idle {
    fn settle(&mut self, cx: &mut Context<'_>, now: Instant) -> IdleState {
        if self.rest.is_none() {
            let waited = now.saturating_duration_since(self.h1.idle_since);
            let is_sure = waited < JUST_USED && self.h1.tells_refusals();
            return if is_sure || self.h1.is_still_ready(cx) { IdleState::Ready } else { IdleState::Dead };
        }
        while let Some(rest) = &mut self.rest {
            let h1 = &mut self.h1;
            match poll_data(rest, Some(|cx: &mut Context<'_>| h1.drive(cx)), cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(None) => self.rest = None,
                Poll::Ready(Some(Err(_))) => return IdleState::Dead,
                Poll::Pending => return IdleState::NotYet,
            }
        }
        if self.h1.is_ready(cx) && self.h1.is_still_ready(cx) { IdleState::Ready } else { IdleState::Dead }
    }
}
