//! The authorization request, and the sign-in that waits for its answer (`auth.md` 4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::callback::{Callback, Verdict};
use crate::error_code::ErrorCode;
use crate::failure::Failure;
use crate::metadata::ServerMetadata;
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

/// What a person is asked to authorize.
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
    /// The URL for the browser, and what is kept until it answers. The URL holds `state`: it goes to the terminal, the browser and
    /// `ptc login --json` alone (`auth.md` 15).
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

/// A sign-in that waits for its answer: the record `pending` of `auth.md` 7.1, kept under `state` and used once. It serializes with its secrets in the
/// clear: the store seals it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSignIn {
    /// What the answer must repeat.
    #[serde(with = "stored")]
    pub state: Secret,
    /// What the code is exchanged with.
    #[serde(with = "stored")]
    pub verifier: Secret,
    /// Where the answer goes, as it was sent.
    pub redirect_uri: String,
    /// Who must answer.
    pub issuer: String,
    /// Whether the answer must say who it is from.
    pub iss_advertised: bool,
    /// Where the code is exchanged.
    pub token_endpoint: String,
    /// `resource`.
    pub resource: Option<String>,
    /// What was asked for.
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
    /// Whether a callback belongs to this sign-in and comes in time. The driver finds the record by `state`, asks this, and deletes the
    /// record before it asks anything else: a `state` is used once.
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
            Some(iss) => *iss == self.issuer,
            None => !self.iss_advertised,
        };
        if !from_expected {
            return Err(Failure::IssMismatch);
        }
        match callback.verdict {
            Verdict::Code(code) => Ok(code),
            Verdict::Error(code) => Err(Failure::Refused(ErrorCode::new(&code))),
        }
    }
}
