//! Connections of one origin that wait for their next request.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::ThreadId;
use std::time::Duration;

use hyper::body::Incoming;
use tokio::time::Instant;

use super::body::poll_data;
use super::exchange::{Connection, H1, H2};

/// Most connections that wait.
const MAX_IDLE: usize = 64;
/// How long a connection waits at most.
const MAX_AGE: Duration = Duration::from_secs(55);
/// How long a server may take to end an answer that nobody reads any more.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// The connections of one origin. A connection belongs to the thread whose reactor watches it; each thread prefers
/// its own.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    /// Held while a connection of unknown or shared version is opened, so that many first requests do not open many
    /// HTTP/2 connections.
    pub(super) opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    shared: Vec<H2>,
    version: Version,
}

struct Idle {
    h1: Box<H1>,
    /// The rest of an answer that is still to be thrown away.
    rest: Option<Incoming>,
}

/// What the origin speaks, as far as known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Version {
    #[default]
    Unknown,
    H1,
    H2,
}

impl Pool {
    /// A connection that can carry a request now, one of this thread's if possible.
    pub(super) fn take(&self, cx: &mut Context<'_>) -> Option<Connection> {
        let thread = std::thread::current().id();
        let mut state = self.lock();
        state.shared.retain(H2::is_open);
        if let Some(h2) = state.shared.iter().find(|h2| h2.thread == thread) {
            return Some(Connection::H2(h2.clone()));
        }
        state.drop_old();
        state.take_h1(cx, |owner| owner == thread).or_else(|| state.take_h1(cx, |_| true)).map(Connection::H1)
    }

    /// What the origin speaks, as far as known.
    pub(super) fn version(&self) -> Version {
        self.lock().version
    }

    /// Notes a connection that was just opened; one that can be shared is.
    pub(super) fn opened(&self, connection: &Connection) {
        let mut state = self.lock();
        match connection {
            Connection::H1(_) => state.version = Version::H1,
            Connection::H2(h2) => {
                state.version = Version::H2;
                state.shared.push(h2.clone());
            }
        }
    }

    /// Gives a shared connection to nobody any more. What it carries goes on.
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
        h1.idle_since = Instant::now();
        let mut state = self.lock();
        if state.idle.len() < MAX_IDLE {
            state.idle.push(Idle { h1, rest });
        }
    }

    /// Closes all connections that wait, and those that are shared once they are done.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.idle.clear();
        state.shared.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The connection that was used last, of those that `owner` admits: the others may grow old and go.
    fn take_h1(&mut self, cx: &mut Context<'_>, owner: impl Fn(ThreadId) -> bool) -> Option<Box<H1>> {
        for at in (0..self.idle.len()).rev() {
            if !owner(self.idle[at].h1.thread) {
                continue;
            }
            let idle = &mut self.idle[at];
            match idle.settle(cx) {
                Settled::Ready => return Some(self.idle.remove(at).h1),
                Settled::NotYet => {}
                Settled::Dead => {
                    self.idle.remove(at);
                }
            }
        }
        None
    }

    fn drop_old(&mut self) {
        let now = Instant::now();
        self.idle.retain(|idle| {
            let age = now.saturating_duration_since(idle.h1.idle_since);
            age < if idle.rest.is_some() { DRAIN_PATIENCE } else { MAX_AGE }
        });
    }
}

enum Settled {
    Ready,
    NotYet,
    Dead,
}

impl Idle {
    fn settle(&mut self, cx: &mut Context<'_>) -> Settled {
        if self.rest.is_none() {
            return if self.h1.is_still_ready(cx) { Settled::Ready } else { Settled::Dead };
        }
        while let Some(rest) = &mut self.rest {
            let h1 = &mut self.h1;
            match poll_data(rest, Some(|cx: &mut Context<'_>| h1.drive(cx)), cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(None) => self.rest = None,
                Poll::Ready(Some(Err(_))) => return Settled::Dead,
                Poll::Pending => return Settled::NotYet,
            }
        }
        if self.h1.is_ready(cx) && self.h1.is_still_ready(cx) { Settled::Ready } else { Settled::Dead }
    }
}
