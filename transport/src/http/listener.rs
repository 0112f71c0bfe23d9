//! Binds, accepts, assigns connections to worker threads, and drains.

use std::future::Future;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use ptc_host::aggregator::CurrentUpstreams;
use ptc_host::engine::{Engine, MemoryBudget};
use ptc_host::issuers::{Login, TokenVerifier};
use ptc_host::time::{self, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, watch};
use tracing::{debug, info, warn};

use super::auth::{Acceptance, Authenticator, Challenges};
use super::body::{Bodies, BodyLimits};
use super::callers::Callers;
use super::connection::{Times, serve};
use super::connection_registry::{ConnectionLimits, ConnectionRegistry};
use super::counts::Counts;
use super::endpoint::{Active, Endpoint};
use super::limiter::Limiter;
use super::metrics;
use super::origin::OriginRule;
use super::protected_resource::ProtectedResource;
use super::sessions::{SessionLimits, Sessions};
use super::sign_in::{PageLogin, SignInPage};
use super::tls::{Certificate, CurrentCertificate};
use crate::readiness::Readiness;
use ptc_observers::Telemetry;
use ptc_observers::metrics::Exposition;
use ptc_protocol::settings::BootError;
use ptc_protocol::settings::{Http, PublicUrl};
use ptc_protocol::{Connection, Drain, Service};

/// Interval of the search for expired sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// Pause after a failed accept: the usual cause, too many open files, passes when connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Failed accepts are logged no more often than this: without free descriptors they fail all the time.
const ACCEPT_LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Length of the accept queue; the system may allow less. A client that finds it full must retry, and clients do so
/// only after a second.
const BACKLOG: u32 = 4096;
/// How long to wait for a closing connection's place before more are closed.
const FULL_PAUSE: Duration = Duration::from_millis(50);
/// How long connections may take to close at the end.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// A bound listener.
pub struct HttpServer {
    pub(super) endpoint: Arc<Endpoint>,
    listener: StdListener,
    tls: Option<CurrentCertificate>,
    engine: Engine,
    connections: Arc<Semaphore>,
    registry: Arc<ConnectionRegistry>,
    max_connections: usize,
    times: Times,
    shutdown_grace: Duration,
}

/// The listener's dependencies besides its own settings.
#[derive(Clone)]
pub struct Listening {
    /// Longest run of one call, including the time before and after its program.
    pub call_budget: Duration,
    /// The shared memory budget.
    pub memory: MemoryBudget,
    /// The telemetry for operators.
    pub telemetry: Arc<Telemetry>,
    /// The upstreams, to some of which callers sign in.
    pub upstreams: Option<Arc<CurrentUpstreams>>,
    /// Verifies access tokens, if the settings accept some.
    pub verifier: Option<Arc<dyn TokenVerifier>>,
    /// Signs people in for the console and the sign-in page.
    pub login: Option<Arc<Login>>,
}

/// A bound address. Connections to it wait until a server takes it.
pub struct BoundListener {
    listener: StdListener,
    tls: Option<CurrentCertificate>,
}

impl BoundListener {
    /// Binds the address of `settings`.
    ///
    /// # Errors
    /// If the address cannot be bound or the TLS files cannot be used.
    pub fn open(settings: &Http) -> Result<BoundListener, BootError> {
        let address = SocketAddr::new(settings.host, settings.port);
        let cannot = |error: std::io::Error| BootError::new(format!("cannot listen on {address}: {error}"));
        let listener = listen(address).map_err(cannot)?;
        let tls = match &settings.tls {
            Some((cert, key)) => Some(CurrentCertificate::new(Certificate::read(cert, key)?)),
            None => None,
        };
        Ok(BoundListener { listener, tls })
    }
}

impl HttpServer {
    /// Writes all its metric families, also after it has ended.
    pub fn metrics(&self) -> impl Fn(&mut Exposition) + Send + Sync + use<> {
        let endpoint = self.endpoint.clone();
        move |to| metrics::write(&endpoint, to)
    }

