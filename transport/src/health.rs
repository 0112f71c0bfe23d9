//! `--health-listen`: `/health` and `/ready` from a thread of their own.
//!
//! No load of the main port delays a probe, whether programs, calls or connections: the thread shares no queue with
//! them, and reads one number of the server's state. Clients of this port cannot lock each other out either: a
//! connection is for one request, has a short time limit, and is closed for a newer one when there are many.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::TcpListener as StdListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ptc_host::time::{self, Clock};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tracing::info;

use super::readiness::{Readiness, probe};
use ptc_protocol::settings::{BootError, Health};

/// How long a connection may last.
const PATIENCE: Duration = Duration::from_secs(2);
/// Open connections; a new one beyond that evicts the oldest.
const MAX_CONNECTIONS: usize = 256;
/// Pause after a failed accept: the usual cause, too many open files, passes when connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);
/// Longest head of a request, in bytes.
const MAX_HEAD: usize = 8 << 10;

type ReadinessProbe = Box<dyn Fn() -> Readiness + Send + Sync>;

/// The listener for probes. It lasts as long as the process.
pub struct HealthListener {
    shared: Arc<HealthState>,
}

struct HealthState {
    instance: String,
    /// Reports whether the server takes work; missing until it has started.
    state: OnceLock<ReadinessProbe>,
}

impl HealthListener {
    /// Binds the address of `settings` and answers from now on. Until a state is set, `/ready` reports that the
    /// server is starting.
    ///
    /// # Errors
    /// If the address cannot be bound or no thread can be started.
    pub fn start(settings: &Health) -> Result<HealthListener, BootError> {
        let address = settings.address;
        let cannot = |error: std::io::Error| {
            BootError::new(format!("cannot listen on {address} (--health-listen): {error}"))
        };
        let listener = StdListener::bind(address).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        info!(event = "health_listening", address = %listener.local_addr().unwrap_or(address));
        let shared = Arc::new(HealthState { instance: settings.instance.clone(), state: OnceLock::new() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (served, clock) = (shared.clone(), Clock::current());
        let serve = move || {
            let _entered = clock.enter();
            runtime.block_on(accept(listener, served));
        };
        std::thread::Builder::new().name("health".into()).spawn(serve).map_err(cannot)?;
        Ok(HealthListener { shared })
    }

    /// Sets the state that `/ready` reports. It is called on the thread of probes and must not block.
    pub fn follow(&self, state: impl Fn() -> Readiness + Send + Sync + 'static) {
        // A process has one server, and so one caller.
        let _ = self.shared.state.set(Box::new(state));
    }
}

async fn accept(listener: StdListener, shared: Arc<HealthState>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MAX_CONNECTIONS {
            open.pop_front().iter().for_each(AbortHandle::abort);
        }
        let connection = time::timeout(PATIENCE, serve(stream, shared.clone()));
        open.push_back(tokio::spawn(connection).abort_handle());
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, shared: Arc<HealthState>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: http::Request<_>| {
        let answer = shared.answer(request.method(), request.uri().path());
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let mut builder = http1::Builder::new();
    // The caller bounds the total time.
    builder.keep_alive(false).header_read_timeout(None).max_buf_size(MAX_HEAD);
    // A broken connection concerns only its client.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

impl HealthState {
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let state = || self.state.get().map_or(Readiness::Starting, |state| state());
        let (content_type, (status, body)) = match probe(method, path, &self.instance, state) {
            Some(answer) => ("application/json; charset=utf-8", answer),
            None => ("text/plain; charset=utf-8", (StatusCode::NOT_FOUND, "not found".to_owned())),
        };
        let mut answer = Response::new(Full::new(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }
}
