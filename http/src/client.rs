//! Sending a request over a suitable connection, within its limits.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::Full;

use super::certificates::{Certificates, TlsRootsError};
use super::connect::connect;
#[cfg(feature = "upstreams")]
use super::encoding::Decoder;
use super::exchange::{IdleConnection, Timer};
#[cfg(not(feature = "upstreams"))]
use super::identity::Decoder;
use super::pool::{Pool, Version};
use super::standstill::{GrantedTime, Standstill};
use super::stream::SendError;
use super::target::{IDENTITY, Origin};
use super::tls::Trust;
use super::{Body, HttpError, Target};
use ptc_base::time::{self, Instant, timeout_at};

/// A client with its connections. Clones share them.
///
/// It needs no own runtime: connections are opened on the runtime of the caller, and reused by callers on the same thread
/// first.
#[derive(Clone, Default)]
pub struct Client(Arc<ConnectionPools>);

#[derive(Default)]
struct ConnectionPools {
    trust: Arc<Trust>,
    pools: Mutex<HashMap<Arc<Origin>, Arc<Pool>, ahash::RandomState>>,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where the request is sent.
    pub target: Target,
    /// Its headers. `host` and the length are added, and `accept-encoding: identity` unless set.
    pub headers: HeaderMap,
    /// Its body, which may be empty.
    pub body: Bytes,
}

/// The limits of one exchange.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Name, TCP and TLS, if a connection must be opened.
    pub connect: Duration,
    /// From the first byte of the request to the head of the answer.
    pub first_byte: Option<Duration>,
    /// From the first byte of the request to the end of the answer.
    pub total: Duration,
    /// The end of everything, waiting for a connection included.
    pub deadline: Instant,
    /// The largest body.
    pub max_bytes: usize,
    /// Bytes beyond that which are read all the same: the caller judges by their content.
    pub allowance: usize,
}

/// The head of an answer, and its body, which is still to be read.
#[derive(Debug)]
pub struct Response {
    /// The status. Redirects are not followed.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, which is still to be read.
    pub body: Body,
}

/// An exchange that has no answer, and whether the server may have read the request.
#[derive(Debug)]
pub struct Unanswered {
    /// Why.
    pub error: HttpError,
    /// Whether the server may have read the request.
    pub sent: bool,
}

impl Unanswered {
    fn unsent(error: HttpError) -> Self {
        Self { error, sent: false }
    }
}