    /// A server on a bound address.
    pub fn new(
        settings: &Http,
        bound: BoundListener,
        listening: Listening,
        service: Arc<Service>,
        engine: Engine,
    ) -> HttpServer {
        let BoundListener { listener, tls } = bound;
        let loopback_bind = settings.is_loopback();
        let limits = SessionLimits {
            max: settings.max_sessions,
            max_per_owner: settings.max_sessions_per_owner,
            ttl: settings.session_ttl,
            idle: settings.session_idle,
            max_in_flight: settings.max_in_flight,
        };
        let bodies = BodyLimits {
            one: settings.max_body_bytes,
            per_owner: settings.max_buffered_bytes_per_owner,
            all: settings.max_buffered_bytes,
            timeout: settings.request_timeout,
        };
        let registry = ConnectionRegistry::new(ConnectionLimits {
            all: settings.max_connections,
            per_owner: settings.max_connections_per_owner,
        });
        let gone = service.clone();
        let sessions =
            Sessions::new(limits, settings.instance.clone(), move |owner| gone.tools.owner_gone(owner))
                .sharing(listening.telemetry.sources.state.as_ref());
        let sessions = Arc::new(sessions);
        let policy = service.policy.as_ref().map(|policy| policy.policy());
        let profiles: Vec<Arc<str>> =
            policy.iter().flat_map(|policy| policy.profiles().names()).map(Arc::from).collect();
        let protected_resource = (settings.public_url.as_ref())
            .zip(settings.oauth.as_ref())
            .map(|(public, oauth)| ProtectedResource::new(public, oauth, &profiles));
        let endpoint = Arc::new(Endpoint {
            modern: Connection::stateless(),
            engine: engine.clone(),
            path: settings.path.clone(),
            profiles,
            instance: settings.instance.clone(),
            loopback_bind,
            authenticator: Authenticator::new(Acceptance {
                tokens: if settings.auth_disabled { vec![] } else { settings.tokens.clone() },
                oauth: settings.oauth.is_some(),
                verifier: listening.verifier,
                required_scopes: (settings.oauth.iter())
                    .flat_map(|oauth| oauth.required_scopes.clone())
                    .collect(),
                policy: service.policy.clone(),
            }),
            challenges: match (&protected_resource, &settings.oauth) {
                (Some(resource), Some(oauth)) => Challenges::new(resource.url(), &oauth.required_scopes),
                _ => Challenges::default(),
            },
            protected_resource,
            origins: OriginRule::new(
                &settings.allowed_origins,
                settings.public_url.as_ref().map(PublicUrl::origin),
                loopback_bind,
            ),
            limiter: settings.rate_limit.map(Limiter::new),
            sessions,
            connections: registry.clone(),
            bodies: Bodies::new(bodies, listening.memory),
            call_budget: listening.call_budget,
            active: Active::default(),
            ending: Drain::default(),
            counts: Counts::new(settings.metrics),
            console: settings.console,
            sign_in: (settings.public_url.clone()).map(|public| {
                let login = listening.login.and_then(PageLogin::new);
                Arc::new(SignInPage::new(public, listening.upstreams, login))
            }),
            public_url: settings.public_url.clone(),
            started: time::now(),
            metrics_path: settings.metrics.then(|| settings.metrics_path.clone()),
            service,
            telemetry: listening.telemetry,
        });
        HttpServer {
            endpoint,
            listener,
            tls,
            engine,
            connections: Arc::new(Semaphore::new(settings.max_connections)),
            registry,
            max_connections: settings.max_connections,
            times: Times { first_request: settings.request_timeout, idle: settings.idle_timeout },
            shutdown_grace: settings.shutdown_grace,
        }
    }

    /// The bound address.
    ///
    /// # Errors
    /// The system's error.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The callers with static tokens, to exchange those while the server runs.
    pub fn callers(&self) -> Callers {
        Callers::new(&self.endpoint)
    }

    /// The certificate, to exchange it while the server runs; `None` without TLS.
    pub fn certificate(&self) -> Option<CurrentCertificate> {
        self.tls.clone()
    }

    /// Reports whether the server takes work, each time it is called.
    pub fn readiness(&self) -> impl Fn() -> Readiness + Send + Sync + use<> {
        let endpoint = self.endpoint.clone();
        move || endpoint.readiness()
    }

    /// Serves until `stop()` completes, then drains: running calls get their grace, unless `stop()` completes again.
    ///
    /// # Errors
    /// If the listener cannot be used on this runtime.
    pub async fn run<F: Future<Output = ()>>(self, stop: impl Fn() -> F) -> std::io::Result<()> {
        let listener = TcpListener::from_std(self.listener.try_clone()?)?;
        let (close, closing) = watch::channel(false);
        let address = listener.local_addr()?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        info!(event = "http_listening", address = %address, scheme, path = self.endpoint.path);
        let mut accepting = Box::pin(self.accept(&listener, closing));
        tokio::select! {
            () = &mut accepting => {}
            () = self.sweep() => {}
            () = self.listen_to_replicas() => {}
            () = stop() => {}
        }
        info!(event = "shutdown");
        self.endpoint.service.drain();
        tokio::select! {
            () = &mut accepting => {}
            () = self.endpoint.active.none() => {}
            () = time::sleep(self.shutdown_grace) => {}
            () = stop() => {}
        }
        // This also releases the permit for the next connection.
        drop(accepting);
        // Calls that still run are answered as cancelled, then connections close.
        self.endpoint.ending.begin();
        self.endpoint.sessions.close_all("shutdown");
        if let Some(ends) = self.endpoint.sessions.ends() {
            ends.settled().await;
        }
        let _ = close.send(true);
        let all = u32::try_from(self.max_connections).unwrap_or(u32::MAX);
        let _ = time::timeout(CLOSE_GRACE, self.connections.acquire_many(all)).await;
        info!(event = "exit");
        Ok(())
    }

