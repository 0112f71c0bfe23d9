//! One provider endpoint, reached through the host's HTTP client. This module holds what all wire formats share: the
//! key, time limits, refusals, event streams.

mod address;
mod client;
mod limits;
mod refusal;
mod stream;

pub(super) use address::Address;
pub(super) use client::endpoint_client;
pub use limits::TimeLimits;
pub(super) use refusal::{excerpt, kind_of_status, now, retry_delay};
pub(super) use stream::{EventStream, Flow, read_events};

use super::{LlmError, LlmErrorKind};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ptc_base::json::Value as Json;
use ptc_base::redactor::Redactor;
use ptc_base::secret::Secret;
use ptc_base::time::{self, Instant};
use ptc_http::{Body, Client, HttpError, Limits, Request, Target};
use std::time::Duration;

/// Bytes of a refusal's body that are read.
const REFUSAL_BYTES: usize = 64 << 10;

/// Where a provider is asked, and with which key.
#[derive(Clone)]
pub(super) struct Endpoint {
    http: Client,
    target: Target,
    /// Host and port, for errors.
    place: String,
    headers: HeaderMap,
    limits: TimeLimits,
    /// Knows the key, in case the endpoint repeats it.
    redactor: Redactor,
    official: bool,
}

/// The answer to a request that was not refused.
pub(super) struct EndpointResponse {
    body: Body,
    idle: Duration,
    total: Duration,
    /// The caller's own.
    deadline: Option<Instant>,
    /// When nothing more is waited for.
    until: Option<Instant>,
    is_stream: bool,
}

impl Endpoint {
    /// An endpoint at `path` under `base`. A base that ends with an API version (`…/v1`), or has one on the way to its
    /// end (`…/v1beta/openai`), is taken as it is; any other gets `/v1`. A query of the base is kept.
    pub(super) fn new(base: &str, path: &[&str]) -> Result<Endpoint, LlmError> {
        Endpoint::to(&joined(base, Some("v1"), path)?)
    }

    /// An endpoint at this address.
    pub(super) fn to(url: &Address) -> Result<Endpoint, LlmError> {
        let target = target(url)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let official = url.host() == "api.openai.com";
        Ok(Endpoint {
            http: Client::new(),
            target,
            place: url.place(),
            headers,
            limits: TimeLimits::default(),
            redactor: Redactor::new(),
            official,
        })
    }

    /// The same endpoint at another address: of protocols that name the model in it.
    pub(super) fn at(&self, url: &Address) -> Result<Endpoint, LlmError> {
        Ok(Endpoint { target: target(url)?, ..self.clone() })
    }

    /// Whether this is OpenAI's own address.
    pub(super) fn is_openai(&self) -> bool {
        self.official
    }

    /// Sends `<prefix><key>` as a header that no debug output shows.
    pub(super) fn key(&mut self, header: HeaderName, prefix: &str, key: &Secret) -> Result<(), LlmError> {
        let value = key.header_value(prefix).ok_or_else(|| {
            LlmError::new(LlmErrorKind::Auth, "the key holds characters that a header cannot carry")
        })?;
        self.secret(key)?;
        self.headers.insert(header, value);
        Ok(())
    }

    /// Scrubs a secret from the endpoint's answers.
    pub(super) fn secret(&self, secret: &Secret) -> Result<(), LlmError> {
        self.redactor.register([secret]).map_err(|no_room| {
            LlmError::new(LlmErrorKind::Auth, format!("the key cannot be kept out of errors: {no_room}"))
        })
    }

    /// Sends a header with every request.
    pub(super) fn header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    pub(super) fn set_limits(&mut self, limits: TimeLimits) {
        self.limits = limits.finite();
    }

    pub(super) fn set_http(&mut self, http: Client) {
        self.http = http;
    }

    /// Text of the endpoint as an error may show it.
    pub(super) fn scrub(&self, text: &str) -> String {
        excerpt(&self.redactor, text)
    }

    /// Sends a request body and waits for the head of an answer of status 2xx.
    pub(super) async fn post(
        &self,
        body: &Json,
        stream: bool,
        deadline: Option<Instant>,
    ) -> Result<EndpointResponse, LlmError> {
        self.send(Bytes::from(body.to_string()), HeaderMap::new(), stream, deadline).await
    }

    /// As [`Endpoint::post`], with headers that belong to this one request.
    pub(super) async fn send(
        &self,
        body: Bytes,
        own: HeaderMap,
        stream: bool,
        deadline: Option<Instant>,
    ) -> Result<EndpointResponse, LlmError> {
        let mut headers = self.headers.clone();
        headers.extend(own);
        if stream {
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        } else {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        }
        let request = Request { method: Method::POST, target: self.target.clone(), headers, body };
        let limits = &self.limits;
        let own = deadline;
        let deadline = deadline.unwrap_or_else(|| time::now() + limits.connect + limits.total);
        let exchange = Limits {
            connect: limits.connect,
            first_byte: Some(limits.first_byte),
            total: limits.total,
            deadline,
            max_bytes: limits.max_bytes,
            allowance: 0,
        };
        let response = self.http.send(request, &exchange).await.map_err(|error| match error {
            HttpError::Deadline | HttpError::Timeout | HttpError::ConnectTimeout if passed(own) => overdue(),
            HttpError::Timeout => late("no answer within", limits.first_byte.min(limits.total)),
            other => {
                let mut error = failed(&other);
                if is_unreachable(&other) {
                    error.message = format!("no connection to {}: {other}", self.place);
                }
                error
            }
        })?;
        let is_stream = response
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().to_ascii_lowercase().starts_with(b"text/event-stream"));
        if !response.status.is_success() {
            let body = response.body.beginning(REFUSAL_BYTES).await;
            return Err(refusal::refused(&self.redactor, response.status, &response.headers, &body));
        }
        Ok(EndpointResponse {
            body: response.body,
            idle: limits.idle,
            total: limits.total,
            deadline: own,
            until: None,
            is_stream,
        })
    }
}

