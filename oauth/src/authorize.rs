//! The authorization request, and the sign-in that waits for its answer (`auth.md` 4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use crate::callback::{Callback, CallbackVerdict};
use crate::error_code::ErrorCode;
use crate::failure::Failure;
use crate::json;
use crate::message::{OAuthRequest, Purpose, RequestOutcome};
use crate::metadata::{ServerMetadata, is_same_issuer};
use crate::scopes::Scopes;
use crate::secret::{Secret, stored};
use crate::timestamp::Timestamp;

/// How long an answer is waited for.
pub const LIFE: Duration = Duration::from_secs(10 * 60);

/// Random bytes for one sign-in. They are never used for another.
pub struct Entropy {
    /// For the verifier of PKCE.
    pub verifier: Zeroizing<[u8; 32]>,
    /// For `state`.
    pub state: Zeroizing<[u8; 16]>,
}

/// A request for a person's authorization.
#[derive(Clone, Copy, Debug)]
pub struct Authorization<'a> {
    /// The authorization server.
    pub server: &'a ServerMetadata,
    /// Our client there.
    pub client_id: &'a str,
    /// Where the answer goes.
    pub redirect_uri: &'a str,
    /// Scopes.
    pub scopes: &'a Scopes,
    /// `resource`, as it is sent everywhere.
    pub resource: Option<&'a str>,
    /// On whose behalf.
    pub principal: &'a str,
    /// The name of the upstream.
    pub upstream: &'a str,
    /// Whether the server was found by the fallback.
    pub legacy: bool,
}

impl Authorization<'_> {
    /// The URL for the browser, and the state that is kept until it answers. The URL holds `state`: it goes to the terminal,
    /// the browser and `ptc login --json` alone (`auth.md` 15).
    ///
    /// # Errors
    /// The server has no authorization endpoint.
    pub fn begin(&self, entropy: &Entropy, now: Timestamp) -> Result<(Secret, PendingSignIn), Failure> {
        let what = "authorization endpoint";
        let mut url = self.server.authorization_endpoint.clone().ok_or(Failure::Unsupported { what })?;
        let state = Secret::new(URL_SAFE_NO_PAD.encode(*entropy.state));
        let verifier = Secret::new(URL_SAFE_NO_PAD.encode(*entropy.verifier));
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose().as_bytes()));
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", self.client_id)
                .append_pair("redirect_uri", self.redirect_uri)
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", state.expose());
            if let Some(scope) = self.scopes.parameter() {
                query.append_pair("scope", &scope);
            }
            if let Some(resource) = self.resource {
                query.append_pair("resource", resource);
            }
        }
        let pending = PendingSignIn {
            state,
            verifier,
            redirect_uri: self.redirect_uri.to_owned(),
            issuer: self.server.issuer.clone(),
            iss_advertised: self.server.iss_parameter_supported,
            token_endpoint: self.server.token_endpoint.clone().into(),
            resource: self.resource.map(str::to_owned),
            scopes: self.scopes.clone(),
            client_id: self.client_id.to_owned(),
            principal: self.principal.to_owned(),
            upstream: self.upstream.to_owned(),
            legacy: self.legacy,
            expires_at: (now + LIFE).millis(),
        };
        Ok((Secret::new(url), pending))
    }
}

impl Authorization<'_> {
    /// The request that a browser would make, without a browser: there is no other way to learn whether the server still knows
    /// our client (`auth.md` 3). The answer's content is never used.
    ///
    /// # Errors
    /// The server has no authorization endpoint.
    pub fn probe(&self, entropy: &Entropy, now: Timestamp) -> Result<OAuthRequest, Failure> {
        let (url, _) = self.begin(entropy, now)?;
        let what = "authorization endpoint";
        let url = Url::parse(url.expose()).map_err(|_| Failure::Unsupported { what })?;
        Ok(OAuthRequest::page(Purpose::Authorization, url))
    }
}

/// Refusals of an authorization endpoint that do not doubt the client.
const OF_REQUEST: &[&str] = &[
    "access_denied",
    "account_selection_required",
    "consent_required",
    "interaction_required",
    "invalid_scope",
    "invalid_target",
    "login_required",
    "server_error",
    "temporarily_unavailable",
    "unsupported_response_type",
];

