//! A tool call in progress.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use ptc_host::engine::EvalId;
use ptc_host::time::{self, Instant};
use ptc_host::trace::{self, Trace};
use tracing::field::display;
use tracing::{Level, error, info};

use super::call_notifications::Hearing;
use super::client_requests::Outgoing;
use super::connection::{Cancellation, CancelledBy, Ticket};
use super::exposed_features::ExposedFeatures;
use super::listeners::ChannelSlot;
use super::observer::CallSpan;
use super::reply::{self, Answers};
use super::request_span::RequestSpan;
use super::results;
use super::service::{MessageContext, Service};
use super::tasks::TaskClient;
use super::tool::{ToolName, ToolReply};
use super::watches::{Notice, Subscription, Watch};
use crate::concurrency_limiter::Permit;
use crate::principal::Principal;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::message::id::RequestId;

/// A tool call that has its permit and is ready to run. Dropping it cancels it.
pub struct Call {
    pub(super) service: Arc<Service>,
    pub(super) id: RequestId,
    pub(super) era: Era,
    pub(super) work: CallWork,
    /// When it was admitted.
    pub(super) started: Instant,
    pub(super) cancelled: Cancellation,
    /// Notifications to its client while it runs, if it asked for any.
    pub(super) hearing: Option<Hearing>,
    /// Questions to its client while it runs, if it can be asked.
    pub(super) outgoing: Option<Outgoing>,
    /// How long it may wait for people, in addition to its run time.
    pub(super) patience: Duration,
    pub(super) ticket: Ticket,
    /// `None` for work that needs no permit.
    pub(super) permit: Option<Permit>,
    /// Observes how the call ends; dropping it reports a cancellation.
    pub(super) span: Option<CallSpan>,
    /// The span of a request that calls no tool.
    pub(super) request_span: Option<Box<RequestSpan>>,
    /// Its trace, which log lines about it name.
    pub(super) trace: Option<Arc<Trace>>,
    /// The request that brought it, if log lines are to name that.
    pub(super) logged: Option<Box<LoggedRequest>>,
}

/// The request that brought a call, for the log lines of its end.
pub(super) struct LoggedRequest {
    /// The id of the HTTP request.
    request_id: Option<Box<str>>,
    /// Whose it is, as a hash.
    owner_hash: Box<str>,
}

impl LoggedRequest {
    /// That of a message; `None` if no line would name it.
    pub(super) fn of(from: MessageContext<'_>) -> Option<Box<LoggedRequest>> {
        tracing::event_enabled!(Level::INFO).then(|| {
            let request_id = from.origin.map(Box::from);
            Box::new(LoggedRequest { request_id, owner_hash: from.caller.hash().into() })
        })
    }
}

/// The work of a call.
pub(super) enum CallWork {
    /// Runs a tool call.
    Tool {
        /// The tool's name.
        name: ToolName,
        /// The evaluation that it may become.
        eval_id: EvalId,
        /// Its future.
        running: BoxFuture<'static, ToolReply>,
    },
    /// Forwards a request for another feature than tools to an upstream.
    Feature {
        /// The method.
        method: &'static str,
        /// Makes the response.
        running: BoxFuture<'static, Vec<u8>>,
    },
    /// Keeps a notification channel open until the conversation or the server drains, or the channel is evicted.
    Listen(Box<Channel>),
}

/// A notification channel of the modern era.
pub(super) struct Channel {
    pub(super) place: ChannelSlot,
    /// On whose behalf it is open.
    pub(super) caller: Principal,
    /// The notifications that its client asked for.
    pub(super) wanted: Subscription,
    /// The tasks that its client subscribes to, and that client.
    pub(super) tasks: Option<(TaskClient, Vec<String>)>,
}

