//! One connection: HTTP/1.1 or HTTP/2, with or without TLS.

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use ptc_host::engine::Engine;
use ptc_host::http::HyperTimer;
use ptc_host::time;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::calm_stream::{CalmStream, ConnectionState, MAX_BUFFER_BYTES};
use super::connection_registry::{Activity, CloseReason, Registration, Rest};
use super::endpoint::Endpoint;
use super::gated_future::GatedFuture;
use super::in_progress::{Handle, InProgress, ReceivedRequest};
use super::router::route;

/// Streams of one HTTP/2 connection at a time.
const MAX_STREAMS: u32 = 256;
/// Size of all headers of a request, in bytes.
const MAX_HEADER_BYTES: u32 = 32 << 10;
/// Interval of the liveness checks of a quiet HTTP/2 peer.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long a connection may take to close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Until the first request has arrived.
    pub(super) first_request: Duration,
    /// Between requests.
    pub(super) idle: Duration,
}

/// Runs the streams of a connection on the connection's own thread, in the turns of its holder.
#[derive(Clone)]
struct HereExecutor {
    engine: Engine,
    activity: Arc<Activity>,
}

impl<F: Future + 'static> Executor<F> for HereExecutor
where
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        let HereExecutor { engine, activity } = self.clone();
        let stream = Box::pin(future);
        tokio::task::spawn_local(async move {
            engine.serve_in_turns(|| activity.turns_of(), stream).await;
        });
    }
}

/// Serves a connection to its end.
pub(super) async fn serve<S>(
    endpoint: Arc<Endpoint>,
    stream: S,
    peer: IpAddr,
    idle: Duration,
    registration: &Registration,
    closing: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let here = ConnectionState::new(endpoint.bodies.head());
    let calm = CalmStream::new(stream, here.clone(), endpoint.connections.clone());
    let server = Rc::new(Handle { endpoint: endpoint.clone(), here: here.clone() });
    answer(server, calm, peer, idle, registration, closing).await;
    if here.is_sent_away() {
        endpoint.counts.flooded(&endpoint.instance, peer);
    }
}

/// Answers the requests of a connection until it ends.
async fn answer<S>(
    server: Rc<Handle>,
    stream: CalmStream<S>,
    peer: IpAddr,
    idle: Duration,
    registration: &Registration,
    mut closing: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let activity = registration.activity.clone();
    let executor = HereExecutor { engine: server.endpoint.engine.clone(), activity: activity.clone() };
    let service = service_fn(move |request| {
        let busy = activity.request(idle);
        route(ReceivedRequest { request, peer, busy, in_progress: InProgress::begin(&server) })
    });
    let mut builder = auto::Builder::new(executor);
    // No limit of our own on the number of headers: up to hyper's limit, 100, it needs no memory for them. Nor a time
    // limit: a connection whose next request is incomplete counts as resting, which has its own limit.
    builder.http1().header_read_timeout(None).max_buf_size(MAX_BUFFER_BYTES);
    builder
        .http2()
        .timer(HyperTimer)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .keep_alive_interval(PING_INTERVAL);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    loop {
        let over = pin!(async {
            tokio::select! {
                over = registration.activity.over() => over,
                _ = closing.wait_for(|closing| *closing) => CloseReason::Closing,
            }
        });
        tokio::select! {
            biased;
            // A broken connection concerns only its client; its calls have been dropped with it.
            _ = connection.as_mut() => return,
            over = GatedFuture::new(over) => if over != CloseReason::Unwanted { break },
        }
        // Its place is needed. A request that has arrived but was not read yet must still be seen.
        tokio::task::yield_now().await;
        if connection.as_mut().now_or_never().is_some() {
            return;
        }
        match registration.activity.rest() {
            Rest::Busy => {}
            Rest::Silent | Rest::Receiving | Rest::Listening => return,
            // Its last answer may still be in flight.
            Rest::Served => break,
        }
    }
    connection.as_mut().graceful_shutdown();
    let _ = time::timeout(CLOSE_GRACE, connection).await;
}
