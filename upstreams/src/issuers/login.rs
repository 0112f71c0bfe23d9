//! The sign-in of people at the first issuer, for the pages of a listener (auth.md 8). Nothing of it is kept here: a sign-in that
//! waits goes with its browser.

use std::fmt;

use ptc_oauth::authorize::{Entropy, PendingSignIn};
use ptc_oauth::callback::Callback;
use ptc_oauth::client::Signing;
use ptc_oauth::jwt::login::{LoginClient, id_token, nonce};
use ptc_oauth::jwt::{IdToken, IdTokenExpectation, Jws};
use ptc_oauth::secret::Secret;
use ptc_oauth::timestamp::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::Semaphore;
use tracing::warn;
use zeroize::Zeroizing;

use super::VerifiedToken;
use super::issuer::{Issuer, KeyError};
use ptc_base::time::Clock;
use ptc_state::time_of_day_by;

/// Codes that are exchanged at a time.
const MAX_EXCHANGES: usize = 16;

/// Signs people in at an issuer.
pub struct Login {
    pub(super) issuer: Issuer,
    pub(super) client: LoginClient,
    /// The issuer's host and port, for people.
    pub(super) host: String,
    pub(super) clock: Clock,
    pub(super) exchanges: Semaphore,
}

/// A sign-in that has begun.
pub struct BegunLogin {
    /// Where the browser goes.
    pub url: Secret,
    /// The `state` that it brings back.
    pub state: Secret,
    /// What [`Login::complete`] must be given: a secret of ours.
    pub pending: Zeroizing<String>,
}

/// Why nobody is signed in. The log has the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginError {
    /// The answer belongs to no such sign-in, or comes too late.
    Unknown,
    /// The issuer refuses, does not answer, or its token is not good.
    Failed,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("issuer", &self.issuer.name()).finish_non_exhaustive()
    }
}

impl Login {
    pub(super) fn new(issuer: Issuer, client: LoginClient, host: String, clock: Clock) -> Self {
        Self { issuer, client, host, clock, exchanges: Semaphore::new(MAX_EXCHANGES) }
    }

    /// The issuer's host, and its port if it is unusual.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Begins a sign-in whose answer goes to `redirect_uri`.
    ///
    /// # Errors
    /// If the issuer's metadata cannot be had or name no endpoints, or the system gives no random bytes.
    pub async fn begin(&self, redirect_uri: &str) -> Result<BegunLogin, LoginError> {
        let metadata = self.issuer.metadata().await.ok_or(LoginError::Failed)?;
        let server = metadata.server.ok_or_else(|| self.tell(&"the metadata name no token endpoint"))?;
        let mut entropy = Entropy { verifier: Zeroizing::default(), state: Zeroizing::default() };
        let random = SystemRandom::new();
        random.fill(&mut *entropy.verifier).map_err(|_| self.tell(&"the system gives no random bytes"))?;
        random.fill(&mut *entropy.state).map_err(|_| self.tell(&"the system gives no random bytes"))?;
        let begun = self.client.begin(&server, redirect_uri, &entropy, self.now());
        let (url, pending) = begun.map_err(|failure| self.tell(&failure))?;
        let text = serde_json::to_string(&pending).map_err(|error| self.tell(&error))?;
        Ok(BegunLogin { url, state: pending.state, pending: Zeroizing::new(text) })
    }

    /// The person of an answer to `pending`, by the ID token that the issuer gives for its code.
    ///
    /// # Errors
    /// Why nobody is signed in.
    #[expect(clippy::disallowed_methods, reason = "entry point: Login.complete")]
    pub async fn complete(&self, pending: &str, callback: Callback) -> Result<VerifiedToken, LoginError> {
        let pending: PendingSignIn = serde_json::from_str(pending).map_err(|_| LoginError::Unknown)?;
        if !pending.is_for(&callback, self.now()) || pending.issuer != self.issuer.name() {
            return Err(LoginError::Unknown);
        }
        let code = pending.code(callback).map_err(|failure| self.tell(&failure))?;
        let metadata = self.issuer.metadata().await.ok_or(LoginError::Failed)?;
        let server = metadata.server.ok_or_else(|| self.tell(&"the metadata name no token endpoint"))?;
        let random = SystemRandom::new();
        let signing = Signing { issuer: &server.issuer, now: self.now(), jti: [0; 16], random: &random };
        let request = self.client.exchange(&server, &pending, &code, signing);
        let request = request.map_err(|failure| self.tell(&failure))?;
        let answer = {
            let _turn =
                self.exchanges.try_acquire().map_err(|_| self.tell(&"too many sign-ins at a time"))?;
            self.issuer.send(request).await
        };
        let token =
            id_token(&answer).map_err(|fault| self.tell(&ptc_oauth::failure::Failure::from(fault)))?;
        let jws = Jws::parse(token.expose()).map_err(|rejection| self.tell(&rejection))?;
        let keys = self.issuer.keys_for(&jws).await.map_err(|error| match error {
            KeyError::Unknown => self.tell(&"the ID token is signed by no key of the issuer"),
            KeyError::Unavailable => self.tell(&"the issuer's keys cannot be had"),
        })?;
        let verified = jws.verify(&keys).map_err(|rejection| self.tell(&rejection))?;
        let now = self.now();
        let nonce = nonce(&pending);
        let expectation =
            IdTokenExpectation { issuer: self.issuer.name(), client_id: &self.client.id, nonce: &nonce, now };
        let token = IdToken::of_jwt(verified, &expectation).map_err(|rejection| self.tell(&rejection))?;
        Ok(VerifiedToken {
            issuer: self.issuer.name().to_owned(),
            subject: token.subject.clone(),
            scopes: Vec::new(),
            claims: token
                .claims()
                .map(|(name, texts)| (name.to_owned(), texts.into_iter().map(str::to_owned).collect()))
                .collect(),
            life: token.expires.since(now),
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(time_of_day_by(&self.clock))
    }

    fn tell(&self, reason: &dyn fmt::Display) -> LoginError {
        warn!(event = "login_failed", issuer = self.issuer.name(), reason = %reason);
        LoginError::Failed
    }
}
