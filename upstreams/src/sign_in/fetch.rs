//! The requests of the sans-I/O core over our HTTP client, held to the rules of auth.md 2.7.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ptc_oauth::fetch_address::FetchRules;
use ptc_oauth::message::{
    Flow, MAX_BODY_BYTES, MAX_REDIRECTS, Method as CoreMethod, Next, OAuthRequest, REQUEST_TIMEOUT,
    RequestOutcome, Response, TransportError,
};
use ptc_oauth::timestamp::Timestamp;
use tokio::net::lookup_host;
use url::{Host, Url};

use crate::config::Routing;
use ptc_base::time::{self, Clock, Instant};
use ptc_http::{Client, HttpError, Limits, Request as HttpRequest, Route, Target};
use ptc_state::time_of_day_by;

/// Most addresses of a name that are looked at.
const MAX_ADDRESSES: usize = 8;

/// Sends the core's requests, for one upstream or one issuer.
#[derive(Clone)]
pub(crate) struct Fetcher {
    client: Client,
    rules: Arc<FetchRules>,
    /// The URL of the upstream or issuer itself.
    own: Url,
    routing: Routing,
    clock: Clock,
    /// How long one request may take, redirects included.
    patience: Duration,
}

impl Fetcher {
    pub(crate) fn new(client: Client, rules: FetchRules, own: Url, routing: Routing, clock: Clock) -> Self {
        Self { client, rules: Arc::new(rules), own, routing, clock, patience: REQUEST_TIMEOUT }
    }

    /// The same with another limit for one request.
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Carries a conversation to its end.
    pub(crate) async fn run<F: Flow>(&self, mut flow: F) -> Result<F::Output, F::Error> {
        let mut next = flow.start();
        loop {
            match next {
                Next::Done(result) => return result,
                Next::Send(request) => next = flow.receive(self.send(request).await),
            }
        }
    }

    /// One request and its outcome.
    pub(crate) async fn send(&self, request: OAuthRequest) -> RequestOutcome {
        let deadline = time::now() + self.patience;
        let sent = time::timeout_at(deadline, self.follow(&request, deadline));
        let result = sent.await.unwrap_or(Err(TransportError::TimedOut));
        RequestOutcome { at: Timestamp::from_millis(time_of_day_by(&self.clock)), result }
    }

    /// Sends it, and follows redirects where the core allows that.
    async fn follow(&self, request: &OAuthRequest, deadline: Instant) -> Result<Response, TransportError> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(request, &url, deadline).await?;
            let redirects = matches!(response.status, 301 | 302 | 303 | 307 | 308);
            if !redirects || !request.purpose.follows_redirects() {
                return Ok(response);
            }
            let next = response.header("location").and_then(|place| url.join(place).ok());
            url = next.ok_or(TransportError::Redirects)?;
        }
        Err(TransportError::Redirects)
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Fetcher.exchange")]
    async fn exchange(
        &self,
        request: &OAuthRequest,
        url: &Url,
        deadline: Instant,
    ) -> Result<Response, TransportError> {
        let route = self.route(url).await?;
        let target = Target::new(url).map_err(unreachable)?.via(route);
        let message = HttpRequest {
            method: if request.method == CoreMethod::Get { Method::GET } else { Method::POST },
            target,
            headers: headers(request)?,
            body: request.body.as_ref().map_or_else(Bytes::new, |body| Bytes::from(body.expose().to_owned())),
        };
        let limits = Limits {
            connect: self.patience,
            first_byte: None,
            total: self.patience,
            deadline,
            max_bytes: MAX_BODY_BYTES,
            allowance: 0,
        };
        // Connections are not kept: they are rare, and each goes to an address that was checked for it alone.
        let response = self.client.unpooled().send(message, &limits).await.map_err(unreachable)?;
        let status = response.status.as_u16();
        let wanted = ["cache-control", "content-type", "expires", "retry-after", LOCATION.as_str()];
        let kept = wanted.iter().flat_map(|name| {
            let values = response.headers.get_all(*name).iter();
            values.filter_map(|value| Some(((*name).to_owned(), value.to_str().ok()?.to_owned())))
        });
        let headers: Vec<(String, String)> = kept.collect();
        let body = response.body.collect_for(None).await.map_err(unreachable)?;
        Ok(Response::new(status, headers, String::from_utf8(body.to_vec()).unwrap_or_default()))
    }

    /// The way to `url`: to one of its addresses that were checked. A proxy of the operator's finds the host itself.
    async fn route(&self, url: &Url) -> Result<Route, TransportError> {
        let refused = || TransportError::AddressRefused { url: url.as_str().to_owned() };
        self.rules.url(url).map_err(|_| refused())?;
        match self.routing.route(url) {
            Route::Direct => {}
            route @ Route::Proxy(_) => return Ok(route),
            route @ Route::UnixSocket(_) if url.origin() == self.own.origin() => return Ok(route),
            // The socket leads to the upstream alone.
            Route::UnixSocket(_) | Route::Addresses(_) => {}
        }
        let port = url.port_or_known_default().unwrap_or(443);
        let found: Vec<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let looked_up = lookup_host((name, port)).await;
                let addresses = looked_up
                    .map_err(|_| TransportError::Unreachable(format!("{name} cannot be resolved")))?;
                addresses.take(MAX_ADDRESSES).map(|address| address.ip()).collect()
            }
            None => return Err(refused()),
        };
        // One bad address is enough: a name that also leads inside is not to be trusted with luck.
        if found.iter().any(|address| self.rules.address(url, *address).is_err()) {
            return Err(refused());
        }
        Ok(Route::Addresses(found.into_iter().map(|address| (address, port).into()).collect()))
    }
}

fn headers(request: &OAuthRequest) -> Result<HeaderMap, TransportError> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("ptc/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in &request.headers {
        let mut header = HeaderValue::from_str(value.expose())
            .map_err(|_| TransportError::Unreachable(format!("{name} cannot be sent")))?;
        header.set_sensitive(*name == "authorization");
        headers.insert(HeaderName::from_static(name), header);
    }
    Ok(headers)
}

fn unreachable(error: HttpError) -> TransportError {
    match error {
        HttpError::TooLarge { .. } => TransportError::TooLarge,
        HttpError::Timeout | HttpError::Deadline | HttpError::ConnectTimeout => TransportError::TimedOut,
        other => TransportError::Unreachable(other.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}