impl Channel {
    /// Acknowledges the offered notifications, then sends them until it is dropped.
    async fn tell(
        service: &Service,
        caller: &Principal,
        id: &RequestId,
        (wanted, tasks): (&Subscription, Option<(TaskClient, Vec<String>)>),
        notify: &mut (impl FnMut(Vec<u8>) + Send),
    ) {
        let (own, news) = match (&service.tasks, tasks) {
            (Some(desk), Some((asking, ids))) => desk.listen(asking, ids).await,
            _ => (Vec::new(), stream::pending().boxed()),
        };
        let news = news.fuse();
        let tools = wanted.tools && service.tools_may_change();
        let changed = match tools {
            true => {
                let changes = service.tools.changes_for(&service.present(caller));
                stream::unfold(changes, async |mut changes| {
                    let changed = changes.next(&service.tools, || service.present(caller)).await;
                    changed.map(|()| ((), changes))
                })
                .boxed()
            }
            false => stream::pending().boxed(),
        };
        let mut both = stream::select(news.map(Some), changed.map(|()| None));
        let told_of = |news: Option<_>| match news {
            Some(task) => results::tasks::notification(service, id, &task),
            None => results::change(&Notice::Tools, Some(id)),
        };
        let Some(exposed) = &service.exposed else {
            let offered = Subscription { tools, ..Subscription::default() };
            notify(results::subscription_acknowledged(id, &offered, &own));
            while let Some(news) = both.next().await {
                notify(told_of(news));
            }
            return std::future::pending().await;
        };
        let watch = Watching { exposed: exposed.clone(), watch: exposed.watch(wanted.clone()) };
        let number = watch.watch.number();
        let uris = wanted.uris.iter().filter(|_| exposed.resources);
        let subscribing = uris
            .map(|uri| async { exposed.subscribe(caller, number, uri).await.is_ok().then(|| uri.clone()) });
        let told = futures_util::future::join_all(subscribing).await.into_iter().flatten().collect();
        let offered = Subscription {
            uris: told,
            resources: wanted.resources && exposed.resources,
            prompts: wanted.prompts && exposed.prompts,
            tools,
        };
        notify(results::subscription_acknowledged(id, &offered, &own));
        loop {
            tokio::select! {
                notice = watch.watch.next() => match &notice {
                    Notice::Updated(uri) if !exposed.still_shows(service.policy.as_ref(), caller, uri) => {
                        exposed.unsubscribe(number, uri).await;
                    }
                    _ => notify(results::change(&notice, Some(id))),
                },
                Some(news) = both.next() => notify(told_of(news)),
            }
        }
    }
}

/// A client's subscription. Dropping it ends the upstream subscriptions that no other client needs.
pub struct Watching {
    exposed: Arc<ExposedFeatures>,
    /// What it is told of.
    pub watch: Watch,
}

impl Watching {
    /// The subscription of a client on a pipe, to all lists.
    pub fn all_lists(exposed: &Arc<ExposedFeatures>) -> Self {
        let lists = Subscription { resources: true, prompts: true, ..Subscription::default() };
        Self { exposed: exposed.clone(), watch: exposed.watch(lists) }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let unwatched = self.watch.close();
        if !unwatched.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let exposed = self.exposed.clone();
            runtime.spawn(async move { exposed.release(unwatched).await });
        }
    }
}

/// How a call ended.
#[derive(Debug)]
pub enum CallResponse {
    /// With this response.
    Reply(Vec<u8>),
    /// It was cancelled. Holds the response for transports that answer calls whose conversation has ended.
    Cancelled(CancelledBy, Vec<u8>),
}

impl CallResponse {
    /// The response, unless the client itself has cancelled the call and expects none.
    pub fn into_reply(self) -> Option<Vec<u8>> {
        match self {
            CallResponse::Cancelled(CancelledBy::Message, _) => None,
            CallResponse::Reply(body) | CallResponse::Cancelled(CancelledBy::End, body) => Some(body),
        }
    }
}

impl Call {
    /// The id of the request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// True if the client asked for notifications while it runs.
    pub fn wants_notifications(&self) -> bool {
        self.hearing.is_some()
    }

