//! A connection's life: started once for concurrent callers, restarted when needed, not started during the recovery
//! window of a crash (upstreams.md 6.3).

use ptc_base::sync::Mutex;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast, watch};

use super::{CallFault, Health, Introduction, Phase, ToolInfo, UpstreamEvent};
use crate::config::Backoff;
use ptc_base::time::{self, Instant};

/// The longest recovery window that a call waits out.
const RECOVERY_WAIT: Duration = Duration::from_secs(2);
/// Events that a slow listener may fall behind before it loses the oldest.
const EVENT_BACKLOG: usize = 16;

/// A transport's connection, which can end on its own.
pub(crate) trait TransportConnection: Send + Sync + 'static {
    /// How it ended, if it has.
    fn ended(&self) -> Option<ConnectionEnd>;

    /// Ends it in the background; it is no longer in use.
    fn abandon(&self);
}

/// How a connection ended.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionEnd {
    /// The fault that calls in flight received.
    pub(crate) fault: CallFault,
    pub(crate) kind: EndKind,
}

/// Whether an end opens the recovery window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndKind {
    /// An end in order opens none.
    Clean,
    /// A crash opens one.
    Crash,
    /// A crash while no call was in flight: as none can have caused it, the next call starts the server at once. Only one that
    /// crashes again and again is left alone for a while, which calls wait out if it is short.
    CrashAtRest,
    /// The server forgot the session, as it may when it restarts: MCP has the client begin a new one. One that forgets again and
    /// again is left alone, too.
    SessionLost,
}

/// The result of a successful start.
pub(crate) struct StartedConnection<C> {
    pub(crate) connection: Arc<C>,
    pub(crate) tools: Arc<[ToolInfo]>,
    pub(crate) protocol_version: Box<str>,
    pub(crate) introduction: Introduction,
}

/// Keeps at most one live connection.
pub(crate) struct Lifecycle<C> {
    /// Where transports' tasks run.
    owner: Handle,
    backoff: Backoff,
    state: Mutex<LifecycleState<C>>,
    events: broadcast::Sender<UpstreamEvent>,
    /// Whether it is being shut down, and the waiters to notify. Each call waits for it; a flag and a list cost least.
    closing: AtomicBool,
    told: Notify,
}

struct LifecycleState<C> {
    link: Link<C>,
    tools: Option<Arc<[ToolInfo]>>,
    /// Changes of the tool list that were announced, and how many of them `tools` is known to have.
    announced: u64,
    listed: u64,
    protocol_version: Option<Box<str>>,
    introduction: Introduction,
    next_window: Duration,
    window_until: Option<Instant>,
    /// Whether calls wait the window out, if it is short.
    window_is_waited_out: bool,
    /// When a connection ended last that no call can have ended.
    last_end_at_rest: Option<Instant>,
    starts: u64,
    last_fault: Option<CallFault>,
}

enum Link<C> {
    Stopped,
    Starting(watch::Receiver<ConnectResult<C>>),
    Started(Arc<C>),
    Closed,
}

type ConnectResult<C> = Option<Result<Arc<C>, CallFault>>;

impl<C: TransportConnection> Lifecycle<C> {
    pub(crate) fn new(owner: Handle, backoff: Backoff) -> Self {
        Self {
            owner,
            backoff,
            state: Mutex::new(LifecycleState {
                link: Link::Stopped,
                tools: None,
                announced: 0,
                listed: 0,
                protocol_version: None,
                introduction: Introduction::default(),
                next_window: backoff.initial,
                window_until: None,
                window_is_waited_out: false,
                last_end_at_rest: None,
                starts: 0,
                last_fault: None,
            }),
            events: broadcast::Sender::new(EVENT_BACKLOG),
            closing: AtomicBool::new(false),
            told: Notify::new(),
        }
    }

