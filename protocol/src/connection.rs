//! The state of one conversation: a pipe, or one HTTP session of the handshake era.
//!
//! Request ids are meaningful only within a conversation. An HTTP request of the modern era, or of a client without a
//! session id, is a conversation of its own.

use ptc_host::sync::Mutex;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::{Context, Poll, ready};

use ahash::AHashMap;
use ptc_mcp::LogLevel;
use ptc_mcp::Revision;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::strict::StrictMessage;
use tokio::sync::oneshot;

use super::client::KnownClient;
use super::drain::Drain;
use super::elicitation::Elicitation;
use super::open_requests::ClientRequests;
use super::replica_port::Elsewhere;

/// A conversation with one client.
#[derive(Debug)]
pub struct Connection {
    /// The HTTP session that it is.
    http_session: Option<Arc<str>>,
    /// `None` if calls are not registered: ids of different requests may then be equal, and no message cancels one.
    max_in_flight: Option<usize>,
    /// True if it carries notifications outside any request.
    is_pipe: bool,
    draining: Drain,
    state: Mutex<Calls>,
    client_requests: ClientRequests,
    elsewhere: OnceLock<Arc<dyn Elsewhere>>,
    generation: AtomicU64,
}

#[derive(Debug, Default)]
struct Calls {
    revision: Option<Revision>,
    client: Option<KnownClient>,
    elicitation: Elicitation,
    log_level: Option<LogLevel>,
    has_roots: bool,
    watcher: Option<u64>,
    in_flight: AHashMap<RequestId, Running>,
}

#[derive(Debug)]
struct Running {
    generation: u64,
    cancel: oneshot::Sender<CancelledBy>,
}

/// The cause of a call's cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledBy {
    /// A message of its client, which expects no answer any more.
    Message,
    /// The end of its conversation.
    End,
}

/// Why a call may not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionError {
    /// A call with this id is running.
    Duplicate,
    /// The conversation's maximum number of calls is running.
    Full(usize),
}

impl Connection {
    /// An HTTP session, in which at most `max_in_flight` calls run at a time.
    pub fn of_session(id: Arc<str>, max_in_flight: usize) -> Arc<Self> {
        Self::of(Some(id), Some(max_in_flight), false)
    }

    /// A pipe, which carries notifications outside any request.
    pub fn over_pipe(max_in_flight: usize) -> Arc<Self> {
        Self::of(None, Some(max_in_flight), true)
    }

    /// A conversation of unrelated requests, each of which ends with its own exchange; they may be of several callers.
    pub fn stateless() -> Arc<Self> {
        Self::of(None, None, false)
    }

    fn of(http_session: Option<Arc<str>>, max_in_flight: Option<usize>, is_pipe: bool) -> Arc<Self> {
        Arc::new(Connection {
            http_session,
            max_in_flight,
            is_pipe,
            draining: Drain::default(),
            state: Mutex::default(),
            client_requests: ClientRequests::default(),
            elsewhere: OnceLock::new(),
            generation: AtomicU64::new(0),
        })
    }

    /// The HTTP session that it is, if it is one.
    pub(crate) fn http_session(&self) -> Option<&Arc<str>> {
        self.http_session.as_ref()
    }

    /// True if it lasts longer than one request, so that a client can make settings for its later ones.
    pub(crate) fn lasts(&self) -> bool {
        self.max_in_flight.is_some()
    }

    /// True if it carries notifications outside any request.
    pub(crate) fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// The negotiated revision, once known.
    pub fn revision(&self) -> Option<Revision> {
        self.state().revision
    }

    /// Sets the revision.
    pub fn set_revision(&self, revision: Revision) {
        self.state().revision = Some(revision);
    }

    /// The client, if it is a known one.
    pub(crate) fn client(&self) -> Option<KnownClient> {
        self.state().client
    }

    /// Sets the client.
    pub fn set_client(&self, client: Option<KnownClient>) {
        self.state().client = client;
    }

    /// The modes of questions that the client has declared in its handshake.
    pub(crate) fn elicitation(&self) -> Elicitation {
        self.state().elicitation
    }

    /// Sets the modes of questions that the client shows to its user.
    pub fn set_elicitation(&self, modes: Elicitation) {
        self.state().elicitation = modes;
    }

    /// Our requests that the client has not answered.
    pub(super) fn client_requests(&self) -> &ClientRequests {
        &self.client_requests
    }

    /// Sets how messages are forwarded to other replicas.
    pub fn goes_on_elsewhere(&self, elsewhere: Arc<dyn Elsewhere>) {
        // One conversation has one store.
        let _ = self.elsewhere.set(elsewhere);
    }

    /// Forwards messages to other replicas, if there are any.
    pub(super) fn elsewhere(&self) -> Option<&Arc<dyn Elsewhere>> {
        self.elsewhere.get()
    }

    /// The ids of our requests that the client has not answered.
    pub fn open_requests(&self) -> Vec<Arc<str>> {
        self.client_requests.ids()
    }

    /// Takes a reply that arrived at another replica. Returns whether its request was still open.
    pub fn take_reply(&self, message: &StrictMessage<'_>) -> bool {
        self.client_requests.take(message)
    }