    /// True if its client may be asked questions while it runs.
    pub fn may_ask(&self) -> bool {
        self.outgoing.is_some()
    }

    /// How long it may wait for people, in addition to its run time.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Drops notifications and questions, for a transport that cannot send them.
    pub fn without_notifications(mut self: Box<Self>) -> Box<Self> {
        (self.hearing, self.outgoing) = (None, None);
        self
    }

    /// True if it is a notification channel, which lasts until it is closed.
    pub fn is_subscription(&self) -> bool {
        matches!(self.work, CallWork::Listen(_))
    }

    /// Runs the call to its end. `notify` receives its notifications, before the response.
    pub async fn run(self: Box<Self>, notify: impl FnMut(Vec<u8>) + Send) -> CallResponse {
        self.run_until(std::future::pending(), notify).await
    }

    /// Runs the call to its end, or until `end`, which cancels it like a message of its client.
    pub async fn run_until(
        self: Box<Self>,
        end: impl Future<Output = ()> + Send,
        notify: impl FnMut(Vec<u8>) + Send,
    ) -> CallResponse {
        match self.trace.clone() {
            // In a box, as most calls have none.
            Some(trace) => Box::pin(trace::within(trace, self.run_traced(end, notify))).await,
            None => self.run_untraced(end, notify).await,
        }
    }

    async fn run_traced(
        mut self: Box<Self>,
        end: impl Future<Output = ()> + Send,
        notify: impl FnMut(Vec<u8>) + Send,
    ) -> CallResponse {
        let span = self.request_span.take();
        let response = self.run_untraced(end, notify).await;
        if let (Some(span), CallResponse::Reply(body)) = (span, &response) {
            span.answered(body);
        }
        response
    }