    /// Accepts forever.
    async fn accept(&self, listener: &TcpListener, closing: watch::Receiver<bool>) {
        let mut told: Option<Instant> = None;
        for next in 0.. {
            let (stream, peer) = loop {
                match listener.accept().await {
                    Ok(accepted) => break accepted,
                    // The client left before it was accepted.
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                    Err(error) => {
                        // If there are fewer descriptors than places, idle connections hold those that others need.
                        let is_full = matches!(
                            Errno::from_raw(error.raw_os_error().unwrap_or(0)),
                            Errno::EMFILE | Errno::ENFILE
                        );
                        let closed = if is_full { self.registry.make_room() } else { 0 };
                        if told.is_none_or(|told| time::since(told) >= ACCEPT_LOG_INTERVAL) {
                            told = Some(time::now());
                            warn!(event = "http_accept_failed", reason = %error, closed);
                        }
                        time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            };
            let Some(permit) = self.place().await else { return };
            self.hand_over(next, stream, peer, permit, closing.clone());
        }
    }

    /// A place for one more connection. While there is none, further connections wait in the system's backlog, and
    /// idle connections are evicted.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            match self.connections.clone().try_acquire_owned() {
                Ok(permit) => return Some(permit),
                Err(TryAcquireError::Closed) => return None,
                Err(TryAcquireError::NoPermits) => {}
            }
            let closed = self.registry.make_room();
            debug!(event = "http_connections_full", max_connections = self.max_connections, closed);
            let freed = self.connections.clone().acquire_owned();
            if let Ok(permit) = time::timeout(FULL_PAUSE, freed).await {
                return permit.ok();
            }
        }
    }

    /// Moves a connection to a worker thread, round-robin.
    fn hand_over(
        &self,
        thread: usize,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        closing: watch::Receiver<bool>,
    ) {
        // Without this, a small answer can wait 40 ms for the client's acknowledgement of its head.
        let _ = stream.set_nodelay(true);
        let Ok(stream) = stream.into_std() else { return };
        let acceptor = self.tls.as_ref().map(CurrentCertificate::acceptor);
        let (endpoint, times) = (self.endpoint.clone(), self.times);
        let peer = peer.ip().to_canonical();
        let registration = self.registry.join(peer, times.first_request, permit);
        let activity = registration.activity.clone();
        self.engine.spawn_on(thread, move || async move {
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            let engine = endpoint.engine.clone();
            // Boxed, since each layer of futures around it would reserve space for it once more.
            let connection = Box::pin(async {
                match acceptor {
                    None => serve(endpoint, stream, peer, times.idle, &registration, closing).await,
                    Some(acceptor) => {
                        let accepted = tokio::select! {
                            accepted = acceptor.accept(stream) => accepted,
                            // A client that does not finish the handshake in time is dropped.
                            _ = registration.activity.over() => return,
                        };
                        if let Ok(stream) = accepted {
                            serve(endpoint, stream, peer, times.idle, &registration, closing).await;
                        }
                    }
                }
            });
            engine.serve_in_turns(|| activity.turns_of(), connection).await;
        });
    }

    /// Receives the announcements of other replicas.
    async fn listen_to_replicas(&self) {
        let sessions = &self.endpoint.sessions;
        match sessions.ends() {
            Some(ends) => super::replica_listener::listen(ends.clone(), sessions.clone()).await,
            None => std::future::pending().await,
        }
    }

    async fn sweep(&self) {
        loop {
            time::sleep(SWEEP_INTERVAL).await;
            let now = time::now();
            self.endpoint.sessions.sweep(now);
            self.endpoint.authenticator.sweep(now);
            if let Some(limiter) = &self.endpoint.limiter {
                limiter.sweep(now);
            }
        }
    }
}

/// A listening socket. Creating it needs a runtime, but the socket stays independent of its driver.
fn listen(address: SocketAddr) -> std::io::Result<StdListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?.into_std()
}