    /// The least severity of log messages that the client wants; `None` for none at all.
    pub fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level
    }

    /// The number of the client's subscription to changes, if it has one.
    pub(crate) fn watcher(&self) -> Option<u64> {
        self.state().watcher
    }

    /// Sets that number.
    pub fn set_watcher(&self, number: u64) {
        self.state().watcher = Some(number);
    }

    /// True if the client can be asked for its roots.
    pub(crate) fn has_roots(&self) -> bool {
        self.state().has_roots
    }

    /// Sets whether the client can be asked for its roots.
    pub(crate) fn set_has_roots(&self, has_roots: bool) {
        self.state().has_roots = has_roots;
    }

    /// Sets the least severity of log messages that the client wants.
    pub fn set_log_level(&self, level: LogLevel) {
        self.state().log_level = Some(level);
    }

    /// Refuses tool calls from now on.
    pub fn drain(&self) {
        self.draining.begin();
    }

    /// True if tool calls are refused.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.has_begun()
    }

    /// Completes once tool calls are refused.
    pub(crate) async fn drained(&self) {
        self.draining.begun().await;
    }

    /// The number of running calls.
    pub fn running(&self) -> usize {
        self.state().in_flight.len()
    }

    /// True if any call was ever registered.
    pub fn has_called(&self) -> bool {
        self.generation.load(Ordering::Relaxed) > 0
    }

    /// Registers a call. Dropping the ticket removes the call; its cancellation fires when a message asks for it.
    pub fn enter(self: &Arc<Self>, id: &RequestId) -> Result<(Ticket, Cancellation), AdmissionError> {
        let Some(max_in_flight) = self.max_in_flight else {
            return Ok((Ticket { connection: self.clone(), entry: None }, Cancellation(None)));
        };
        let mut state = self.state();
        if state.in_flight.contains_key(id) {
            return Err(AdmissionError::Duplicate);
        }
        if state.in_flight.len() >= max_in_flight {
            return Err(AdmissionError::Full(max_in_flight));
        }
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let (cancel, cancelled) = oneshot::channel();
        state.in_flight.insert(id.clone(), Running { generation, cancel });
        let entry = Some((id.clone(), generation));
        Ok((Ticket { connection: self.clone(), entry }, Cancellation(Some(cancelled))))
    }

    /// Cancels the running call of that id; `false` if none runs.
    pub fn cancel(&self, id: &RequestId) -> bool {
        let running = self.state().in_flight.remove(id);
        running.is_some_and(|running| running.cancel.send(CancelledBy::Message).is_ok())
    }

    /// Cancels the running call whose id matches, and returns the id.
    pub fn cancel_known(&self, is_it: impl Fn(&RequestId) -> bool) -> Option<RequestId> {
        let id = self.state().in_flight.keys().find(|id| is_it(id)).cloned()?;
        self.cancel(&id).then_some(id)
    }

    /// Cancels all running calls and returns their number. Waits for replies of the client end as well.
    pub fn cancel_all(&self) -> usize {
        self.client_requests.forget();
        let all = std::mem::take(&mut self.state().in_flight);
        let count = all.len();
        for running in all.into_values() {
            // A call that has just ended no longer listens.
            let _ = running.cancel.send(CancelledBy::End);
        }
        count
    }

    fn state(&self) -> MutexGuard<'_, Calls> {
        // Every critical section leaves the state whole, so a poisoned lock is still good.
        self.state.lock()
    }
}

/// Completes when a message asks for the end of a call; never completes if no message can.
#[derive(Debug)]
pub struct Cancellation(Option<oneshot::Receiver<CancelledBy>>);

impl Future for Cancellation {
    type Output = CancelledBy;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CancelledBy> {
        let Some(receiver) = &mut self.0 else { return Poll::Pending };
        match ready!(Pin::new(receiver).poll(context)) {
            Ok(by) => Poll::Ready(by),
            // The entry is removed: no cancellation can come any more.
            Err(_) => {
                self.0 = None;
                Poll::Pending
            }
        }
    }
}

/// The entry of one running call.
#[derive(Debug)]
pub struct Ticket {
    connection: Arc<Connection>,
    entry: Option<(RequestId, u64)>,
}

impl Ticket {
    /// The conversation.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some((id, generation)) = &self.entry else { return };
        let mut state = self.connection.state();
        // A cancelled id may be in use again by the time the cancelled call has ended.
        if state.in_flight.get(id).is_some_and(|running| running.generation == *generation) {
            state.in_flight.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use ptc_mcp::json::Raw;

    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::from_raw(Raw::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn an_id_is_free_again_after_its_call_or_its_cancellation() {
        let connection = Connection::over_pipe(2);
        let (first, mut cancelled) = connection.enter(&id("1")).unwrap();
        assert_eq!(connection.enter(&id("1")).unwrap_err(), AdmissionError::Duplicate);
        assert!(connection.cancel(&id("1")) && (&mut cancelled).now_or_never().is_some());
        let (_second, _keep) = connection.enter(&id("1")).unwrap();
        drop(first);
        assert_eq!(connection.running(), 1, "the late end of a cancelled call leaves its successor alone");
        let (_third, _keep) = connection.enter(&id("\"1\"")).unwrap();
        assert_eq!(connection.enter(&id("2")).unwrap_err(), AdmissionError::Full(2));
        assert!(!connection.cancel(&id("9")));
        assert_eq!(connection.cancel_all(), 2);
    }

    #[test]
    fn requests_without_a_conversation_do_not_know_each_other() {
        let connection = Connection::stateless();
        let (_first, mut cancelled) = connection.enter(&id("1")).unwrap();
        let (_second, _) = connection.enter(&id("1")).unwrap();
        assert!(!connection.cancel(&id("1")) && (&mut cancelled).now_or_never().is_none());
        assert_eq!((connection.running(), connection.cancel_all()), (0, 0));
    }
}
