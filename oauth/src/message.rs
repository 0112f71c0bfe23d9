//! HTTP messages as the core sees them, and the interface to conversations of several.

use std::fmt;
use std::time::Duration;

use url::Url;

use crate::form::FormBody;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// Most bytes of an answer's body (`auth.md` 2.7). The driver stops reading there and reports [`TransportError::TooLarge`].
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// Most bytes of a token, a code or a client secret: as many as one header can carry.
pub const MAX_TOKEN_BYTES: usize = 16 << 10;
/// How long one request may take, redirects included.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Most redirects that the driver follows for [`Purpose::Metadata`]; for others none.
pub const MAX_REDIRECTS: usize = 10;

/// HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `POST`
    Post,
}

/// The purpose of a request, which selects the rules of `auth.md` 2.7 that the driver applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A metadata document: up to [`MAX_REDIRECTS`] redirects, each hop checked against the address rules.
    Metadata,
    /// Authorization endpoint, as a browser asks it. No redirects.
    Authorization,
    /// Client registration. No redirects.
    Registration,
    /// Token endpoint. No redirects.
    Token,
    /// Device authorization endpoint. No redirects.
    Device,
    /// Revocation endpoint. No redirects.
    Revocation,
    /// Introspection endpoint, as the protected resource asks it. No redirects.
    Introspection,
}

impl Purpose {
    /// Whether the driver follows redirects.
    #[must_use]
    pub fn follows_redirects(self) -> bool {
        self == Self::Metadata
    }
}

/// A request that the driver is to send, with these headers and no others of its own but `Host`, `Content-Length` and
/// `User-Agent`.
#[derive(Clone)]
pub struct OAuthRequest {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its method.
    pub method: Method,
    /// Where to. It has been checked for its scheme, not for its address: that is the driver's ([`crate::fetch_address`]).
    pub url: Url,
    /// Names in lower case, with their values.
    pub headers: Vec<(&'static str, Secret)>,
    /// The body of a `POST`.
    pub body: Option<Secret>,
}

impl OAuthRequest {
    /// A metadata document. It carries no credentials.
    #[must_use]
    pub fn metadata(url: Url) -> Self {
        Self { purpose: Purpose::Metadata, method: Method::Get, url, headers: accept_json(), body: None }
    }

    /// A page, as a browser asks for it. It carries no credentials.
    pub(crate) fn page(purpose: Purpose, url: Url) -> Self {
        let headers = vec![("accept", Secret::new("text/html, application/json")), identity()];
        Self { purpose, method: Method::Get, url, headers, body: None }
    }

    /// A form.
    pub(crate) fn form(purpose: Purpose, url: Url, form: FormBody, authorization: Option<Secret>) -> Self {
        let mut headers = accept_json();
        headers.push(("content-type", Secret::new("application/x-www-form-urlencoded")));
        headers.extend(authorization.map(|value| ("authorization", value)));
        Self { purpose, method: Method::Post, url, headers, body: Some(form.into_secret()) }
    }

    /// A JSON document.
    pub(crate) fn json(purpose: Purpose, url: Url, body: String) -> Self {
        let mut headers = accept_json();
        headers.push(("content-type", Secret::new("application/json")));
        Self { purpose, method: Method::Post, url, headers, body: Some(Secret::new(body)) }
    }
}

fn accept_json() -> Vec<(&'static str, Secret)> {
    vec![("accept", Secret::new("application/json")), identity()]
}

fn identity() -> (&'static str, Secret) {
    ("accept-encoding", Secret::new("identity"))
}

/// Headers and body may be secret: only the other parts print.
impl fmt::Debug for OAuthRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {}", self.purpose, self.method, self.url)
    }
}

/// An answer, whole. Its body may hold tokens: it has no readable `Debug`.
#[derive(Clone)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Names and values; of the names `cache-control`, `content-type`, `expires`, `retry-after` and `location` count, in any
    /// case.
    pub headers: Vec<(String, String)>,
    /// At most [`MAX_BODY_BYTES`].
    pub body: Secret,
}

impl Response {
    /// An answer whose body is text. Bytes that are no UTF-8 are no JSON: the driver passes an empty text for them.
    #[must_use]
    pub fn new(status: u16, headers: Vec<(String, String)>, body: impl Into<String>) -> Self {
        Self { status, headers, body: Secret::new(body) }
    }

    /// The first value of a header; the name is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http {}", self.status)
    }
}

/// Why there was no answer. The text goes into `cannot read URL: …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// [`REQUEST_TIMEOUT`] passed.
    #[error("no answer within 30 s")]
    TimedOut,
    /// The body is longer than [`MAX_BODY_BYTES`].
    #[error("the answer is over 1 MiB")]
    TooLarge,
    /// More than [`MAX_REDIRECTS`], or one that names no URL.
    #[error("too many redirects, or one that leads nowhere")]
    Redirects,
    /// The URL, or one that it redirects to, is refused by the address rules.
    #[error("the address of {url} is not public")]
    AddressRefused {
        /// The URL of the hop.
        url: String,
    },
    /// No connection, or one that broke. The driver's own words.
    #[error("{0}")]
    Unreachable(String),
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub struct RequestOutcome {
    /// When it was there.
    pub at: Timestamp,
    /// The answer, or why there is none.
    pub result: Result<Response, TransportError>,
}

/// The next action of a conversation.
#[derive(Debug)]
pub enum Next<T, E> {
    /// Send this, and hand the answer to [`Flow::receive`].
    Send(OAuthRequest),
    /// It has ended.
    Done(Result<T, E>),
}

/// A conversation of one or more requests, one at a time. The driver calls [`start`](Self::start) once and then
/// [`receive`](Self::receive) with the outcome of each request, until it is done.
pub trait Flow {
    /// Its result.
    type Output;
    /// Why it failed.
    type Error;

    /// The first step.
    fn start(&mut self) -> Next<Self::Output, Self::Error>;

    /// The step after an answer.
    fn receive(&mut self, answer: RequestOutcome) -> Next<Self::Output, Self::Error>;
}