/// Whether the answer to [`Authorization::probe`] shows that the server does not know the client any more: an error page, which
/// a browser would show to its person for good, or a redirect or document that says so.
#[must_use]
pub fn has_forgotten_client(answer: &RequestOutcome) -> bool {
    let Ok(response) = &answer.result else { return false };
    let document = json::object(response.body.expose()).unwrap_or_default();
    let told = json::text(&document, "error").map(ErrorCode::new);
    match response.status {
        // What keeps programs out, or asks for a pause, says nothing of the client; nor does trouble.
        200..=299 | 403 | 405 | 408 | 425 | 429 => told.is_some_and(|code| code.is_about_client()),
        300..=399 => response
            .header("location")
            .and_then(|place| place.split_once('?'))
            .into_iter()
            .flat_map(|(_, query)| url::form_urlencoded::parse(query.as_bytes()))
            .any(|(name, value)| name == "error" && ErrorCode::new(&value).is_about_client()),
        400..=499 => told.is_none_or(|code| !OF_REQUEST.contains(&code.as_str())),
        _ => false,
    }
}

/// A sign-in that waits for its answer: the record `pending` of `auth.md` 7.1, kept under `state` and used once. It serializes
/// with its secrets in the clear: the store seals it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSignIn {
    /// The value that the answer must repeat.
    #[serde(with = "stored")]
    pub state: Secret,
    /// The verifier for the exchange of the code.
    #[serde(with = "stored")]
    pub verifier: Secret,
    /// Where the answer goes, as it was sent.
    pub redirect_uri: String,
    /// The issuer that must answer.
    pub issuer: String,
    /// Whether the answer must say who it is from.
    pub iss_advertised: bool,
    /// Where the code is exchanged.
    pub token_endpoint: String,
    /// `resource`.
    pub resource: Option<String>,
    /// The requested scopes.
    pub scopes: Scopes,
    /// Our client.
    pub client_id: String,
    /// On whose behalf.
    pub principal: String,
    /// The upstream's name.
    pub upstream: String,
    /// Whether the server was found by the fallback.
    pub legacy: bool,
    /// Until when, in Unix milliseconds.
    pub expires_at: u64,
}

impl PendingSignIn {
    /// Whether a callback belongs to this sign-in and comes in time. The driver finds the record by `state`, asks this, and
    /// deletes the record before it asks anything else: a `state` is used once.
    #[must_use]
    pub fn is_for(&self, callback: &Callback, now: Timestamp) -> bool {
        callback.state == self.state && now.millis() < self.expires_at
    }

    /// The code of a callback, after the check of who sent it (RFC 9207).
    ///
    /// # Errors
    /// It came from another server: then nothing of it is acted on or shown. Or the server says no.
    pub fn code(&self, callback: Callback) -> Result<Secret, Failure> {
        let from_expected = match &callback.iss {
            // Who advertises `iss` means it byte for byte (RFC 9207 2.4).
            Some(iss) if self.iss_advertised => *iss == self.issuer,
            Some(iss) => is_same_issuer(iss, &self.issuer),
            None => !self.iss_advertised,
        };
        if !from_expected {
            return Err(Failure::IssMismatch);
        }
        match callback.verdict {
            CallbackVerdict::Code(code) => Ok(code),
            CallbackVerdict::Error { code, description } => {
                Err(Failure::Refused { code: ErrorCode::new(&code), description })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Response, TransportError};

    #[test]
    fn a_forgotten_client_shows_in_the_answer_to_a_browser() {
        let of = |status: u16, location: &str, body: &str| {
            let headers = vec![("Location".to_owned(), location.to_owned())];
            let result = Ok(Response::new(status, headers, body));
            has_forgotten_client(&RequestOutcome { at: Timestamp::default(), result })
        };
        for status in [400, 401, 404, 422] {
            assert!(of(status, "", "<html>unknown client</html>"), "{status}");
            assert!(of(status, "", r#"{"error":"client not found"}"#), "{status}");
            assert!(of(status, "", r#"{"error":"invalid_request"}"#), "{status}");
        }
        for error in ["invalid_client", "unauthorized_client"] {
            assert!(of(302, &format!("/error?x=1&error={error}"), ""), "{error}");
            assert!(of(200, "", &format!(r#"{{"error":"{error}"}}"#)), "{error}");
            assert!(of(403, "", &format!(r#"{{"error":"{error}"}}"#)), "{error}");
        }
        for (status, location, body) in [
            (200, "", "<html>sign in</html>"),
            (302, "https://a/login?client_id=c", ""),
            (302, "http://127.0.0.1:1/callback?code=c&state=s", ""),
            (302, "http://127.0.0.1:1/callback?error=access_denied", ""),
            (400, "", r#"{"error":"invalid_scope"}"#),
            (403, "", "<html>no programs here</html>"),
            (405, "", ""),
            (429, "", ""),
            (503, "", "<html>busy</html>"),
        ] {
            assert!(!of(status, location, body), "{status} {location} {body}");
        }
        let trouble = RequestOutcome { at: Timestamp::default(), result: Err(TransportError::TimedOut) };
        assert!(!has_forgotten_client(&trouble));
    }
}
