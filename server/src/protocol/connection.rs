//! The state of one conversation: a pipe, or one HTTP session of the handshake era.
//!
//! Request ids mean something only inside a conversation. A modern HTTP request is a conversation of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::drain::Drain;
use super::message::RequestId;
use super::version::Revision;
use crate::principal::Owner;

/// A conversation with one client.
#[derive(Debug)]
pub struct Connection {
    owner: Owner,
    max_in_flight: usize,
    draining: Drain,
    state: Mutex<State>,
    generation: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    revision: Option<Revision>,
    in_flight: HashMap<RequestId, Running>,
}

#[derive(Debug)]
struct Running {
    generation: u64,
    cancel: oneshot::Sender<()>,
}

/// Why a call may not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A call with this id is running.
    Duplicate,
    /// As many calls as this conversation may have are running.
    Full(usize),
}

impl Connection {
    /// A conversation in which at most `max_in_flight` calls run at a time.
    pub fn new(owner: Owner, max_in_flight: usize) -> Arc<Self> {
        Arc::new(Connection {
            owner,
            max_in_flight,
            draining: Drain::default(),
            state: Mutex::default(),
            generation: AtomicU64::new(0),
        })
    }

    /// Whom its calls belong to.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The revision spoken here, once one is known.
    pub fn revision(&self) -> Option<Revision> {
        self.state().revision
    }

    /// Settles the revision.
    pub fn set_revision(&self, revision: Revision) {
        self.state().revision = Some(revision);
    }

    /// Refuses tool calls from now on.
    pub fn drain(&self) {
        self.draining.begin();
    }

    /// Whether tool calls are refused.
    pub fn is_draining(&self) -> bool {
        self.draining.has_begun()
    }

    /// Completes once tool calls are refused.
    pub async fn drained(&self) {
        self.draining.begun().await;
    }

    /// How many calls run.
    pub fn running(&self) -> usize {
        self.state().in_flight.len()
    }

    /// Enters a call. The ticket ends its entry when dropped; the receiver fires when it is cancelled.
    pub fn enter(self: &Arc<Self>, id: &RequestId) -> Result<(Ticket, oneshot::Receiver<()>), Refused> {
        let mut state = self.state();
        if state.in_flight.contains_key(id) {
            return Err(Refused::Duplicate);
        }
        if state.in_flight.len() >= self.max_in_flight {
            return Err(Refused::Full(self.max_in_flight));
        }
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let (cancel, cancelled) = oneshot::channel();
        state.in_flight.insert(id.clone(), Running { generation, cancel });
        Ok((Ticket { connection: self.clone(), id: id.clone(), generation }, cancelled))
    }

    /// Cancels the running call of that id; `false` if none runs.
    pub fn cancel(&self, id: &RequestId) -> bool {
        let running = self.state().in_flight.remove(id);
        running.is_some_and(|running| running.cancel.send(()).is_ok())
    }

    /// Cancels all running calls and returns how many there were.
    pub fn cancel_all(&self) -> usize {
        let all = std::mem::take(&mut self.state().in_flight);
        let count = all.len();
        for running in all.into_values() {
            // A call that has just ended no longer listens.
            let _ = running.cancel.send(());
        }
        count
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves the state whole, so a poisoned lock is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of one running call.
#[derive(Debug)]
pub struct Ticket {
    connection: Arc<Connection>,
    id: RequestId,
    generation: u64,
}

impl Ticket {
    /// The conversation.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        // A cancelled id may be in use again by the time the cancelled call has ended.
        if state.in_flight.get(&self.id).is_some_and(|running| running.generation == self.generation) {
            state.in_flight.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Principal;
    use crate::protocol::json::Raw;

    fn id(text: &str) -> RequestId {
        RequestId::from_raw(Raw::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn an_id_is_free_again_after_its_call_or_its_cancellation() {
        let connection = Connection::new(Owner::of(Principal::process()), 2);
        let (first, mut cancelled) = connection.enter(&id("1")).unwrap();
        assert_eq!(connection.enter(&id("1")).unwrap_err(), Refused::Duplicate);
        assert!(connection.cancel(&id("1")) && cancelled.try_recv().is_ok());
        let (_second, _keep) = connection.enter(&id("1")).unwrap();
        drop(first);
        assert_eq!(connection.running(), 1, "the late end of a cancelled call leaves its successor alone");
        let (_third, _keep) = connection.enter(&id("\"1\"")).unwrap();
        assert_eq!(connection.enter(&id("2")).unwrap_err(), Refused::Full(2));
        assert!(!connection.cancel(&id("9")));
        assert_eq!(connection.cancel_all(), 2);
    }
}