    /// The live connection, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<C>> {
        match &self.lock().link {
            Link::Started(connection) => Some(connection.clone()),
            _ => None,
        }
    }

    /// The live connection, if its list of tools is the one by which a call was judged: the way of nearly every call.
    pub(crate) fn current_of(&self, judged_by: Option<&Weak<[ToolInfo]>>) -> Option<Arc<C>> {
        let state = self.lock();
        let is_of = |list: &Weak<[ToolInfo]>| state.tools.as_ref().is_some_and(|tools| is_same(list, tools));
        match &state.link {
            Link::Started(connection) if judged_by.is_none_or(is_of) => Some(connection.clone()),
            _ => None,
        }
    }

    /// Refuses a call that was judged by a list that says something else than the present one.
    ///
    /// # Errors
    /// It was; nothing may be sent.
    pub(crate) fn check_list(&self, judged_by: Option<&Weak<[ToolInfo]>>) -> Result<(), CallFault> {
        let (Some(judged_by), Some(tools)) = (judged_by, self.tools()) else { return Ok(()) };
        let says_the_same = || judged_by.upgrade().is_some_and(|list| by_name(&list) == by_name(&tools));
        match is_same(judged_by, &tools) || says_the_same() {
            true => Ok(()),
            false => Err(CallFault::judged_by_former_list()),
        }
    }

    /// The live connection, started by `start` if need be. One start runs at a time, on the owner's runtime, and continues when
    /// its callers lose interest. `patience` bounds the wait of callers who join a start already under way.
    pub(crate) async fn connect<F>(
        self: &Arc<Self>,
        patience: Option<Duration>,
        start: impl FnOnce() -> F,
    ) -> Result<Arc<C>, CallFault>
    where
        F: Future<Output = Result<StartedConnection<C>, CallFault>> + Send + 'static,
    {
        if let Some(wait) = self.recovery_to_wait_out(patience) {
            time::sleep(wait).await;
        }
        let (mut outcome, leads) = match self.begin(start)? {
            ControlFlow::Break(connection) => return Ok(connection),
            ControlFlow::Continue(PendingStart(outcome, leads)) => (outcome, leads),
        };
        let wait = async {
            match outcome.wait_for(Option::is_some).await {
                Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(interrupted())),
                Err(_) => Err(interrupted()),
            }
        };
        match patience.filter(|_| !leads) {
            None => wait.await,
            Some(patience) => time::timeout(patience, wait)
                .await
                .unwrap_or_else(|_| Err(CallFault::timeout("the upstream is still starting").never_sent())),
        }
    }

    /// How long a call waits until the upstream may be started again, if it waits for that at all.
    fn recovery_to_wait_out(&self, patience: Option<Duration>) -> Option<Duration> {
        let state = self.lock();
        let left = state.window_until?.saturating_duration_since(time::now());
        let bound = patience.unwrap_or(RECOVERY_WAIT).min(RECOVERY_WAIT);
        let waits = state.window_is_waited_out && matches!(state.link, Link::Stopped);
        (waits && left <= bound).then_some(left)
    }

    fn begin<F>(
        self: &Arc<Self>,
        start: impl FnOnce() -> F,
    ) -> Result<ControlFlow<Arc<C>, PendingStart<C>>, CallFault>
    where
        F: Future<Output = Result<StartedConnection<C>, CallFault>> + Send + 'static,
    {
        let mut state = self.lock();
        match &state.link {
            Link::Started(connection) => return Ok(ControlFlow::Break(connection.clone())),
            Link::Starting(outcome) => {
                return Ok(ControlFlow::Continue(PendingStart(outcome.clone(), false)));
            }
            Link::Closed => return Err(closed().never_sent()),
            Link::Stopped => {}
        }
        let now = time::now();
        if let Some(until) = state.window_until.filter(|until| now < *until) {
            let mut fault = CallFault::unavailable("in recovery").never_sent();
            if let Some(last) = &state.last_fault {
                fault = fault.with_hint(&format!("after: {}", last.message));
            }
            let left = (until - now).as_millis();
            return Err(fault.with_hint(&format!("It is started again on the first call after {left} ms.")));
        }
        let (sender, outcome) = watch::channel(None);
        state.link = Link::Starting(outcome.clone());
        let announced = state.announced;
        drop(state);
        let starting = Starting { lifecycle: self.clone(), sender, announced };
        let start = start();
        self.owner.spawn(async move { starting.finish(start.await) });
        Ok(ControlFlow::Continue(PendingStart(outcome, true)))
    }

    /// To be called when `connection` has ended, after its `ended()` says so.
    pub(crate) fn note_end(&self, connection: &Arc<C>) {
        let Some(end) = connection.ended() else { return };
        let mut state = self.lock();
        let Link::Started(current) = &state.link else { return };
        if !Arc::ptr_eq(current, connection) {
            return;
        }
        state.link = Link::Stopped;
        state.protocol_version = None;
        let now = time::now();
        let opens_window = match end.kind {
            EndKind::Clean => false,
            EndKind::Crash => true,
            EndKind::CrashAtRest | EndKind::SessionLost => {
                let before = state.last_end_at_rest.replace(now);
                before.is_some_and(|before| now - before < self.backoff.max)
            }
        };
        if opens_window {
            state.window_until = Some(now + state.next_window);
            state.next_window = (state.next_window * 2).min(self.backoff.max);
            state.window_is_waited_out = end.kind == EndKind::CrashAtRest;
        }
        let abnormal = end.kind != EndKind::Clean;
        if abnormal {
            state.last_fault = Some(end.fault.clone());
        }
        drop(state);
        let _ = self.events.send(UpstreamEvent::Ended { abnormal, fault: end.fault });
    }

    /// The tools of the latest start.
    pub(crate) fn tools(&self) -> Option<Arc<[ToolInfo]>> {
        self.lock().tools.clone()
    }

    /// The introduction of the latest start.
    pub(crate) fn introduction(&self) -> Introduction {
        self.lock().introduction.clone()
    }

    /// Replaces the tool list of a running upstream by one that was requested when so many changes had been announced.
    pub(crate) fn set_tools(&self, tools: Arc<[ToolInfo]>, announced: u64) {
        let mut state = self.lock();
        state.tools = Some(tools);
        state.listed = state.listed.max(announced);
    }

    /// How many changes of the tool list have been announced.
    pub(crate) fn announced(&self) -> u64 {
        self.lock().announced
    }

    /// Whether a change of the tool list was announced that the list may not have.
    pub(crate) fn tools_are_stale(&self) -> bool {
        let state = self.lock();
        state.announced != state.listed
    }

    pub(crate) fn announce(&self, event: UpstreamEvent) {
        if event == UpstreamEvent::ToolsChanged {
            self.lock().announced += 1;
        }
        let _ = self.events.send(event);
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.events.subscribe()
    }

    /// Where transports' tasks run.
    pub(crate) fn owner(&self) -> &Handle {
        &self.owner
    }

    /// Resolves when the upstream is being shut down: a start under way gives up.
    pub(crate) async fn closing(&self) {
        // It hears of every telling from here on, so that none is lost between a look at the flag and the wait.
        let told = self.told.notified();
        if !self.closing.load(Ordering::SeqCst) {
            told.await;
        }
    }

    fn tell_closing(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.told.notify_waiters();
    }

    /// Closes for good. The live connection, if any, is the caller's to end; a start under way has given up and
    /// cleaned up when this returns.
    pub(crate) async fn close(&self) -> Option<Arc<C>> {
        self.tell_closing();
        let link = std::mem::replace(&mut self.lock().link, Link::Closed);
        match link {
            Link::Started(connection) => Some(connection),
            Link::Starting(mut outcome) => {
                let outcome = outcome.wait_for(Option::is_some).await.ok()?.clone();
                outcome.and_then(Result::ok)
            }
            Link::Stopped | Link::Closed => None,
        }
    }

    /// Whether it was closed for good.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.lock().link, Link::Closed)
    }

    /// Closes for good without waiting for anything.
    pub(crate) fn abandon(&self) {
        self.tell_closing();
        if let Link::Started(connection) = std::mem::replace(&mut self.lock().link, Link::Closed) {
            connection.abandon();
        }
    }

    /// The state for operators; `in_flight` and `waiting` are the transport's to fill in.
    pub(crate) fn health(&self) -> Health {
        let state = self.lock();
        let now = time::now();
        Health {
            phase: match (&state.link, state.window_until) {
                (Link::Started(_), _) => Phase::Started,
                (Link::Starting(_), _) => Phase::Starting,
                (Link::Closed, _) => Phase::Closed,
                (Link::Stopped, Some(until)) if now < until => Phase::Recovery(until - now),
                (Link::Stopped, _) => Phase::Stopped,
            },
            protocol_version: state.protocol_version.clone(),
            tools: state.tools.as_ref().map_or(0, |tools| tools.len()),
            in_flight: 0,
            waiting: 0,
            starts: state.starts,
            last_fault: state.last_fault.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LifecycleState<C>> {
        self.state.lock()
    }
}

/// Whether a list is this very one.
fn is_same(list: &Weak<[ToolInfo]>, tools: &Arc<[ToolInfo]>) -> bool {
    std::ptr::addr_eq(list.as_ptr(), Arc::as_ptr(tools))
}

/// The tools of a list, whatever their order there: some servers list them in another one each time they start.
fn by_name(tools: &[ToolInfo]) -> Vec<(&str, &str)> {
    let mut tools: Vec<_> = tools.iter().map(|tool| (&*tool.name, tool.json.get())).collect();
    tools.sort_unstable();
    tools
}

/// A start to be waited for, and whether the one who waits began it.
struct PendingStart<C>(watch::Receiver<ConnectResult<C>>, bool);

/// A start under way. Dropped without a result (its runtime is gone, or it panicked), it leaves the upstream stopped.
struct Starting<C: TransportConnection> {
    lifecycle: Arc<Lifecycle<C>>,
    sender: watch::Sender<ConnectResult<C>>,
    /// The changes that had been announced when it began.
    announced: u64,
}

impl<C: TransportConnection> Starting<C> {
    fn finish(self, result: Result<StartedConnection<C>, CallFault>) {
        let lifecycle = self.lifecycle.clone();
        let result = {
            let mut state = lifecycle.lock();
            match result {
                Ok(started) => {
                    state.tools = Some(started.tools);
                    state.listed = state.listed.max(self.announced);
                    state.protocol_version = Some(started.protocol_version);
                    state.introduction = started.introduction;
                    state.next_window = lifecycle.backoff.initial;
                    state.window_until = None;
                    state.starts += 1;
                    if matches!(state.link, Link::Closed) {
                        started.connection.abandon();
                    } else {
                        state.link = Link::Started(started.connection.clone());
                    }
                    Ok(started.connection)
                }
                Err(fault) => {
                    let fault = fault.never_sent();
                    state.last_fault = Some(fault.clone());
                    if !matches!(state.link, Link::Closed) {
                        state.link = Link::Stopped;
                    }
                    Err(fault)
                }
            }
        };
        self.sender.send_replace(Some(result.clone()));
        if let Ok(connection) = result {
            lifecycle.announce(UpstreamEvent::Started);
            // It may have ended before it counted as started.
            lifecycle.note_end(&connection);
        }
    }
}

impl<C: TransportConnection> Drop for Starting<C> {
    fn drop(&mut self) {
        if self.sender.borrow().is_some() {
            return;
        }
        let mut state = self.lifecycle.lock();
        if matches!(state.link, Link::Starting(_)) {
            state.link = Link::Stopped;
        }
    }
}

/// The fault of calls to an upstream that was shut down.
pub(crate) fn closed() -> CallFault {
    CallFault::unavailable("the upstream has been shut down")
}

fn interrupted() -> CallFault {
    CallFault::unavailable("the start was interrupted").never_sent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Fake(Mutex<Option<ConnectionEnd>>);

    impl TransportConnection for Fake {
        fn ended(&self) -> Option<ConnectionEnd> {
            self.0.lock().clone()
        }

        fn abandon(&self) {
            self.end(EndKind::Clean);
        }
    }

    impl Fake {
        fn end(&self, kind: EndKind) {
            *self.0.lock() = Some(ConnectionEnd { fault: CallFault::unavailable("gone"), kind });
        }
    }

    fn lifecycle() -> Arc<Lifecycle<Fake>> {
        let backoff = Backoff { initial: Duration::from_millis(100), max: Duration::from_millis(250) };
        Arc::new(Lifecycle::new(Handle::current(), backoff))
    }

    fn started(connection: Arc<Fake>) -> StartedConnection<Fake> {
        let introduction = Introduction::default();
        StartedConnection { connection, tools: Arc::new([]), protocol_version: "v".into(), introduction }
    }

    async fn start() -> Result<StartedConnection<Fake>, CallFault> {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(started(Arc::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn many_callers_share_one_start() {
        let lifecycle = lifecycle();
        let starts = AtomicUsize::new(0);
        let callers = (0..10).map(|_| {
            lifecycle.connect(None, || {
                starts.fetch_add(1, Ordering::Relaxed);
                start()
            })
        });
        let connections = futures_util::future::join_all(callers).await;
        assert_eq!(starts.load(Ordering::Relaxed), 1);
        let first = connections[0].as_ref().unwrap();
        assert!(connections.iter().all(|c| Arc::ptr_eq(c.as_ref().unwrap(), first)));
        assert_eq!(lifecycle.health().phase, Phase::Started);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_goes_on_when_its_caller_leaves_and_followers_lose_patience() {
        let lifecycle = lifecycle();
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            start().await
        };
        let leader = lifecycle.connect(Some(Duration::from_secs(1)), slow);
        assert!(tokio::time::timeout(Duration::from_secs(2), leader).await.is_err(), "leaders wait on");
        let follower = lifecycle.connect(Some(Duration::from_secs(1)), slow).await;
        assert_eq!(follower.err().unwrap().reason, crate::upstream::FaultReason::Timeout);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(lifecycle.current().is_some());
        assert_eq!(lifecycle.health().starts, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crash_opens_a_window_and_a_clean_exit_does_not() {
        let lifecycle = lifecycle();
        let mut events = lifecycle.events();
        let first = lifecycle.connect(None, start).await.unwrap();
        first.end(EndKind::Clean);
        lifecycle.note_end(&first);
        let second = lifecycle.connect(None, start).await.unwrap();
        second.end(EndKind::Crash);
        lifecycle.note_end(&first);
        assert!(lifecycle.current().is_some(), "an old connection's end says nothing of the new one");
        lifecycle.note_end(&second);
        let refused = lifecycle.connect(None, start).await.err().unwrap();
        assert_eq!(
            refused.message,
            "in recovery\nafter: gone\nIt is started again on the first call after 100 ms."
        );
        assert!(!refused.sent);
        tokio::time::sleep(Duration::from_millis(99)).await;
        assert!(matches!(lifecycle.health().phase, Phase::Recovery(_)));
        tokio::time::sleep(Duration::from_millis(2)).await;
        lifecycle.connect(None, start).await.unwrap();
        assert_eq!(lifecycle.health().starts, 3);
        let fault = CallFault::unavailable("gone");
        for expected in [
            UpstreamEvent::Started,
            UpstreamEvent::Ended { abnormal: false, fault: fault.clone() },
            UpstreamEvent::Started,
            UpstreamEvent::Ended { abnormal: true, fault },
            UpstreamEvent::Started,
        ] {
            assert_eq!(events.try_recv().unwrap(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_crash_that_no_call_can_have_caused_a_call_starts_the_server() {
        let lifecycle = lifecycle();
        for expected in [Phase::Stopped, Phase::Recovery(Duration::from_millis(100))] {
            let connection = lifecycle.connect(None, start).await.unwrap();
            connection.end(EndKind::CrashAtRest);
            lifecycle.note_end(&connection);
            assert_eq!(lifecycle.health().phase, expected);
        }
        let refused = lifecycle.connect(Some(Duration::from_millis(50)), start).await.err().unwrap();
        assert!(refused.message.starts_with("in recovery"), "there is no patience for it: {refused}");
        lifecycle.connect(Some(Duration::from_secs(1)), start).await.unwrap();
        assert_eq!(lifecycle.health().starts, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_starts_open_no_window_and_do_not_reset_one() {
        let lifecycle = lifecycle();
        let fail = || async { Err(CallFault::unavailable("no")) };
        for _ in 0..3 {
            assert_eq!(lifecycle.connect(None, fail).await.err().unwrap().message, "no");
            assert_eq!(lifecycle.health().phase, Phase::Stopped);
        }
        // Windows double while starts between them fail, up to the maximum.
        let connection = lifecycle.connect(None, start).await.unwrap();
        connection.end(EndKind::Crash);
        lifecycle.note_end(&connection);
        assert_eq!(lifecycle.lock().next_window, Duration::from_millis(200));
        tokio::time::sleep(Duration::from_millis(101)).await;
        lifecycle.connect(None, start).await.unwrap();
        assert_eq!(lifecycle.lock().next_window, Duration::from_millis(100), "a good start resets it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_ends_while_starting_is_not_kept() {
        let lifecycle = lifecycle();
        let dead = || async {
            let connection = Arc::new(Fake::default());
            connection.end(EndKind::Crash);
            Ok(started(connection))
        };
        lifecycle.connect(None, dead).await.unwrap();
        assert!(lifecycle.current().is_none());
        assert!(matches!(lifecycle.health().phase, Phase::Recovery(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_sessions_lost_again_and_again_open_a_window() {
        let lifecycle = lifecycle();
        for expected in [Phase::Stopped, Phase::Recovery(Duration::from_millis(100))] {
            let connection = lifecycle.connect(None, start).await.unwrap();
            connection.end(EndKind::SessionLost);
            lifecycle.note_end(&connection);
            assert_eq!(lifecycle.health().phase, expected);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let connection = lifecycle.connect(None, start).await.unwrap();
        connection.end(EndKind::SessionLost);
        lifecycle.note_end(&connection);
        assert_eq!(lifecycle.health().phase, Phase::Stopped, "the loss before is long ago");
    }

    #[tokio::test(start_paused = true)]
    async fn closing_ends_starts_and_refuses_new_ones() {
        let lifecycle = lifecycle();
        let start = {
            let lifecycle = lifecycle.clone();
            move || async move {
                lifecycle.closing().await;
                Err(closed())
            }
        };
        let (result, left) = tokio::join!(lifecycle.connect(None, start), async {
            tokio::task::yield_now().await;
            lifecycle.close().await
        });
        assert_eq!(result.err(), Some(closed().never_sent()));
        assert!(left.is_none());
        assert_eq!(lifecycle.connect(None, self::start).await.err(), Some(closed().never_sent()));
        assert_eq!(lifecycle.health().phase, Phase::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_sent_only_beside_the_list_by_which_it_was_judged() {
        let tools = |names: &[&str]| -> Arc<[ToolInfo]> {
            let json = |name: &str| RawValue::from_string(format!("{{\"name\":\"{name}\"}}")).unwrap();
            names.iter().map(|name| ToolInfo { name: (*name).into(), json: json(name) }).collect()
        };
        let lifecycle = lifecycle();
        lifecycle.connect(None, start).await.unwrap();
        let list = tools(&["a", "b"]);
        let judged_by = Arc::downgrade(&list);
        lifecycle.set_tools(list.clone(), 0);
        assert!(lifecycle.current_of(Some(&judged_by)).is_some());
        assert_eq!(lifecycle.check_list(Some(&judged_by)), Ok(()));
        lifecycle.set_tools(tools(&["b", "a"]), 0);
        assert!(lifecycle.current_of(Some(&judged_by)).is_none());
        assert_eq!(lifecycle.check_list(Some(&judged_by)), Ok(()), "another order says the same");
        lifecycle.set_tools(tools(&["a"]), 0);
        let refused = lifecycle.check_list(Some(&judged_by)).unwrap_err();
        assert!(refused.relisted && !refused.sent && refused.uncounted, "{refused:?}");
        assert!(lifecycle.current_of(None).is_some());
        assert_eq!(lifecycle.check_list(None), Ok(()));
        lifecycle.set_tools(tools(&["a", "b"]), 0);
        drop(list);
        assert!(lifecycle.check_list(Some(&judged_by)).is_err(), "nobody knows what it said");
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_dies_leaves_the_upstream_stopped() {
        let lifecycle = lifecycle();
        let starting = {
            let (sender, outcome) = watch::channel(None);
            lifecycle.lock().link = Link::Starting(outcome);
            Starting { lifecycle: lifecycle.clone(), sender, announced: 0 }
        };
        drop(starting);
        assert_eq!(lifecycle.health().phase, Phase::Stopped);
        lifecycle.connect(None, self::start).await.unwrap();
    }
}
