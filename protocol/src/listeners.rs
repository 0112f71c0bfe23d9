//! The open `subscriptions/listen` channels, which last until their clients close them.

use ptc_host::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::principal::Principal;

/// Limits on open channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Of all principals together.
    pub all: usize,
    /// Of one principal.
    pub per_owner: usize,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        ListenerLimits { all: 1024, per_owner: 1024 }
    }
}

/// Why a channel is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelLimitError {
    /// This many channels are open, and none of them belongs to a principal with more of them than the caller.
    All(usize),
    /// The principal has this many open channels.
    Own(usize),
}

impl ChannelLimitError {
    /// The limit's name in metrics.
    pub(crate) fn limit(self) -> &'static str {
        match self {
            ChannelLimitError::All(_) => "max_listeners",
            ChannelLimitError::Own(_) => "max_listeners_per_owner",
        }
    }
}

impl fmt::Display for ChannelLimitError {
    /// Writes the limit that is reached, its value and its flag.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelLimitError::All(limit) => {
                write!(out, "{limit} subscriptions are open (--http-max-listeners)")
            }
            ChannelLimitError::Own(limit) => {
                write!(out, "{limit} subscriptions of this caller are open (--http-max-listeners-per-owner)")
            }
        }
    }
}

/// The open channels of a process.
#[derive(Debug)]
pub struct Listeners {
    limits: ListenerLimits,
    open: Mutex<ChannelTable>,
}

#[derive(Debug, Default)]
struct ChannelTable {
    next: u64,
    /// By number, so the oldest comes first.
    channels: BTreeMap<u64, Channel>,
    by_principal: HashMap<Principal, usize>,
}

#[derive(Debug)]
struct Channel {
    principal: Principal,
    /// Ends the channel when it is dropped.
    _end: oneshot::Sender<()>,
}

impl ChannelTable {
    fn of(&self, principal: &Principal) -> usize {
        self.by_principal.get(principal).copied().unwrap_or(0)
    }

    fn remove(&mut self, number: u64) -> Option<Channel> {
        let channel = self.channels.remove(&number)?;
        if let Some(count) = self.by_principal.get_mut(&channel.principal) {
            *count -= 1;
            if *count == 0 {
                self.by_principal.remove(&channel.principal);
            }
        }
        Some(channel)
    }

    /// Evicts the oldest channel of the principal that has the most of them, if those are more than `own` would be.
    fn make_room(&mut self, own: usize) -> bool {
        let greediest = self.by_principal.iter().max_by_key(|(_, count)| **count);
        let Some((greediest, _)) = greediest.filter(|(_, count)| **count > own + 1) else { return false };
        let oldest = self.channels.iter().find(|(_, channel)| channel.principal == *greediest);
        let Some(oldest) = oldest.map(|(number, _)| *number) else { return false };
        // Dropping its sender ends it.
        self.remove(oldest).is_some()
    }
}

impl Listeners {
    /// No open channels; at most as many as `limits` allow.
    pub fn new(limits: ListenerLimits) -> Arc<Self> {
        Arc::new(Listeners { limits, open: Mutex::default() })
    }

    /// The limits on open channels.
    pub fn limits(&self) -> ListenerLimits {
        self.limits
    }

    /// The number of open channels.
    pub fn count(&self) -> usize {
        self.open().channels.len()
    }

    /// A place for a channel of `principal`. If there is none left, the oldest channel of the principal with the most
    /// channels is evicted.
    ///
    /// # Errors
    /// The limit that is reached.
    pub(crate) fn try_open(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Result<ChannelSlot, ChannelLimitError> {
        let mut open = self.open();
        let own = open.of(principal);
        if own >= self.limits.per_owner {
            return Err(ChannelLimitError::Own(self.limits.per_owner));
        }
        if open.channels.len() >= self.limits.all && !open.make_room(own) {
            return Err(ChannelLimitError::All(self.limits.all));
        }
        let number = open.next;
        open.next += 1;
        let (end, ended) = oneshot::channel();
        open.channels.insert(number, Channel { principal: principal.clone(), _end: end });
        *open.by_principal.entry(principal.clone()).or_default() += 1;
        drop(open);
        Ok(ChannelSlot { listeners: self.clone(), number, ended })
    }

    fn open(&self) -> MutexGuard<'_, ChannelTable> {
        self.open.lock()
    }
}

/// The place of one channel, until this is dropped. As a future, it completes when the channel is evicted.
#[derive(Debug)]
pub(crate) struct ChannelSlot {
    listeners: Arc<Listeners>,
    number: u64,
    ended: oneshot::Receiver<()>,
}

impl Future for ChannelSlot {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The sender is only ever dropped, when the channel is evicted.
        Pin::new(&mut self.ended).poll(context).map(drop)
    }
}

impl Drop for ChannelSlot {
    fn drop(&mut self) {
        self.listeners.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_principal_keeps_to_its_share() {
        let listeners = Listeners::new(ListenerLimits { all: 8, per_owner: 2 });
        let (greedy, other) = (Principal::named("greedy"), Principal::named("other"));
        let held = [0, 1].map(|_| listeners.try_open(&greedy).unwrap());
        assert_eq!(listeners.try_open(&greedy).unwrap_err(), ChannelLimitError::Own(2));
        let _other = listeners.try_open(&other).unwrap();
        drop(held);
        assert_eq!(listeners.count(), 1);
        assert!(listeners.try_open(&greedy).is_ok());
    }

    #[test]
    fn the_oldest_of_the_greediest_makes_room() {
        let listeners = Listeners::new(ListenerLimits { all: 6, per_owner: 6 });
        let [greedy, small, new] = ["greedy", "small", "new"].map(Principal::named);
        let _small = listeners.try_open(&small).unwrap();
        let mut held: Vec<_> = (0..5).map(|_| listeners.try_open(&greedy).unwrap()).collect();
        let mut come: Vec<_> = (0..2).map(|_| listeners.try_open(&new).unwrap()).collect();
        assert_eq!(listeners.count(), 6);
        let ended: Vec<_> = held.iter_mut().map(|place| place.now_or_never().is_some()).collect();
        assert_eq!(ended, [true, true, false, false, false]);
        assert!(come.iter_mut().all(|place| place.now_or_never().is_none()));
        // Taking from a principal that has hardly more would go back and forth.
        assert_eq!(listeners.try_open(&new).unwrap_err(), ChannelLimitError::All(6));
        assert_eq!(listeners.try_open(&greedy).unwrap_err(), ChannelLimitError::All(6));
        drop(held);
        assert_eq!(listeners.count(), 3, "one that was ended gives nothing back twice");
    }
}