impl From<HttpError> for Unanswered {
    fn from(error: HttpError) -> Self {
        Self { error, sent: true }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A client that trusts the system's root certificates.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A client that also trusts the certificates of a PEM file (`--ca-file`).
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn with_ca_file(path: &Path) -> Result<Self, TlsRootsError> {
        Ok(Self(Arc::new(ConnectionPools {
            trust: Trust::with_file(path)?.into(),
            ..ConnectionPools::default()
        })))
    }

    /// A client for a server on this machine: it trusts one that shows a certificate of this PEM file, the server's own, for
    /// any name and time.
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn of_own_certificate(path: &Path) -> Result<Self, TlsRootsError> {
        Ok(Self(Arc::new(ConnectionPools {
            trust: Trust::of_own(path)?.into(),
            ..ConnectionPools::default()
        })))
    }

    /// A client that also trusts these certificates. It has its own connections.
    #[must_use]
    pub fn trusting(&self, certificates: &Certificates) -> Self {
        Self(Arc::new(ConnectionPools {
            trust: self.0.trust.and(certificates).into(),
            ..ConnectionPools::default()
        }))
    }

    /// A client with the same trust and no connections yet, for a request whose connection is not to be kept.
    #[must_use]
    pub fn unpooled(&self) -> Self {
        Self(Arc::new(ConnectionPools { trust: self.0.trust.clone(), ..ConnectionPools::default() }))
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// Dropping the future, or the body of the answer, closes the exchange.
    ///
    /// # Errors
    /// The errors of [`HttpError`]. An answer of any status is a success.
    pub async fn send(&self, request: Request, limits: &Limits) -> Result<Response, HttpError> {
        self.send_with(&HeaderMap::new(), &request, limits, None).await.map_err(|failure| failure.error)
    }

    /// As [`Client::send`], with headers that the request has in common with others and that are copied whole. They have to
    /// come from [`Target::common_headers`] of the request's target. The request's own win. While `standstill` says so, the
    /// time of the exchange stands still.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send_with(
        &self,
        common: &HeaderMap,
        request: &Request,
        limits: &Limits,
        standstill: Option<Arc<dyn Standstill>>,
    ) -> Result<Response, Unanswered> {
        let pool = self.pool(&request.target.origin);
        let mut fresh_only = false;
        loop {
            let pooled = if fresh_only { None } else { take(&pool).await };
            let mut connection = match pooled {
                Some(connection) => connection,
                None => Box::pin(self.connection(&pool, &request.target.origin, limits, fresh_only))
                    .await
                    .map_err(Unanswered::unsent)?,
            };
            let again = connection.may_fail_unread() && !fresh_only;
            let shared = connection.shared();
            let started = time::now();
            let end = (started + limits.total).min(limits.deadline);
            let first = limits.first_byte.map_or(end, |limit| (started + limit).min(end));
            let mut timer = connection.timer(first);
            let message = message(common, request, connection.is_h2()).map_err(Unanswered::unsent)?;
            let mut granted = GrantedTime::new(standstill.clone());
            match within(&mut timer, &mut granted, connection.send(message)).await {
                Some(Ok((response, rest))) => {
                    if first != end {
                        timer.as_mut().reset(end);
                    }
                    let (head, incoming) = response.into_parts();
                    if head.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                        && let Some(proxy) = request.target.origin.forwarding_proxy()
                    {
                        return Err(Unanswered::unsent(proxy.refused(head.status.as_u16())));
                    }
                    let decoder = Decoder::of(&head.headers)?;
                    let (most, allowance) = (limits.max_bytes, limits.allowance);
                    let body = Body::new(incoming, rest, pool, timer, granted, most, allowance);
                    let body = body.decoded_by(decoder);
                    return Ok(Response { status: head.status, headers: head.headers, body });
                }
                Some(Err(SendError::Unsent)) if again => {
                    if let Some(h2) = shared {
                        pool.retire(&h2);
                    }
                    fresh_only = true;
                }
                Some(Err(SendError::Unsent)) => return Err(Unanswered::unsent(HttpError::Closed)),
                Some(Err(SendError::Failed(error))) => return Err(error.into()),
                None => return Err(HttpError::Timeout.into()),
            }
        }
    }

    /// Raises the number of idle connections kept for the target's origin. A caller with more concurrent calls would
    /// otherwise reopen connections again and again.
    pub fn make_room(&self, target: &Target, connections: usize) {
        self.pool(&target.origin).make_room(connections);
    }

    /// Closes the idle connections to the target's origin.
    pub fn close_idle(&self, target: &Target) {
        self.pool(&target.origin).clear();
    }

    fn pool(&self, origin: &Arc<Origin>) -> Arc<Pool> {
        let mut pools = self.0.pools.lock();
        if let Some(pool) = pools.get(origin) {
            return pool.clone();
        }
        pools.entry(origin.clone()).or_default().clone()
    }

    /// A connection if the pool has none: a new one, or one that another caller has opened meanwhile.
    async fn connection(
        &self,
        pool: &Pool,
        origin: &Origin,
        limits: &Limits,
        fresh_only: bool,
    ) -> Result<IdleConnection, HttpError> {
        // Waiting for somebody else's attempt counts like one's own: a host that is silent costs everybody the same.
        let end = (time::now() + limits.connect).min(limits.deadline);
        let late = if end == limits.deadline { HttpError::Deadline } else { HttpError::ConnectTimeout };
        let opening = async {
            let _alone = match pool.version() {
                Version::H1 => None,
                Version::Unknown | Version::H2 if origin.tls => Some(pool.opening.lock().await),
                Version::Unknown | Version::H2 => None,
            };
            if !fresh_only && let Some(connection) = take(pool).await {
                return Ok(connection);
            }
            let connection = connect(origin, &self.0.trust).await?;
            pool.opened(&connection);
            Ok(connection)
        };
        timeout_at(end, opening).await.map_err(|_| late)?
    }
}

/// A pooled connection that the server has not closed, as far as can be known.
async fn take(pool: &Pool) -> Option<IdleConnection> {
    std::future::poll_fn(|cx| Poll::Ready(pool.take(cx))).await
}

/// The outcome of `future`, or `None` when the timer runs out first.
async fn within<F: Future>(timer: &mut Timer, granted: &mut GrantedTime, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        granted.poll(timer, cx).map(|()| None)
    })
    .await
}

fn message(common: &HeaderMap, request: &Request, h2: bool) -> Result<http::Request<Full<Bytes>>, HttpError> {
    let target = &request.target;
    let mut message = http::Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    let mut headers = if common.is_empty() {
        let mut headers = request.headers.clone();
        headers.entry(ACCEPT_ENCODING).or_insert(IDENTITY);
        headers.entry(HOST).or_insert_with(|| target.authority().clone());
        headers
    } else {
        // These two are in it.
        let mut headers = common.clone();
        headers.extend(request.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        headers
    };
    let rebuilt =
        || target.full_uri().ok_or_else(|| HttpError::BadTarget("the URL cannot be rebuilt".to_owned()));
    if h2 {
        headers.remove(HOST);
        *message.uri_mut() = rebuilt()?;
    } else if let Some(proxy) = target.origin.forwarding_proxy() {
        *message.uri_mut() = rebuilt()?;
        if let Some(authorization) = proxy.authorization() {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    } else {
        *message.uri_mut() = target.path_uri();
    }
    *message.headers_mut() = headers;
    Ok(message)
}