    async fn run_untraced(
        self: Box<Self>,
        end: impl Future<Output = ()> + Send,
        mut notify: impl FnMut(Vec<u8>) + Send,
    ) -> CallResponse {
        let mut call = self;
        let started = call.started;
        let Call { service, id, work, cancelled, hearing, outgoing, ticket, logged, .. } = &mut *call;
        let id = &*id;
        let running = match work {
            CallWork::Tool { running, .. } => running,
            CallWork::Feature { method, running } => {
                let method = *method;
                // Boxed, as channels are: every call has the size of the largest kind.
                let finished = Box::pin(async move {
                    tokio::select! {
                        biased;
                        by = cancelled => CallResponse::Cancelled(by, cancelled_feature(id)),
                        () = end => CallResponse::Cancelled(CancelledBy::End, cancelled_feature(id)),
                        outcome = AssertUnwindSafe(running).catch_unwind() => {
                            CallResponse::Reply(outcome.unwrap_or_else(|_| {
                                error!(event = "worker_raise", rpc_id = %id, method, kind = "panic");
                                reply::error(Answers::Request(id), &RpcError::internal())
                            }))
                        }
                    }
                })
                .await;
                let request_id = logged.as_ref().and_then(|logged| logged.request_id.as_deref());
                let owner_hash = logged.as_ref().map(|logged| &*logged.owner_hash);
                let duration_ms = duration_ms(started);
                info!(event = "feature_request_stop", request_id, rpc_id = %id, owner_hash, method, duration_ms);
                return finished;
            }
            CallWork::Listen(channel) => {
                let last = results::subscription_ended(service, id);
                let connection = ticket.connection();
                let Channel { place, caller, wanted, tasks } = &mut **channel;
                let asked_for = (&*wanted, tasks.take());
                return Box::pin(async move {
                    tokio::select! {
                        by = cancelled => CallResponse::Cancelled(by, last),
                        () = place => CallResponse::Reply(last),
                        () = end => CallResponse::Reply(last),
                        () = connection.drained() => CallResponse::Reply(last),
                        () = service.drained() => CallResponse::Reply(last),
                        () = Channel::tell(service, caller, id, asked_for, &mut notify) => {
                            CallResponse::Reply(last)
                        }
                    }
                })
                .await;
            }
        };
        let mut end = pin!(end);
        let mut running = AssertUnwindSafe(running).catch_unwind();
        let outcome = loop {
            let news = async {
                match hearing {
                    Some(hearing) => hearing.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                by = &mut *cancelled => break Err(by),
                () = &mut end => break Err(CancelledBy::End),
                outcome = &mut running => break Ok(outcome),
                Some(message) = next(outgoing) => notify(message),
                note = news => notify(note),
            }
        };
        drop(running);
        if outcome.is_ok() {
            while let Some(message) = outgoing.as_mut().and_then(|outgoing| outgoing.try_recv().ok()) {
                notify(message);
            }
            hearing.iter_mut().flat_map(Hearing::rest).for_each(notify);
        }
        call.ended(outcome)
    }

    /// Releases everything, informs all observers, and builds the response of a call with this `outcome`, or of a
    /// cancelled call.
    fn ended(self: Box<Self>, outcome: Result<std::thread::Result<ToolReply>, CancelledBy>) -> CallResponse {
        let Call { service, id, era, work, started, ticket, permit, span, logged, .. } = *self;
        let request_id = logged.as_ref().and_then(|logged| logged.request_id.as_deref());
        let owner_hash = logged.as_ref().map(|logged| &*logged.owner_hash);
        let (tool, eval_id, running) = match work {
            CallWork::Tool { name, eval_id, running } => (name, eval_id, running),
            CallWork::Feature { .. } => {
                return CallResponse::Cancelled(CancelledBy::End, cancelled_feature(&id));
            }
            CallWork::Listen(_) => {
                return CallResponse::Cancelled(CancelledBy::End, results::subscription_ended(&service, &id));
            }
        };
        drop(running);
        // The permit is released before the answer can be seen, so that a client that waits for an answer and then
        // calls again is never told that its own finished call is still in flight.
        drop((ticket, permit));
        let (tool, duration_ms) = (&*tool, || duration_ms(started));
        match outcome {
            Ok(Ok(mut tool_reply)) => {
                if let Some(span) = span {
                    span.answered(&mut tool_reply);
                }
                let is_error = tool_reply.is_error;
                let eval_id = tool_reply.eval_id.map(display);
                info!(
                    event = "tools_call_stop",
                    request_id,
                    rpc_id = %id,
                    owner_hash,
                    tool,
                    is_error,
                    duration_ms = duration_ms(),
                    eval_id
                );
                CallResponse::Reply(results::tool_call(&service, era, &id, &tool_reply))
            }
            Ok(Err(panic)) => {
                let message = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                if let Some(span) = span {
                    span.crashed(&message);
                }
                error!(
                    event = "worker_raise",
                    request_id,
                    rpc_id = %id,
                    owner_hash,
                    tool,
                    kind = "panic",
                    message,
                    eval_id = %eval_id
                );
                CallResponse::Reply(reply::error(Answers::Request(&id), &RpcError::internal()))
            }
            Err(by) => {
                info!(
                    event = "cancelled_in_flight",
                    request_id,
                    rpc_id = %id,
                    owner_hash,
                    tool,
                    duration_ms = duration_ms(),
                    eval_id = %eval_id
                );
                CallResponse::Cancelled(by, results::tool_call(&service, era, &id, &ToolReply::cancelled()))
            }
        }
    }
}

/// The next message to the client, if there may be one.
async fn next(outgoing: &mut Option<Outgoing>) -> Option<Vec<u8>> {
    outgoing.as_mut()?.recv().await
}

/// Milliseconds since `started`.
fn duration_ms(started: Instant) -> u64 {
    u64::try_from(time::since(started).as_millis()).unwrap_or(u64::MAX)
}

/// The response of a request for a feature that was cancelled.
fn cancelled_feature(id: &RequestId) -> Vec<u8> {
    reply::error(Answers::Request(id), &RpcError::new(RpcError::REFUSED, "the request was cancelled"))
}