impl EndpointResponse {
    /// Whether the endpoint streams.
    pub(super) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// The whole answer as JSON.
    #[expect(clippy::disallowed_methods, reason = "entry point: EndpointResponse.json")]
    pub(super) async fn json(mut self, endpoint: &Endpoint) -> Result<Json, LlmError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        ptc_base::json::from_slice(&whole).map_err(|error| {
            let display = endpoint.scrub(&String::from_utf8_lossy(&whole));
            LlmError::new(LlmErrorKind::Malformed, format!("the answer is not JSON ({error}): {display}"))
        })
    }

    /// The next piece of the body.
    async fn chunk(&mut self) -> Result<Option<Bytes>, LlmError> {
        let idle = time::now() + self.idle;
        let until = self.until.map_or(idle, |until| until.min(idle));
        match time::timeout_at(until, self.body.chunk()).await {
            Err(_) if passed(self.deadline) => Err(overdue()),
            Err(_) => Err(late("the answer stopped for", self.idle)),
            Ok(None) => Ok(None),
            Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
            Ok(Some(Err(HttpError::Timeout))) if passed(self.deadline) => Err(overdue()),
            Ok(Some(Err(HttpError::Timeout))) => Err(late("the answer did not end within", self.total)),
            Ok(Some(Err(error))) => Err(failed(&error)),
        }
    }
}

/// The address of `path` under `base`, with `version` in between unless the base has one already. A query of the base is
/// kept.
pub(super) fn joined(base: &str, version: Option<&str>, path: &[&str]) -> Result<Address, LlmError> {
    let address = Address::parse(base).map_err(|error| bad_base(&error))?;
    let versioned = address.path().split('/').any(is_version);
    Ok(address.with_segments(version.filter(|_| !versioned).into_iter().chain(path.iter().copied())))
}

fn target(url: &Address) -> Result<Target, LlmError> {
    let uri = url.uri().map_err(|error| bad_base(&error))?;
    Target::of(&uri).map_err(|error| bad_base(&format!("cannot be used: {error}")))
}

pub(super) fn bad_base(what: &str) -> LlmError {
    LlmError::new(LlmErrorKind::InvalidRequest, format!("the base URL {what}"))
}

/// Whether a segment of a path names an API version: `v1`, `v1beta`, `v3.1`.
fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or_default();
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether the caller's deadline has passed, so that any timeout counts as the caller's.
fn passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| time::now() >= deadline)
}

fn overdue() -> LlmError {
    LlmError::new(LlmErrorKind::Timeout, "the deadline passed before the answer was complete")
}

fn late(what: &str, limit: Duration) -> LlmError {
    LlmError::new(LlmErrorKind::Timeout, format!("{what} {} ms", limit.as_millis()))
}

/// Whether the endpoint was never reached, which points to a wrong address.
fn is_unreachable(error: &HttpError) -> bool {
    matches!(error, HttpError::Refused | HttpError::Dns(_) | HttpError::Tls(_) | HttpError::ConnectTimeout)
}

fn failed(error: &HttpError) -> LlmError {
    let kind = match error {
        HttpError::Timeout | HttpError::Deadline | HttpError::ConnectTimeout => LlmErrorKind::Timeout,
        HttpError::Malformed(_) | HttpError::TooLarge { .. } => LlmErrorKind::Malformed,
        HttpError::BadTarget(_) => LlmErrorKind::InvalidRequest,
        _ => LlmErrorKind::Network,
    };
    LlmError::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(base: &str) -> String {
        format!("{:?}", Endpoint::new(base, &["chat", "completions"]).unwrap().target)
    }

    #[test]
    fn bases_come_with_and_without_a_version() {
        for (base, expected) in [
            ("http://h", "/v1/chat/completions"),
            ("http://h/", "/v1/chat/completions"),
            ("http://h/v1/", "/v1/chat/completions"),
            ("https://openrouter.ai/api/v1", "/api/v1/chat/completions"),
            ("http://h/v1beta/openai", "/v1beta/openai/chat/completions"),
            ("http://h/proxy?api-version=3", "/proxy/v1/chat/completions?api-version=3"),
            ("http://h/vllm", "/vllm/v1/chat/completions"),
        ] {
            assert!(path(base).contains(&format!("path: {expected} ")), "{base}: {}", path(base));
        }
        for base in ["", "h", "data:x", "ftp://h"] {
            let error = Endpoint::new(base, &[]).map(|_| ()).unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::InvalidRequest);
            assert!(error.message.starts_with("the base URL "), "{error}");
        }
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_reached_is_named_without_its_secrets() {
        let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let endpoint =
            Endpoint::new(&format!("http://me:sekrit@127.0.0.1:{port}/v1?token=sekrit"), &[]).unwrap();
        let error = endpoint.post(&Json::Null, false, None).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Network);
        assert_eq!(error.message, format!("no connection to 127.0.0.1:{port}: connection refused"));
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused_without_showing_it() {
        let mut endpoint = Endpoint::new("http://h", &[]).unwrap();
        let error = endpoint.key(http::header::AUTHORIZATION, "", &Secret::new("sekrit\nkey")).unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Auth);
        assert!(!error.message.contains("sekrit"), "{error}");
    }
}
