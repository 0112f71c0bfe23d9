//! The checks before a request is read: host and origin, then credentials.

use std::net::IpAddr;

use http::{HeaderValue, StatusCode, Uri};
use ptc_host::time;
use tracing::warn;

use super::answer::{self, HttpResponse};
use super::auth::{AuthenticationError, KnownCaller};
use super::endpoint::Endpoint;
use super::headers::Headers;
use super::limiter::AttemptVerdict;
use super::origin::is_loopback_authority;

/// What a request's target says besides its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'r> {
    /// The authority that it names.
    pub(super) authority: Option<&'r str>,
    /// Its query.
    pub(super) query: Option<&'r str>,
    /// The profile whose address it is.
    pub(super) profile: Option<&'r str>,
}

impl<'r> Target<'r> {
    /// The target of a request to `uri`.
    pub(super) fn of(uri: &'r Uri) -> Self {
        Target {
            authority: uri.authority().map(|authority| authority.as_str()),
            query: uri.query(),
            profile: None,
        }
    }
}

/// Host, origin, credentials: the caller of the request, or the refusal.
pub(super) async fn admit<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    target: Target<'_>,
    headers: &Headers<'_>,
) -> Result<KnownCaller<'e>, Box<HttpResponse>> {
    check_source(endpoint, target.authority, headers)?;
    authenticate(endpoint, peer, target, headers).await
}

/// Host and origin: the checks that keep foreign web pages out.
pub(super) fn check_source(
    endpoint: &Endpoint,
    authority: Option<&str>,
    headers: &Headers<'_>,
) -> Result<(), Box<HttpResponse>> {
    let forbidden = || Err(Box::new(answer::text(StatusCode::FORBIDDEN, "forbidden")));
    if endpoint.loopback_bind && !has_own_host(endpoint, authority, headers) {
        endpoint.counts.host_rejected(&endpoint.instance);
        return forbidden();
    }
    // Two `Origin` headers are refused.
    let origin = match headers.origin.only() {
        Ok(origin) => origin.map(|value| value.to_str().map_err(|_| ())),
        Err(()) => Some(Err(())),
    };
    if !endpoint.origins.admits(origin) {
        endpoint.counts.origin_rejected(&endpoint.instance);
        return forbidden();
    }
    Ok(())
}

/// A valid token always passes; the limiter applies only to guesses, and to the questions to an issuer that they would cause.
async fn authenticate<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    target: Target<'_>,
    headers: &Headers<'_>,
) -> Result<KnownCaller<'e>, Box<HttpResponse>> {
    let is_blocked =
        || endpoint.limiter.as_ref().is_some_and(|limiter| limiter.is_blocked(peer, time::now()));
    let why = match endpoint.authenticator.caller(target.query, headers, is_blocked).await {
        Ok(caller) => {
            if let Some(limiter) = &endpoint.limiter {
                limiter.succeeded(peer);
            }
            if let Some(audit) = &endpoint.telemetry.audit
                && let KnownCaller::Bearer(caller) = &caller
            {
                audit.signed_in(caller.principal.name(), caller.way, peer);
            }
            return Ok(caller);
        }
        Err(why) => why,
    };
    endpoint.counts.auth_failure(&endpoint.instance, why);
    let is_guess = endpoint.authenticator.is_guess(why);
    // Every OAuth client begins with a request without a token.
    let is_recorded = is_guess || why != AuthenticationError::Missing;
    if let Some(audit) = endpoint.telemetry.audit.as_ref().filter(|_| is_recorded) {
        audit.sign_in_refused(why.as_str(), None, peer);
    }
    let limiter = endpoint.limiter.as_ref().filter(|_| is_guess);
    let Some(limiter) = limiter else {
        return Err(Box::new(endpoint.challenges.refusal(why, target.profile)));
    };
    match limiter.failed(peer, time::now()) {
        AttemptVerdict::Blocked(seconds) => {
            Err(Box::new(answer::retry_after(answer::empty(StatusCode::TOO_MANY_REQUESTS), seconds)))
        }
        AttemptVerdict::Refused { armed } => {
            if armed {
                endpoint.counts.rate_limited(&endpoint.instance, peer, limiter.block());
                warn!(
                    event = "http_auth_rate_limited",
                    instance = endpoint.instance,
                    source = %peer,
                    block_ms = limiter.block().as_millis() as u64
                );
            }
            Err(Box::new(endpoint.challenges.refusal(why, target.profile)))
        }
    }
}

/// True if `Host`, or the HTTP/2 authority in its place, names this machine, or the server as `--public-url` does.
fn has_own_host(endpoint: &Endpoint, authority: Option<&str>, headers: &Headers<'_>) -> bool {
    let own = |authority: &str| endpoint.public_url.as_ref().is_some_and(|url| url.has_authority(authority));
    names_each(authority, headers, |authority| is_loopback_authority(authority) || own(authority))
}

/// True if `Host`, or the HTTP/2 authority in its place, names this machine.
pub(super) fn names_loopback(authority: Option<&str>, headers: &Headers<'_>) -> bool {
    names_each(authority, headers, is_loopback_authority)
}

/// True if a request names a host, and `is_named` holds of each that it names.
fn names_each(authority: Option<&str>, headers: &Headers<'_>, is_named: impl Fn(&str) -> bool) -> bool {
    // Two `Host` headers are refused.
    let Ok(host) = headers.host.only() else { return false };
    let host = match host.map(HeaderValue::to_str).transpose() {
        Ok(host) => host,
        Err(_) => return false,
    };
    match (host, authority) {
        (None, None) => false,
        (host, authority) => host.into_iter().chain(authority).all(is_named),
    }
}
